"""Predictions of hidden answers: no leak, as good as the truth allows, and sensible where there is little to go by."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, xlog1py, xlogy

from irt.additive import fit_additive
from irt.arrays import FloatArray, IntArray
from irt.io import InputError
from irt.mirt import MirtSettings, fit_mirt, probability, score_items, score_models
from irt.prediction_protocols import Protocol, splits
from irt.predictors import (
    ADDITIVE,
    MEANS,
    leaning_answers,
    means,
    predict,
    predict_folds,
    predictor_names,
    with_unseen_benchmarks,
)


def simulate(
    models: int, items_of: list[int], dims: int, trials: int = 1, blanks: float = 0.0, seed: int = 0
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return correct, trials (M, N), benchmark_of (N,) and the true P(correct) (M, N)."""
    rng = np.random.default_rng(seed)
    benchmark_of = np.repeat(np.arange(len(items_of)), items_of)
    theta = rng.normal(size=(models, dims))
    direction = rng.normal(size=(len(items_of), dims)) + 0.7
    a = direction[benchmark_of] + 0.4 * rng.normal(size=(len(benchmark_of), dims))
    chance = expit(theta @ a.T + rng.normal(scale=1.2, size=len(benchmark_of)))
    asked = np.where(rng.random(chance.shape) < blanks, 0, trials)
    return rng.binomial(asked, chance), asked, benchmark_of, chance


def log_loss(correct: IntArray, trials: IntArray, chance: FloatArray) -> FloatArray:
    return np.asarray(-xlogy(correct, chance) - xlog1py(trials - correct, -chance))


def test_names_come_in_the_order_of_the_predictions() -> None:
    correct, trials, benchmark_of, _ = simulate(8, [6, 5], 1)
    split = next(splits(trials, "cells", 3, 1, 0))
    found = predict(correct, trials, benchmark_of, split, [1, 3], 0).probability
    assert tuple(found) == predictor_names([1, 3]) == (*MEANS, ADDITIVE, "1-D", "3-D")


@pytest.mark.parametrize("protocol", ["cells", "models", "items"])
def test_a_hidden_answer_never_influences_a_prediction(protocol: Protocol) -> None:
    correct, trials, benchmark_of, _ = simulate(25, [20, 1, 14], 2, trials=3, blanks=0.2)
    for split in splits(trials, protocol, 3, 6, 0):
        assert split.hidden.any()
        flipped = np.where(split.hidden, trials - correct, correct)
        one, other = (predict(c, trials, benchmark_of, split, [1, 2], 0) for c in (correct, flipped))
        for name, chance in one.probability.items():
            assert np.array_equal(chance, other.probability[name]), name


@pytest.mark.parametrize("protocol", ["models", "items"])
def test_new_ones_never_influence_the_fit_of_the_others(protocol: Protocol) -> None:
    """Two new models (or items): the known answers of one do not touch what the fits say of the other."""
    correct, trials, benchmark_of, _ = simulate(20, [15, 12], 2)
    split = next(splits(trials, protocol, 4, 6, 0))
    new = np.flatnonzero(split.new_models if protocol == "models" else split.new_items)
    changed = correct.copy()
    if protocol == "models":
        changed[new[0]] = trials[new[0]] - changed[new[0]]
        others = np.nonzero(split.hidden)[0] != new[0]
    else:
        changed[:, new[0]] = trials[:, new[0]] - changed[:, new[0]]
        others = np.nonzero(split.hidden)[1] != new[0]
    one, other = (predict(c, trials, benchmark_of, split, [2], 0).probability for c in (correct, changed))
    for name in (ADDITIVE, "2-D"):
        # Scoring iterates until the slowest has settled, so the others may take an iteration more or fewer.
        assert np.allclose(one[name][others], other[name][others], atol=1e-5), name
        assert np.abs(one[name][~others] - other[name][~others]).max() > 0.01


