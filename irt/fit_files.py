"""The files a fit leaves: difficulty.csv, ability.csv, diagnostics.json, and the draws if wanted."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy.sparse import bmat
from scipy.sparse.csgraph import connected_components

from irt.arrays import IntArray
from irt.convergence import Estimates, convergence_warnings
from irt.io import PathLike, atomic_path, atomic_writer, remove_file, sha256_of, write_rows
from irt.rasch import Draws, RaschFit
from irt.response_matrix import ResponseMatrix
from irt.tables import rounded

SCHEMA_VERSION = 1
LIBRARIES = ("pymc", "nutpie", "pytensor", "numba", "numpy", "scipy")


def write_fit(output_dir: Path, matrix: ResponseMatrix, fit: RaschFit, diagnostics: dict[str, Any]) -> None:
    """Write difficulty.csv, ability.csv and diagnostics.json: all three take their places once all are written.

    diagnostics.json gets the hash of difficulty.csv beside what it is given.
    """
    with (
        atomic_writer(output_dir / "diagnostics.json") as diagnostics_file,
        atomic_writer(output_dir / "ability.csv") as ability_file,
        atomic_writer(output_dir / "difficulty.csv") as difficulty_file,
    ):
        _write_estimates(difficulty_file, "item", "b", matrix.items, fit.difficulty)
        _write_estimates(ability_file, "model", "theta", matrix.models, fit.ability)
        difficulty_file.flush()
        table = {"file": "difficulty.csv", "sha256": sha256_of(difficulty_file.name)}
        said = {**diagnostics, "outputs": {"difficulty": table}}
        json.dump(said, diagnostics_file, indent=2, ensure_ascii=False, allow_nan=False)
        diagnostics_file.write("\n")
        for handle in (difficulty_file, ability_file, diagnostics_file):
            handle.flush()
        # It vouches for the other two: the old one goes before they change, the new one comes after them.
        remove_file(output_dir / "diagnostics.json")


def _write_estimates(
    handle: TextIO, name: str, prefix: str, ids: Sequence[str], estimates: Estimates
) -> None:
    """Write one row an id: mean, sd, r_hat, ess_bulk. A blank diagnostic means it cannot be assessed."""
    write_rows(
        handle,
        [name, f"{prefix}_mean", f"{prefix}_sd", "r_hat", "ess_bulk"],
        (
            [identifier, f"{mean:.6f}", f"{sd:.6f}", _or_blank(r_hat, ".4f"), _or_blank(ess, ".0f")]
            for identifier, mean, sd, r_hat, ess in zip(
                ids, estimates.mean, estimates.sd, estimates.r_hat, estimates.ess_bulk, strict=True
            )
        ),
    )


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
        "max_r_hat": rounded(r_hat.max(), 4),
        "min_ess_bulk": rounded(ess.min(), 0),
        "divergences": fit.divergences,
        "warnings": convergence_warnings(r_hat, ess, chains=chains, divergences=fit.divergences)
        + connection_warnings(cells),
        "models": len(matrix.models),
        "items": len(matrix.items),
        "blank_cells": int((cells == 0).sum()),
        "trials_per_cell": sorted(int(count) for count in np.unique(cells[cells > 0])),
        "constant_items": constant_items(matrix),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
        "seconds": round(seconds, 1),
    }


def connection_warnings(trials: IntArray) -> list[str]:
    """Return a warning if the (M, N) numbers of trials fall into groups that no answer connects."""
    models, items = trials.shape
    graph = bmat([[None, trials], [trials.T, None]])
    groups, group = connected_components(graph, directed=False)
    if groups == 1:
        return []
    return [
        f"the answers fall into {groups} groups without a model or item in common (the first has "
        f"{int((group[:models] == 0).sum())} of {models} models and {int((group[models:] == 0).sum())} of {items} "
        "items): only the priors relate their abilities and difficulties"
    ]


def constant_items(matrix: ResponseMatrix) -> dict[str, list[str]]:
    """Return the items with only right and with only wrong answers: the data say little of how extreme they are."""
    correct, trials = np.array(matrix.correct).sum(axis=0), np.array(matrix.trials).sum(axis=0)
    return {
        "all_right": [matrix.items[index] for index in np.flatnonzero(correct == trials)],
        "all_wrong": [matrix.items[index] for index in np.flatnonzero(correct == 0)],
    }


def _or_blank(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)
