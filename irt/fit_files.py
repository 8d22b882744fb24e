"""The files a fit leaves: difficulty.csv, ability.csv, diagnostics.json, and the draws if wanted."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from irt.convergence import Estimates, convergence_warnings
from irt.io import PathLike, atomic_path, atomic_writer, write_csv
from irt.rasch import Draws, RaschFit
from irt.response_matrix import ResponseMatrix

SCHEMA_VERSION = 1
LIBRARIES = ("pymc", "nutpie", "pytensor", "numba", "numpy", "scipy")


def write_estimates(path: PathLike, name: str, prefix: str, ids: Sequence[str], estimates: Estimates) -> None:
    """Write one row an id: mean, sd, r_hat, ess_bulk. A blank diagnostic means it cannot be assessed."""
    write_csv(
        path,
        [name, f"{prefix}_mean", f"{prefix}_sd", "r_hat", "ess_bulk"],
        (
            [identifier, f"{mean:.6f}", f"{sd:.6f}", _or_blank(r_hat, ".4f"), _or_blank(ess, ".0f")]
            for identifier, mean, sd, r_hat, ess in zip(
                ids, estimates.mean, estimates.sd, estimates.r_hat, estimates.ess_bulk, strict=True
            )
        ),
    )


def write_fit(output_dir: Path, matrix: ResponseMatrix, fit: RaschFit, diagnostics: dict[str, Any]) -> None:
    """Write difficulty.csv, ability.csv and, last, diagnostics.json, which vouches for the other two."""
    (output_dir / "diagnostics.json").unlink(missing_ok=True)
    write_estimates(output_dir / "difficulty.csv", "item", "b", matrix.items, fit.difficulty)
    write_estimates(output_dir / "ability.csv", "model", "theta", matrix.models, fit.ability)
    with atomic_writer(output_dir / "diagnostics.json") as handle:
        json.dump(diagnostics, handle, indent=2, ensure_ascii=False, allow_nan=False)
        handle.write("\n")


def write_draws(path: PathLike, matrix: ResponseMatrix, draws: Draws) -> None:
    """Write an .npz with ``theta`` (chains, draws, models), ``b`` (chains, draws, items), ``models``, ``items``."""
    with atomic_path(path) as temporary:
        np.savez(
            temporary,
            theta=draws.theta,
            b=draws.b,
            models=np.array(matrix.models),
            items=np.array(matrix.items),
        )


def fit_figures(fit: RaschFit, matrix: ResponseMatrix, *, chains: int, seconds: float) -> dict[str, Any]:
    """Return what diagnostics.json says of the fit itself. A null figure means that it cannot be assessed."""
    r_hat = np.concatenate([fit.ability.r_hat, fit.difficulty.r_hat])
    ess = np.concatenate([fit.ability.ess_bulk, fit.difficulty.ess_bulk])
    cells = np.array(matrix.trials)
    return {
        # max and min keep a NaN: one figure that cannot be assessed must not hide among those that can.
        "max_r_hat": _or_null(r_hat.max(), 4),
        "min_ess_bulk": _or_null(ess.min(), 0),
        "divergences": fit.divergences,
        "warnings": convergence_warnings(r_hat, ess, chains=chains, divergences=fit.divergences),
        "models": len(matrix.models),
        "items": len(matrix.items),
        "blank_cells": int((cells == 0).sum()),
        "trials_per_cell": sorted(int(count) for count in np.unique(cells[cells > 0])),
        "constant_items": constant_items(matrix),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
        "seconds": round(seconds, 1),
    }


def constant_items(matrix: ResponseMatrix) -> dict[str, list[str]]:
    """Return the items with only right and with only wrong answers: the data say little of how extreme they are."""
    correct, trials = np.array(matrix.correct).sum(axis=0), np.array(matrix.trials).sum(axis=0)
    return {
        "all_right": [matrix.items[index] for index in np.flatnonzero(correct == trials)],
        "all_wrong": [matrix.items[index] for index in np.flatnonzero(correct == 0)],
    }


def _or_blank(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def _or_null(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(float(value), digits)
