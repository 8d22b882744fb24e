"""Rotations: no prediction changes, and the axes are found again."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.multivariate.factor_rotation import rotate_factors

from irt.arrays import FloatArray
from irt.mirt import MirtFit, MirtSettings, fit_mirt, score_items, score_models
from irt.rotation import canonical, fixed_signs_and_order, procrustes, quartimin, rotate, rotate_items

RNG = np.random.default_rng(3)


def small_fit(dims: int) -> MirtFit:
    rng = np.random.default_rng(dims)
    z = rng.normal(size=(40, dims)) @ rng.normal(1, 1, size=(dims, 60)) + rng.normal(size=60)
    correct = rng.binomial(2, 1 / (1 + np.exp(-z)))
    return fit_mirt(correct, np.full_like(correct, 2), np.arange(60) // 20, MirtSettings(dims=dims, starts=1))


def turns(a: FloatArray) -> dict[str, FloatArray]:
    dims = a.shape[1]
    return {
        "quartimin": quartimin(a),
        "procrustes": procrustes(a, RNG.normal(size=a.shape)),
        "signs and order": fixed_signs_and_order(a * np.where(np.arange(dims) % 2, 3.0, -1.0)),
    }


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_no_rotation_changes_a_prediction(dims: int) -> None:
    fit = small_fit(dims)
    before = fit.probability()
    turned = canonical(fit)[0]
    assert np.abs(turned.probability() - before).max() < 1e-10
    for name, turn in turns(fit.a).items():
        after = rotate(fit, turn)
        assert np.abs(after.probability() - before).max() < 1e-10, name
        assert dims == 1 or not np.allclose(after.a, fit.a), name


def test_new_models_are_scored_alike_in_any_rotation() -> None:
    """θ's prior goes with the rotation: with the identity in its place an oblique fit would score otherwise."""
    fit = small_fit(2)
    turned, turn = canonical(fit)
    assert abs(turned.ability_covariance[0, 1]) > 0.05
    few = np.zeros((3, 60))
    few[:, :4] = 2
    correct = few * RNG.random((3, 60))
    plain, oblique = score_models(fit, correct, few), score_models(turned, correct, few)
    np.testing.assert_allclose(oblique.mean, plain.mean @ turn, atol=1e-5)


def test_new_items_are_scored_alike_in_any_rotation() -> None:
    """The priors of items go with the rotation: as they were, items of few answers would be scored otherwise."""
    fit = small_fit(2)
    turned, turn = canonical(fit)
    assert not np.allclose(turned.prior.mean, fit.prior.mean, atol=0.05)
    trials = np.zeros((40, 3))
    trials[:4] = 2
    correct = np.round(trials * np.random.default_rng(4).random((40, 3)))
    benchmark_of = np.arange(3)
    plain, oblique = (score_items(each, correct, trials, benchmark_of) for each in (fit, turned))
    expected = rotate_items(plain, turn)
    np.testing.assert_allclose(oblique.mean, expected.mean, atol=1e-5)
    np.testing.assert_allclose(oblique.covariance, expected.covariance, atol=1e-5)
    unanswered = score_items(turned, 0 * trials, 0 * trials, benchmark_of)
    np.testing.assert_allclose(unanswered.mean, turned.prior.mean)


def test_quartimin_finds_simple_structure_and_is_no_worse_than_one_start_of_statsmodels() -> None:
    simple = np.kron(np.eye(3), np.ones((10, 1))) * (1 + 0.3 * RNG.random((30, 1)))
    mix = RNG.normal(size=(3, 3))
    mix /= np.linalg.norm(mix, axis=1)[:, None]
    mixed = simple @ mix
    found = mixed @ np.linalg.inv(quartimin(mixed)).T
    found = found @ fixed_signs_and_order(found)
    # One large loading an item, and the others nothing.
    assert (np.sort(np.abs(found), axis=1)[:, :2] < 1e-4).all()
    noisy = RNG.normal(size=(50, 3))
    ours = noisy @ np.linalg.inv(quartimin(noisy)).T
    theirs, _ = rotate_factors(noisy, "quartimin")

    def criterion(loadings: FloatArray) -> float:
        square = loadings**2
        return float(np.sum(square.sum(axis=1) ** 2 - np.sum(square**2, axis=1)))

    assert criterion(ours) <= criterion(theirs) * (1 + 1e-6)
    assert criterion(ours) < criterion(noisy)


def test_quartimin_makes_unit_columns_and_the_same_axes_every_time() -> None:
    a = RNG.normal(size=(40, 3)) + [2, 0, 1]
    turn = quartimin(a)
    np.testing.assert_allclose(np.sum(turn**2, axis=0), 1)
    np.testing.assert_array_equal(turn, quartimin(a))
    # The scale of the loadings plays no part.
    np.testing.assert_allclose(turn, quartimin(a * 100), atol=1e-5)


def test_procrustes_undoes_rotation_and_reflection() -> None:
    a = RNG.normal(size=(30, 3))
    q = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    q[:, 0] *= -np.linalg.det(q)  # a reflection
    np.testing.assert_allclose(a @ q @ procrustes(a @ q, a), a, atol=1e-12)


def test_most_loaded_first_and_more_is_better() -> None:
    a = np.array([[0.1, -3.0, 1.0], [0.2, -2.0, 1.5], [0.1, -1.0, -0.5]])
    turned = a @ fixed_signs_and_order(a)
    np.testing.assert_array_equal(turned, np.column_stack([-a[:, 1], a[:, 2], a[:, 0]]))
