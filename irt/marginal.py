"""The Rasch model with its longer side integrated out.

P(correct) = g + (1 − g)·σ(x − y), counts are binomial, x and y are independent Normal(0, 1). The shorter side
of the matrix is *sampled* (positions x, S of them); the units of the longer side are *integrated* (positions
y, L of them): given x they are independent, so each contributes the one-dimensional integral

    L_l(x) = ∫ φ(y) ∏_s Binomial(k_sl | n_sl, p(x_s, y)) dy.

With fewer models than items x is ability theta and y is difficulty b. With fewer items the roles swap, as the
model is symmetric: x = −b and y = −theta.

Up to a constant, log ∏_s Binomial(…) = Σ_s k_sl log(g + e^z) − n_sl log(1 + e^z) with z = x_s − y. Units with the
same g, the same counts and the same trials share one integral; with g = 0 the total Σ_s k_sl stands for the
counts, because Σ_s k_sl z_s = Σ_s k_sl x_s − y Σ_s k_sl.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pymc as pm
import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad

from irt.quadrature import Grid

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# log of the smallest double stands for log 0: gradients stay finite, and it differs from g = 0 only where
# |theta − b| > 700.
LOG_ZERO = float(np.log(np.finfo(float).tiny))


@dataclass(frozen=True)
class Cells:
    """The response matrix as the sampler sees it: S sampled × L integrated units."""

    correct: FloatArray  # (S, L), 0 where never asked
    trials: FloatArray  # (S, L), 0 = never asked
    guessing: FloatArray  # (L,) if items are integrated, (S,) if models are
    items_integrated: bool


@dataclass(frozen=True)
class Profiles:
    """The J distinct answer profiles among the integrated units.

    ``counts`` is None when every guessing probability is 0: the totals say it all. ``log_guessing`` is (J,)
    when items are integrated and None when it is a property of the sampled side.
    """

    totals: FloatArray  # (J,) correct answers
    counts: FloatArray | None  # (J, S) correct answers by sampled unit
    log_guessing: FloatArray | None  # (J,)
    trials: FloatArray  # (P, S) the distinct rows of trials
    trials_row: IntArray  # (J,) which of them
    units: FloatArray  # (J,) how many units have this profile
    of_unit: IntArray  # (L,) the profile of each unit


def find_profiles(cells: Cells) -> Profiles:
    """Group the integrated units that share one integral."""
    correct, trials = cells.correct.T, cells.trials.T
    trials_rows, trials_row = np.unique(trials, axis=0, return_inverse=True)
    key = [trials_row[:, None], correct if cells.guessing.any() else correct.sum(axis=1, keepdims=True)]
    if cells.items_integrated:
        key.insert(0, cells.guessing[:, None])
    _, first, of_unit, units = np.unique(
        np.hstack(key), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return Profiles(
        totals=correct[first].sum(axis=1),
        counts=correct[first] if cells.guessing.any() else None,
        log_guessing=log_guessing(cells.guessing[first]) if cells.items_integrated else None,
        trials=trials_rows,
        trials_row=trials_row[first],
        units=units.astype(float),
        of_unit=of_unit,
    )


def log_guessing(guessing: FloatArray) -> FloatArray:
    """Return log g, with the log of the smallest double where g = 0."""
    return np.log(np.maximum(guessing, np.finfo(float).tiny))


def marginal_model(cells: Cells, profiles: Profiles, grid: Grid) -> pm.Model:
    """Return a PyMC model of the S sampled positions ``x``; its log density is the marginal likelihood's.

    ``grid`` is where the integrals are evaluated (see irt/quadrature.py).
    """
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0, shape=len(cells.correct))
        z = x[:, None] - grid.nodes  # (S, Q)
        asked = pt.dot(profiles.trials, pt.softplus(z))  # (P, Q)
        # A single row is left to broadcast: indexing would copy it J times.
        asked_of_profile = asked if len(profiles.trials) == 1 else asked[profiles.trials_row]
        if profiles.counts is None:
            pm.Potential("correct", pt.dot(cells.correct.sum(axis=1), x))
            log_integrand = grid.log_weights - profiles.totals[:, None] * grid.nodes - asked_of_profile
        else:
            right = _correct_terms(profiles, z, log_guessing(cells.guessing))
            log_integrand = grid.log_weights + right - asked_of_profile
        pm.Potential("integrals", pt.dot(profiles.units, _log_sum_exp(log_integrand)))
    return model


def _correct_terms(profiles: Profiles, z: pt.TensorVariable, sampled_log_guessing: FloatArray) -> pt.TensorVariable:
    """Return Σ_s k_js log(g + e^z) for every profile and node, (J, Q)."""
    if profiles.log_guessing is None:
        return pt.dot(profiles.counts, pt.logaddexp(sampled_log_guessing[:, None], z))
    values, group = np.unique(profiles.log_guessing, return_inverse=True)
    if len(values) == 1:
        return pt.dot(profiles.counts, pt.logaddexp(values[0], z))
    # Each guessing probability has a table of its own: profiles are padded to groups of one size, so that one
    # batched product serves all of them.
    size = np.bincount(group).max()
    members = np.full((len(values), size), len(group))
    for index in range(len(values)):
        own = np.flatnonzero(group == index)
        members[index, : len(own)] = own
    padded = np.vstack([profiles.counts, np.zeros(profiles.counts.shape[1])])[members]  # (G, size, S)
    tables = pt.logaddexp(values[:, None, None], z)  # (G, S, Q)
    position = np.empty(len(group), dtype=np.int64)
    position[members[members < len(group)]] = np.flatnonzero(members.ravel() < len(group))
    return pt.matmul(padded, tables).reshape((members.size, z.shape[1]))[position]


def _log_sum_exp(values: pt.TensorVariable) -> pt.TensorVariable:
    """Return log Σ_q e^values over the last axis; its gradient reuses the exponentials of the forward pass."""
    highest = disconnected_grad(pt.max(values, axis=1, keepdims=True))
    return highest[:, 0] + pt.log(pt.sum(pt.exp(values - highest), axis=1))
