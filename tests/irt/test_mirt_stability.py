"""Refits find a real structure again and shuffled answers have none."""

from __future__ import annotations

import numpy as np

from irt.mirt import MirtSettings, fit_mirt
from irt.mirt_stability import correlations, measure_stability, shuffle
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
    assert done == [1, 2, 3, 4]
    assert found.refits.loadings.shape == found.shuffled.abilities.shape == (2, 2)
    assert found.refits.loadings.min() > 0.99 and found.refits.abilities.min() > 0.99
    assert found.refits.predictions.max() < 0.01 < 0.1 < found.shuffled.predictions.min()
    assert found.shuffled.abilities.max() < 0.5 and found.shuffled.loadings.max() < 0.5


def test_correlations_are_those_of_each_column() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 50, 3))
    x[:, 2] = 1
    found = correlations(x, y)
    np.testing.assert_allclose(found[:2], [np.corrcoef(x[:, k], y[:, k])[0, 1] for k in range(2)])
    assert np.isnan(found[2])
