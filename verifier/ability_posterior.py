"""Abilities of a panel of models, given their answers and a table of item difficulties that are themselves uncertain.

P(correct) = g + (1 − g)·σ(θ − b), counts binomial, θ ~ Normal(0, 1), and the table says b_i ~ Normal(m_i, s_i²).

The table is often fitted to the very answers that are now given: its b_i have seen them. To average the likelihood over
b_i (θ then explains what the table already explained) would count them twice. What is right then is to average the
*posterior* of θ over b: p(θ | answers) = ∫ p(θ | b, answers) p(b | table) db. To second order in s_i this has three
parts (score_mi is the slope of log Binomial(k_mi | n_mi, P) in θ, E and Var are over b):

1. Location and own width: mean μ_m and variance V_m of the density proportional to
       φ(θ) exp Σ_i E[log Binomial(k_mi | n_mi, P(θ, b_i))],
   because the slope of its logarithm, Σ_i E[score_mi] − θ, is what vanishes on average over the true posterior.
   (Averaging inside the logarithm shrinks a panel's abilities by up to 4 % with guessing; b = m by up to 7 %.)
   The score is w·(k − n P) with w = P′ / (P (1 − P)). Where the table has *not* seen the answers, w and k − n P are
   averaged each by itself: answers do not lean to those b for which they would be likely. Without guessing w = 1 and
   the two are the same; with guessing the difference is up to 0.7 sd for 400 items.
2. The table's errors: C_m = V_m² Var[Σ_i score_mi], with errors that sum to zero over the items of the table, those
   included that this panel was not asked. Their sum is what defines the table's scale, and is counted by part 3.
3. Where the scale is: to add one number to all θ and b changes no answer, so the data say nothing of it, and the
   priors everything: the mean of M abilities and N difficulties is Normal(0, 1 / (M + N)), whatever the data.

The variance of θ_m is V_m + C_m + 1 / (M + N), N of the table. If another panel of M' models made the table, the third
part is 1 / (M' + N), which is the same unless the items are few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.special import expit

from irt.arrays import FloatArray
from irt.quadrature import grid_for

BoolArray = npt.NDArray[np.bool_]

# Difficulties are known to 1 sd of their prior or better, over which log P is nearly a polynomial of low degree.
_HERMITE_NODES = 9
# log P bends over a length of about 1 whatever the number of answers: a cubic through points 0.1 apart follows their
# sum so well that the width of the posterior of 100,000 answers is right to 0.1 %.
_SPACING = 0.1
_FINE_NODES = 400
_NEGLIGIBLE = -30.0  # e^-30 = 1e-13 of the density's highest value
_ITEMS_AT_ONCE = 256  # tables of 256 items × 300 nodes stay in cache


@dataclass(frozen=True)
class Calibration:
    """What a table knows of the difficulties of its items.

    Attributes
    ----------
    mean, sd
        (N,) each, of the items of a matrix; sd > 0.
    other_sd
        Of the table's other items, which the panel was not asked. They are part of what its scale is.
    """

    mean: FloatArray
    sd: FloatArray
    other_sd: FloatArray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Abilities:
    """What is known of the abilities of M models.

    Attributes
    ----------
    mean, sd
        (M,) each, of the posterior. ``sd`` is of everything that is unknown, as in fit_irt's ability.csv.
    location_sd
        The part of every ``sd`` that the models share with one another and with all items of the table: the place of
        the whole scale, 1/√(M + number of items of the table).
    """

    mean: FloatArray
    sd: FloatArray
    location_sd: float

    @property
    def sd_on_scale(self) -> FloatArray:
        """(M,) what is unknown of each ability relative to the items of the table, √(sd² − location_sd²)."""
        return np.sqrt(self.sd**2 - self.location_sd**2)


def log_probabilities(z: FloatArray, guessing: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return log P and log(1 − P) for P = g + (1 − g)·σ(z); finite for every finite z.

    With g = 0, z = −800 gives −800 and 0.
    """
    softplus = _softplus(z)
    return _log_right(z, np.asarray(guessing)) - softplus, np.log1p(-np.asarray(guessing)) - softplus


def fit_ability(
    correct: npt.ArrayLike,
    trials: npt.ArrayLike,
    guessing: npt.ArrayLike,
    difficulty: Calibration,
    *,
    own_table: npt.ArrayLike = True,
) -> Abilities:
    """Return the posterior mean and sd of every ability; see the module for the formulas.

    Parameters
    ----------
    correct, trials
        (M, N) counts; 0 trials = never asked, and counts as nothing.
    guessing
        (N,) fixed guessing probability of each item, or one number for all.
    difficulty
        Of the N items, from these answers or from those of other models.
    own_table
        Whether ``difficulty`` was fitted to these answers: (M,) of each model's, or one for all.
    """
    correct = np.asarray(correct, dtype=float)
    trials = np.asarray(trials, dtype=float)
    models, items = correct.shape
    guessing = np.broadcast_to(np.asarray(guessing, dtype=float), items)
    seen = np.broadcast_to(np.asarray(own_table, dtype=bool), models)
    mean, variance = _own_posterior(correct, trials, guessing, difficulty, seen)
    location = 1 / (models + items + len(difficulty.other_sd))
    from_table = variance**2 * _score_variance(mean, correct, trials, guessing, difficulty)
    return Abilities(mean, np.sqrt(variance + from_table + location), float(np.sqrt(location)))


