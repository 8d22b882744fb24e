"""Chooses the items that best separate models on one dimension, without changing any benchmark's mix of difficulty.

Difficulty here is an item's easiness: the share of correct answers that the fit expects of its models. It does not
depend on the rotation, exists for items that hardly load on anything, and is not upset by blanks; the difficulty per
dimension of a compensatory model is not identified, and −d/‖a‖ has no bound where ‖a‖ is near 0.

N items, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.mirt import MirtFit

# Groups of neighbouring easiness in a benchmark whose shares the kept items have; fewer where fewer items are kept.
DIFFICULTY_BINS = 5


@dataclass(frozen=True)
class Strata:
    """Groups of neighbouring easiness within a benchmark, and how many items of each are to be kept.

    Attributes
    ----------
    bins
        Numbers of the items of each group, by benchmark, the hardest first; together all items that separate models.
    quota
        (bins,) how many to keep.
    """

    bins: list[IntArray]
    quota: IntArray

    @property
    def count(self) -> int:
        """How many items are to be kept."""
        return int(self.quota.sum())


def separating_items(correct: IntArray, trials: IntArray) -> IntArray:
    """Return the numbers of the items with a right and a wrong answer: the others separate no models."""
    right, asked = correct.sum(axis=0), trials.sum(axis=0)
    return np.flatnonzero((right > 0) & (right < asked))


def stratify(easiness: FloatArray, benchmark_of: IntArray, pool: IntArray, count: int) -> Strata:
    """Split the items of ``pool`` in each benchmark into groups of equal size by easiness, and ``count`` in proportion.

    If the pool has fewer items than ``count``, all are to be kept.

    Parameters
    ----------
    easiness, benchmark_of
        (N,) of all items.
    """
    benchmarks = [pool[benchmark_of[pool] == number] for number in np.unique(benchmark_of[pool])]
    bins: list[IntArray] = []
    quotas: list[IntArray] = []
    for members, keep in zip(benchmarks, _proportional(benchmarks, min(count, len(pool))), strict=True):
        ordered = members[np.argsort(easiness[members], kind="stable")]
        own = np.array_split(ordered, max(1, min(DIFFICULTY_BINS, keep)))
        bins += own
        quotas.append(_proportional(own, keep))
    return Strata(bins, np.concatenate([*quotas, np.zeros(0, dtype=np.int64)]))


def _proportional(groups: list[IntArray], count: int) -> IntArray:
    """Split ``count`` in proportion to the sizes; what rounding down leaves over goes to the largest remainders."""
    sizes = np.array([len(members) for members in groups], dtype=np.int64)
    total = max(1, int(sizes.sum()))
    parts: IntArray = sizes * count // total
    parts[np.argsort(-(sizes * count % total), kind="stable")[: count - parts.sum()]] += 1
    return parts


def expected_easiness(probability: FloatArray) -> FloatArray:
    """Return the easiness (N,) that goes with P(correct) of every model and item, (M, N)."""
    easiness: FloatArray = probability.mean(axis=0)
    return easiness


def select_items(fit: MirtFit, probability: FloatArray, dimension: int, strata: Strata) -> IntArray:
    """Return the numbers of the kept items, in the order in which they were taken.

    Each item taken is the one, of those whose group is not yet full, that lowers the variance of the ability most,
    given the items already taken and with the other abilities unknown as well: one that measures a mixture adds little
    once the mixture is known. The information of an item is w·a aᵀ with w the mean over the models of P(1 − P) (Segall
    1996, Psychometrika 61, for one model at a time). Items on which more of the ability means fewer correct answers
    come last.

    Parameters
    ----------
    fit
        Its axes are the dimensions that are meant.
    probability
        P(correct) of the fit's models and items, (M, N).
    dimension
        Number of the dimension, from 0.
    """
    loadings = fit.a
    weight = (probability * (1 - probability)).mean(axis=0)
    variance = fit.ability_covariance
    bin_of = np.full(len(loadings), -1)
    for number, members in enumerate(strata.bins):
        bin_of[members] = number
    left = strata.quota.copy()
    chosen: list[int] = []
    while left.sum():
        candidates = np.flatnonzero((bin_of >= 0) & (left[bin_of] > 0))
        a, w = loadings[candidates], weight[candidates]
        shared = a @ variance
        gain = w * shared[:, dimension] ** 2 / (1 + w * np.sum(shared * a, axis=1))
        best = int(np.argmax(np.where(a[:, dimension] > 0, gain, a[:, dimension])))
        item = int(candidates[best])
        chosen.append(item)
        left[bin_of[item]] -= 1
        bin_of[item] = -1
        # The inverse of the information with one more term (Sherman & Morrison).
        step = shared[best]
        variance = variance - w[best] * np.outer(step, step) / (1 + w[best] * step @ a[best])
    return np.array(chosen, dtype=np.int64)


def random_items(items: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return ``count`` of the items drawn at random: the control without any choice."""
    return rng.permutation(items)[:count]


def matched_items(strata: Strata, rng: np.random.Generator) -> IntArray:
    """Return items drawn at random within the groups: the control with the mix of difficulty, without the choice."""
    drawn = [rng.permutation(members)[:keep] for members, keep in zip(strata.bins, strata.quota, strict=True)]
    return np.concatenate([*drawn, np.zeros(0, dtype=np.int64)])
