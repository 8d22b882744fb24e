"""Hidden cells, their score, and the number of dimensions that it chooses."""

from __future__ import annotations

import numpy as np
import pytest

from irt.held_out import (
    WORTH_A_DIMENSION,
    cell_log_likelihood,
    choose_dims,
    compare_dims,
    folds,
    hide,
    mean_and_error,
    rounds_of,
)
from irt.mirt import MirtSettings


def test_folds_share_out_the_answered_cells() -> None:
    trials = np.random.default_rng(0).integers(0, 3, size=(40, 30))
    fold = folds(trials, 7, seed=3)
    assert ((fold == -1) == (trials == 0)).all()
    sizes = np.bincount(fold[fold >= 0], minlength=7)
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(fold, folds(trials, 7, seed=3))
    assert (fold != folds(trials, 7, seed=4)).any()


def test_hidden_cells_are_never_asked() -> None:
    correct, trials = np.array([[1, 2], [0, 3]]), np.array([[2, 2], [0, 3]])
    hidden = np.array([[True, False], [False, True]])
    np.testing.assert_array_equal(hide(correct, trials, hidden), [[[0, 2], [0, 0]], [[0, 2], [0, 0]]])


def test_log_likelihood_of_counts_is_that_of_their_answers() -> None:
    found = cell_log_likelihood(np.array([1, 0, 3]), np.array([1, 2, 3]), np.array([0.25, 0.5, 1.0]))
    np.testing.assert_allclose(found, [np.log(0.25), 2 * np.log(0.5), 0], atol=1e-8)
    assert np.isfinite(cell_log_likelihood(np.array([0]), np.array([1]), np.array([1.0]))).all()


def test_the_standard_error_takes_a_model_as_one_draw() -> None:
    """Simulated: cells of a model share a deviation, so that the mean over 8,000 cells varies like one over 40."""
    rng = np.random.default_rng(1)
    model_of, trials = np.repeat(np.arange(40), 200), np.ones(8000, dtype=int)
    runs = [
        mean_and_error(rng.normal(size=40)[model_of] + rng.normal(size=8000), trials, model_of)
        for _ in range(300)
    ]
    means, errors = np.array(runs).T
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)
    assert np.std(means) > 5 * np.sqrt(2 / 8000)


def test_the_standard_error_of_few_models_is_that_of_a_sample() -> None:
    values = np.array([1.0, 2.0, 6.0])
    mean, error = mean_and_error(values, np.ones(3, dtype=int), np.array([4, 7, 9]))
    assert (mean, error) == (3.0, pytest.approx(values.std(ddof=1) / np.sqrt(3)))
    assert np.isnan(mean_and_error(values, np.ones(3, dtype=int), np.zeros(3, dtype=int))[1])


def test_one_model_alone_still_chooses() -> None:
    """Without a standard error only what a dimension is worth counts."""
    values = np.full(20, -0.5)
    cells = {1: values, 2: values + WORTH_A_DIMENSION / 2, 3: values + 3 * WORTH_A_DIMENSION}
    found = choose_dims(cells, np.ones(20, dtype=int), np.zeros(20, dtype=int))
    assert found.chosen == 3


@pytest.mark.parametrize(
    ("short", "noise", "chosen"),
    [
        (0.05, 0.0, 2),  # clearly worse
        (WORTH_A_DIMENSION / 2, 0.0, 1),  # surely, but hardly worse
        (0.05, 5.0, 1),  # worse within the error
    ],
)
def test_the_smallest_number_of_dimensions_that_is_good_enough(
    short: float, noise: float, chosen: int
) -> None:
    rng = np.random.default_rng(2)
    model_of = np.repeat(np.arange(50), 20)
    best = rng.normal(-0.5, 0.1, size=1000)
    apart = noise * rng.normal(size=50)[model_of]
    cells = {2: best, 1: best - short + apart - apart.mean()}
    found = choose_dims(cells, np.ones(1000, dtype=int), model_of)
    assert found.chosen == chosen
    one, two = found.held_out
    assert (two.behind, two.behind_standard_error) == (0, 0)
    assert one.behind == pytest.approx(short) and two.log_likelihood == pytest.approx(best.mean())


def test_rounds_grow_as_answers_get_few() -> None:
    sizes = {100: 5, 60_000: 4, 100_000: 2, 200_000: 1, 5_000_000: 1}
    assert {size: rounds_of(np.ones((1, size), dtype=int)) for size in sizes} == sizes


@pytest.mark.parametrize("true_dims", [1, 2])
def test_simulated_dimensions_are_chosen(true_dims: int) -> None:
    rng = np.random.default_rng(true_dims)
    theta = rng.normal(size=(60, true_dims))
    a = np.eye(true_dims)[np.arange(100) % true_dims] * 2 + 0.3 * rng.normal(size=(100, true_dims))
    chance = 1 / (1 + np.exp(-(theta @ a.T + rng.normal(size=100))))
    correct = rng.binomial(1, chance)
    done: list[int] = []
    found = compare_dims(
        correct,
        np.ones_like(correct),
        np.zeros(100, dtype=int),
        [1, 2, 3],
        MirtSettings(tolerance=1e-5),
        done.append,
    )
    assert found.chosen == true_dims
    assert done == list(range(1, 16)) and found.answers == 3000
    truth = cell_log_likelihood(correct, np.ones_like(correct), chance).mean()
    assert max(entry.log_likelihood for entry in found.held_out) < truth