def _own_posterior(
    correct: FloatArray, trials: FloatArray, guessing: FloatArray, difficulty: Calibration, seen: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return μ and V, (M,) each: part 1."""
    reach = grid_for(trials.sum(axis=1).max()).nodes[-1]
    nodes = np.linspace(-reach, reach, int(np.ceil(2 * reach / _SPACING)) + 1)
    log_likelihood = _expected_log_likelihood(nodes, correct, trials, guessing, difficulty, seen)
    log_density = log_likelihood - nodes**2 / 2
    mean, variance = np.empty(len(correct)), np.empty(len(correct))
    for model, values in enumerate(log_density):
        near = np.flatnonzero(values > values.max() + _NEGLIGIBLE)
        low, high = max(near[0] - 1, 0), min(near[-1] + 1, len(nodes) - 1)
        fine = np.linspace(nodes[low], nodes[high], _FINE_NODES)
        weights = np.exp(CubicSpline(nodes, values - values.max())(fine))
        weights /= weights.sum()
        mean[model] = weights @ fine
        variance[model] = weights @ (fine - mean[model]) ** 2
    return mean, variance


def _expected_log_likelihood(
    nodes: FloatArray,
    correct: FloatArray,
    trials: FloatArray,
    guessing: FloatArray,
    difficulty: Calibration,
    seen: BoolArray,
) -> FloatArray:
    """Return the sum whose slope is Σ_i E[w·(k − n P)], or Σ_i E[w]·(k − n E[P]) if not seen: (M, nodes).

    With z = node − b_i the first is Σ_i k E[log(g + e^z)] − n E[log(1 + e^z)], up to a constant in the node. The counts
    stand outside the expectations, so these are two tables for all models, and the sum a matrix product.
    """
    x, weights = _normal_nodes()
    total = np.zeros((len(correct), len(nodes)))
    for start in range(0, len(guessing), _ITEMS_AT_ONCE):
        some = slice(start, start + _ITEMS_AT_ONCE)
        g = guessing[some, None]
        together = seen | (not g.any())
        right, asked, w, p = np.zeros((4, len(g), len(nodes)))
        for step, weight in zip(x, weights, strict=True):
            z = nodes - (difficulty.mean[some] + step * difficulty.sd[some])[:, None]
            right += weight * _log_right(z, g)
            if together.any():
                asked += weight * _softplus(z)
            if not together.all():
                w += weight * expit(z - _log(g))
                p += weight * (g + (1 - g) * expit(z))
        total += correct[:, some] @ right
        total[together] -= trials[together, some] @ asked
        if not together.all():
            total[~together] -= trials[~together, some] @ CubicSpline(nodes, w * p, axis=1).antiderivative()(
                nodes
            )
    return total


def _score_variance(
    theta: FloatArray, correct: FloatArray, trials: FloatArray, guessing: FloatArray, difficulty: Calibration
) -> FloatArray:
    """Return Var_b[Σ_i score_mi] at θ, (M,), for errors of the table that sum to zero over the items.

    For independent errors e_i ~ Normal(0, s_i²) it is Σ_i Var[score_mi]; given Σ_i e_i = 0 it is less by
    Cov[Σ_i score_mi, Σ_i e_i]² / Σ_i s_i², the last two sums over the whole table.
    """
    sum_variance = (difficulty.sd**2).sum() + (difficulty.other_sd**2).sum()
    x, weights = _normal_nodes()
    b = difficulty.mean[:, None] + difficulty.sd[:, None] * x  # (N, nodes)
    log_g = _log(guessing)[:, None]
    variance = np.empty(len(theta))
    for model, ability in enumerate(theta):
        z = ability - b
        score = correct[model][:, None] * expit(z - log_g) - trials[model][:, None] * expit(z)
        apart = ((score - (score @ weights)[:, None]) ** 2 @ weights).sum()
        together = (score @ (weights * x)) @ difficulty.sd
        variance[model] = apart - together**2 / sum_variance
    return np.maximum(variance, 0.0)


def _normal_nodes() -> tuple[FloatArray, FloatArray]:
    """Return nodes x and weights w of Gauss and Hermite: Σ w f(x) is E[f(X)], X ~ Normal(0, 1), for smooth f."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
    return nodes, weights / weights.sum()


def _softplus(z: FloatArray) -> FloatArray:
    """Return log(1 + e^z); np.logaddexp takes three times as long."""
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))


def _log_right(z: FloatArray, guessing: FloatArray) -> FloatArray:
    """Return log(g + e^z)."""
    if not guessing.any():
        return z
    log_g = _log(guessing)
    return log_g + _softplus(z - log_g)


def _log(guessing: FloatArray) -> FloatArray:
    """Return log g, and for g = 0 that of the smallest double: the same unless |θ − b| > 700."""
    return np.log(np.maximum(guessing, np.finfo(float).tiny))
