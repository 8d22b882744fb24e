"""Fixes the axes of a multidimensional fit, which the answers leave free, without changing any prediction.

Every rotation here is a (D, D) matrix T: abilities become θT and loadings aT⁻ᵀ, so that a·θ stays what it is, and
covariances and priors go with them. (θTᵀ, with T from the loadings, would be another model.)

Two fits of the same items with θ ~ Normal(0, I) can differ by an orthogonal matrix, which ``procrustes`` finds; an
oblique rotation of the one is then as good for the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from statsmodels.multivariate.factor_rotation import rotate_factors

from irt.arrays import FloatArray
from irt.mirt import MirtFit
from irt.mirt_updates import Gaussian, transformed

# The criterion has local minima; the identity and these many random orthogonal matrices are tried.
RANDOM_STARTS = 9
GRADIENT_TOLERANCE = 1e-8
MAX_ITERATIONS = 2000


def quartimin(a: FloatArray) -> FloatArray:
    """Return the T, (D, D) with columns of length 1, that brings loadings (N, D) nearest to one dimension an item.

    It minimises Σ_j Σ_{k≠l} L_jk² L_jl² over L = aT⁻ᵀ (Carroll 1957; gradient projection of Bernaards & Jennrich 2005
    in statsmodels). The abilities' correlations become TᵀT. The same loadings give the same T.
    """
    dims = a.shape[1]
    if dims == 1:
        return np.eye(1)
    # T does not depend on the scale, but the tolerance of the gradient does.
    scaled = a / np.sum(np.sum(a**2, axis=1) ** 2) ** 0.25
    rng = np.random.default_rng(0)
    starts = [np.eye(dims)] + [_random_orthogonal(dims, rng) for _ in range(RANDOM_STARTS)]
    best, lowest = np.eye(dims), np.inf
    for start in starts:
        # statsmodels begins at the identity: it is given the loadings as they are at the start.
        loadings, turn = rotate_factors(
            scaled @ start, "quartimin", max_tries=MAX_ITERATIONS, tol=GRADIENT_TOLERANCE
        )
        square = loadings**2
        criterion = np.sum(square.sum(axis=1) ** 2 - np.sum(square**2, axis=1))
        # An improvement by rounding alone would make the choice between equal minima arbitrary.
        if criterion < lowest * (1 - 1e-6):
            best, lowest = start @ turn, criterion
    return np.asarray(best)


def procrustes(a: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the orthogonal T, (D, D), reflections among them, for which aT is nearest to the reference, both (N, D).

    Schönemann 1966.
    """
    left, _, right = np.linalg.svd(a.T @ reference)
    return np.asarray(left @ right)


def fixed_signs_and_order(a: FloatArray) -> FloatArray:
    """Return the T, (D, D), that puts the dimension of most Σ_j a_j² first and makes each Σ_j a_j positive.

    With that sign, more of an ability means more correct answers.
    """
    order = np.argsort(-np.sum(a**2, axis=0), kind="stable")
    signs = np.where(a.sum(axis=0) < 0, -1.0, 1.0)
    return (np.eye(a.shape[1]) * signs)[:, order]


def rotate(fit: MirtFit, turn: FloatArray) -> MirtFit:
    """Return the fit with abilities θT and loadings aT⁻ᵀ, their covariances and priors likewise."""
    return replace(
        fit,
        abilities=transformed(fit.abilities, turn.T),
        items=rotate_items(fit.items, turn),
        prior=rotate_items(fit.prior, turn),
        ability_covariance=turn.T @ fit.ability_covariance @ turn,
    )


def rotate_items(items: Gaussian, turn: FloatArray) -> Gaussian:
    """Return (a, d), (N, D + 1), with loadings aT⁻ᵀ."""
    dims = len(turn)
    map_items = np.eye(dims + 1)
    map_items[:dims, :dims] = np.linalg.inv(turn)
    return transformed(items, map_items)


def canonical(fit: MirtFit) -> tuple[MirtFit, FloatArray]:
    """Return the fit after quartimin with signs and order fixed, and the T that did it."""
    turn = quartimin(fit.a)
    turn = turn @ fixed_signs_and_order(fit.a @ np.linalg.inv(turn).T)
    return rotate(fit, turn), turn


def _random_orthogonal(dims: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.linalg.qr(rng.normal(size=(dims, dims)))[0])
