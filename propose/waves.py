"""In which order the verifiers answer, and which candidates are not worth going on with.

Before each wave but the first, a candidate is dropped when it will too probably not meet the acceptance rule once all
verifiers have answered. That probability is simulated: difficulties from what is known so far, the missing counts from
those, and the rule applied to each completed set of counts.

The difficulties come from another prior than the decision's: a candidate was made for a gap, so before any answer it is
believed to be near what it was aimed at. The decision knows nothing of that aim: what it says rests on answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irt.arrays import FloatArray, IntArray
from propose.candidate import seed_of
from propose.panel_tables import PanelTables, draw_counts
from propose.targets import Gap, meets_rule

SIMULATED = 200
# How far from its aim a candidate is believed to land, in b, before any answer.
BELIEVED_SD = 1.0


def order_of_verifiers(tables: PanelTables, gaps: Sequence[Gap]) -> list[int]:
    """Return the verifiers, most informative first: each next one adds most to what is known in all gaps together.

    Measured by the sum over gaps of log(1 + information), which a verifier raises most where little is known yet.
    """
    information = np.array([_information(tables, gap.middle) for gap in gaps])  # (T, M)
    known = np.ones(len(gaps))
    order: list[int] = []
    left = list(range(information.shape[1]))
    while left:
        gain = np.log(known[:, None] + information[:, left]).sum(axis=0)
        best = left.pop(int(np.argmax(gain)))
        known += information[:, best]
        order.append(best)
    return order


def _information(tables: PanelTables, b: float) -> FloatArray:
    """Return the Fisher information about b that the answers of each verifier hold, (M,)."""
    at = int(np.clip(np.searchsorted(tables.nodes, b), 1, len(tables.nodes) - 2))
    step = tables.nodes[1] - tables.nodes[0]
    slope = (tables.log_likelihood[:, :, at + 1] - tables.log_likelihood[:, :, at - 1]) / (2 * step)
    information: FloatArray = (np.exp(tables.log_likelihood[:, :, at]) * slope**2).sum(axis=1)
    return information


def predictive_probability(
    ids: Sequence[str],
    aims: Sequence[float],
    counts: IntArray,
    gaps: Sequence[Gap],
    tables: PanelTables,
    accept_above: float,
) -> FloatArray:
    """Return the probability that each candidate meets the rule once all verifiers have answered, (R,).

    Parameters
    ----------
    ids
        They and the number of verifiers that have answered seed the simulation.
    aims
        The difficulty that each is aimed at.
    counts
        (R, M) right answers so far; −1 = has not answered. All have been answered by the same verifiers.
    gaps
        The targets of the round: it may land in any.
    """
    if not len(ids):
        return np.empty(0)
    missing = np.flatnonzero(counts[0] < 0)
    so_far = tables.log_posterior(counts)
    belief = (
        so_far - tables.log_prior - (tables.nodes - np.asarray(aims)[:, None]) ** 2 / (2 * BELIEVED_SD**2)
    )
    below = np.cumsum(np.exp(belief - belief.max(axis=1, keepdims=True)), axis=1)
    at = np.empty((len(ids), SIMULATED), dtype=int)
    uniform = np.empty((len(ids), SIMULATED, len(missing)))
    for row, name in enumerate(ids):
        rng = np.random.default_rng(seed_of(name, counts.shape[1] - len(missing)))
        # One draw from each of as many equal slices of the belief: less noise than independent draws.
        slices = (np.arange(SIMULATED) + rng.random(SIMULATED)) / SIMULATED
        at[row] = np.searchsorted(below[row], slices * below[row, -1])
        rng.random(out=uniform[row])
    flat = np.repeat(so_far, SIMULATED, axis=0)
    drawn = draw_counts(tables, at.ravel(), uniform.reshape(-1, len(missing)), missing)
    for column, verifier in enumerate(missing):
        flat += tables.log_likelihood[verifier][drawn[:, column]]
    met = meets_rule(tables, flat, [(gap.low, gap.high) for gap in gaps], accept_above)
    return met.reshape(len(ids), SIMULATED).mean(axis=1)
