"""Has the sampler converged? R-hat and effective sample size, and what to warn about.

Both are the rank-normalised split versions of Vehtari et al. (2021), as arviz-stats computes them. NaN means
"cannot be assessed" (one chain, draws that never move) and never passes a check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from arviz_stats.base import array_stats

FloatArray = npt.NDArray[np.float64]

MAX_R_HAT = 1.01
MIN_ESS_A_CHAIN = 100


@dataclass(frozen=True)
class Estimates:
    """Posterior summaries of U parameters, each array (U,). NaN in the last two: cannot be assessed."""

    mean: FloatArray
    sd: FloatArray
    r_hat: FloatArray
    ess_bulk: FloatArray


def diagnose(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (R-hat, bulk effective sample size) of draws (chains, draws, U), each (U,)."""
    moves = np.ptp(draws, axis=(0, 1)) > 0
    r_hat = np.full(draws.shape[2], np.nan)
    ess = np.full(draws.shape[2], np.nan)
    if moves.any():
        moving = np.ascontiguousarray(draws[..., moves])
        if len(draws) > 1:
            r_hat[moves] = array_stats.rhat(moving, chain_axis=0, draw_axis=1)
        ess[moves] = array_stats.ess(moving, chain_axis=0, draw_axis=1, method="bulk")
    return r_hat, ess


def summarize(draws: FloatArray) -> Estimates:
    """Return the summaries of draws (chains, draws, U)."""
    return Estimates(draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1), *diagnose(draws))


def convergence_warnings(r_hat: FloatArray, ess_bulk: FloatArray, *, chains: int, divergences: int) -> list[str]:
    """Return one line for each thing that makes the draws doubtful; empty when there is none."""
    warnings = []
    for name, values in (("R-hat", r_hat), ("bulk effective sample size", ess_bulk)):
        unknown = int(np.isnan(values).sum())
        if unknown:
            why = "one chain" if chains == 1 and name == "R-hat" else "draws that do not move"
            warnings.append(f"{name} cannot be assessed for {unknown} of {len(values)} parameters ({why})")
    high = int((r_hat > MAX_R_HAT).sum())
    if high:
        warnings.append(
            f"R-hat is above {MAX_R_HAT} for {high} of {len(r_hat)} parameters (highest {np.nanmax(r_hat):.4f}); "
            "run longer: more --tune and --draws"
        )
    wanted = MIN_ESS_A_CHAIN * chains
    few = int((ess_bulk < wanted).sum())
    if few:
        warnings.append(
            f"bulk effective sample size is below {wanted} for {few} of {len(ess_bulk)} parameters "
            f"(lowest {np.nanmin(ess_bulk):.0f}); run longer: more --draws"
        )
    if divergences:
        warnings.append(f"{divergences} divergent transitions; raise --target-accept")
    return warnings
