"""Fits a benchmark for release: the posterior mean of each difficulty, and what provenance.json says of the fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from irt.fit_files import describe_fit
from irt.rasch import Method, fit_rasch
from irt.response_matrix import ResponseMatrix
from irt.settings import SamplerSettings

# Of diagnostics.json; the inputs and settings are in the recipe.
FIGURES = (
    "models",
    "items",
    "blank_cells",
    "max_r_hat",
    "min_ess_bulk",
    "divergences",
    "warnings",
    "versions",
    "seconds",
)


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
    figures = describe_fit(
        fit, matrix, settings={}, inputs={}, chains=settings.chains, seconds=time.monotonic() - started
    )
    outcome = {name: figures[name] for name in FIGURES} | {
        "trials_per_cell": _one_or_range(figures["trials_per_cell"]),
        "constant_items": {name: len(items) for name, items in figures["constant_items"].items()},
        "processors": settings.cores,
    }
    return ReleaseFit(fit.difficulty.mean.tolist(), outcome)


def _one_or_range(trials: list[int]) -> int | str:
    return trials[0] if len(trials) == 1 else f"varies, {trials[0]}–{trials[-1]}"