def test_log_loss_of_the_right_dimensions_is_near_that_of_the_truth() -> None:
    correct, trials, benchmark_of, chance = simulate(150, [120, 120, 120], 2, seed=3)
    loss = {}
    for protocol, known in (("cells", 1), ("models", 40), ("items", 75)):
        split = next(splits(trials, protocol, 5, known, 0))  # type: ignore[arg-type]
        hidden = correct[split.hidden], trials[split.hidden]
        found = predict(correct, trials, benchmark_of, split, [1, 2], 0).probability
        loss = {name: log_loss(*hidden, p).mean() for name, p in found.items()}
        truth = log_loss(*hidden, chance[split.hidden]).mean()
        assert loss["2-D"] < truth + {"cells": 0.02, "models": 0.045, "items": 0.045}[protocol], protocol
        assert loss["2-D"] < loss["1-D"] < loss["benchmark mean"]
        assert loss["2-D"] < loss[ADDITIVE] - 0.03


def test_nothing_beats_the_truth_where_one_ability_made_the_answers() -> None:
    correct, trials, benchmark_of, chance = simulate(60, [150, 100], 1, trials=2, seed=4)
    done: list[int] = []
    cells, unconverged = predict_folds(
        correct,
        trials,
        benchmark_of,
        protocol="cells",
        folds=4,
        known=1,
        dims=[1, 2],
        seed=0,
        report=done.append,
    )
    assert done == [1, 2, 3, 4] and unconverged == []
    assert cells.trials.sum() == trials.sum() and cells.correct.sum() == correct.sum()
    # Every answer once, row by row within a fold: the truth of the same cells, found by its fold's order.
    where = np.concatenate([np.argwhere(s.hidden) for s in splits(trials, "cells", 4, 1, 0)])
    assert np.array_equal(where[:, 0], cells.model)
    assert np.array_equal(benchmark_of[where[:, 1]], cells.benchmark)
    truth = log_loss(cells.correct, cells.trials, chance[where[:, 0], where[:, 1]])
    for name, p in cells.probability.items():
        apart = log_loss(cells.correct, cells.trials, p) - truth
        assert apart.mean() > -2 * apart.std() / np.sqrt(len(apart)), name
        if name in ("1-D", "2-D"):
            assert apart.sum() / cells.trials.sum() < 0.02, name


def test_means_by_hand() -> None:
    correct = np.array([[2, 0, 1], [1, 0, 0]])
    trials = np.array([[2, 1, 2], [1, 1, 0]])
    found = means(correct, trials, np.array([0, 0, 1]))
    overall = (4 + 1) / (7 + 2)

    def mean(right: list[float], asked: list[float], above: FloatArray) -> FloatArray:
        more = leaning_answers(np.array(right), np.array(asked), above)
        return np.array([(k + more * p) / (n + more) for k, n, p in zip(right, asked, above, strict=True)])

    assert found["global mean"] == pytest.approx(np.full((2, 3), overall))
    model = mean([3, 1], [5, 2], np.full(2, overall))
    assert found["model mean"] == pytest.approx(np.repeat(model[:, None], 3, axis=1))
    first, second = mean([3, 1], [5, 2], np.full(2, overall))
    there = mean([2, 1, 1, 0], [3, 2, 2, 0], np.array([first, first, second, second]))
    assert found["benchmark mean"] == pytest.approx(
        np.array([[there[0], there[0], there[2]], [there[1], there[1], there[3]]])
    )
    item = mean([3, 0, 1], [3, 2, 2], np.array([first, first, second]))
    assert found["item mean"] == pytest.approx(np.array([item, item]))


@pytest.mark.parametrize("spread_of", [2.0, 32.0])
def test_means_lean_as_much_as_the_true_ones_agree(spread_of: float) -> None:
    rng = np.random.default_rng(1)
    above = np.repeat([0.3, 0.8], 400)
    truth = rng.beta(spread_of * above, spread_of * (1 - above))
    asked = rng.integers(0, 30, 800)
    right = rng.binomial(asked, truth)
    assert leaning_answers(right.astype(float), asked.astype(float), above) == spread_of
    # Of means that are all the same, every one takes the place of the other.
    same = rng.binomial(asked, above).astype(float)
    assert leaning_answers(same, asked.astype(float), above) >= 512


