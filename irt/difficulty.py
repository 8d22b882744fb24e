"""How evenly a benchmark covers difficulty: normalisation, DDM, Max Gap and the widest gaps.

Pure functions on sequences of floats; standard library only, Python 3.9+. z is a difficulty on [0, 1]: 0 is
the easiest item, 1 the hardest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import sub
from typing import Sequence


@dataclass(frozen=True)
class Gap:
    """An interval of difficulty without an item.

    Attributes
    ----------
    width, lower, upper
        Its size and edges, in z.
    lower_index, upper_index
        Where the items at its edges are in the sequence that was searched; ``None`` where the edge is the
        boundary 0 or 1 itself.
    """

    width: float
    lower: float
    upper: float
    lower_index: int | None
    upper_index: int | None


@dataclass(frozen=True)
class Diagnosis:
    """A benchmark's diagnostics.

    Attributes
    ----------
    items
        Number of items.
    ddm, max_gap
        See the functions of these names.
    b_min, b_max
        Range of the difficulties as they were given.
    z
        The difficulties on [0, 1], in the order given.
    """

    items: int
    ddm: float
    max_gap: float
    b_min: float
    b_max: float
    z: list[float]


def normalize(difficulties: Sequence[float]) -> list[float]:
    """Map difficulties to [0, 1] by their own minimum and maximum: z = (b − min) / (max − min).

    Example: [-2, 0, 3] gives [0, 0.4, 1].

    Raises
    ------
    ValueError
        If there are fewer than two difficulties, one is not finite, or all are equal.
    """
    if len(difficulties) < 2:
        raise ValueError(f"min-max normalization needs at least two items, found {len(difficulties)}")
    if not all(map(math.isfinite, difficulties)):
        raise ValueError("a difficulty is not a finite number")
    lowest, highest = min(difficulties), max(difficulties)
    span = highest - lowest
    if span == 0:
        raise ValueError(f"all {len(difficulties)} difficulties are equal ({lowest}), so they have no spread")
    if math.isinf(span):
        raise ValueError(f"the difficulties from {lowest} to {highest} span more than a float can hold")
    return [(b - lowest) / span for b in difficulties]


def ddm(z: Sequence[float]) -> float:
    """Return the difficulty distribution mismatch: the mean distance of z from evenly spread items.

    It is the mean over i = 1…n of |z_(i) − (i − 0.5)/n|, with z_(i) the i-th smallest: 0 for evenly spread
    items, 0.5 at most. Source: "Your Benchmark Is an Empirical Measure Over Difficulty" (NeurIPS 2026).
    Example: [0, 0.2, 1] against [1/6, 1/2, 5/6] gives (1/6 + 0.3 + 1/6) / 3 = 0.2111.

    Raises
    ------
    ValueError
        If there are no values, or one is not on [0, 1].
    """
    return _ddm_of_sorted(_sorted_unit(z))


def max_gap(z: Sequence[float]) -> float:
    """Return the width of the widest interval without an item, boundary intervals included.

    It is the largest difference between neighbours of {0, z_(1) … z_(n), 1}. Source: "Your Benchmark Is an
    Empirical Measure Over Difficulty" (NeurIPS 2026). Example: [0, 0.2, 1] gives 0.8.

    Raises
    ------
    ValueError
        If there are no values, or one is not on [0, 1].
    """
    return _max_gap_of_sorted(_sorted_unit(z))


def widest_gaps(z: Sequence[float], count: int) -> list[Gap]:
    """Return the ``count`` widest gaps, widest first, equally wide ones from easy to hard.

    Items of equal difficulty have no gap between them, so there may be fewer than ``count``.
    Example: [0, 1, 0.2] with count 1 gives Gap(0.8, 0.2, 1, lower_index=2, upper_index=1).

    Raises
    ------
    ValueError
        If there are no values, or one is not on [0, 1].
    """
    edges = [0.0, *_sorted_unit(z), 1.0]
    indices = [None, *sorted(range(len(z)), key=z.__getitem__), None]
    widths = list(map(sub, edges[1:], edges))
    # sorted is stable, so equal widths stay from easy to hard.
    widest = sorted(range(len(widths)), key=widths.__getitem__, reverse=True)[:count]
    return [
        Gap(widths[at], edges[at], edges[at + 1], indices[at], indices[at + 1])
        for at in widest
        if widths[at] > 0
    ]


def diagnose(difficulties: Sequence[float], normalized: bool = False) -> Diagnosis:
    """Return all diagnostics of a benchmark.

    Parameters
    ----------
    difficulties
        One number an item, higher = harder.
    normalized
        Take the difficulties as z, instead of normalising them by their own minimum and maximum.

    Raises
    ------
    ValueError
        As ``normalize``; with ``normalized`` as ``ddm``.
    """
    z = list(difficulties) if normalized else normalize(difficulties)
    ordered = _sorted_unit(z)
    return Diagnosis(
        items=len(z),
        ddm=_ddm_of_sorted(ordered),
        max_gap=_max_gap_of_sorted(ordered),
        b_min=min(difficulties),
        b_max=max(difficulties),
        z=z,
    )


def _sorted_unit(z: Sequence[float]) -> list[float]:
    """Return the values sorted; all are on [0, 1]."""
    if not z:
        raise ValueError("there are no items")
    if not all(map(math.isfinite, z)):
        raise ValueError("a value is not a finite number")
    ordered = sorted(z)
    if ordered[0] < 0 or ordered[-1] > 1:
        raise ValueError(f"values must be on [0, 1], found {ordered[0]} to {ordered[-1]}")
    return ordered


def _ddm_of_sorted(z: list[float]) -> float:
    n = len(z)
    return math.fsum(abs(value - (i + 0.5) / n) for i, value in enumerate(z)) / n


def _max_gap_of_sorted(z: list[float]) -> float:
    return max(z[0], 1 - z[-1], max(map(sub, z[1:], z), default=0.0))
