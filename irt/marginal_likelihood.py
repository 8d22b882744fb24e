"""The marginal log likelihood and its gradient as one PyTensor operation.

Written as a PyTensor graph, the same sum makes and reads a (profiles × nodes) table eight times and takes NUTS three
times as long; here a block of it is made, used and forgotten while it is in the cache. The model and the notation
are those of irt/marginal.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numba import njit
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

from irt.arrays import FloatArray, IntArray

ROWS_AT_ONCE = 64

# exp(−40) = 4e-18 of a row's largest value: leaving such values out changes a sum by less than 1e-13 of it.
NEGLIGIBLE = -40.0


def _value_and_gradient(
    x: FloatArray,
    counts: FloatArray,
    units: FloatArray,
    trials: FloatArray,
    trials_row: IntArray,
    log_guessing: FloatArray,
    group_start: IntArray,
    linear: FloatArray,
    nodes: FloatArray,
    log_weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return V(x) = linear·x + Σ_j units_j log Σ_q exp(log_weights_q + Σ_s …) and ∂V/∂x, see ``marginal``."""
    sampled, size = len(x), len(nodes)
    # log(1 + e^z) and its slope, at z = x_s − node_q.
    softplus, sigmoid = np.empty((sampled, size)), np.empty((sampled, size))
    for s in range(sampled):
        for q in range(size):
            z = x[s] - nodes[q]
            small = np.exp(-abs(z))
            softplus[s, q] = max(z, 0.0) + np.log1p(small)
            sigmoid[s, q] = (1.0 if z > 0 else small) / (1.0 + small)
    asked = np.dot(trials, softplus)  # (P, Q)
    by_asked = np.zeros(asked.shape)

    value = np.dot(linear, x)
    gradient = linear.copy()
    log_right, slope = np.empty((sampled, size)), np.empty((sampled, size))
    for group in range(len(log_guessing)):
        # log(g + e^z) and its slope.
        for s in range(sampled):
            for q in range(size):
                z = x[s] - nodes[q]
                above = z - log_guessing[group, s]
                if above > -NEGLIGIBLE:  # also where g = 0
                    log_right[s, q], slope[s, q] = z, 1.0
                else:
                    small = np.exp(-abs(above))
                    log_right[s, q] = max(z, log_guessing[group, s]) + np.log1p(small)
                    slope[s, q] = (1.0 if above > 0 else small) / (1.0 + small)
        by_log_right = np.zeros((sampled, size))
        for start in range(group_start[group], group_start[group + 1], ROWS_AT_ONCE):
            rows = counts[start : min(start + ROWS_AT_ONCE, group_start[group + 1])]
            block = np.dot(rows, log_right)
            for i in range(len(rows)):
                row = trials_row[start + i]
                highest = -np.inf
                for q in range(size):
                    block[i, q] += log_weights[q] - asked[row, q]
                    highest = max(highest, block[i, q])
                mass = 0.0
                for q in range(size):
                    below = block[i, q] - highest
                    block[i, q] = np.exp(below) if below > NEGLIGIBLE else 0.0
                    mass += block[i, q]
                value += units[start + i] * (highest + np.log(mass))
                scale = units[start + i] / mass
                for q in range(size):
                    block[i, q] *= scale
                    by_asked[row, q] += block[i, q]
            by_log_right += np.dot(rows.T, block)
        for s in range(sampled):
            for q in range(size):
                gradient[s] += by_log_right[s, q] * slope[s, q]
    by_softplus = np.dot(trials.T, by_asked)
    for s in range(sampled):
        for q in range(size):
            gradient[s] -= by_softplus[s, q] * sigmoid[s, q]
    return np.array(value), gradient


_compiled = njit(_value_and_gradient)


class MarginalLogLikelihood(Op):
    """The arguments of ``_value_and_gradient`` → the log likelihood and its gradient with respect to x."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node; PyTensor calls this."""
        return Apply(self, [pt.as_tensor_variable(value) for value in inputs], [pt.dscalar(), pt.dvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], outputs: list[list[Any]]) -> None:
        """Compute where the graph around it is not compiled."""
        for storage, value in zip(outputs, _compiled(*inputs)):
            storage[0] = value

    def pullback(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        cotangents: Sequence[Variable],
    ) -> list[Variable]:
        """Return the gradient; only the value is ever differentiated, and only by x."""
        by_value: Any = cotangents[0]
        return [by_value * outputs[1]] + [disconnected_type() for _ in inputs[1:]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say which inputs reach which outputs."""
        return [[index == 0, False] for index in range(len(node.inputs))]


@register_funcify_default_op_cache_key(MarginalLogLikelihood)
def _numba(op: MarginalLogLikelihood, node: Apply, **_: Any) -> tuple[Any, int]:
    # PyTensor keeps compiled code on disk and looks it up by the operation's name and this number. Without it,
    # a changed kernel would go on running as it was.
    return numba_njit(_value_and_gradient), zlib.crc32(Path(__file__).read_bytes())
