"""The integrated side, given draws of the sampled side: exact moments and exact draws of every position y.

Given x, each y has a one-dimensional posterior (irt/marginal.py). On a grid finer than its width, its moments
are sums (trapezoid rule), and a draw is the inverse of its distribution function at a uniform number. The
pairs (x draw, y draw) are draws of the joint posterior of all abilities and difficulties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.marginal import LOG_ZERO, Profiles
from irt.quadrature import Grid, grid_between, grid_for

# Of the narrowest posterior in a block. At 0.3 sd the distribution function is right to about 1e-4 of a
# probability between nodes, far below what a few thousand draws can show.
SPACING_IN_SDS = 0.3
REACH_IN_SDS = 7.0  # beyond which a normal has 3e-12 of its mass, and an all-wrong unit at most 1e-7

UNITS_IN_A_BLOCK = 256
VALUES_AT_ONCE = 1 << 20  # 8 MiB of doubles: several such arrays fit beside each other in cache and memory


@dataclass(frozen=True)
class Block:
    """Posteriors of some integrated units.

    ``mean`` and ``sd`` average the conditional moments over the draws of x (Rao–Blackwell), so they carry less
    Monte Carlo noise than ``draws`` and are equal for units with equal answers.
    """

    units: IntArray  # (U,) positions among the L integrated units
    mean: FloatArray  # (U,)
    sd: FloatArray  # (U,)
    draws: FloatArray  # (D, U)


@dataclass(frozen=True)
class Plan:
    """Which units a block holds, and where their posteriors are evaluated."""

    units: IntArray
    grid: Grid
    seed: np.random.SeedSequence


def plan_blocks(x: FloatArray, profiles: Profiles, *, seed: int, prior_sd: float = 1.0) -> list[Plan]:
    """Sort the L units by place, cut them into blocks, and give each a grid that covers all draws x, (D, S).

    The prior of every y is Normal(0, prior_sd²).
    """
    mean, sd = _moments_at(x.mean(axis=0), profiles, prior_sd)
    # With g = 0 a conditional mode moves by at most as much as the x that moves most. With g > 0 that is not proved;
    # in simulations it moved by 0.83 of it at most.
    drift = np.abs(x - x.mean(axis=0)).max()
    unit_group = profiles.group_of_profile()[profiles.of_unit]
    order = np.lexsort((mean[profiles.of_unit], unit_group))
    # Units far apart would need many nodes where neither has mass.
    place = np.floor(mean[profiles.of_unit] / (2 * REACH_IN_SDS * np.median(sd)))
    breaks = np.flatnonzero(np.diff(unit_group[order]) | (np.diff(place[order]) != 0)) + 1
    pieces = [
        block
        for part in np.split(order, breaks)
        for block in np.split(part, range(UNITS_IN_A_BLOCK, len(part), UNITS_IN_A_BLOCK))
    ]
    seeds = np.random.SeedSequence(seed).spawn(len(pieces))
    plans = []
    for units, block_seed in zip(pieces, seeds, strict=True):
        members = np.unique(profiles.of_unit[units])
        reach = REACH_IN_SDS * sd[members].max() + drift
        grid = grid_between(
            mean[members].min() - reach,
            mean[members].max() + reach,
            SPACING_IN_SDS * sd[members].min(),
            prior_sd=prior_sd,
        )
        plans.append(Plan(units, grid, block_seed))
    return plans


def draw_block(x: FloatArray, profiles: Profiles, plan: Plan) -> Block:
    """Return moments of the block's units and one draw of each for every draw of x, (D, S)."""
    members, of_unit = np.unique(profiles.of_unit[plan.units], return_inverse=True)
    nodes = plan.grid.nodes
    random = np.random.default_rng(plan.seed)
    draws = np.empty((len(x), len(plan.units)))
    first, second = np.zeros(len(members)), np.zeros(len(members))
    step = max(1, VALUES_AT_ONCE // (len(nodes) * max(len(members), x.shape[1])))
    for start in range(0, len(x), step):
        some = slice(start, start + step)
        density = _relative(log_integrand(x[some], profiles, members, plan.grid))
        weights = density / density.sum(axis=-1, keepdims=True)
        first += (weights @ nodes).sum(axis=0)
        second += (weights @ nodes**2).sum(axis=0)
        draws[some] = _inverse_cdf(density, nodes, of_unit, random)
    mean = first / len(x)
    sd = np.sqrt(second / len(x) - mean**2)
    return Block(plan.units, mean[of_unit], sd[of_unit], draws)


def log_integrand(x: FloatArray, profiles: Profiles, members: IntArray, grid: Grid) -> FloatArray:
    """Return the log of prior × likelihood × spacing of y at the nodes, up to a constant in y: (D, J, Q).

    ``members`` are profiles of one group.
    """
    z = x[:, :, None] - grid.nodes  # (D, S, Q)
    trials_rows, row = np.unique(profiles.trials_row[members], return_inverse=True)
    asked = profiles.trials[trials_rows] @ np.logaddexp(0.0, z)  # (D, P, Q)
    group = np.searchsorted(profiles.group_start, members[0], side="right") - 1
    log_g = profiles.log_guessing[group][:, None]
    log_right = z if (log_g == LOG_ZERO).all() else np.logaddexp(log_g, z)
    return grid.log_weights + profiles.counts[members] @ log_right - asked[:, row]


def _moments_at(x: FloatArray, profiles: Profiles, prior_sd: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and sd of y for every profile at one x, (J,) each."""
    grid = grid_for(profiles.trials.sum(axis=1).max(), prior_sd=prior_sd)
    mean, second = np.empty(len(profiles.units)), np.empty(len(profiles.units))
    for members in np.split(np.arange(len(profiles.units)), profiles.group_start[1:-1]):
        weights = _relative(log_integrand(x[None], profiles, members, grid))[0]
        weights /= weights.sum(axis=-1, keepdims=True)
        mean[members], second[members] = weights @ grid.nodes, weights @ grid.nodes**2
    return mean, np.sqrt(second - mean**2)


def _relative(log_values: FloatArray) -> FloatArray:
    """Return exp(values − their maximum over the last axis), computed in place."""
    log_values -= log_values.max(axis=-1, keepdims=True)
    return np.exp(log_values, out=log_values)


def _inverse_cdf(
    density: FloatArray, nodes: FloatArray, of_unit: IntArray, random: np.random.Generator
) -> FloatArray:
    """Return one draw for every (x draw, unit), (D, U), from unnormalised densities at the nodes, (D, J, Q).

    The distribution function at the nodes is the sum of fourth-order cell integrals; between nodes its inverse
    is the cubic Hermite polynomial that has slope 1/density at both ends (Hörmann and Leydold 2003), with the
    slopes limited so that it stays monotone (Fritsch and Carlson 1980).
    """
    draws, profiles, size = density.shape
    padded = np.pad(density, ((0, 0), (0, 0), (1, 1)))
    cell = 13 * (padded[..., 1:-2] + padded[..., 2:-1]) - padded[..., :-3] - padded[..., 3:]
    np.maximum(cell, 0.0, out=cell)
    cell /= 24
    cdf = np.zeros_like(density)
    np.cumsum(cell, axis=-1, out=cdf[..., 1:])
    cdf /= cdf[..., -1:]
    # One search over all distribution functions at once: row r of them runs from r to r + 1.
    row = (np.arange(draws) * profiles)[:, None] + of_unit
    uniform = random.random(row.shape)
    stacked = (cdf.reshape(-1, size) + np.arange(draws * profiles)[:, None]).ravel()
    node = np.searchsorted(stacked, row + uniform, side="right") - 1 - row * size
    np.clip(node, 0, size - 2, out=node)
    at = row * size + node
    flat_cdf, flat_density = cdf.ravel(), density.ravel()
    low = flat_cdf[at]
    mass = cell.ravel()[at - row]  # cells have one entry less a row
    s = np.clip((uniform - low) / np.maximum(flat_cdf[at + 1] - low, 1e-300), 0.0, 1.0)
    start = np.minimum(mass / np.maximum(flat_density[at], 1e-300), 3.0)
    end = np.minimum(mass / np.maximum(flat_density[at + 1], 1e-300), 3.0)
    fraction = s * ((1 - s) ** 2 * start + s * (3 - 2 * s) - s * (1 - s) * end)
    return nodes[node] + (nodes[1] - nodes[0]) * fraction
