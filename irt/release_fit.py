"""Fits a benchmark for release: the posterior mean of each difficulty, and what provenance.json says of the fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from irt.fit_files import fit_figures
from irt.rasch import Method, fit_rasch
from irt.response_matrix import ResponseMatrix
from irt.settings import SamplerSettings


@dataclass(frozen=True)
class ReleaseFit:
    """Difficulties in the order of the items, and the outcome of the fit by its names in provenance.json."""

    b_mean: list[float]
    outcome: dict[str, Any]


def fit_release(
    matrix: ResponseMatrix, guessing: float, settings: SamplerSettings, method: Method
) -> ReleaseFit:
    """Fit the matrix with one fixed guessing probability for all items."""
    started = time.monotonic()
    fit = fit_rasch(matrix.correct, matrix.trials, guessing, settings=settings, method=method)
    figures = fit_figures(fit, matrix, chains=settings.chains, seconds=time.monotonic() - started)
    outcome = figures | {
        "trials_per_cell": _one_or_range(figures["trials_per_cell"]),
        "constant_items": {name: len(items) for name, items in figures["constant_items"].items()},
        "chains_at_a_time": settings.cores,
    }
    return ReleaseFit(fit.difficulty.mean.tolist(), outcome)


def _one_or_range(trials: list[int]) -> int | str:
    return trials[0] if len(trials) == 1 else f"varies, {trials[0]}–{trials[-1]}"
