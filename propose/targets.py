"""Which gaps a round is aimed at, from which items, and at what pass rate.

The scale is fixed by the easiest and the hardest item of the original benchmark, so that filling cannot move its own
yardstick. A gap is a target only if the panel can tell that an item is in it: where no set of answers would put half of
the posterior inside, every candidate would be rejected, however good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from irt.arrays import FloatArray
from propose.panel_tables import PanelTables, draw_counts
from verifier.ability_posterior import Abilities

# A log-concave posterior of width sd has less than half of its mass in an interval narrower than about 0.98 sd.
_NARROWEST = 0.9
# Sets of answers tried on a gap. What none of them fills could be filled by one candidate in hundreds, if at all.
_SIMULATED = 400
_HERMITE_NODES = 9


@dataclass(frozen=True)
class Gap:
    """An interval of difficulty b without an item."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Its size in b."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """Its centre."""
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class Targets:
    """The gaps of a round, widest first; and those as wide that are none, as the panel cannot resolve them."""

    gaps: tuple[Gap, ...]
    unresolvable: tuple[Gap, ...]


def gaps_of(originals: npt.ArrayLike, accepted: npt.ArrayLike) -> list[Gap]:
    """Return all gaps between neighbours within the originals' range, widest first, equally wide ones by difficulty."""
    originals = np.asarray(originals, dtype=float)
    inside = np.clip(np.asarray(accepted, dtype=float), originals.min(), originals.max())
    places = np.sort(np.concatenate([originals, inside]))
    gaps = [Gap(float(low), float(high)) for low, high in zip(places[:-1], places[1:], strict=True)]
    return sorted(gaps, key=lambda gap: (-gap.width, gap.low))


def choose_targets(
    gaps: Sequence[Gap], count: int, tables_at: Callable[[Gap], PanelTables], accept_above: float
) -> Targets:
    """Return the widest gaps that the panel can resolve, at most ``count``; ``gaps`` come widest first.

    ``tables_at`` gives the tables for the items that a gap is filled with (their guessing probability).
    """
    found: list[Gap] = []
    unresolvable: list[Gap] = []
    for gap in gaps:
        if len(found) == count:
            break
        tables = tables_at(gap)
        sharpest = 1 / np.sqrt(1 + tables.n_trials * len(tables.log_likelihood) / 4)
        if gap.width < _NARROWEST * sharpest:
            unresolvable.append(gap)
            break  # and so are all that follow
        (found if resolvable(gap, tables, accept_above) else unresolvable).append(gap)
    return Targets(tuple(found), tuple(unresolvable))


def resolvable(gap: Gap, tables: PanelTables, accept_above: float) -> bool:
    """Return whether any final posterior could meet the rule in the gap: simulated for items all over it."""
    rng = np.random.default_rng(0)
    verifiers = np.arange(len(tables.log_likelihood))
    b = np.linspace(gap.low, gap.high, _SIMULATED)
    at = np.clip(np.searchsorted(tables.nodes, b), 0, len(tables.nodes) - 1)
    counts = draw_counts(tables, at, rng.random((_SIMULATED, len(verifiers))), verifiers)
    met = meets_rule(tables, tables.log_posterior(counts), [(gap.low, gap.high)], accept_above)
    return bool(met.any())


def meets_rule(
    tables: PanelTables,
    log_posterior: FloatArray,
    intervals: Sequence[tuple[float, float]],
    accept_above: float,
) -> npt.NDArray[np.bool_]:
    """Return, for (R, Q) log posteriors, whether b_mean lies in one of the intervals with enough of the posterior."""
    density = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    moments = density @ np.column_stack([np.ones(len(tables.nodes)), tables.nodes, tables.weights(intervals)])
    low, high = np.asarray(intervals, dtype=float).T
    mean = (moments[:, 1] / moments[:, 0])[:, None]
    inside = moments[:, 2:] / moments[:, :1]
    return ((low < mean) & (mean < high) & (inside >= accept_above)).any(axis=1)


def parents_for(gap: Gap, b: npt.ArrayLike, count: int) -> list[int]:
    """Return the places in ``b`` of the items nearest to the gap's edges, from below and from above in turn."""
    b = np.asarray(b, dtype=float)
    order = np.argsort(b, kind="stable")
    below = [int(place) for place in order[::-1] if b[place] <= gap.low]
    above = [int(place) for place in order if b[place] >= gap.high]
    both = min(len(below), len(above))
    turns = [place for pair in zip(below[:both], above[:both], strict=True) for place in pair]
    return (turns + below[both:] + above[both:])[:count]


def aims(gap: Gap, count: int) -> list[float]:
    """Return the difficulties at which the children of a parent are aimed: evenly over the middle half of the gap.

    A rewriter misses by more than that, so the outer quarters are filled all the same.
    """
    return [gap.low + gap.width * (0.25 + 0.5 * (number + 0.5) / count) for number in range(count)]


def pass_rate(b: float, abilities: Abilities, guessing: float) -> float:
    """Return the share of the panel's answers to an item of difficulty b that are right, as expected."""
    x, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
    z = abilities.mean[:, None] + abilities.sd_on_scale[:, None] * x - b
    return float(guessing + (1 - guessing) * (expit(z) @ (weights / weights.sum())).mean())
