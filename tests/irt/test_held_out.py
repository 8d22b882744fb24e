"""Hidden cells, their score, and the number of dimensions that it chooses."""

from __future__ import annotations

import numpy as np
import pytest

from irt.held_out import (
    WORTH_A_DIMENSION,
    cell_log_likelihood,
    check_connected,
    choose_dims,
    compare_dims,
    folds,
    hide,
    mean_and_error,
    rounds_of,
)
from irt.io import InputError
from irt.mirt import MirtSettings, fit_mirt


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


def test_fits_that_stopped_early_are_named() -> None:
    correct = np.random.default_rng(5).binomial(1, 0.5, (8, 12))
    answers = correct, np.ones_like(correct), np.zeros(12, dtype=int)
    settled = compare_dims(*answers, [1], MirtSettings(), lambda done: None)
    assert settled.not_converged == ()
    stopped = compare_dims(*answers, [1, 2], MirtSettings(max_iterations=1), lambda done: None)
    assert stopped.not_converged[:3] == ("1-D of fold 1", "2-D of fold 1", "1-D of fold 2")
    assert len(stopped.not_converged) == 2 * rounds_of(answers[1])


def test_a_fold_that_hides_the_only_link_is_refused_before_any_fit() -> None:
    """Two groups of models, linked by one answer: the cell (0, 6)."""
    trials = np.zeros((10, 12), dtype=np.int64)
    trials[:5, :6] = trials[5:, 6:] = trials[0, 6] = 1
    answers = np.random.default_rng(0).binomial(trials, 0.5), trials, np.repeat([0, 1], 6)
    check_connected(trials, "nothing")
    rounds, refused, done = rounds_of(trials), 0, list[int]()
    for seed in range(8):
        hides = int(folds(trials, 10, seed)[0, 6])
        if hides < rounds:
            with pytest.raises(
                InputError, match=f"^without the answers that fold {hides + 1} hides .* 2 groups"
            ):
                compare_dims(*answers, [1], MirtSettings(seed=seed), done.append)
            assert not done
            refused += 1
    assert refused
    seed = next(seed for seed in range(99) if folds(trials, 10, seed)[0, 6] >= rounds)
    compare_dims(*answers, [1], MirtSettings(seed=seed, max_iterations=2), done.append)
    assert len(done) == rounds


def test_a_cell_of_several_trials_counts_as_its_answers() -> None:
    rng = np.random.default_rng(3)
    trials, model_of = rng.integers(1, 6, 60), np.repeat(np.arange(6), 10)
    by_dims = {count: rng.normal(-0.5, 0.2, 60) * trials for count in (1, 2)}
    single = {count: np.repeat(values / trials, trials) for count, values in by_dims.items()}
    found = choose_dims(by_dims, trials, model_of)
    expected = choose_dims(single, np.ones(trials.sum(), dtype=int), np.repeat(model_of, trials))
    assert found.answers == expected.answers == trials.sum()
    for one, other in zip(found.held_out, expected.held_out, strict=True):
        assert vars(one) == pytest.approx(vars(other))
    # The models are the sample of the difference as well.
    best = max(by_dims, key=lambda count: by_dims[count].sum())
    behind = mean_and_error(by_dims[best] - by_dims[3 - best], trials, model_of)
    worse = found.held_out[2 - best]
    assert (worse.behind, worse.behind_standard_error) == behind


def test_the_compared_cells_have_their_own_trials_and_models() -> None:
    rng = np.random.default_rng(4)
    trials = rng.integers(0, 4, (9, 14))
    correct = rng.binomial(trials, 1 / (1 + np.exp(-rng.normal(size=9)[:, None] - rng.normal(size=14))))
    settings, benchmark_of = MirtSettings(dims=1, starts=1), np.arange(14) % 2
    found = compare_dims(correct, trials, benchmark_of, [1], settings, lambda done: None)
    values, asked, models = [], [], []
    for number in range(5):
        hidden = folds(trials, 10, settings.seed) == number
        chance = fit_mirt(*hide(correct, trials, hidden), benchmark_of, settings).probability()
        for i, j in np.argwhere(hidden):
            values.append(cell_log_likelihood(correct[i, j], trials[i, j], chance[i, j]))
            asked.append(trials[i, j])
            models.append(i)
    mean, error = mean_and_error(np.array(values), np.array(asked), np.array(models))
    assert found.answers == sum(asked)
    assert found.held_out[0].log_likelihood == pytest.approx(mean)
    assert found.held_out[0].standard_error == pytest.approx(error)
