"""Has the sampler converged? R-hat and effective sample size, and what to warn about.

Both are the rank-normalised split versions of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021). They are
written for thousands of parameters at once; the tests hold them to arviz-stats, which takes one at a time. NaN
means "cannot be assessed" (one chain, draws that never move) and never passes a check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from irt.arrays import FloatArray

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
    """Return (R-hat, bulk effective sample size) of draws (chains, draws, U), each (U,).

    R-hat is the larger of those of the draws and of their distances from the median (eq. 4 on rank-normalised
    values); NaN with one chain. Needs at least 4 draws a chain.
    """
    half = draws.shape[1] // 2
    chains = np.concatenate([draws[:, :half], draws[:, -half:]])  # (2C, half, U)
    split = np.ascontiguousarray(chains.transpose(2, 0, 1))  # (U, 2C, half)
    normal = _rank_normalized(split)
    ess = _effective_sample_size(normal)
    distance = np.abs(split - np.median(split, axis=(1, 2), keepdims=True))
    r_hat = np.maximum(_r_hat(normal), _r_hat(_rank_normalized(distance)))
    # In no chain do the draws move, be it at one place or (an infinite ratio) at several.
    still = (np.ptp(split, axis=2) == 0).all(axis=1)
    ess[still] = np.nan
    r_hat[still | ~np.isfinite(r_hat) | (len(draws) == 1)] = np.nan
    return r_hat, ess


def _rank_normalized(values: FloatArray) -> FloatArray:
    """Replace each of (U, chains, draws) by the normal quantile of its rank among those of its parameter."""
    flat = values.reshape(len(values), -1)
    size = flat.shape[1]
    order = np.argsort(flat, axis=1)
    normal = np.empty_like(flat)
    np.put_along_axis(normal, order, _normal_quantile(np.arange(1.0, size + 1), size)[None], axis=1)
    # Equal values (a transition that stayed where it was) share their average rank.
    tied = (np.diff(np.take_along_axis(flat, order, axis=1), axis=1) == 0).any(axis=1)
    normal[tied] = _normal_quantile(rankdata(flat[tied], axis=1), size)
    return normal.reshape(values.shape)


def _normal_quantile(rank: FloatArray, size: int) -> FloatArray:
    return ndtri((rank - 0.375) / (size + 0.25))


def _r_hat(values: FloatArray) -> FloatArray:
    length = values.shape[2]
    within = values.var(axis=2, ddof=1).mean(axis=1)
    between = values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # draws that never move: NaN
        return np.sqrt((length - 1) / length + between / within)


def _effective_sample_size(values: FloatArray) -> FloatArray:
    """Return the effective sample size of (U, chains, draws), by Geyer's initial monotone sequence."""
    _, chains, length = values.shape
    autocovariance = _autocovariance(values).mean(axis=1)  # (U, draws)
    within = autocovariance[:, 0] * length / (length - 1)
    total = autocovariance[:, 0] + values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1 - (within[:, None] - autocovariance) / total[:, None]
    correlation[:, 0] = 1.0
    # Sums of neighbours (lags 2p and 2p + 1) are positive and falling in theory: they are used up to the first
    # that is not positive (or the last that the draws allow), none larger than the one before.
    last = max((length - 3) // 2, 0)
    even = correlation[:, 0 : 2 * last + 1 : 2]
    pairs = even + correlation[:, 1 : 2 * last + 2 : 2]
    ends = pairs <= 0
    ends[:, -1] = True
    end = ends.argmax(axis=1)
    used = np.arange(pairs.shape[1]) < end[:, None]
    falling = np.minimum.accumulate(pairs, axis=1)
    next_even = np.maximum(np.take_along_axis(even, end[:, None], axis=1)[:, 0], 0.0)
    time = -1 + 2 * np.where(used, falling, 0.0).sum(axis=1) + next_even
    return chains * length / np.maximum(time, 1 / np.log10(chains * length))


def _autocovariance(values: FloatArray) -> FloatArray:
    """Return the autocovariance of (U, chains, draws) along the draws, at every lag."""
    length = values.shape[2]
    size = next_fast_len(2 * length)
    spectrum = rfft(values - values.mean(axis=2, keepdims=True), n=size, axis=2)
    return irfft(np.abs(spectrum) ** 2, n=size, axis=2)[..., :length] / length


def summarize(draws: FloatArray) -> Estimates:
    """Return the summaries of draws (chains, draws, U)."""
    return Estimates(draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1), *diagnose(draws))


def convergence_warnings(
    r_hat: FloatArray, ess_bulk: FloatArray, *, chains: int, divergences: int
) -> list[str]:
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
