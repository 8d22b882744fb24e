"""How good predictions are: accuracy, log-loss, Brier score, AUC and calibration error, with intervals over models.

An answer is one trial: a cell of k right answers in n trials counts as n answers with one prediction. Lower is better,
but for accuracy and AUC.

H cells, M models, R resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlog1py, xlogy

from irt.arrays import FloatArray, IntArray
from irt.intervals import Figure, figure, resampled_counts

METRICS = ("accuracy", "log-loss", "Brier", "AUC", "calibration error")

CALIBRATION_BINS = 10
# Predictions with more distinct values than this are put into as many bins of equal count, ties within a bin counting
# one half: the AUC moves by less than 1e-4, and a resample costs a sum over bins and not a sort of all cells.
AUC_BINS = 500


@dataclass(frozen=True)
class PredictedCells:
    """Cells and what was predicted of them.

    Attributes
    ----------
    model, benchmark
        (H,) numbers.
    correct, trials
        (H,) counts, trials ≥ 1.
    probability
        (H,) P(correct) by predictor.
    """

    model: IntArray
    benchmark: IntArray
    correct: IntArray
    trials: IntArray
    probability: Mapping[str, FloatArray]


@dataclass(frozen=True, kw_only=True)
class Score(Figure):
    """A figure with its 95 % interval over models; NaN where it is not defined.

    The AUC of answers that are all right or all wrong is not, nor are the limits of fewer than two models. The
    calibration error of a few models is rarely as small as that of all, so its own limits may both lie above it.

    Attributes
    ----------
    predictor
        Whose score it is.
    baseline
        The predictor whose score on the same cells was subtracted, "" where none was.
    average, benchmark
        "micro": every answer counts once. "macro": every benchmark does. "benchmark": of one, named in ``benchmark``.
    metric
        One of METRICS.
    """

    predictor: str
    baseline: str
    average: str
    benchmark: str
    metric: str


def score_predictions(
    cells: PredictedCells, benchmarks: Sequence[str], baselines: Sequence[str], seed: int
) -> list[Score]:
    """Return the scores of every predictor, and their differences to those of the baselines.

    Models are resampled with replacement, and every predictor is scored on the same resamples. The items are as they
    are: how much other items would differ is not in the intervals, which matters most of new ones. Benchmarks without
    cells are left out; a macro average is over those where the metric is defined.
    """
    present, model = np.unique(cells.model, return_inverse=True)
    counts = resampled_counts(len(present), seed) if len(present) > 1 else np.zeros((0, 1))
    # The first row is the data themselves.
    weights = np.vstack([np.ones(len(present)), counts])
    named = [number for number in range(len(benchmarks)) if np.any(cells.benchmark == number)]
    averages = [("micro", ""), ("macro", ""), *(("benchmark", benchmarks[number]) for number in named)]
    figures: dict[str, list[FloatArray]] = {}
    for name, chance in cells.probability.items():
        everywhere = _figures(model, cells.correct, cells.trials, chance, weights)
        each = np.stack(
            [
                _figures(model[there], cells.correct[there], cells.trials[there], chance[there], weights)
                for there in (cells.benchmark == number for number in named)
            ]
        )
        figures[name] = [everywhere, _macro(each), *each]
    scores = []
    for name, own in figures.items():
        for (average, benchmark), values in zip(averages, own, strict=True):
            scores += _scores(name, "", average, benchmark, values)
    for baseline in baselines:
        for name, own in figures.items():
            if name == baseline:
                continue
            for at, (average, benchmark) in enumerate(averages):
                scores += _scores(name, baseline, average, benchmark, own[at] - figures[baseline][at])
    return scores


def _figures(
    model: IntArray, correct: IntArray, trials: IntArray, chance: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the metrics, (1 + R, 5), with the models' answers counted by each row of the weights, (1 + R, M)."""
    wrong = trials - correct
    models = weights.shape[1]

    def by_model(values: FloatArray | IntArray, bins: IntArray | int = 0, count: int = 1) -> FloatArray:
        sums = np.bincount(model * count + bins, values, models * count)
        return weights @ sums.reshape(models, count)

    answers = by_model(trials)
    right = by_model(np.where(chance >= 0.5, correct, wrong))
    surprise = by_model(-xlogy(correct, chance) - xlog1py(wrong, -chance))
    square = by_model(correct * (1 - chance) ** 2 + wrong * chance**2)
    bins = np.minimum((chance * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    excess = by_model(correct - trials * chance, bins, CALIBRATION_BINS)
    place, places = _places(chance)
    positives, negatives = by_model(correct, place, places), by_model(wrong, place, places)
    below = np.cumsum(negatives, axis=1) - negatives / 2
    # A resample may have none of the models that were asked, or only right answers.
    with np.errstate(invalid="ignore"):
        area = (positives * below).sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1))
        per_answer = np.hstack([right, surprise, square, np.abs(excess).sum(axis=1, keepdims=True)]) / answers
    return np.column_stack([per_answer[:, :3], area, per_answer[:, 3]])


def _places(chance: FloatArray) -> tuple[IntArray, int]:
    """Return the cells' places when ordered by prediction, and how many places there are; equal ones share one."""
    values, place = np.unique(chance, return_inverse=True)
    if len(values) <= AUC_BINS:
        return place, len(values)
    edges = np.unique(np.quantile(chance, np.arange(1, AUC_BINS) / AUC_BINS))
    return np.searchsorted(edges, chance, side="right"), len(edges) + 1


def _macro(each: FloatArray) -> FloatArray:
    """Return the mean over the benchmarks where the data define a metric, (1 + R, 5), from (B, 1 + R, 5)."""
    defined = ~np.isnan(each[:, :1])
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.where(defined, each, 0).sum(axis=0) / defined.sum(axis=0)
    return mean


def _scores(predictor: str, baseline: str, average: str, benchmark: str, figures: FloatArray) -> list[Score]:
    """Return a score of each metric from (1 + R, 5) figures, the first row those of the data."""
    scores = []
    for metric, column in zip(METRICS, figures.T, strict=True):
        # One model has no resamples, but a figure.
        found = figure(column[0], column[1:]) if len(column) > 1 else Figure(float(column[0]), np.nan, np.nan)
        scores.append(
            Score(
                **vars(found),
                predictor=predictor,
                baseline=baseline,
                average=average,
                benchmark=benchmark,
                metric=metric,
            )
        )
    return scores
