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

from irt.log_integrals import sum_log_integrals
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
    """The J distinct answer profiles among the integrated units, those of one guessing probability together.

    ``counts`` is None when every guessing probability is 0: the totals say it all. ``log_guessing`` is (J,)
    when items are integrated and None when it is a property of the sampled side.
    """

    totals: FloatArray  # (J,) correct answers
    counts: FloatArray | None  # (J, S) correct answers by sampled unit
    log_guessing: FloatArray | None  # (J,)
    trials: FloatArray  # (P, S) the distinct rows of trials
    asked_row: IntArray  # (J,) which of them
    units: FloatArray  # (J,) how many units have this profile
    of_unit: IntArray  # (L,) the profile of each unit


def find_profiles(cells: Cells) -> Profiles:
    """Group the integrated units that share one integral."""
    correct, trials = cells.correct.T, cells.trials.T
    trials_rows, asked_row = np.unique(trials, axis=0, return_inverse=True)
    key = [asked_row[:, None], correct if cells.guessing.any() else correct.sum(axis=1, keepdims=True)]
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
        asked_row=asked_row[first],
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
        asked = pt.dot(profiles.trials, pt.softplus(z)) - grid.log_weights  # (P, Q)
        counts, group_start = profiles.counts, np.array([0, len(profiles.totals)])
        if counts is None:
            counts, tables = profiles.totals[:, None], -grid.nodes[None, None]
            pm.Potential("correct", pt.dot(cells.correct.sum(axis=1), x))
        elif profiles.log_guessing is None:
            tables = pt.logaddexp(log_guessing(cells.guessing)[:, None], z)[None]
        else:
            values, first = np.unique(profiles.log_guessing, return_index=True)
            tables = pt.logaddexp(values[:, None, None], z)  # (G, S, Q)
            group_start = np.append(first, len(counts))
        integrals = sum_log_integrals(tables, asked, counts, profiles.asked_row, profiles.units, group_start)
        pm.Potential("integrals", integrals)
    return model
