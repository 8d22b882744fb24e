"""How evenly a benchmark covers difficulty before and after new items: one fit of all answers, with intervals.

The originals' counts and the new items' counts are fitted together (irt.rasch), so every difficulty is on one scale and
what is unknown of the abilities is shared by all. DDM and Max Gap are those of the estimates (posterior means), as
everywhere in this project. The 90 % interval is that of the diagnostic over the joint posterior draws: where the
diagnostic of the *true* difficulties lies with a probability of 90 %, if difficulties come from the prior, each
independent of the others. Items at the edges of a real gap scatter into it in every draw, so for a benchmark with an
unusual gap the interval of Max Gap lies low, below what the estimates say; the more trials, the less. The median of the
draws is given to show it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from irt.arrays import FloatArray, IntArray
from irt.difficulty import ddm, diagnose, max_gap, normalize
from irt.rasch import RaschFit, fit_rasch
from irt.settings import SamplerSettings

INTERVAL = 0.9
DRAWS_USED = 1000  # an interval from a thousand draws is settled to a few hundredths of its width


@dataclass(frozen=True)
class Counts:
    """Answers of M models to N items.

    ``correct`` and ``trials`` are (M, N), ``guessing`` (N,); 0 trials = not asked.
    """

    correct: IntArray
    trials: IntArray
    guessing: FloatArray


@dataclass(frozen=True)
class Figure:
    """A diagnostic: of the estimates, and over the draws its median and the ends of its 90 % interval."""

    of_estimates: float
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Spread:
    """How evenly some items cover difficulty."""

    items: int
    ddm: Figure
    max_gap: Figure


@dataclass(frozen=True)
class Recalibration:
    """What is known once the new items are calibrated with the originals.

    Attributes
    ----------
    fit
        Abilities, and difficulties of the originals followed by the new items.
    before, after
        Of the originals alone, by the estimates that they had; of all items, by the joint fit.
    """

    fit: RaschFit
    before: Spread
    after: Spread


def recalibrate(
    originals: Counts, new: Counts, b_before: npt.ArrayLike, settings: SamplerSettings
) -> Recalibration:
    """Fit originals and new items together; the same counts and seed give the same figures.

    Parameters
    ----------
    originals, new
        Counts of the same models in the same order. ``new`` may hold no items.
    b_before
        (N,) estimates of the originals' difficulties in their own calibration table.

    Raises
    ------
    ValueError
        If all difficulties are equal, or there are fewer than two.
    """
    both = [
        np.concatenate([getattr(originals, name), getattr(new, name)], axis=-1)
        for name in ("correct", "trials", "guessing")
    ]
    fit = fit_rasch(*both, settings=settings, keep_draws=True)
    assert fit.draws is not None
    draws = _some(fit.draws.b.reshape(-1, both[2].size))
    return Recalibration(
        fit=fit,
        before=spread(np.asarray(b_before, dtype=float), draws[:, : originals.guessing.size]),
        after=spread(fit.difficulty.mean, draws),
    )


def spread(b: FloatArray, draws: npt.NDArray[np.floating]) -> Spread:
    """Return the diagnostics of (N,) estimates with intervals from (draws, N) draws of the same items."""
    estimates = diagnose(b.tolist())
    z = [normalize(draw) for draw in draws.astype(float).tolist()]
    return Spread(estimates.items, _figure(ddm, estimates.ddm, z), _figure(max_gap, estimates.max_gap, z))


def _figure(
    diagnostic: Callable[[Sequence[float]], float], of_estimates: float, z: list[list[float]]
) -> Figure:
    tail = (1 - INTERVAL) / 2
    low, median, high = np.quantile([diagnostic(draw) for draw in z], [tail, 0.5, 1 - tail])
    return Figure(of_estimates, float(median), float(low), float(high))


def _some(draws: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return at most DRAWS_USED draws, evenly taken."""
    return draws[np.linspace(0, len(draws) - 1, min(len(draws), DRAWS_USED)).round().astype(int)]
