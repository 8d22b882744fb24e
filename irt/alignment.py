"""How strongly each benchmark goes with each dimension, without the part that it has itself in the abilities.

The correlation of a benchmark's scores with abilities that were fitted to it, among others, is high for that reason
alone. So the abilities are fitted again without it, from scratch, and turned by Procrustes to the axes of the fit of
all benchmarks, on the items that the two share. These axes are chosen with the benchmark, and the intervals take the
abilities as they are.

Abilities are posterior means, scaled to their own standard deviation, and neither figure is corrected for their
unreliability: simulated, both are low by the factor √reliability of their dimension, 0.7 where that is 0.5.

M models, N items, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.intervals import UNDEFINED, Figure, correlate, dependent, resampled_counts, standardised_weights
from irt.mirt import MirtFit, MirtSettings, fit_mirt, score_models
from irt.mirt_data import Benchmarks, groups_of
from irt.rotation import procrustes, rotate

FEWEST_MODELS = 4

# Why a figure has no value, in a word or two.
FEW_MODELS = "few models"
EQUAL_SCORES = "equal scores"
NOT_LINKED = "not linked"
NOT_MEASURED = "not measured"
NOT_IDENTIFIED = "not identified"
NEEDS_ALL = "needs all dimensions"
DEPENDENT = "dependent dimensions"

# The other benchmarks measure a dimension if the variance of its abilities is at least half not error …
LOWEST_RELIABILITY = 0.5
# … and if, on the same answers, their own fit orders the models as the fit of all benchmarks does.
LOWEST_AGREEMENT = 0.8


@dataclass(frozen=True)
class Alignment:
    """How a benchmark, or a subset of its items, goes with one dimension.

    Attributes
    ----------
    benchmark, subset
        Names; the subset is "" for all items of the benchmark.
    items, models
        How many items, and how many models that answered some of them and some of another benchmark.
    dimension
        From 1.
    corrected
        Correlation of the models' share correct with abilities fitted without the whole benchmark; undefined where the
        others do not identify the dimension.
    weight
        Standardised weight of this dimension in the regression of the share correct on all of them, the abilities as
        for ``corrected``: dimensions correlate, so that a benchmark which measures one correlates with others as well.
        Undefined where one of the dimensions has no corrected value.
    uncorrected
        The correlation with the abilities of the fit of all benchmarks.
    reliability
        1 − error variance/prior variance of the abilities without the benchmark, mean over these models. Below 0.5,
        where error is more than half, there is no corrected value.
    agreement
        Correlation of these abilities with those of the same answers, the item parameters being those of the fit of all
        benchmarks: near 1 if the others by themselves find the same dimension. Below 0.8 there is no corrected value.
    reason
        Why there is no corrected value, or "". "few models": fewer than 4. "equal scores": of all models. "not linked":
        the other benchmarks fall apart. "not measured": reliability. "not identified": agreement.
    weight_reason
        Why there is no weight, or "". "needs all dimensions": one has no corrected value. "few models": over 5 % of the
        resamples have fewer than two more than dimensions, so that an interval would mean nothing; at 2 dimensions with
        fewer than 8 models, at 3 with fewer than 10. "dependent dimensions": one ability follows from the others.
    note
        The reason for no corrected value as a sentence with its numbers, or "".
    """

    benchmark: str
    subset: str
    items: int
    models: int
    dimension: int
    corrected: Figure = UNDEFINED
    weight: Figure = UNDEFINED
    uncorrected: Figure = UNDEFINED
    reliability: float = np.nan
    agreement: float = np.nan
    reason: str = ""
    weight_reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Without:
    """The abilities without one benchmark, at the axes of the fit of all.

    Attributes
    ----------
    theta
        (M, D), by a fit of the other benchmarks alone.
    frozen
        (M, D), by the same answers and the item parameters of the fit of all benchmarks.
    reliability
        (M, D) 1 − error variance/prior variance.
    groups
        Into how many groups, with no model in common, the other benchmarks fall.
    converged
        Whether the fit met the tolerance.
    """

    theta: FloatArray
    frozen: FloatArray
    reliability: FloatArray
    groups: int
    converged: bool


def fit_without(
    data: Benchmarks, benchmark: int, whole: MirtFit, turn: FloatArray, settings: MirtSettings
) -> Without:
    """Fit all benchmarks but one.

    ``whole`` is the fit of all as it came, and ``turn`` the T that brings it to its final axes.
    """
    rest = np.flatnonzero(data.benchmark_of != benchmark)
    correct, trials = data.correct[:, rest], data.trials[:, rest]
    others = data.benchmark_of[rest]
    fit = fit_mirt(correct, trials, others - (others > benchmark), settings)
    fit = rotate(rotate(fit, procrustes(fit.a, whole.a[rest])), turn)
    asked = data.trials.copy()
    asked[:, data.benchmark_of == benchmark] = 0
    frozen = score_models(rotate(whole, turn), np.where(asked > 0, data.correct, 0), asked)
    return Without(fit.theta, frozen.mean, fit.reliability, int(groups_of(trials).max()) + 1, fit.converged)


def align(
    data: Benchmarks,
    whole: MirtFit,
    turn: FloatArray,
    subsets: dict[tuple[int, str], IntArray],
    settings: MirtSettings,
    report: Callable[[int], None],
) -> tuple[list[Alignment], list[str]]:
    """Return a row for each benchmark, each of its subsets and each dimension; and which fits had not converged.

    The latter are the names of the benchmarks without which they were.

    Parameters
    ----------
    whole, turn
        The fit of all benchmarks as it came, and the T that brings it to its final axes.
    subsets
        The items of each (number of the benchmark, name of the subset).
    report
        Called with the number of benchmarks that are done.
    """
    theta = rotate(whole, turn).theta
    rows = []
    not_converged = []
    for number in range(len(data.names)):
        without = fit_without(data, number, whole, turn, settings)
        if not without.converged:
            not_converged.append(data.names[number])
        parts = {"": np.flatnonzero(data.benchmark_of == number)}
        parts |= {name: items for (benchmark, name), items in subsets.items() if benchmark == number}
        elsewhere = data.trials[:, data.benchmark_of != number].any(axis=1)
        for name, items in parts.items():
            models = np.flatnonzero(elsewhere & data.trials[:, items].any(axis=1))
            score = share_correct(data, models, items)
            found = []
            for k in range(theta.shape[1]):
                row = Alignment(data.names[number], name, len(items), len(models), k + 1)
                found.append(_with_figures(row, score, models, without, theta, settings.seed))
            rows += _with_weights(found, score, without.theta[models], settings.seed)
        report(number + 1)
    return rows, not_converged


def share_correct(data: Benchmarks, models: IntArray, items: IntArray) -> FloatArray:
    """Return the models' share of correct answers to these items; each of the models was asked some of them."""
    cells = np.ix_(models, items)
    share: FloatArray = data.correct[cells].sum(axis=1) / data.trials[cells].sum(axis=1)
    return share