def test_additive_fit_is_the_penalised_maximum_and_finds_the_spread_of_ability() -> None:
    """Against SciPy's L-BFGS on the same penalty: with few answers lost to uncertainty the two must agree."""
    rng = np.random.default_rng(7)
    theta, d = 1.7 * rng.normal(size=80), rng.normal(size=60) + 0.5
    correct = rng.binomial(5, expit(theta[:, None] + d))
    trials = np.full(correct.shape, 5)
    fit = fit_additive(correct, trials, np.zeros(60, dtype=int))
    assert fit.converged and np.all(np.abs(fit.a - 1) < 1e-4)
    assert fit.ability_covariance[0, 0] ** 0.5 == pytest.approx(theta.std(), rel=0.1)
    variance, mean, spread = fit.ability_covariance[0, 0], fit.prior.mean[0, 1], fit.prior.covariance[0, 1, 1]

    def minus_log_posterior(x: FloatArray) -> tuple[float, FloatArray]:
        t, e = x[:80], x[80:]
        z = t[:, None] + e
        value = (trials * np.logaddexp(0, z) - correct * z).sum()
        value += (t**2).sum() / variance / 2 + ((e - mean) ** 2).sum() / spread / 2
        slope = trials * expit(z) - correct
        return value, np.concatenate(
            [slope.sum(axis=1) + t / variance, slope.sum(axis=0) + (e - mean) / spread]
        )

    best = minimize(
        minus_log_posterior, np.zeros(140), jac=True, method="L-BFGS-B", options={"maxiter": 2000}
    ).x
    assert np.abs(fit.theta[:, 0] - best[:80]).max() < 0.06
    assert np.abs(fit.d - best[80:]).max() < 0.06
    assert np.abs(fit.probability() - expit(best[:80, None] + best[80:])).max() < 0.01


def test_additive_evidence_bound_rises() -> None:
    correct, trials, benchmark_of, _ = simulate(30, [20, 1, 9], 1, blanks=0.3)
    elbo = fit_additive(correct, trials, benchmark_of).elbo
    assert len(elbo) > 5 and np.all(np.diff(elbo) > -1e-6 * trials.sum())


@pytest.mark.parametrize("protocol", ["cells", "models", "items"])
def test_little_to_go_by(protocol: Protocol) -> None:
    """One-item benchmarks, items that all get right, models of three answers and of none, more items than models."""
    correct, trials, benchmark_of, _ = simulate(12, [1, 30, 1, 9], 2, blanks=0.1, seed=8)
    correct[:, 5:9] = trials[:, 5:9]
    correct[:, 9:12] = 0
    trials[2, 3:] = correct[2, 3:] = 0
    trials[3] = correct[3] = 0
    cells, _ = predict_folds(
        correct, trials, benchmark_of, protocol=protocol, folds=4, known=2, dims=[1, 2], seed=0,
        report=lambda done: None,
    )  # fmt: skip
    assert set(cells.benchmark) == {0, 1, 2, 3}
    for name, chance in cells.probability.items():
        assert np.all((chance > 0) & (chance < 1)), name


def test_an_item_of_an_unseen_benchmark_leans_on_what_the_others_are_like() -> None:
    """Its only item being held out, the fit has no prior of its own for it, but one as wide as they differ."""
    correct, trials, benchmark_of, _ = simulate(40, [30, 1, 30], 1, seed=2)
    split = next(s for s in splits(trials, "items", 6, 10, 0) if s.new_items[30])
    found = predict(correct, trials, benchmark_of, split, [1], 0).probability
    known = np.where(split.hidden[:, 30], 0, trials[:, 30])
    share = correct[:, 30] @ known / known.sum()
    for name in (ADDITIVE, "1-D"):
        alone = found[name][np.nonzero(split.hidden)[1] == 30]
        assert abs(alone.mean() - share) < 0.25, name

    seen = benchmark_of != 1
    correct[:, 31:] |= np.random.default_rng(1).binomial(1, 0.7, (40, 30))  # the second is far easier
    fit = fit_additive(correct[:, seen], trials[:, seen], np.repeat([0, 1], 30))
    wider, number_of = with_unseen_benchmarks(fit, np.array([0, 2]), 3)
    assert number_of.tolist() == [0, 2, 1]
    rng = np.random.default_rng(0)
    drawn = np.concatenate(
        [
            rng.multivariate_normal(mean, covariance, 200_000)
            for mean, covariance in zip(fit.prior.mean, fit.prior.covariance, strict=True)
        ]
    )
    assert wider.prior.mean[2] == pytest.approx(drawn.mean(axis=0), abs=0.02)
    assert wider.prior.covariance[2] == pytest.approx(np.cov(drawn.T), rel=0.02, abs=0.001)
    assert np.ptp(fit.prior.mean[:, 1]) > 1  # else the last line says nothing of how they differ


