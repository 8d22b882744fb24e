"""Refits find a real structure again and shuffled answers have none."""

from __future__ import annotations

import numpy as np
import pytest

from irt.mirt import MirtSettings, fit_mirt
from irt.mirt_stability import correlations, measure_stability, shuffle, split_items
from irt.rotation import canonical


def test_shuffling_keeps_each_item_and_moves_the_models() -> None:
    rng = np.random.default_rng(0)
    trials = rng.integers(0, 4, size=(30, 20))
    correct = rng.integers(0, 100, size=(30, 20)) % (trials + 1)
    new_correct, new_trials = shuffle(correct, trials, rng)
    assert ((new_trials == 0) == (trials == 0)).all()
    for j in range(20):
        pairs = sorted(zip(correct[:, j], trials[:, j], strict=True))
        assert sorted(zip(new_correct[:, j], new_trials[:, j], strict=True)) == pairs
    assert (new_correct != correct).mean() > 0.3


def test_real_dimensions_come_again_and_shuffled_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(80, 2))
    a = np.eye(2)[np.arange(200) % 2] * 1.5 + 0.4 * rng.normal(size=(200, 2))
    correct = rng.binomial(1, 1 / (1 + np.exp(-(theta @ a.T + rng.normal(size=200)))))
    trials, benchmark_of = np.ones_like(correct), np.zeros(200, dtype=int)
    settings = MirtSettings(starts=1)
    fit = fit_mirt(correct, trials, benchmark_of, settings)
    done: list[int] = []
    found = measure_stability(fit, canonical(fit)[1], correct, trials, benchmark_of, settings, 2, done.append)
    assert done == [3, 6, 9, 12]
    assert (
        found.refits.loadings.shape == found.shuffled_refits.abilities.shape == found.halves.shape == (2, 2)
    )
    assert found.refits.loadings.min() > 0.99 and found.refits.abilities.min() > 0.99
    # From another start each: to the same optimum, but not to the last digit.
    assert len({0.0, *found.refits.predictions}) == 3
    assert found.refits.predictions.max() < 0.01 < 0.1 < found.shuffled_refits.predictions.min()
    assert found.shuffled_refits.abilities.max() < 0.5 and found.shuffled_refits.loadings.max() < 0.5
    assert found.halves.min() > 0.8 and found.not_measured.tolist() == [0, 0]
    assert np.nanmax(np.abs(found.shuffled_halves), initial=0) < 0.5
    assert found.not_converged == 0


@pytest.mark.parametrize("seed", [0, 2])
def test_a_dimension_of_noise_does_not_come_again_in_other_items(seed: int) -> None:
    """One true ability, two dimensions: no item loads on the idle one.

    What is left of its abilities is a trace of the other dimension, which correlates with that of the other half.
    """
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=80)
    correct = rng.binomial(1, 1 / (1 + np.exp(-(1.5 * theta[:, None] + rng.normal(size=160)))))
    trials, benchmark_of = np.ones_like(correct), np.zeros(160, dtype=int)
    settings = MirtSettings(starts=1)
    fit = fit_mirt(correct, trials, benchmark_of, settings)
    found = measure_stability(
        fit, canonical(fit)[1], correct, trials, benchmark_of, settings, 2, lambda _: None
    )
    assert found.halves[:, 0].min() > 0.8
    assert found.not_measured.tolist() == [0, 2] and np.isnan(found.halves[:, 1]).all()


def test_fits_that_stopped_early_are_counted() -> None:
    correct = np.random.default_rng(3).binomial(1, 0.5, (12, 10))
    trials, benchmark_of, hasty = np.ones_like(correct), np.arange(10) % 2, MirtSettings(max_iterations=1)
    fit = fit_mirt(correct, trials, benchmark_of, hasty)
    found = measure_stability(fit, np.eye(2), correct, trials, benchmark_of, hasty, 2, lambda _: None)
    assert found.not_converged == 12


def test_halves_share_out_the_items_of_every_benchmark() -> None:
    benchmark_of = np.array([0] * 11 + [1] * 8 + [2])
    half_of = split_items(benchmark_of, np.random.default_rng(1))
    counts = np.array([np.bincount(half_of[benchmark_of == number], minlength=2) for number in range(3)])
    assert (np.abs(counts[:, 0] - counts[:, 1]) <= 1).all()
    assert (half_of != split_items(benchmark_of, np.random.default_rng(2))).any()


def test_correlations_are_those_of_each_column() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 50, 3))
    x[:, 2] = 1
    found = correlations(x, y)
    np.testing.assert_allclose(found[:2], [np.corrcoef(x[:, k], y[:, k])[0, 1] for k in range(2)])
    assert np.isnan(found[2])
