"""How evenly a benchmark covers difficulty before and after new items, each from a fit of its own, with intervals.

Before: the originals' counts are fitted alone (irt.rasch), as the new items' answers say something of the originals,
too. After: the originals' and the new items' counts are fitted together, so every difficulty is on one scale and what
is unknown of the abilities is shared by all. Of the model only differences of abilities and difficulties are
identified; the priors place the zero, and new items on one side would move it. So the joint fit, estimates and draws,
is shifted by one number to where the originals' mean difficulty is that of their calibration table, on whose scale the
gaps were found and the decisions made. DDM and Max Gap do not depend on it.

DDM and Max Gap are those of the estimates (posterior means), as everywhere in this project; before, of the estimates
in the calibration table that the gaps were found on. The median and the 90 % interval are those of the diagnostic over
the posterior draws of the fit: where the diagnostic of the *true* difficulties lies with a probability of 90 %, if
difficulties come from the prior, each independent of the others. Posterior means are less scattered than true
difficulties, so the figure of the estimates need not lie in it. Max Gap of the estimates tends to lie below where
items are even, as after a fill: the true ones leave wider gaps by chance. It tends to lie above where there is an
unusual gap: the items at its edges scatter into it in every draw. The more trials, the less of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from irt.arrays import FloatArray, IntArray
from irt.convergence import Estimates
from irt.difficulty import ddm, diagnose, max_gap, normalize
from irt.rasch import Draws, RaschFit, difficulties_given, fit_rasch
from irt.settings import SamplerSettings
from propose.panel_tables import CANDIDATE_PRIOR_SD

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

    def part(self, items: slice) -> Counts:
        """Return the counts of some of the items."""
        return Counts(self.correct[:, items], self.trials[:, items], self.guessing[items])

    def and_then(self, other: Counts) -> Counts:
        """Return the counts of these items and of others, answered by the same models."""
        return Counts(
            *(
                np.concatenate([getattr(self, one.name), getattr(other, one.name)], axis=-1)
                for one in fields(Counts)
            )
        )


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
        The joint fit: abilities, and difficulties of the originals followed by the new items.
    before
        Of the originals: the figures by the estimates that they had, their intervals by a fit of their counts alone.
    after
        Of all items, by the joint fit.
    shift
        What was added to all abilities and difficulties of the joint fit, to put them on the calibration's scale.
    """

    fit: RaschFit
    before: Spread
    after: Spread
    shift: float


def recalibrate(
    originals: Counts, new: Counts, b_before: npt.ArrayLike, settings: SamplerSettings
) -> Recalibration:
    """Fit the originals alone, and with the new items; the same counts and seed give the same figures.

    Parameters
    ----------
    originals, new
        Counts of the same models in the same order. ``new`` may hold no items.
    b_before
        (N,) estimates of the originals' difficulties in their own calibration table, whose scale the fit is put on.

    Raises
    ------
    ValueError
        If all difficulties are equal, or there are fewer than two.
    """
    alone = fit_rasch(
        originals.correct, originals.trials, originals.guessing, settings=settings, keep_draws=True
    )
    fit = alone
    if new.guessing.size:
        both = originals.and_then(new)
        joint = fit_rasch(both.correct, both.trials, both.guessing, settings=settings, keep_draws=True)
        fit = _with_own_prior(joint, new, settings)
    b_calibrated = np.asarray(b_before, dtype=float)
    shift = float(b_calibrated.mean() - fit.difficulty.mean[: len(b_calibrated)].mean())
    shifted = _shifted(fit, shift)
    return Recalibration(
        fit=shifted,
        before=spread(b_calibrated, _some_draws(alone)),
        after=spread(shifted.difficulty.mean, _some_draws(fit)),
        shift=shift,
    )


def scale_note(found: Recalibration) -> str:
    """Return on what scale the joint fit is, as a sentence."""
    return (
        f"All abilities and difficulties of the joint fit are shifted by {found.shift:+.4f}, so that the originals' "
        "mean difficulty is that of their calibration."
    )


def _shifted(fit: RaschFit, shift: float) -> RaschFit:
    """Return the fit with ``shift`` added to all its abilities and difficulties, which changes no probability."""
    assert fit.draws is not None  # they are kept
    return replace(
        fit,
        ability=replace(fit.ability, mean=fit.ability.mean + shift),
        difficulty=replace(fit.difficulty, mean=fit.difficulty.mean + shift),
        draws=Draws(fit.draws.theta + np.float32(shift), fit.draws.b + np.float32(shift)),
    )


def _with_own_prior(fit: RaschFit, new: Counts, settings: SamplerSettings) -> RaschFit:
    """Return the joint fit with the difficulties of the new items, its last, under the prior of candidates."""
    assert fit.draws is not None  # they are kept
    count = new.guessing.size
    estimates, b = difficulties_given(
        fit.draws.theta,
        new.correct,
        new.trials,
        new.guessing,
        prior_sd=CANDIDATE_PRIOR_SD,
        settings=settings,
    )
    difficulty = Estimates(
        *(
            np.concatenate([getattr(fit.difficulty, one.name)[:-count], getattr(estimates, one.name)])
            for one in fields(Estimates)
        )
    )
    draws = Draws(fit.draws.theta, np.concatenate([fit.draws.b[..., :-count], b], axis=-1))
    return replace(fit, difficulty=difficulty, draws=draws)


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


def _some_draws(fit: RaschFit) -> npt.NDArray[np.floating]:
    """Return at most DRAWS_USED draws of all difficulties, (draws, N), evenly taken."""
    assert fit.draws is not None
    draws = fit.draws.b.reshape(-1, fit.draws.b.shape[-1])
    return draws[np.linspace(0, len(draws) - 1, min(len(draws), DRAWS_USED)).round().astype(int)]
