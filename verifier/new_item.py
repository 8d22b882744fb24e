"""The difficulty of a new item, from how often each verifier was right and what is known of the verifiers' abilities.

P(correct) = g + (1 − g)·σ(θ − b). The abilities are θ_m ~ Normal(mean_m, sd_m²), each verifier's integrated over, and
b ~ Normal(0, 1) before the answers:

    p(b | k) ∝ φ(b) ∏_m ∫ Binomial(k_m | n_m, P(θ, b)) Normal(θ; mean_m, sd_m²) dθ.

b is on the scale of the calibration table, whose items are the edges of the gaps to be filled. An error in the place of
the whole scale moves the new item, the verifiers and the edges alike, so sd_m is what is unknown of an ability relative
to the table (``Abilities.sd_on_scale``). Those errors are nearly independent between verifiers; the shared one is not.
The prior pulls towards 0: with s = 1 and 12 answers an item far out is placed too near (perf/new_items.py). Items that
were made for a place far out are none of the population that it describes, and want a wider one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from irt.arrays import FloatArray
from irt.quadrature import grid_between, grid_for
from verifier.ability_posterior import Abilities, log_probabilities

# In sds of an ability: room for answers that contradict it, such as 100 of 100 right where others say 30 to be likely.
_ABILITY_REACH = 10.0
# Nodes in the width of the narrowest posterior: with a density linear between them, a probability is right to 2e-4.
_FINENESS = 10.0


@dataclass(frozen=True)
class NewItemDifficulties:
    """Posteriors of the difficulties of R items, on one grid of Q equally spaced nodes.

    ``b_mean`` and ``b_sd`` are (R,), ``nodes`` (Q,), ``density`` (R, Q) with an integral of 1 in each row.
    """

    b_mean: FloatArray
    b_sd: FloatArray
    nodes: FloatArray
    density: FloatArray

    def probability_in(self, interval: tuple[npt.ArrayLike, npt.ArrayLike]) -> FloatArray:
        """Return P(low < b < high) of each item, (R,); an end is a number for all or (R,), and may be infinite."""
        return _probability_in(interval, self.nodes, self.density)


@dataclass(frozen=True)
class NewItemDifficulty:
    """The posterior of the difficulty of one item: ``nodes`` and ``density`` are (Q,)."""

    b_mean: float
    b_sd: float
    nodes: FloatArray
    density: FloatArray

    def probability_in(self, interval: tuple[float, float]) -> float:
        """Return P(low < b < high); an end may be infinite."""
        return float(_probability_in(interval, self.nodes, self.density[None])[0])


def new_item_difficulty(
    correct: npt.ArrayLike,
    trials: npt.ArrayLike,
    guessing: float,
    abilities: Abilities,
    *,
    prior_sd: float = 1.0,
) -> NewItemDifficulty:
    """Return the posterior of one item's difficulty from its (M,) counts; see ``new_item_difficulties``."""
    found = new_item_difficulties(np.asarray(correct)[None], trials, guessing, abilities, prior_sd=prior_sd)
    return NewItemDifficulty(float(found.b_mean[0]), float(found.b_sd[0]), found.nodes, found.density[0])


def new_item_difficulties(
    correct: npt.ArrayLike,
    trials: npt.ArrayLike,
    guessing: npt.ArrayLike,
    abilities: Abilities,
    *,
    prior_sd: float = 1.0,
) -> NewItemDifficulties:
    """Return the posteriors of the difficulties of R items, each independent of the others.

    Parameters
    ----------
    correct
        (R, M) counts of right answers, whole numbers.
    trials
        How many answers each is out of: (R, M), (M,) or one number. 0 = not asked, and counts as nothing.
    guessing
        (R,) guessing probabilities, or one for all.
    prior_sd
        Of b before the answers, around 0.

    Raises
    ------
    ValueError
        If a count is not a whole number from 0, or there are more right answers than answers, with its place.
    """
    correct, trials = _counts(correct, trials)
    guessing = np.broadcast_to(np.asarray(guessing, dtype=float), len(correct))
    grid = grid_for(int(trials.sum(axis=1).max(initial=0)), prior_sd=prior_sd, fineness=_FINENESS)
    nodes = grid.nodes
    log_density = np.empty((len(correct), len(nodes)))
    for g in np.unique(guessing):
        rows = guessing == g
        log_density[rows] = grid.log_weights + _log_likelihood(
            correct[rows], trials[rows], float(g), abilities, nodes
        )
    weights = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights @ nodes
    variance = weights @ nodes**2 - mean**2
    return NewItemDifficulties(mean, np.sqrt(variance), nodes, weights / (nodes[1] - nodes[0]))