def test_predictions_are_those_of_the_fit_itself_where_nothing_is_new() -> None:
    correct, trials, benchmark_of, _ = simulate(20, [25], 1)
    split = next(splits(trials, "cells", 5, 1, 0))
    known_correct, known_trials = (np.where(split.hidden, 0, counts) for counts in (correct, trials))
    fit = fit_additive(known_correct, known_trials, benchmark_of)
    found = predict(correct, trials, benchmark_of, split, [1], 0).probability[ADDITIVE]
    assert np.array_equal(found, probability(fit.abilities, fit.items)[split.hidden])


def test_fits_that_had_not_converged_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    correct, trials, benchmark_of, _ = simulate(20, [8, 8], 1, trials=1, seed=0)
    monkeypatch.setattr("irt.predictors.MirtSettings", partial(MirtSettings, max_iterations=1))
    _, unconverged = predict_folds(
        correct, trials, benchmark_of, protocol="cells", folds=2, known=1, dims=[1, 2], seed=0, report=lambda done: None
    )  # fmt: skip
    assert unconverged == ["1-D of fold 1", "2-D of fold 1", "1-D of fold 2", "2-D of fold 2"]


def test_a_fold_whose_models_are_the_only_link_is_refused_before_any_fit() -> None:
    """Ten models by one benchmark, ten by the other, and one by both: without it nothing relates their abilities."""
    correct, trials, benchmark_of, _ = simulate(21, [12, 12], 1)
    trials[:10, 12:] = correct[:10, 12:] = 0
    trials[11:, :12] = correct[11:, :12] = 0
    done: list[int] = []
    arguments = {"folds": 3, "known": 4, "dims": [1], "seed": 0, "report": done.append}
    bridge = next(
        fold for fold, split in enumerate(splits(trials, "models", 3, 4, 0)) if split.new_models[10]
    )
    with pytest.raises(
        InputError, match=f"^without the models of fold {bridge + 1} the models fall into 2 groups"
    ):
        predict_folds(correct, trials, benchmark_of, protocol="models", **arguments)  # type: ignore[arg-type]
    assert not done
    # Some of its answers are seen in every fold of the cells.
    predict_folds(correct, trials, benchmark_of, protocol="cells", **arguments)  # type: ignore[arg-type]
    assert done == [1, 2, 3]


@pytest.mark.parametrize("protocol", ["models", "items"])
def test_predictions_of_new_ones_are_those_of_their_own_posteriors(protocol: Protocol) -> None:
    """Means and widths, placed by their known answers on what was fitted without them."""
    correct, trials, benchmark_of, _ = simulate(16, [14, 9], 1, blanks=0.1, seed=3)
    for split in splits(trials, protocol, 3, 5, 0):
        seen, seen_trials = (np.where(split.hidden, 0, counts) for counts in (correct, trials))
        old = np.ix_(~split.new_models, ~split.new_items)
        fit = fit_mirt(
            seen[old], seen_trials[old], benchmark_of[~split.new_items], MirtSettings(dims=1, starts=1)
        )
        if protocol == "models":
            new = score_models(fit, seen[split.new_models], seen_trials[split.new_models])
            expected = probability(new, fit.items)[split.hidden[split.new_models]]
        else:
            columns = split.new_items
            new = score_items(fit, seen[:, columns], seen_trials[:, columns], benchmark_of[columns])
            expected = probability(fit.abilities, new)[split.hidden[:, columns]]
        found = predict(correct, trials, benchmark_of, split, [1], 0).probability["1-D"]
        np.testing.assert_allclose(found, expected, atol=1e-12)
