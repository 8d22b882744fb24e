"""Weighted correlations and intervals over models."""

from __future__ import annotations

import numpy as np
import pytest

from irt.intervals import (
    UNDEFINED,
    correlate,
    dependent,
    figure,
    resampled_counts,
    standardised_weights,
    weighted_correlations,
)


def test_weights_count_models() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(5, 1e-3, size=8), rng.normal(size=(8, 2))
    weights = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [0, 3, 1, 0, 2, 2, 0, 0]], dtype=float)
    found = weighted_correlations(x, y, weights)
    for row, counts in enumerate(weights.astype(int)):
        models = np.repeat(np.arange(8), counts)
        for column in (0, 1):
            assert found[row, column] == pytest.approx(np.corrcoef(x[models], y[models, column])[0, 1])


def test_constant_values_have_no_correlation() -> None:
    x, y = np.array([1.0, 2, 3]), np.array([0.1, 0.1, 0.1])
    assert np.isnan(weighted_correlations(x, np.column_stack([y, x]), np.ones((1, 3)))[0]).tolist() == [
        True,
        False,
    ]
    assert np.isnan(weighted_correlations(x, x[:, None], np.array([[0.0, 3, 0]]))).all()
    assert correlate(x, y, np.ones((5, 3))) == UNDEFINED


def test_values_that_differ_by_rounding_are_constant() -> None:
    """0.1 + 0.2 is not 0.3, but no score either: what is left of it correlated 0.87 with anything that grows."""
    x = np.array([0.3, 0.3, 0.1 + 0.2])
    assert np.ptp(x) > 0
    assert correlate(x, np.arange(3.0), np.ones((5, 3))) == UNDEFINED
    assert correlate(np.arange(3.0), x, np.ones((5, 3))) == UNDEFINED
    assert correlate(x * 0, x * 0, np.ones((5, 3))) == UNDEFINED
    assert correlate(x * 0 + 1e-9 * np.arange(3.0), np.arange(3.0), np.ones((5, 3))).value == pytest.approx(1)


def test_weights_need_more_models_than_they_can_fit() -> None:
    """Four models and three abilities: any scores would be explained to the last digit."""
    rng = np.random.default_rng(0)
    theta, score = rng.normal(size=(5, 3)), rng.normal(size=5)
    assert standardised_weights(score[:4], theta[:4], resampled_counts(4, 0)) == [UNDEFINED] * 3
    # A resample that lacks one of the five is none either: of twenty one may, but not two.
    weights = np.ones((20, 5))
    weights[0] = [0, 2, 1, 1, 1]
    for found in standardised_weights(score, theta, weights):
        assert [found.low, found.high] == pytest.approx([found.value] * 2)
    weights[1] = [2, 0, 1, 1, 1]
    assert standardised_weights(score, theta, weights) == [UNDEFINED] * 3


def test_weights_of_few_models_have_intervals_that_cover_or_none() -> None:
    """Of 4 models the resamples that are left repeat the sample, and the interval was one point, whatever the truth."""
    rng = np.random.default_rng(0)
    for models, given in ((4, False), (6, False), (8, True)):
        hits = 0
        for seed in range(100):
            x = rng.normal(size=(models, 2))
            first, second = standardised_weights(
                x[:, 0] + rng.normal(size=models), x, resampled_counts(models, seed)
            )
            assert np.isfinite([first.value, first.low, second.value, second.high]).all() == given
            hits += second.low <= 0 <= second.high
        assert not given or 0.88 <= hits / 100


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        x = rng.normal(size=60)
        found = correlate(x, 0.6 * x + 0.8 * rng.normal(size=60), resampled_counts(60, seed))
        hits += found.low < 0.6 < found.high
    assert 0.88 <= hits / 200 <= 0.98


def test_undefined_resamples_are_left_out() -> None:
    assert figure(0.5, np.array([np.nan, 0.4, 0.6])) == figure(0.5, np.array([0.4, 0.6]))
    assert np.isnan(figure(np.nan, np.array([0.4])).low)
    assert np.isnan(figure(0.5, np.array([np.nan])).value)


def test_columns_that_follow_from_the_others_have_no_weights() -> None:
    """But for rounding, the third is the sum of the first two; any split between the three fits as well."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = x[:, 0] + rng.normal(size=40)
    weights = resampled_counts(40, 0)
    near = x.sum(axis=1) + 1e-6 * rng.normal(size=40)
    assert standardised_weights(y, np.column_stack([x, near]), weights) == [UNDEFINED] * 3
    assert dependent(np.column_stack([x, near])) and dependent(np.column_stack([x, np.ones(40)]))
    apart = x.sum(axis=1) + 0.1 * rng.normal(size=40)
    assert not dependent(np.column_stack([x, apart])) and not dependent(x[:, :1])
    assert all(
        np.isfinite(found.value) for found in standardised_weights(y, np.column_stack([x, apart]), weights)
    )
