"""Judges a way of choosing items by models that were not used for the choice, beside random subsets.

The models are split into folds. For each fold the items are fitted without its models, and chosen twice: of all items,
as a user would keep them; and of a random half of each benchmark's items, the same share, because the ability by all
items contains the answers to the kept ones, whose luck is then on both sides of a correlation, most of all where they
weigh most. The other half, from which no subset takes anything, has no part in that.

M models, N items, R random draws of a subset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.stats import rankdata

from irt.arrays import FloatArray, IntArray
from irt.held_out import check_connected
from irt.intervals import UNDEFINED, Figure, figure, resampled_counts, weighted_correlations
from irt.io import InputError
from irt.mirt import MirtFit, MirtSettings, fit_mirt, probability, score_models
from irt.mirt_data import Benchmarks
from irt.mirt_updates import Gaussian
from irt.rotation import procrustes, rotate
from irt.selection import (
    expected_easiness,
    matched_items,
    random_items,
    select_items,
    separating_items,
    stratify,
)
from irt.streams import Purpose, stream

FIGURES = ("Pearson", "Spearman", "score error", "part-whole r")
# By answers that are on both sides: a gain in it is no evidence.
PART_WHOLE = FIGURES.index("part-whole r")


@dataclass(frozen=True)
class Unseen:
    """What subsets say of models that had no part in their choice; the items are fitted without the model.

    Attributes
    ----------
    other
        (M,) ability on the dimension by the half of the items that no subset of the first half is taken from.
    ability
        (M, R) ability by the answers to items kept of the first half.
    full
        (M,) ability by all answers.
    part
        (M, R) ability by the answers to items kept of all.
    error
        (M, R) distance of the share correct that these predict from the true one, mean over the benchmarks that the
        model answered.
    """

    other: FloatArray
    ability: FloatArray
    full: FloatArray
    part: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class Check:
    """The choice (R = 1) and its controls, and the folds, from 1, without which the fit had not converged."""

    selected: Unseen
    matched: Unseen
    random: Unseen
    not_converged: tuple[int, ...]


def check_selection(
    data: Benchmarks,
    whole: MirtFit,
    turn: FloatArray,
    *,
    settings: MirtSettings,
    dimension: int,
    count: int,
    folds: int,
    draws: int,
    report: Callable[[int], None],
) -> Check:
    """Choose items without the models of each fold, and see what they say of these models.

    Parameters
    ----------
    whole, turn
        The fit of all models as it came, and the T that brings it to its final axes. Each fold's loadings are turned
        to these, so that the dimension is the same one.
    count
        How many to choose of all items; of half of them, the same share.
    draws
        Random subsets of each of the two kinds, drawn anew for each fold.
    report
        Called with the number of folds that are done.

    Raises
    ------
    InputError
        If no item of a half, or of all that the other folds answered, separates models, or a half has no item: there is
        nothing to choose, or nothing to judge by. If the models of the other folds fall apart without those of one.
    """
    if len(np.unique(data.benchmark_of)) == len(data.items):
        raise InputError(
            "every benchmark has one item, so that none is left to judge the choice by; give benchmarks of more items"
        )
    rng = stream(settings.seed, Purpose.SUBSETS)
    fold_of = rng.permutation(len(data.models)) % folds
    for fold in range(folds):
        seen = fold_of != fold
        pool = separating_items(data.correct[seen], data.trials[seen])
        _check_pool(pool, np.arange(len(data.items)), "the items", fold)
        check_connected(data.trials[seen], f"the models of fold {fold + 1}")
    judged = []
    for fold in range(folds):
        judged.append(_judge_fold(data, whole, turn, fold_of, fold, settings, dimension, count, draws, rng))
        report(fold + 1)
    order = np.argsort(np.concatenate([np.flatnonzero(fold_of == fold) for fold in range(folds)]))
    selected, matched, random = (_joined([one.kinds[number] for one in judged], order) for number in range(3))
    not_converged = (fold + 1 for fold, one in enumerate(judged) if not one.converged)
    return Check(selected, matched, random, tuple(not_converged))


@dataclass(frozen=True)
class _Judged:
    """What selected, matched and random subsets say of the models of a fold, and whether the fit had converged."""

    kinds: tuple[Unseen, Unseen, Unseen]
    converged: bool


def _judge_fold(
    data: Benchmarks,
    whole: MirtFit,
    turn: FloatArray,
    fold_of: IntArray,
    fold: int,
    settings: MirtSettings,
    dimension: int,
    count: int,
    draws: int,
    rng: np.random.Generator,
) -> _Judged:
    """Fit and choose items without the models of a fold, and judge the choice by them."""
    seen = fold_of != fold
    correct, trials = data.correct[seen], data.trials[seen]
    items, pool = np.arange(len(data.items)), separating_items(correct, trials)
    half, other = halves(data.benchmark_of, rng)
    _check_pool(pool, half, "a random half of the items", fold)
    fit = fit_mirt(correct, trials, data.benchmark_of, settings)
    fit = rotate(rotate(fit, procrustes(fit.a, whole.a)), turn)
    models = data.keep_models(np.flatnonzero(~seen))
    share = max(1, round(count * len(half) / len(items)))
    by_other, by_all = (_score_by(fit, models, own).mean[:, dimension] for own in (other, items))
    of_half = _subsets(fit, data, dimension, half, pool, share, draws, rng)
    of_all = _subsets(fit, data, dimension, items, pool, count, draws, rng)

    def unseen(kept_of_half: list[IntArray], kept_of_all: list[IntArray]) -> Unseen:
        by_half = [_score_by(fit, models, kept).mean[:, dimension] for kept in kept_of_half]
        by_part = [_score_by(fit, models, kept) for kept in kept_of_all]
        errors = [
            score_error(models, kept, probability(abilities, fit.items))
            for kept, abilities in zip(kept_of_all, by_part, strict=True)
        ]
        part = [abilities.mean[:, dimension] for abilities in by_part]
        return Unseen(by_other, np.stack(by_half, 1), by_all, np.stack(part, 1), np.stack(errors, 1))

    selected, matched, random = map(unseen, of_half, of_all)
    return _Judged((selected, matched, random), fit.converged)


def _joined(parts: Sequence[Unseen], order: IntArray) -> Unseen:
    """Return those of all folds as one, its models in this order of theirs."""
    return Unseen(
        *(np.concatenate([getattr(part, field.name) for part in parts])[order] for field in fields(Unseen))
    )


def _check_pool(pool: IntArray, items: IntArray, what: str, fold: int) -> None:
    """Refuse to choose among items of which none separates the models outside a fold."""
    if not np.isin(pool, items).any():
        raise InputError(
            f"without the models of fold {fold + 1}, none of {what} has right and wrong answers, so that there is "
            "nothing to choose from; give more models or items, or try another --folds or --seed"
        )


def halves(benchmark_of: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Split the items of every benchmark at random; of an odd number, the one left over joins the first half."""
    first, second = [], []
    for number in np.unique(benchmark_of):
        members = rng.permutation(np.flatnonzero(benchmark_of == number))
        middle = -(-len(members) // 2)
        first.append(members[:middle])
        second.append(members[middle:])
    return np.concatenate(first), np.concatenate(second)


def _subsets(
    fit: MirtFit,
    data: Benchmarks,
    dimension: int,
    items: IntArray,
    pool: IntArray,
    count: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[list[IntArray], list[IntArray], list[IntArray]]:
    """Return what is selected of these items, and the matched and random draws; ``pool`` has those that separate."""
    chances = fit.probability()
    strata = stratify(expected_easiness(chances), data.benchmark_of, np.intersect1d(pool, items), count)
    return (
        [select_items(fit, chances, dimension, strata)],
        [matched_items(strata, rng) for _ in range(draws)],
        [random_items(items, strata.count, rng) for _ in range(draws)],
    )


def _score_by(fit: MirtFit, data: Benchmarks, items: IntArray) -> Gaussian:
    """Return the abilities of the models by their answers to these items alone."""
    kept = replace(fit, items=Gaussian(fit.items.mean[items], fit.items.covariance[items]))
    return score_models(kept, data.correct[:, items], data.trials[:, items])


def score_error(data: Benchmarks, items: IntArray, chances: FloatArray) -> FloatArray:
    """Return how far the predicted share correct is from the true one, (M,), mean over benchmarks.

    The answers to the kept items are known and the others are predicted by ``chances`` (M, N). Only what was asked
    counts. NaN for a model that was asked nothing.
    """
    wrong = data.trials * chances - data.correct
    wrong[:, items] = 0
    apart = np.full((len(data.models), len(data.names)), np.nan)
    for number in range(len(data.names)):
        columns = data.benchmark_of == number
        asked = data.trials[:, columns].sum(axis=1)
        answered = asked > 0
        apart[answered, number] = np.abs(wrong[answered][:, columns].sum(axis=1)) / asked[answered]
    there = np.isfinite(apart)
    counted = there.sum(axis=1)
    return np.where(counted > 0, np.where(there, apart, 0).sum(axis=1) / np.maximum(counted, 1), np.nan)


def figures(unseen: Unseen, weights: FloatArray) -> FloatArray:
    """Return the figures of each draw for each weighting of the models, (4, W, R), in the order of ``FIGURES``.

    Parameters
    ----------
    weights
        (W, M): how often each model counts. The Spearman correlation is that of ranks among all models, each once.
    """
    known = np.isfinite(unseen.error[:, :1])
    counted = weights @ known
    with np.errstate(invalid="ignore"):
        error = weights @ np.where(known, unseen.error, 0) / np.where(counted > 0, counted, np.nan)
    ranks = rankdata(unseen.other), rankdata(unseen.ability, axis=0)
    return np.stack(
        [
            weighted_correlations(unseen.other, unseen.ability, weights),
            weighted_correlations(*ranks, weights),
            error,
            weighted_correlations(unseen.full, unseen.part, weights),
        ]
    )


def summary(check: Check, seed: int) -> dict[str, list[Figure]]:
    """Return the figures of ``FIGURES`` for selected, matched, random, and selected minus each of the two.

    The intervals of matched and random are over draws, around their mean; all others over bootstrap resamples of the
    models, the control being the mean of its draws. A gain in the part-whole correlation is not given.
    """
    once, weights = np.ones((1, len(check.selected.full))), resampled_counts(len(check.selected.full), seed)
    at = {name: figures(getattr(check, name), once)[:, 0] for name in ("selected", "matched", "random")}
    spread = {name: figures(getattr(check, name), weights).mean(axis=2) for name in at}
    found = {
        "selected": [figure(at["selected"][k].mean(), spread["selected"][k]) for k in range(len(FIGURES))]
    }
    for name in ("matched", "random"):
        found[name] = [figure(at[name][k].mean(), at[name][k]) for k in range(len(FIGURES))]
    for name in ("matched", "random"):
        gain = at["selected"].mean(axis=1) - at[name].mean(axis=1)
        gains = spread["selected"] - spread[name]
        found[f"selected minus {name}"] = [
            UNDEFINED if k == PART_WHOLE else figure(gain[k], gains[k]) for k in range(len(FIGURES))
        ]
    return found
