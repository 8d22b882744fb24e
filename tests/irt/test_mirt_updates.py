"""The closed-form updates against the same sums written out cell by cell, and against numerical derivatives."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from irt.arrays import FloatArray, IntArray
from irt.mirt_updates import (
    MEAN_SD_INTERCEPT,
    MEAN_SD_LOADING,
    PRIOR_ITEMS,
    PRIOR_SD_INTERCEPT,
    PRIOR_SD_LOADING,
    Answers,
    Gaussian,
    answers_of,
    better_scaled,
    divergences,
    expected_weights,
    item_products,
    log_two_cosh,
    products,
    restandardise,
    symmetric,
    transformed,
    update_abilities,
    update_items,
    update_prior,
    with_one,
)

MODELS, ITEMS, DIMS = 7, 11, 2
BENCHMARK_OF = np.array([0, 1, 1, 0, 2, 1, 0, 0, 1, 1, 0])


def gaussians(count: int, size: int, seed: int, spread: float = 0.4) -> Gaussian:
    """Means around 0.3 and correlated covariances, each another."""
    rng = np.random.default_rng(seed)
    root = spread * (np.eye(size) + 0.4 * rng.normal(size=(count, size, size)))
    return Gaussian(rng.normal(0.3, 0.8, (count, size)), root @ root.transpose(0, 2, 1))


def state() -> tuple[Answers, Gaussian, Gaussian, Gaussian]:
    """Counts with blanks, abilities, items and the priors of three benchmarks, one of them of one item.

    The first item's logits are next to zero.
    """
    rng = np.random.default_rng(0)
    trials = rng.integers(0, 5, (MODELS, ITEMS))
    answers = answers_of(rng.binomial(trials, 0.6), trials)
    items = gaussians(ITEMS, DIMS + 1, 2)
    items.mean[0] *= 1e-3
    items.covariance[0] *= 1e-6
    return answers, gaussians(MODELS, DIMS, 1), items, gaussians(3, DIMS + 1, 3, spread=0.9)


def second_moment(row: Gaussian, at: int) -> FloatArray:
    return np.asarray(row.covariance[at] + np.outer(row.mean[at], row.mean[at]))


def weight(x: Gaussian, items: Gaussian, i: int, j: int, trials: float) -> tuple[float, float]:
    """Return w and c of one cell, E[z²] being Σ E[x_k x_l] E[β_k β_l]."""
    square = np.sum(second_moment(x, i) * second_moment(items, j))
    return trials * np.tanh(np.sqrt(square) / 2) / (2 * np.sqrt(square)), np.sqrt(square)


def test_cells_and_moments() -> None:
    answers = answers_of(np.array([[3, 0]]), np.array([[4, 0]]))
    assert answers.kappa.tolist() == [[1, 0]] and answers.trials.tolist() == [[4, 0]]
    _, abilities, items, _ = state()
    x = with_one(abilities)
    assert x.mean[:, DIMS].tolist() == [1] * MODELS and not x.covariance[:, DIMS].any()
    np.testing.assert_array_equal(x.covariance[:, :DIMS, :DIMS], abilities.covariance)
    np.testing.assert_array_equal(
        symmetric(products(items.covariance), DIMS + 1),
        (items.covariance + items.covariance.swapaxes(1, 2)) / 2,
    )
    square = products(x.second_moment()) @ item_products(items).T
    for i, j in product(range(MODELS), range(ITEMS)):
        assert square[i, j] == pytest.approx(np.sum(second_moment(x, i) * second_moment(items, j)))


def test_weights_near_zero_and_far_away() -> None:
    np.testing.assert_allclose(expected_weights(np.array([1e-5, 300.0]), np.array([8.0, 8.0])), [2, 8 / 1200])
    np.testing.assert_allclose(log_two_cosh(np.array([0.5, 400.0])), [np.log(2 * np.cosh(0.5)), 400])


@pytest.mark.parametrize("block_cells", [1, 21, 100_000])
def test_updates_are_the_weighted_least_squares_of_every_cell(
    block_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the items are worked on in several blocks, the last of them not full."""
    monkeypatch.setattr("irt.mirt_updates.BLOCK_CELLS", block_cells)
    answers, abilities, items, prior = state()
    x = with_one(abilities)
    own_precision = np.array([[2.0, 0.5], [0.5, 1.0]])
    found, bound = update_abilities(answers, items, abilities, own_precision)
    expected_bound = 0.0
    for i in range(MODELS):
        precision, linear = own_precision.copy(), np.zeros(DIMS)
        for j in range(ITEMS):
            w, c = weight(x, items, i, j, answers.trials[i, j])
            second = second_moment(items, j)
            precision += w * second[:DIMS, :DIMS]
            linear += answers.kappa[i, j] * items.mean[j, :DIMS] - w * second[:DIMS, DIMS]
            expected_bound += answers.kappa[i, j] * (x.mean[i] @ items.mean[j])
            expected_bound -= answers.trials[i, j] * np.log(2 * np.cosh(c / 2))
        np.testing.assert_allclose(found.covariance[i], np.linalg.inv(precision))
        np.testing.assert_allclose(found.mean[i], np.linalg.solve(precision, linear))
    assert bound == pytest.approx(expected_bound)

    of_items = update_items(answers, items, abilities, prior, BENCHMARK_OF)
    for j, number in enumerate(BENCHMARK_OF):
        precision = np.linalg.inv(prior.covariance[number])
        linear = precision @ prior.mean[number]
        for i in range(MODELS):
            precision = precision + weight(x, items, i, j, answers.trials[i, j])[0] * second_moment(x, i)
            linear = linear + answers.kappa[i, j] * x.mean[i]
        np.testing.assert_allclose(of_items.covariance[j], np.linalg.inv(precision))
        np.testing.assert_allclose(of_items.mean[j], np.linalg.solve(precision, linear))


