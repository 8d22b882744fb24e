"""Predicts hidden answers from the known ones: by means, by ability plus easiness, and by abilities in D dimensions.

M models, N items, B benchmarks, D dimensions, H hidden cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln

from irt.additive import fit_additive
from irt.arrays import FloatArray, IntArray
from irt.held_out import check_connected, hide
from irt.mirt import MirtFit, MirtSettings, fit_mirt, probability, score_items, score_models
from irt.mirt_updates import Gaussian
from irt.prediction_protocols import BoolArray, Protocol, Split, splits
from irt.prediction_scores import PredictedCells

MEANS = ("global mean", "model mean", "benchmark mean", "item mean")
ADDITIVE = "additive"
BENCHMARK_MEAN = MEANS[2]

# How many more answers a mean may lean on.
LEANING_ANSWERS = 2.0 ** np.arange(-2, 13)

# One start, from the residuals: with three, held-out log-losses were the same to 1e-5, and every fold has its own fits.
STARTS = 1


@dataclass(frozen=True)
class Predictions:
    """What each predictor says of the hidden cells of a split.

    Attributes
    ----------
    probability
        By predictor, (H,) P(correct) of the split's hidden cells, row by row.
    unconverged
        Names of the predictors whose fit stopped at its last iteration.
    """

    probability: dict[str, FloatArray]
    unconverged: tuple[str, ...]


def predictor_names(dims: Sequence[int]) -> tuple[str, ...]:
    """Return the names of all predictors, simplest first."""
    return (*MEANS, ADDITIVE, *(f"{count}-D" for count in dims))


def predict_folds(
    correct: IntArray,
    trials: IntArray,
    benchmark_of: IntArray,
    *,
    protocol: Protocol,
    folds: int,
    known: int,
    dims: Sequence[int],
    seed: int,
    report: Callable[[int], None],
) -> tuple[PredictedCells, list[str]]:
    """Predict the hidden cells of every fold; return them all, and which fits stopped at their last iteration.

    See ``splits`` for protocol, folds and known, and ``predict`` for the rest. ``report`` is called with the number of
    folds done. Before the first fit an InputError is raised if what some fold leaves to fit falls apart.
    """
    for fold, split in enumerate(splits(trials, protocol, folds, known, seed)):
        left = np.where(split.hidden, 0, trials)[np.ix_(~split.new_models, ~split.new_items)]
        check_connected(left, f"the {protocol} of fold {fold + 1}")
    rows, columns = [], []
    unconverged: list[str] = []
    chances: dict[str, list[FloatArray]] = {name: [] for name in predictor_names(dims)}
    for fold, split in enumerate(splits(trials, protocol, folds, known, seed)):
        predictions = predict(correct, trials, benchmark_of, split, dims, seed)
        model, item = np.nonzero(split.hidden)
        rows.append(model)
        columns.append(item)
        for name, chance in predictions.probability.items():
            chances[name].append(chance)
        unconverged += [f"{name} of fold {fold + 1}" for name in predictions.unconverged]
        report(fold + 1)
    model, item = np.concatenate(rows), np.concatenate(columns)
    probability_of = {name: np.concatenate(parts) for name, parts in chances.items()}
    cells = PredictedCells(
        model, benchmark_of[item], correct[model, item], trials[model, item], probability_of
    )
    return cells, unconverged


def predict(
    correct: IntArray, trials: IntArray, benchmark_of: IntArray, split: Split, dims: Sequence[int], seed: int
) -> Predictions:
    """Predict the hidden cells from all others.

    Parameters
    ----------
    correct, trials
        (M, N) counts; 0 trials = never asked. What is hidden is read by no predictor.
    benchmark_of
        (N,) number of each item's benchmark, 0 … B − 1, each of which has an item.
    dims
        The numbers of dimensions to predict with.
    seed
        Of the fits' starts.
    """
    known_correct, known_trials = hide(correct, trials, split.hidden)
    chances = {
        name: mean[split.hidden] for name, mean in means(known_correct, known_trials, benchmark_of).items()
    }
    old = np.ix_(~split.new_models, ~split.new_items)
    # A benchmark whose items are all new has no number in the fit.
    there, group_of = np.unique(benchmark_of[~split.new_items], return_inverse=True)
    training = known_correct[old], known_trials[old], group_of
    fits = {ADDITIVE: fit_additive(*training)}
    fits |= {
        f"{count}-D": fit_mirt(*training, MirtSettings(dims=count, starts=STARTS, seed=seed))
        for count in dims
    }
    for name, fit in fits.items():
        abilities, items = fit.abilities, fit.items
        if split.new_models.any():
            new = np.ix_(split.new_models, ~split.new_items)
            scored = score_models(fit, known_correct[new], known_trials[new])
            abilities = _merged(fit.abilities, scored, split.new_models)
        if split.new_items.any():
            new = np.ix_(~split.new_models, split.new_items)
            fit, number_of = with_unseen_benchmarks(fit, there, int(benchmark_of.max()) + 1)
            scored = score_items(
                fit, known_correct[new], known_trials[new], number_of[benchmark_of[split.new_items]]
            )
            items = _merged(fit.items, scored, split.new_items)
        chances[name] = probability(abilities, items)[split.hidden]
    return Predictions(chances, tuple(name for name, fit in fits.items() if not fit.converged))


def means(correct: IntArray, trials: IntArray, benchmark_of: IntArray) -> dict[str, FloatArray]:
    """Return what the means of the known answers predict, (M, N) by name.

    Without more, a model with three right answers would be certain to give a fourth, and one surprise would make the
    log-loss infinite. So each mean takes c more answers at the mean of what it is a part of, c as ``leaning_answers``
    finds it: an item's and a model's in a benchmark lean on the benchmark's over all models, a model's and a
    benchmark's on that of all answers, and that takes two more at 1/2.
    """
    right, asked = correct.astype(float), trials.astype(float)
    benchmarks = int(benchmark_of.max()) + 1
    member = np.equal.outer(benchmark_of, np.arange(benchmarks)).astype(float)
    overall = np.array([(right.sum() + 1) / (asked.sum() + 2)])
    of_benchmark = _mean(right.sum(axis=0) @ member, asked.sum(axis=0) @ member, overall)
    of_model = _mean(right.sum(axis=1), asked.sum(axis=1), overall)
    of_model_there = _mean(right @ member, asked @ member, of_benchmark)
    of_item = _mean(right.sum(axis=0), asked.sum(axis=0), of_benchmark[benchmark_of])
    values = (overall, of_model[:, None], of_model_there[:, benchmark_of], of_item)
    return {name: np.broadcast_to(value, trials.shape) for name, value in zip(MEANS, values, strict=True)}


def _mean(right: FloatArray, asked: FloatArray, above: FloatArray) -> FloatArray:
    more = leaning_answers(right, asked, above)
    return (right + more * above) / (asked + more)


def leaning_answers(right: FloatArray, asked: FloatArray, above: FloatArray) -> float:
    """Return the c, of LEANING_ANSWERS, under which the counts are likeliest.

    The true means are taken to spread around those above as Beta(c·above, c·(1 − above)), so that ``right`` of
    ``asked`` (two arrays of one shape, ``above`` broadcast to it) is beta-binomial: means that differ little lean on
    much.
    """
    likelihood = [
        np.sum(
            betaln(right + c * above, asked - right + c * (1 - above)) - betaln(c * above, c * (1 - above))
        )
        for c in LEANING_ANSWERS
    ]
    return float(LEANING_ANSWERS[np.argmax(likelihood)])


def with_unseen_benchmarks(fit: MirtFit, there: IntArray, benchmarks: int) -> tuple[MirtFit, IntArray]:
    """Return the fit with one more prior, for benchmarks that it has not seen, and each benchmark's number in it, (B,).

    That prior is the mean of the others: their mean covariance plus that of their means. ``there`` (benchmarks of the
    fit,) has the numbers, among all ``benchmarks``, of those that the fit has seen.
    """
    number_of = np.full(benchmarks, len(there))
    number_of[there] = np.arange(len(there))
    mean = fit.prior.mean.mean(axis=0)
    apart = fit.prior.mean - mean
    covariance = fit.prior.covariance.mean(axis=0) + apart.T @ apart / len(apart)
    prior = Gaussian(
        np.vstack([fit.prior.mean, mean]), np.concatenate([fit.prior.covariance, covariance[None]])
    )
    return replace(fit, prior=prior), number_of


def _merged(old: Gaussian, new: Gaussian, is_new: BoolArray) -> Gaussian:
    """Return old and new ones in their common order, (L, p) and (L, p, p)."""
    mean = np.empty((len(is_new), old.mean.shape[1]))
    covariance = np.empty((len(is_new), *old.covariance.shape[1:]))
    mean[~is_new], mean[is_new] = old.mean, new.mean
    covariance[~is_new], covariance[is_new] = old.covariance, new.covariance
    return Gaussian(mean, covariance)
