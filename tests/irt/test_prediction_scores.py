"""Scores against a count of every single answer, and intervals against what is known of their width."""

from __future__ import annotations

import math

import numpy as np
import pytest

from irt.arrays import FloatArray, IntArray
from irt.prediction_scores import METRICS, PredictedCells, Score, score_predictions


def make_cells(models: int, items: int, seed: int, trials: int = 3, digits: int = 2) -> PredictedCells:
    """Return cells of two benchmarks and two predictors, the second the worse; rounded, so that predictions tie."""
    rng = np.random.default_rng(seed)
    model, item = np.divmod(np.arange(models * items), items)
    logit = rng.normal(size=models)[model] + rng.normal(size=items)[item]
    truth = 1 / (1 + np.exp(-logit))
    asked = rng.integers(1, trials + 1, len(model))
    good = np.clip(truth, 0.01, 0.99).round(digits)
    bad = np.clip(truth + rng.normal(scale=0.15, size=len(model)), 0.01, 0.99).round(digits)
    return PredictedCells(
        model, (item >= items // 2).astype(int), rng.binomial(asked, truth), asked, {"good": good, "bad": bad}
    )


def by_hand(correct: IntArray, trials: IntArray, chance: FloatArray) -> dict[str, float]:
    """Return the metrics from a list of single answers."""
    answers = [
        (y, float(p))
        for k, n, p in zip(correct, trials, chance, strict=True)
        for y in [1] * int(k) + [0] * int(n - k)
    ]
    count = len(answers)
    right, wrong = [p for y, p in answers if y], [p for y, p in answers if not y]
    pairs = sum((p > q) + 0.5 * (p == q) for p in right for q in wrong)
    bins: dict[int, list[float]] = {}
    for y, p in answers:
        bins.setdefault(min(int(p * 10), 9), []).append(y - p)
    return {
        "accuracy": sum((p >= 0.5) == bool(y) for y, p in answers) / count,
        "log-loss": -sum(math.log(p if y else 1 - p) for y, p in answers) / count,
        "Brier": sum((y - p) ** 2 for y, p in answers) / count,
        "AUC": pairs / (len(right) * len(wrong)) if right and wrong else math.nan,
        "calibration error": sum(abs(sum(gaps)) for gaps in bins.values()) / count,
    }


def found(scores: list[Score]) -> dict[tuple[str, ...], Score]:
    return {(s.predictor, s.baseline, s.average, s.benchmark, s.metric): s for s in scores}


def test_figures_are_those_of_single_answers() -> None:
    cells = make_cells(7, 20, seed=0)
    scores = found(score_predictions(cells, ["x", "y"], ["bad"], 0))
    for name, chance in cells.probability.items():
        micro = by_hand(cells.correct, cells.trials, chance)
        each = []
        for number, benchmark in enumerate(["x", "y"]):
            there = cells.benchmark == number
            each.append(by_hand(cells.correct[there], cells.trials[there], chance[there]))
            for metric in METRICS:
                value = scores[name, "", "benchmark", benchmark, metric].value
                assert value == pytest.approx(each[-1][metric], abs=1e-12)
        for metric in METRICS:
            assert scores[name, "", "micro", "", metric].value == pytest.approx(micro[metric], abs=1e-12)
            macro = (each[0][metric] + each[1][metric]) / 2
            assert scores[name, "", "macro", "", metric].value == pytest.approx(macro, abs=1e-12)
    for average in ("micro", "macro"):
        for metric in METRICS:
            good, bad = (scores[name, "", average, "", metric].value for name in ("good", "bad"))
            assert scores["good", "bad", average, "", metric].value == pytest.approx(good - bad, abs=1e-12)
    assert ("bad", "bad", "micro", "", "AUC") not in scores


def test_auc_of_many_distinct_predictions_is_within_its_promise() -> None:
    cells = make_cells(60, 200, seed=1, trials=1, digits=12)
    scores = found(score_predictions(cells, ["x", "y"], [], 0))
    for name, chance in cells.probability.items():
        assert len(np.unique(chance)) > 5000
        rank = np.empty(len(chance))
        rank[np.argsort(chance)] = np.arange(1, len(chance) + 1)
        right = cells.correct == 1
        exact = (rank[right].sum() - right.sum() * (right.sum() + 1) / 2) / (right.sum() * (~right).sum())
        assert scores[name, "", "micro", "", "AUC"].value == pytest.approx(exact, abs=1e-4)


def test_interval_is_that_of_models_drawn_anew() -> None:
    """Models differ and their answers come in lumps, so the interval is far wider than one over answers."""
    cells = make_cells(50, 80, seed=2, trials=1)
    scores = found(score_predictions(cells, ["x", "y"], ["bad"], 0))
    good, bad = ((c >= 0.5) == cells.correct for c in cells.probability.values())
    own = np.array([good[cells.model == m].mean() for m in range(50)])
    accuracy = scores["good", "", "micro", "", "accuracy"]
    assert accuracy.low < accuracy.value < accuracy.high
    assert accuracy.high - accuracy.low == pytest.approx(2 * 1.96 * own.std() / 50**0.5, rel=0.1)
    apart = np.array([(good * 1.0 - bad)[cells.model == m].mean() for m in range(50)])
    difference = scores["good", "bad", "micro", "", "accuracy"]
    assert difference.high - difference.low == pytest.approx(2 * 1.96 * apart.std() / 50**0.5, rel=0.1)
    # Both are good or bad on the same models: unpaired, the difference would seem far less certain.
    assert difference.high - difference.low < 0.7 * (accuracy.high - accuracy.low)


def test_auc_of_equal_answers_is_nan_and_left_out_of_the_macro_average() -> None:
    cells = make_cells(6, 10, seed=3)
    correct = np.where(cells.benchmark == 1, cells.trials, cells.correct)
    cells = PredictedCells(cells.model, cells.benchmark, correct, cells.trials, cells.probability)
    scores = found(score_predictions(cells, ["x", "y"], ["bad"], 0))
    for key in (("good", ""), ("good", "bad")):
        empty = scores[*key, "benchmark", "y", "AUC"]
        assert all(map(math.isnan, (empty.value, empty.low, empty.high)))
        assert scores[*key, "macro", "", "AUC"].value == scores[*key, "benchmark", "x", "AUC"].value
        assert not math.isnan(scores[*key, "benchmark", "y", "accuracy"].value)


def test_benchmarks_without_cells_are_left_out() -> None:
    cells = make_cells(6, 10, seed=4)
    moved = PredictedCells(cells.model, cells.benchmark * 2, cells.correct, cells.trials, cells.probability)
    scores = score_predictions(moved, ["x", "none", "y"], [], 0)
    assert {score.benchmark for score in scores} == {"", "x", "y"}
    assert scores[:10] == score_predictions(cells, ["x", "y"], [], 0)[:10]


def test_one_model_has_no_interval() -> None:
    cells = make_cells(1, 40, seed=5)
    for score in score_predictions(cells, ["x", "y"], [], 0):
        assert not math.isnan(score.value) and math.isnan(score.low) and math.isnan(score.high)


def test_the_seed_alone_decides() -> None:
    cells = make_cells(9, 12, seed=6)
    once, again, other = (score_predictions(cells, ["x", "y"], ["bad"], seed) for seed in (0, 0, 1))
    assert once == again != other


def test_a_resample_without_a_benchmarks_metric_has_no_macro_average() -> None:
    """The one wrong answer of "y" is one model's. Taken over "x" alone, a resample without it would be about another.

    The AUC is 1 in "x" and 0 in "y" wherever it is defined, so all that average over both have 0.5.
    """
    model = np.repeat(np.arange(10), 4)
    benchmark = np.tile([0, 0, 1, 1], 10)
    correct = np.tile([1, 0, 1, 1], 10)
    correct[3] = 0
    chance = np.tile([0.9, 0.1, 0.2, 0.2], 10)
    chance[3] = 0.8
    cells = PredictedCells(model, benchmark, correct, np.ones_like(correct), {"p": chance})
    scores = found(score_predictions(cells, ["x", "y"], [], 0))
    macro = scores["p", "", "macro", "", "AUC"]
    assert (macro.value, macro.low, macro.high) == (0.5, 0.5, 0.5)