def _with_figures(
    row: Alignment, score: FloatArray, models: IntArray, without: Without, theta: FloatArray, seed: int
) -> Alignment:
    """Return the row with all figures but the weight; ``theta`` (M, D) is that of the fit of all benchmarks."""
    if len(models) < FEWEST_MODELS:
        count = f"only {len(models)} model{'' if len(models) == 1 else 's'}"
        return replace(row, reason=FEW_MODELS, note=f"{count} answered both this and another benchmark")
    k = row.dimension - 1
    own = without.theta[models, k]
    weights = resampled_counts(len(models), seed)
    reliability = float(without.reliability[models, k].mean())
    agreement = correlate(own, without.frozen[models, k], weights).value
    reason, note = _reason(score, without.groups, reliability, agreement)
    return replace(
        row,
        corrected=UNDEFINED if reason else correlate(score, own, weights),
        uncorrected=correlate(score, theta[models, k], weights),
        reliability=reliability,
        agreement=agreement,
        reason=reason,
        note=note,
    )


def _with_weights(rows: list[Alignment], score: FloatArray, theta: FloatArray, seed: int) -> list[Alignment]:
    """Return the rows of all dimensions with their weights, if the abilities theta (M, D) are identified."""
    if any(row.reason for row in rows):
        return [replace(row, weight_reason=NEEDS_ALL) for row in rows]
    weights = standardised_weights(score, theta, resampled_counts(len(score), seed))
    if np.isnan(weights[0].value):
        few = len(score) < len(rows) + 2 or not dependent(theta)
        reason = FEW_MODELS if few else DEPENDENT
        return [replace(row, weight_reason=reason) for row in rows]
    return [replace(row, weight=weight) for row, weight in zip(rows, weights, strict=True)]


def _reason(score: FloatArray, groups: int, reliability: float, agreement: float) -> tuple[str, str]:
    """Return why a corrected value would mean nothing, in a word and in a sentence; both "" if it means something."""
    if np.ptp(score) == 0:
        return EQUAL_SCORES, "all models have the same share correct"
    if groups > 1:
        return (
            NOT_LINKED,
            f"without it the other benchmarks fall into {groups} groups with no model in common",
        )
    if reliability < LOWEST_RELIABILITY:
        note = f"the other benchmarks hardly measure this dimension (reliability {reliability:.2f})"
        return NOT_MEASURED, note
    if np.isnan(agreement):
        return NOT_MEASURED, "the other benchmarks do not tell these models apart"
    if agreement < LOWEST_AGREEMENT:
        note = f"the other benchmarks by themselves find another dimension (agreement {agreement:.2f})"
        return NOT_IDENTIFIED, note
    return "", ""
