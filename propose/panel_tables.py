"""How likely every count of every verifier is at every difficulty, tabled once, so that posteriors are sums of rows.

P(k of n | b) = ∫ Binomial(k | n, P(θ, b)) Normal(θ; mean, sd²) dθ for each verifier, as in verifier/new_item.py, which
makes the posteriors that decide. These tables are for the thousands of posteriors that only predict a decision: the
nodes are coarser, a quarter of the narrowest posterior's width apart.

Both have the same prior of a candidate's difficulty, wider than that of the benchmark's own items: a candidate is made
for a gap, wherever that is. With Normal(0, 1) an item that a gap at b = 1 is in need of is placed a third of an sd too
near to 0, items are taken for inside that are not, and the false landings of a run are counted too low.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from irt.arrays import FloatArray, IntArray
from irt.quadrature import grid_between, grid_for
from verifier.ability_posterior import Abilities, log_probabilities

CANDIDATE_PRIOR_SD = 2.0
_FINENESS = 4.0
_ABILITY_REACH = 6.0  # sds of an ability


@dataclass(frozen=True)
class PanelTables:
    """Of a panel of M verifiers with n answers each, on Q equally spaced nodes of b.

    Attributes
    ----------
    nodes, log_prior
        (Q,); the prior is Normal(0, ``CANDIDATE_PRIOR_SD``²).
    log_likelihood
        (M, n + 1, Q): log P(k | b), binomial coefficient included.
    below
        (M, Q, n): P(at most k | b) for k from 0 to n − 1.
    """

    nodes: FloatArray
    log_prior: FloatArray
    log_likelihood: FloatArray
    below: FloatArray

    @property
    def n_trials(self) -> int:
        """Answers of a verifier to an item."""
        return self.log_likelihood.shape[1] - 1

    def weights(self, intervals: npt.ArrayLike) -> FloatArray:
        """Return (Q, T): how much of each node's cell lies in each of T intervals (low, high)."""
        low, high = np.asarray(intervals, dtype=float).T
        half = (self.nodes[1] - self.nodes[0]) / 2
        start = np.maximum(self.nodes[:, None] - half, low)
        end = np.minimum(self.nodes[:, None] + half, high)
        return np.clip((end - start) / (2 * half), 0.0, 1.0)

    def log_posterior(self, counts: IntArray) -> FloatArray:
        """Return (R, Q) unnormalised log posteriors of (R, M) counts; −1 = has not answered."""
        total = np.tile(self.log_prior, (len(counts), 1))
        for verifier, table in enumerate(self.log_likelihood):
            answered = counts[:, verifier] >= 0
            total[answered] += table[counts[answered, verifier]]
        return total


def panel_tables(abilities: Abilities, n_trials: int, guessing: float) -> PanelTables:
    """Return the tables of a panel for items of one guessing probability."""
    answers = n_trials * len(abilities.mean)
    grid = grid_for(answers, prior_sd=CANDIDATE_PRIOR_SD, fineness=_FINENESS)
    sd = abilities.sd_on_scale
    inner = grid_between(-_ABILITY_REACH, _ABILITY_REACH, 1 / np.sqrt(1 + n_trials * sd.max() ** 2 / 4))
    k = np.arange(n_trials + 1)
    coefficient = gammaln(n_trials + 1) - gammaln(k + 1) - gammaln(n_trials - k + 1)
    log_likelihood = np.empty((len(sd), n_trials + 1, len(grid.nodes)))
    for verifier in range(len(sd)):
        theta = abilities.mean[verifier] + sd[verifier] * inner.nodes
        log_right, log_wrong = log_probabilities(theta[:, None] - grid.nodes, guessing)
        weights = inner.log_weights[:, None]
        for count in k:
            log_likelihood[verifier, count] = coefficient[count] + logsumexp(
                weights + count * log_right + (n_trials - count) * log_wrong, axis=0
            )
    probability = np.exp(log_likelihood)
    below = np.cumsum(probability / probability.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    return PanelTables(
        grid.nodes,
        grid.log_weights,
        log_likelihood,
        np.ascontiguousarray(below.transpose(0, 2, 1)),
    )


def draw_counts(tables: PanelTables, at: IntArray, uniform: FloatArray, verifiers: IntArray) -> IntArray:
    """Return (R, V) counts of these verifiers for items at the nodes with index ``at``, (R,), from (R, V) uniforms."""
    return (uniform[..., None] > tables.below[verifiers[None, :], at[:, None]]).sum(axis=-1)