def _counts(
    correct: npt.ArrayLike, trials: npt.ArrayLike
) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.int_]]:
    """Return both as whole numbers, of the shape of ``correct``."""
    right = np.asarray(correct, dtype=float)
    asked = np.broadcast_to(np.asarray(trials, dtype=float), right.shape)
    # A NaN is none of these.
    possible = (right >= 0) & (right <= asked) & (asked < np.inf)
    possible &= (right == np.floor(right)) & (asked == np.floor(asked))
    if not possible.all():
        at = tuple(int(index) for index in np.argwhere(~possible)[0])
        raise ValueError(
            f"answers at {at}: {right[at]:g} right of {asked[at]:g}; both must be whole numbers from 0, and no more "
            "right than there are"
        )
    return right.astype(int), asked.astype(int)


def _log_likelihood(
    correct: npt.NDArray[np.int_],
    trials: npt.NDArray[np.int_],
    guessing: float,
    abilities: Abilities,
    nodes: FloatArray,
) -> FloatArray:
    """Return the log likelihood of every row at the nodes, (R, Q), without the binomial coefficients.

    A verifier's answers are one of few pairs (k, n): its integrals are made once a pair and looked up for each row.
    """
    sd = abilities.sd_on_scale
    # As fine as the answers of one verifier can make its ability known, see grid_for.
    grid = grid_between(
        -_ABILITY_REACH, _ABILITY_REACH, 1 / np.sqrt(1 + trials.max(initial=0) * sd.max() ** 2 / 4)
    )
    theta = abilities.mean + sd * grid.nodes[:, None]  # (nodes of θ, M)
    log_right, log_wrong = log_probabilities(theta[..., None] - nodes, guessing)
    log_weights = grid.log_weights[:, None]
    total = np.zeros((len(correct), len(nodes)))
    for verifier in range(len(abilities.mean)):
        pairs, pair_of_row = np.unique(
            np.stack([correct[:, verifier], trials[:, verifier]], axis=1), axis=0, return_inverse=True
        )
        tables = np.empty((len(pairs), len(nodes)))
        for pair, (k, n) in enumerate(pairs):
            tables[pair] = logsumexp(
                log_weights + k * log_right[:, verifier] + (n - k) * log_wrong[:, verifier], axis=0
            )
        total += tables[pair_of_row]
    return total


def _probability_in(
    interval: tuple[npt.ArrayLike, npt.ArrayLike], nodes: FloatArray, density: FloatArray
) -> FloatArray:
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), len(density)) for end in interval)
    if not (low <= high).all():
        raise ValueError(f"an interval must go from low to high, got {interval}")
    return np.clip(_mass_below(high, nodes, density) - _mass_below(low, nodes, density), 0.0, 1.0)


def _mass_below(value: FloatArray, nodes: FloatArray, density: FloatArray) -> FloatArray:
    """Return the probability below the (R,) values: the exact integral of the density that is linear between nodes."""
    spacing = nodes[1] - nodes[0]
    cell = spacing * (density[:, 1:] + density[:, :-1]) / 2
    row = np.arange(len(density))
    at = np.clip(value, nodes[0], nodes[-1])
    node = np.minimum(((at - nodes[0]) / spacing).astype(int), len(nodes) - 2)
    inside = (at - nodes[node]) / spacing
    start, end = density[row, node], density[row, node + 1]
    before = np.where(np.arange(len(nodes) - 1) < node[:, None], cell, 0.0).sum(axis=1)
    mass = before + spacing * inside * (start + inside * (end - start) / 2)
    return mass / cell.sum(axis=1)
