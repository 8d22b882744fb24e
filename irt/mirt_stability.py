"""Refits a multidimensional model from scratch: whether it finds the same dimensions, and more than chance would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.mirt import MirtFit, MirtSettings, fit_mirt
from irt.rotation import procrustes, rotate


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
    """Refits with other seeds, and a control whose items keep their means but whose models have nothing in common."""

    refits: Agreement
    shuffled: Agreement


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
    """Refit ``refits`` times with other seeds, each time also to shuffled answers.

    Parameters
    ----------
    fit, turn
        The fit before any rotation, and the T that its axes were fixed with: a refit is aligned to it by Procrustes,
        which is exact as both have θ ~ Normal(0, I), and then turned alike.
    correct, trials, benchmark_of
        (M, N), (M, N), (N,), as the fit had them.
    done
        Called with the number of fits that are done, of 2 · ``refits``.
    """
    asked = trials > 0
    expected = fit.probability()[asked]
    reference = rotate(fit, turn)
    rows: dict[str, list[tuple[FloatArray, FloatArray, float]]] = {"refits": [], "shuffled": []}
    for number in range(refits):
        anew = replace(settings, seed=settings.seed + number + 1)
        rng = np.random.default_rng([anew.seed, refits])
        for kind, answers in (("refits", (correct, trials)), ("shuffled", shuffle(correct, trials, rng))):
            again = fit_mirt(*answers, benchmark_of, anew)
            aligned = rotate(rotate(again, procrustes(again.a, fit.a)), turn)
            rows[kind].append(
                (
                    correlations(aligned.a, reference.a),
                    correlations(aligned.theta, reference.theta),
                    float(np.sqrt(np.mean((again.probability()[asked] - expected) ** 2))),
                )
            )
            done(sum(map(len, rows.values())))
    return Stability(*(Agreement(*map(np.array, zip(*rows[kind], strict=True))) for kind in rows))


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
