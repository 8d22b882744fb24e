"""Cubic splines through values at nodes that lie 1 apart: their slopes, values between the nodes, and integrals.

The third derivative does not jump at the second node and the last but one ("not a knot"), so a cubic is met exactly.
scipy.interpolate has all this, and takes longer to import than everything else that a command does with abilities.
"""

from __future__ import annotations

import numpy as np

from irt.arrays import FloatArray


def spline_slopes(values: FloatArray) -> FloatArray:
    """Return the slopes at the nodes of the splines through the rows of ``values``: both (R, nodes), nodes ≥ 4."""
    count = values.shape[1]
    equations = 4 * np.eye(count) + np.eye(count, k=1) + np.eye(count, k=-1)
    equations[0, :2] = equations[-1, :-3:-1] = 1, 2
    right = np.empty_like(values)
    right[:, 1:-1] = 3 * (values[:, 2:] - values[:, :-2])
    right[:, 0] = values[:, :3] @ (-2.5, 2, 0.5)
    right[:, -1] = values[:, -3:] @ (-0.5, -2, 2.5)
    return np.linalg.solve(equations, right.T).T


def spline_at(places: FloatArray, values: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return one spline, of (nodes,) values and slopes, at places from 0 to nodes − 1; node 0 is at 0."""
    left = np.minimum(places.astype(int), len(values) - 2)
    t = places - left
    rise, before, after = values[left + 1] - values[left], slopes[left], slopes[left + 1]
    return values[left] + t * (before + t * (3 * rise - 2 * before - after + t * (before + after - 2 * rise)))


def spline_integrals(values: FloatArray) -> FloatArray:
    """Return the integrals of the splines through the rows of ``values`` from node 0 to each node, (R, nodes)."""
    pieces = (values[:, 1:] + values[:, :-1]) / 2 - np.diff(spline_slopes(values)) / 12
    return np.hstack([np.zeros((len(values), 1)), pieces.cumsum(axis=1)])
