"""The Rasch model with its longer side integrated out.

P(correct) = g + (1 − g)·σ(x − y), counts are binomial, x and y are independent Normal(0, 1). The shorter side
of the matrix is *sampled* (positions x, S of them); the units of the longer side are *integrated* (positions
y, L of them): given x they are independent, so each contributes the one-dimensional integral

    L_l(x) = ∫ φ(y) ∏_s Binomial(k_sl | n_sl, p(x_s, y)) dy.

With fewer models than items x is ability theta and y is difficulty b. With fewer items the roles swap, as the
model is symmetric: x = −b and y = −theta.

Up to a constant, log ∏_s Binomial(…) = Σ_s k_sl log(g + e^z) − n_sl log(1 + e^z) with z = x_s − y. Units with the
same g, the same counts and the same trials share one integral. With g = 0 the same total is enough, because
Σ_s k_sl z_s = Σ_s k_sl x_s − y Σ_s k_sl: one unit stands for the others, and what it has not in common with them is
linear in x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm

from irt.arrays import FloatArray, IntArray
from irt.marginal_likelihood import MarginalLogLikelihood
from irt.quadrature import Grid

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
    """The J distinct answer profiles among the L integrated units, in G groups.

    The profiles of a group are neighbours and share their guessing probabilities.
    """

    counts: FloatArray  # (J, S) correct answers
    units: FloatArray  # (J,) how many units have this profile
    of_unit: IntArray  # (L,) the profile of each unit
    trials: FloatArray  # (P, S) the distinct sets of trials
    trials_row: IntArray  # (J,) which of them
    log_guessing: FloatArray  # (G, S), LOG_ZERO for g = 0
    group_start: IntArray  # (G + 1,) the first profile of each group, and J
    linear: FloatArray  # (S,) Σ k_sl over all units, less that over the profiles that stand for them

    def group_of_profile(self) -> IntArray:
        """Return the group of each profile, (J,)."""
        return np.repeat(np.arange(len(self.log_guessing)), np.diff(self.group_start))


def find_profiles(cells: Cells) -> Profiles:
    """Group the integrated units that share one integral."""
    correct = np.ascontiguousarray(cells.correct.T)
    trials, trials_row = np.unique(cells.trials.T, axis=0, return_inverse=True)
    unit_guessing = cells.guessing if cells.items_integrated else np.zeros(len(correct))
    answers = correct if cells.guessing.any() else correct.sum(axis=1, keepdims=True)
    # Guessing comes first: np.unique sorts, which makes the profiles of a group neighbours.
    _, first, of_unit, units = np.unique(
        np.hstack([unit_guessing[:, None], trials_row[:, None], answers]),
        axis=0,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    groups, group_start = np.unique(unit_guessing[first], return_index=True)
    group_guessing = groups[:, None] if cells.items_integrated else cells.guessing[None]
    counts = correct[first]
    return Profiles(
        counts=counts,
        units=units.astype(float),
        of_unit=of_unit,
        trials=trials,
        trials_row=trials_row[first],
        log_guessing=log_guessing(np.tile(group_guessing, (1, correct.shape[1] // group_guessing.shape[1]))),
        group_start=np.append(group_start, len(first)),
        linear=correct.sum(axis=0) - units @ counts,
    )


def log_guessing(guessing: FloatArray) -> FloatArray:
    """Return log g, and LOG_ZERO where g = 0."""
    return np.log(np.maximum(guessing, np.finfo(float).tiny))


def marginal_model(profiles: Profiles, grid: Grid) -> pm.Model:
    """Return a PyMC model of the S sampled positions ``x``; its log density is the marginal likelihood's.

    ``grid`` is where the integrals are evaluated (see irt/quadrature.py).
    """
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0, shape=profiles.counts.shape[1])
        value_and_gradient: Any = MarginalLogLikelihood()(
            x,
            profiles.counts,
            profiles.units,
            profiles.trials,
            profiles.trials_row,
            profiles.log_guessing,
            profiles.group_start,
            profiles.linear,
            grid.nodes,
            grid.log_weights,
        )
        pm.Potential("marginal", value_and_gradient[0])
    return model