def divergence(
    q_mean: FloatArray, q_covariance: FloatArray, mean: FloatArray, covariance: FloatArray
) -> float:
    """Return KL(Normal(q) ‖ Normal(mean, covariance)) as textbooks have it."""
    precision, away = np.linalg.inv(covariance), mean - q_mean
    log_ratio = np.log(np.linalg.det(covariance) / np.linalg.det(q_covariance))
    return float(np.trace(precision @ q_covariance) + away @ precision @ away - len(mean) + log_ratio) / 2


def expected_divergences(
    abilities: Gaussian, items: Gaussian, prior: Gaussian, benchmark_of: IntArray
) -> float:
    loss = sum(
        divergence(*row, np.zeros(DIMS), np.eye(DIMS))
        for row in zip(abilities.mean, abilities.covariance, strict=True)
    )
    for j, number in enumerate(benchmark_of):
        loss += divergence(items.mean[j], items.covariance[j], prior.mean[number], prior.covariance[number])
    weak = np.array([PRIOR_SD_LOADING] * DIMS + [PRIOR_SD_INTERCEPT]) ** 2
    widest = np.array([MEAN_SD_LOADING] * DIMS + [MEAN_SD_INTERCEPT])
    for mean, covariance in zip(prior.mean, prior.covariance, strict=True):
        loss += np.sum((mean / widest) ** 2) / 2
        loss += PRIOR_ITEMS / 2 * np.sum(weak * np.diag(np.linalg.inv(covariance)))
        loss += PRIOR_ITEMS / 2 * np.log(np.linalg.det(covariance))
    return float(loss)


def test_divergences_are_the_textbook_ones_and_the_weak_prior() -> None:
    _, abilities, items, prior = state()
    found = divergences(abilities, items, prior, BENCHMARK_OF)
    assert found == pytest.approx(expected_divergences(abilities, items, prior, BENCHMARK_OF))


def test_a_learned_prior_is_where_the_divergence_is_smallest() -> None:
    """By numerical derivatives: the mean at the covariance that was, the covariance at the new mean."""
    _, abilities, items, before = state()
    found = update_prior(items, before, BENCHMARK_OF)

    def slope(
        mean: FloatArray, covariance: FloatArray, by_mean: FloatArray, by_covariance: FloatArray
    ) -> float:
        up, down = (
            divergences(
                abilities,
                items,
                Gaussian(mean + sign * by_mean, covariance + sign * by_covariance),
                BENCHMARK_OF,
            )
            for sign in (1, -1)
        )
        return (up - down) / 2

    nothing, step = (np.zeros_like(found.mean), np.zeros_like(found.covariance)), 1e-5
    for b, k in product(range(3), range(DIMS + 1)):
        by_mean = nothing[0].copy()
        by_mean[b, k] = step
        assert abs(slope(found.mean, before.covariance, by_mean, nothing[1])) < 1e-6 * step
        for m in range(k + 1):
            by_covariance = nothing[1].copy()
            by_covariance[b, k, m] = by_covariance[b, m, k] = step
            assert abs(slope(found.mean, found.covariance, nothing[0], by_covariance)) < 1e-6 * step


def test_standard_abilities_change_no_logit_and_no_distance_from_the_prior() -> None:
    _, abilities, items, prior = state()
    moved, moved_items, moved_prior = restandardise(abilities, items, prior)
    np.testing.assert_allclose(moved.mean.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(moved.second_moment().mean(axis=0), np.eye(DIMS), atol=1e-12)

    def logits(x: Gaussian, of_items: Gaussian) -> tuple[FloatArray, FloatArray]:
        x = with_one(x)
        return x.mean @ of_items.mean.T, products(x.second_moment()) @ item_products(of_items).T

    def distances(of_items: Gaussian, of_prior: Gaussian) -> list[float]:
        return [
            divergence(of_items.mean[j], of_items.covariance[j], of_prior.mean[b], of_prior.covariance[b])
            for j, b in enumerate(BENCHMARK_OF)
        ]

    for after, before in zip(logits(moved, moved_items), logits(abilities, items), strict=True):
        np.testing.assert_allclose(after, before)
    np.testing.assert_allclose(distances(moved_items, moved_prior), distances(items, prior))


def test_the_scale_is_kept_that_has_the_smaller_divergence() -> None:
    """Abilities somewhat wider than standard leave smaller loadings, as the weak prior would have them."""
    _, abilities, items, _ = state()
    prior = update_prior(items, gaussians(3, DIMS + 1, 3), BENCHMARK_OF)
    off = abilities, items, prior
    standard = restandardise(*off)
    shrink = np.diag([1 / 1.05] * DIMS + [1.0])
    wider = (
        transformed(standard[0], 1.05 * np.eye(DIMS)),
        transformed(standard[1], shrink),
        transformed(standard[2], shrink),
    )
    for start, expected in ((off, standard), (wider, wider)):
        kept, loss = better_scaled(*start, BENCHMARK_OF)
        for one, other in zip(kept, expected, strict=True):
            np.testing.assert_array_equal(one.mean, other.mean)
            np.testing.assert_array_equal(one.covariance, other.covariance)
        assert loss == pytest.approx(divergences(*expected, BENCHMARK_OF), rel=1e-12)
    assert loss < divergences(*standard, BENCHMARK_OF)
