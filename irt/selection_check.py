"""Judges a way of choosing items by models that were not used for the choice, beside random subsets.

The models are split into folds. For each fold the items are fitted and chosen without its models; then the kept items
must tell what all items say of these models: their ability on the dimension and their score on every benchmark.

M models, N items, R random draws of a subset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from irt.arrays import FloatArray, IntArray
from irt.intervals import Figure, correlations, figure, resampled_counts
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

FIGURES = ("Pearson", "Spearman", "score error")


@dataclass(frozen=True)
class Unseen:
    """What subsets say of models that had no part in their choice.

    Attributes
    ----------
    full
        (M,) ability on the dimension by all answers, the items fitted without the model.
    ability
        (M, R) ability by the answers to the kept items alone.
    error
        (M, R) distance of the predicted from the true share correct, mean over the benchmarks that the model answered.
    """

    full: FloatArray
    ability: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class Check:
    """The choice (R = 1) and its controls, and how many of the fits had not converged."""

    selected: Unseen
    matched: Unseen
    random: Unseen
    not_converged: int


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
    """Choose ``count`` items without the models of each fold, and see what they say of these models.

    Parameters
    ----------
    whole, turn
        The fit of all models as it came, and the T that brings it to its final axes. Each fold's loadings are turned
        to these, so that the dimension is the same one.
    draws
        Random subsets of each of the two kinds, drawn anew for each fold.
    report
        Called with the number of folds that are done.
    """
    rng = np.random.default_rng(settings.seed)
    models = len(data.models)
    fold_of = rng.permutation(models) % folds
    full = np.empty(models)
    ability = [np.empty((models, size)) for size in (1, draws, draws)]
    error = [np.empty((models, size)) for size in (1, draws, draws)]
    not_converged = 0
    for fold in range(folds):
        seen, unseen = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        correct, trials = data.correct[seen], data.trials[seen]
        fit = fit_mirt(correct, trials, data.benchmark_of, settings)
        not_converged += not fit.converged
        fit = rotate(rotate(fit, procrustes(fit.a, whole.a)), turn)
        chances = fit.probability()
        pool = separating_items(correct, trials)
        strata = stratify(expected_easiness(chances), data.benchmark_of, pool, count)
        chosen = select_items(fit, chances, dimension, strata)
        judged = data.keep_models(unseen)
        full[unseen] = score_models(fit, judged.correct, judged.trials).mean[:, dimension]
        subsets = (
            [chosen],
            [matched_items(strata, rng) for _ in range(draws)],
            [random_items(len(data.items), strata.count, rng) for _ in range(draws)],
        )
        for kind, kept in enumerate(subsets):
            for draw, items in enumerate(kept):
                abilities = _score_by(fit, judged, items)
                ability[kind][unseen, draw] = abilities.mean[:, dimension]
                error[kind][unseen, draw] = score_error(judged, items, probability(abilities, fit.items))
        report(fold + 1)
    selected, matched, random = (Unseen(full, *both) for both in zip(ability, error, strict=True))
    return Check(selected, matched, random, not_converged)


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
    """Return the figures of each draw for each weighting of the models, (3, W, R), in the order of ``FIGURES``.

    Parameters
    ----------
    weights
        (W, M): how often each model counts. The Spearman correlation is that of ranks among all models, each once.
    """
    known = np.isfinite(unseen.error[:, :1])
    counted = weights @ known
    with np.errstate(invalid="ignore"):
        error = weights @ np.where(known, unseen.error, 0) / np.where(counted > 0, counted, np.nan)
    ranks = rankdata(unseen.full), rankdata(unseen.ability, axis=0)
    return np.stack(
        [correlations(unseen.full, unseen.ability, weights), correlations(*ranks, weights), error]
    )


def summary(check: Check, seed: int) -> dict[str, list[Figure]]:
    """Return the figures of ``FIGURES`` for selected, matched, random, and selected minus each of the two.

    The intervals of matched and random are over draws, around their mean; all others over bootstrap resamples of the
    models, the control being the mean of its draws.
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
        found[f"selected minus {name}"] = [figure(gain[k], gains[k]) for k in range(len(FIGURES))]
    return found
