"""A PyTensor operation: the sum of many log integrals over one grid, with its gradient, in one pass.

As a PyTensor graph the same sum makes and reads a (profiles × nodes) table eight times. With 10,000 profiles that
traffic, not arithmetic, is what a NUTS step waits for. Here a block of rows is made, used and forgotten while it
is in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytensor.tensor as pt
from numba import njit
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROWS_AT_ONCE = 64

# exp(−40) = 4e-18 of a row's largest value changes no sum in double precision.
NEGLIGIBLE = -40.0


def _kernel(
    tables: FloatArray,
    asked: FloatArray,
    counts: FloatArray,
    asked_row: IntArray,
    units: FloatArray,
    group_start: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the value V of ``sum_log_integrals``, ∂V/∂tables and ∂V/∂asked."""
    value = 0.0
    by_tables = np.zeros(tables.shape)
    by_asked = np.zeros(asked.shape)
    nodes = tables.shape[2]
    for group in range(len(tables)):
        for start in range(group_start[group], group_start[group + 1], ROWS_AT_ONCE):
            rows = counts[start : min(start + ROWS_AT_ONCE, group_start[group + 1])]
            block = np.dot(rows, tables[group])
            for i in range(len(rows)):
                asked_i = asked_row[start + i]
                highest = -np.inf
                for q in range(nodes):
                    block[i, q] -= asked[asked_i, q]
                    highest = max(highest, block[i, q])
                mass = 0.0
                for q in range(nodes):
                    below = block[i, q] - highest
                    block[i, q] = np.exp(below) if below > NEGLIGIBLE else 0.0
                    mass += block[i, q]
                value += units[start + i] * (highest + np.log(mass))
                scale = units[start + i] / mass
                for q in range(nodes):
                    block[i, q] *= scale
                    by_asked[asked_i, q] -= block[i, q]
            by_tables[group] += np.dot(rows.T, block)
    return np.array(value), by_tables, by_asked


_compiled_kernel = njit(_kernel)


class SumLogIntegrals(Op):
    """The operation behind ``sum_log_integrals``: its outputs are those of ``_kernel``."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node; PyTensor calls this."""
        outputs = [pt.dscalar(), pt.dtensor3(), pt.dmatrix()]
        return Apply(self, [pt.as_tensor_variable(value) for value in inputs], outputs)

    def perform(self, node: Apply, inputs: list[Any], outputs: list[list[Any]]) -> None:
        """Compute where the graph around it is not compiled."""
        for storage, value in zip(outputs, _compiled_kernel(*inputs)):
            storage[0] = value

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return the gradients; only the value is ever differentiated, and only by tables and asked."""
        by_value = cotangents[0]
        return [by_value * outputs[1], by_value * outputs[2]] + [disconnected_type() for _ in inputs[2:]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say which inputs reach which outputs."""
        return [[index < 2, False, False] for index in range(len(node.inputs))]


@register_funcify_default_op_cache_key(SumLogIntegrals)
def _numba(op: SumLogIntegrals, node: Apply, **_: Any) -> Any:
    return numba_njit(_kernel)


def sum_log_integrals(
    tables: Any, asked: Any, counts: FloatArray, asked_row: IntArray, units: FloatArray, group_start: IntArray
) -> Any:
    """Return Σ_j units_j log Σ_q exp(counts_j · tables_g(j),q − asked_row(j),q), a differentiable scalar.

    Parameters
    ----------
    tables
        (G, F, Q) what each feature adds to the log integrand at each node, for each group of profiles.
    asked
        (P, Q) what is taken off, for each distinct set of trials.
    counts
        (J, F) features of each profile; profiles of one group are neighbours.
    asked_row
        (J,) which row of ``asked`` each profile has.
    units
        (J,) how many times each profile counts.
    group_start
        (G + 1,) the first profile of each group, and J.
    """
    return SumLogIntegrals()(tables, asked, counts, asked_row, units, group_start)[0]
