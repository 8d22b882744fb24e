"""Fit the Rasch model with fixed guessing to a response matrix.

P(correct) = g + (1 − g)·σ(theta − b), counts binomial, theta and b independent Normal(0, 1). Both methods draw from
the same posterior: ``marginal`` samples the shorter side and draws the longer one exactly (irt/marginal.py,
irt/conditional.py); ``joint`` samples everything (irt/joint.py).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from irt.arrays import Float32Array, FloatArray
from irt.conditional import Plan, draw_block, plan_blocks
from irt.convergence import Estimates, diagnose, summarize
from irt.joint import joint_model
from irt.marginal import Cells, Profiles, find_profiles, marginal_model
from irt.progress import progress
from irt.quadrature import grid_for
from irt.sampling import sample
from irt.settings import SamplerSettings

Method = Literal["marginal", "joint"]


@dataclass(frozen=True)
class Draws:
    """Posterior draws: ``theta`` (chains, draws, M) and ``b`` (chains, draws, N), in single precision."""

    theta: Float32Array
    b: Float32Array


@dataclass(frozen=True)
class RaschFit:
    """Abilities of M models, difficulties of N items (higher = harder), and how the sampling went."""

    ability: Estimates
    difficulty: Estimates
    divergences: int
    draws: Draws | None


def fit_rasch(
    correct: npt.ArrayLike,
    trials: npt.ArrayLike,
    guessing: npt.ArrayLike,
    *,
    settings: SamplerSettings,
    method: Method = "marginal",
    keep_draws: bool = False,
) -> RaschFit:
    """Return the posterior of all abilities and difficulties.

    Parameters
    ----------
    correct, trials
        (M, N) counts; 0 trials = never asked, and counts as nothing.
    guessing
        (N,) fixed guessing probability of each item, or one number for all.
    keep_draws
        Whether to return the draws; they take 4 bytes × chains × draws × (M + N).
    """
    correct = np.asarray(correct, dtype=float)
    trials = np.asarray(trials, dtype=float)
    guessing = np.broadcast_to(np.asarray(guessing, dtype=float), correct.shape[1])
    if method == "joint":
        return _fit_joint(correct, trials, guessing, settings, keep_draws)
    return _fit_marginal(correct, trials, guessing, settings, keep_draws)


def _fit_joint(
    correct: FloatArray, trials: FloatArray, guessing: FloatArray, settings: SamplerSettings, keep_draws: bool
) -> RaschFit:
    nuts = sample(joint_model(correct, trials, guessing), settings, "sampling abilities and difficulties")
    theta, b = nuts.values["theta"], nuts.values["b"]
    draws = Draws(theta.astype(np.float32), b.astype(np.float32)) if keep_draws else None
    return RaschFit(summarize(theta), summarize(b), nuts.divergences, draws)


def _fit_marginal(
    correct: FloatArray, trials: FloatArray, guessing: FloatArray, settings: SamplerSettings, keep_draws: bool
) -> RaschFit:
    items_integrated = correct.shape[0] <= correct.shape[1]
    if items_integrated:
        sampled, integrated, cells = "abilities", "difficulties", Cells(correct, trials, guessing, True)
    else:
        sampled, integrated, cells = "difficulties", "abilities", Cells(correct.T, trials.T, guessing, False)
    profiles = find_profiles(cells)
    grid = grid_for(profiles.trials.sum(axis=1).max())
    nuts = sample(marginal_model(profiles, grid), settings, f"sampling {sampled}")
    x = nuts.values["x"]
    x_estimates = summarize(x)
    y_estimates, y = _draw_integrated(x, profiles, settings, keep_draws, f"drawing {integrated}")
    if items_integrated:
        draws = None if y is None else Draws(x.astype(np.float32), y)
        return RaschFit(x_estimates, y_estimates, nuts.divergences, draws)
    # Seen from the items, x = −b and y = −theta.
    draws = None if y is None else Draws(-y, -x.astype(np.float32))
    return RaschFit(_mirrored(y_estimates), _mirrored(x_estimates), nuts.divergences, draws)


def difficulties_given(
    theta: npt.NDArray[np.floating],
    correct: npt.ArrayLike,
    trials: npt.ArrayLike,
    guessing: npt.ArrayLike,
    *,
    prior_sd: float,
    settings: SamplerSettings,
) -> tuple[Estimates, Float32Array]:
    """Return the difficulties of N items with b ~ Normal(0, prior_sd²), given draws of the abilities of who answered.

    Parameters
    ----------
    theta
        (chains, draws, M), as in ``Draws``.
    correct, trials, guessing
        As in ``fit_rasch``.

    Returns
    -------
    The estimates, and a draw (chains, draws, N) for every one of ``theta``.
    """
    correct = np.asarray(correct, dtype=float)
    guessing = np.broadcast_to(np.asarray(guessing, dtype=float), correct.shape[1])
    profiles = find_profiles(Cells(correct, np.asarray(trials, dtype=float), guessing, True))
    estimates, draws = _draw_integrated(
        theta.astype(float), profiles, settings, True, "drawing difficulties", prior_sd
    )
    assert draws is not None  # they are kept
    return estimates, draws


def _draw_integrated(
    x: FloatArray,
    profiles: Profiles,
    settings: SamplerSettings,
    keep_draws: bool,
    title: str,
    prior_sd: float = 1.0,
) -> tuple[Estimates, Float32Array | None]:
    """Return the estimates of the integrated side and, if kept, its draws (chains, draws, L)."""
    flat = x.reshape(-1, x.shape[2])
    units = len(profiles.of_unit)
    mean, sd, r_hat, ess_bulk = (np.empty(units) for _ in range(4))
    kept = np.empty((*x.shape[:2], units), dtype=np.float32) if keep_draws else None

    def finish(plan: Plan) -> int:
        block = draw_block(flat, profiles, plan)
        draws = block.draws.reshape(*x.shape[:2], -1)
        mean[block.units], sd[block.units] = block.mean, block.sd
        r_hat[block.units], ess_bulk[block.units] = diagnose(draws)
        if kept is not None:
            kept[..., block.units] = draws
        return len(block.units)

    done = 0
    plans = plan_blocks(flat, profiles, seed=settings.seed, prior_sd=prior_sd)
    with (
        progress(title, units) as update,
        # The blocks run side by side; BLAS threads within each would wait for one another.
        threadpool_limits(limits=1),
        ThreadPoolExecutor(settings.cores) as pool,
    ):
        for finished in pool.map(finish, plans):
            done += finished
            update(done, "")
    return Estimates(mean, sd, r_hat, ess_bulk), kept


def _mirrored(estimates: Estimates) -> Estimates:
    return Estimates(-estimates.mean, estimates.sd, estimates.r_hat, estimates.ess_bulk)
