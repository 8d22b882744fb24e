"""Refits a multidimensional model from scratch: whether it finds the same dimensions, and more than chance would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.mirt import MirtFit, MirtSettings, fit_mirt
from irt.rotation import procrustes, rotate
from irt.streams import Purpose, stream

# Two from random starts, and two of each half.
FITS_A_ROUND = 6

# Below it a dimension is idle: its abilities are all but their prior, and what is left may be a trace of another one.
IDLE_RELIABILITY = 0.05


@dataclass(frozen=True)
class Agreement:
    """How R refits agree with the fit, after alignment.

    Attributes
    ----------
    loadings, abilities
        (R, D) Pearson correlation of each dimension's loadings and abilities with the fit's. One correlation over all
        dimensions at once would be high for unlike dimensions whose means differ.
    predictions
        (R,) root mean square difference of P(correct) over the answered cells.
    """

    loadings: FloatArray
    abilities: FloatArray
    predictions: FloatArray


@dataclass(frozen=True)
class Stability:
    """Whether a fit's dimensions come again; each beside a control whose models have nothing in common.

    Attributes
    ----------
    refits, shuffled_refits
        Of the same answers, from random starts: whether the optimum is found again, even of a dimension of noise.
    halves, shuffled_halves
        (R, D) correlation of each dimension's abilities between two fits that share no item, one to each random half of
        every benchmark's items: whether a dimension is there for other items too. NaN where a half does not measure the
        dimension, as its reliability is below ``IDLE_RELIABILITY``, and where there is but one item.
    not_converged
        How many of the ``FITS_A_ROUND`` · R fits stopped at their last iteration.
    """

    refits: Agreement
    shuffled_refits: Agreement
    halves: FloatArray
    shuffled_halves: FloatArray
    not_converged: int = 0

    @property
    def not_measured(self) -> IntArray:
        """In how many of the R rounds the halves have no correlation, (D,): such a dimension did not come again."""
        return np.isnan(self.halves).sum(axis=0)

    @property
    def shuffled_not_measured(self) -> IntArray:
        """The same of the shuffled halves, (D,): there a dimension that is not measured is as it should be."""
        return np.isnan(self.shuffled_halves).sum(axis=0)


def measure_stability(
    fit: MirtFit,
    turn: FloatArray,
    correct: IntArray,
    trials: IntArray,
    benchmark_of: IntArray,
    settings: MirtSettings,
    refits: int,
    done: Callable[[int], None],
) -> Stability:
    """Refit ``refits`` times from random starts and to halves of the items, each also with shuffled answers.

    Parameters
    ----------
    fit, turn
        The fit before any rotation, and the T that its axes were fixed with: a refit is aligned to it by Procrustes,
        which is exact as both have θ ~ Normal(0, I), and then turned alike.
    correct, trials, benchmark_of
        (M, N), (M, N), (N,), as the fit had them.
    done
        Called with the number of fits that are done, of ``FITS_A_ROUND`` · ``refits``.
    """
    asked = trials > 0
    expected = fit.probability()[asked]
    reference = rotate(fit, turn)
    everything = np.arange(len(benchmark_of))
    not_converged = 0
    rows: dict[str, list[tuple[FloatArray, FloatArray, float]]] = {"as given": [], "shuffled": []}
    halves: dict[str, list[FloatArray]] = {"as given": [], "shuffled": []}
    for number in range(refits):
        anew = replace(settings, seed=settings.seed + number + 1, first_start=1)
        rng = stream(anew.seed, Purpose.SHUFFLED_ANSWERS, refits)
        shuffled = shuffle(correct, trials, rng)
        half_of = split_items(benchmark_of, rng)
        for position, (kind, answers) in enumerate((("as given", (correct, trials)), ("shuffled", shuffled))):
            again = _aligned(fit, turn, answers, benchmark_of, everything, anew)
            not_converged += not again.converged
            rows[kind].append(
                (
                    correlations(again.a, reference.a),
                    correlations(again.theta, reference.theta),
                    float(np.sqrt(np.mean((again.probability()[asked] - expected) ** 2))),
                )
            )
            columns = [np.flatnonzero(half_of == half) for half in (0, 1)]
            if min(map(len, columns)):
                # From start 0 as well: here the answers are in question, not the optimiser.
                first, second = (
                    _aligned(fit, turn, answers, benchmark_of, own, replace(anew, first_start=0))
                    for own in columns
                )
                not_converged += (not first.converged) + (not second.converged)
                known = np.minimum(first.reliability.mean(axis=0), second.reliability.mean(axis=0))
                found = correlations(first.theta, second.theta)
                halves[kind].append(np.where(known >= IDLE_RELIABILITY, found, np.nan))
            else:
                halves[kind].append(np.full(settings.dims, np.nan))
            done(number * FITS_A_ROUND + (position + 1) * FITS_A_ROUND // 2)
    refitted, of_shuffled = (Agreement(*map(np.array, zip(*rows[kind], strict=True))) for kind in rows)
    return Stability(
        refitted, of_shuffled, np.array(halves["as given"]), np.array(halves["shuffled"]), not_converged
    )


def _aligned(
    fit: MirtFit,
    turn: FloatArray,
    answers: tuple[IntArray, IntArray],
    benchmark_of: IntArray,
    columns: IntArray,
    settings: MirtSettings,
) -> MirtFit:
    """Return a fit to these items' answers on the axes of ``fit`` after ``turn``."""
    correct, trials = (values[:, columns] for values in answers)
    # A benchmark of one item is in one half alone.
    group_of = np.unique(benchmark_of[columns], return_inverse=True)[1]
    again = fit_mirt(correct, trials, group_of, settings)
    return rotate(rotate(again, procrustes(again.a, fit.a[columns])), turn)


def split_items(benchmark_of: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a random half, 0 or 1, of each item, (N,): in every benchmark as many of each as can be."""
    order = np.lexsort((rng.random(len(benchmark_of)), benchmark_of))
    half_of = np.empty(len(benchmark_of), dtype=np.int64)
    half_of[order] = np.arange(len(order)) % 2
    return half_of


def correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Pearson's r of each column, (D,), NaN where a column does not vary."""
    x, y = first - first.mean(axis=0), second - second.mean(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sum(x * y, axis=0) / np.sqrt(np.sum(x**2, axis=0) * np.sum(y**2, axis=0)))


def shuffle(correct: IntArray, trials: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return counts and trials, (M, N), with each item's answers dealt anew among the models that gave them."""
    asked = trials > 0
    # In both orders an item's answers come before its blanks.
    to = np.argsort(~asked, axis=0, kind="stable")
    come_from = np.argsort(np.where(asked, rng.random(asked.shape), 2.0), axis=0)
    dealt = [np.empty_like(values) for values in (correct, trials)]
    for values, new in zip((correct, trials), dealt, strict=True):
        np.put_along_axis(new, to, np.take_along_axis(values, come_from, axis=0), axis=0)
    return dealt[0], dealt[1]
