"""The files that scripts/fit_mirt.py leaves: abilities.csv, items.csv and fit.json."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from irt.arrays import FloatArray
from irt.held_out import WORTH_A_DIMENSION, Comparison
from irt.io import atomic_writer, write_rows
from irt.mirt import MirtFit
from irt.mirt_data import Benchmarks
from irt.mirt_stability import Agreement, Stability

SCHEMA_VERSION = 1
OUTPUTS = ("abilities.csv", "items.csv", "fit.json")
LIBRARIES = ("numpy", "scipy", "statsmodels")


@dataclass(frozen=True)
class ItemSummary:
    """What the loadings of N items come to; standard deviations by the delta method from q(a, d).

    Attributes
    ----------
    mdisc, mdisc_sd
        (N,) multidimensional discrimination: √(aᵀΦa), the slope of the logit along the item's own direction, with Φ
        the abilities' correlations. No rotation changes it.
    mdiff, mdiff_sd
        (N,) multidimensional difficulty −d/MDISC: how far along that direction, in standard deviations of ability, half
        the answers are right. Higher = harder.
    direction
        (N, D) correlation of what the item measures, a·θ, with each ability, over models: Φa/MDISC. Between −1 and 1;
        where abilities are uncorrelated the squares add up to 1.
    """

    mdisc: FloatArray
    mdisc_sd: FloatArray
    mdiff: FloatArray
    mdiff_sd: FloatArray
    direction: FloatArray


def summarise_items(fit: MirtFit) -> ItemSummary:
    """Return discrimination, difficulty and direction of each item (Reckase 2009)."""
    pull = fit.a @ fit.ability_covariance
    mdisc = np.sqrt(np.sum(pull * fit.a, axis=1))
    direction = pull / mdisc[:, None]
    mdiff = -fit.d / mdisc
    # The derivatives by (a, d): those of MDISC are (direction, 0).
    of_mdisc = np.column_stack([direction, np.zeros(len(mdisc))])
    of_mdiff = np.column_stack([-mdiff[:, None] * direction, -np.ones(len(mdisc))]) / mdisc[:, None]
    return ItemSummary(
        mdisc,
        _delta(of_mdisc, fit.items.covariance),
        mdiff,
        _delta(of_mdiff, fit.items.covariance),
        direction,
    )


def _delta(gradient: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.sqrt(np.einsum("jk,jkl,jl->j", gradient, covariance, gradient))


def write_mirt(output_dir: Path, benchmarks: Benchmarks, fit: MirtFit, figures: dict[str, Any]) -> None:
    """Write the three files: all take their places once all are written."""
    numbers = range(1, fit.theta.shape[1] + 1)
    theta_sd = np.sqrt(np.diagonal(fit.abilities.covariance, axis1=1, axis2=2))
    item_sd = np.sqrt(np.diagonal(fit.items.covariance, axis1=1, axis2=2))
    summary = summarise_items(fit)
    item_columns = [
        fit.items.mean,
        summary.mdisc,
        summary.mdiff,
        summary.direction,
        item_sd,
        summary.mdisc_sd,
        summary.mdiff_sd,
    ]
    with (
        atomic_writer(output_dir / "fit.json") as fit_file,
        atomic_writer(output_dir / "items.csv") as items_file,
        atomic_writer(output_dir / "abilities.csv") as abilities_file,
    ):
        write_rows(
            abilities_file,
            ["model", *(f"theta_{k}" for k in numbers), *(f"sd_{k}" for k in numbers)],
            _rows([[model] for model in benchmarks.models], np.hstack([fit.theta, theta_sd])),
        )
        write_rows(
            items_file,
            [
                *("benchmark", "item"),
                *(f"a_{k}" for k in numbers),
                *("d", "MDISC", "MDIFF"),
                *(f"direction_{k}" for k in numbers),
                *(f"sd_a_{k}" for k in numbers),
                *("sd_d", "sd_MDISC", "sd_MDIFF"),
            ],
            _rows([list(pair) for pair in benchmarks.items], np.column_stack(item_columns)),
        )
        json.dump(figures, fit_file, indent=2, ensure_ascii=False, allow_nan=False)
        fit_file.write("\n")
        for handle in (abilities_file, items_file, fit_file):
            handle.flush()
        # It vouches for the other two: the old one goes before they change, the new one comes after them.
        (output_dir / "fit.json").unlink(missing_ok=True)


def _rows(names: Sequence[list[str]], values: FloatArray) -> list[list[str]]:
    return [[*name, *(f"{value:.6f}" for value in row)] for name, row in zip(names, values, strict=True)]


def mirt_figures(benchmarks: Benchmarks, fit: MirtFit, comparison: Comparison) -> dict[str, Any]:
    """Return what fit.json says of the data and of the fit; the axes of ``fit`` are fixed."""
    answered = benchmarks.answered()
    dims = fit.theta.shape[1]
    return {
        "models": len(benchmarks.models),
        "benchmarks": {
            name: {
                "items": int((benchmarks.benchmark_of == number).sum()),
                "models": int((answered[:, number] > 0).sum()),
                "mean_loadings": _rounded(fit.prior.mean[number, :dims]),
                "mean_d": round(float(fit.prior.mean[number, dims]), 4),
            }
            for number, name in enumerate(benchmarks.names)
        },
        "blank_cells": int((benchmarks.trials == 0).sum()),
        "warnings": warnings_of(benchmarks, fit, comparison),
        "held_out": {
            "answers": comparison.answers,
            "by_dims": [
                {
                    "dims": entry.dims,
                    "log_likelihood": round(entry.log_likelihood, 6),
                    "standard_error": round(entry.standard_error, 6),
                    "behind_best": round(entry.behind, 6),
                    "behind_best_standard_error": round(entry.behind_standard_error, 6),
                }
                for entry in comparison.held_out
            ],
            "chosen_dims": comparison.chosen,
            "rule": "the smallest that falls short of the best by at most one standard error of the difference, or "
            f"{WORTH_A_DIMENSION} nats an answer",
        },
        "ability_correlations": [_rounded(row) for row in fit.ability_covariance],
        "starts": {
            "elbo": [round(float(value), 3) for value in fit.starts.elbo],
            "converged": fit.starts.converged,
            "iterations": fit.starts.iterations,
            "prediction_difference": _rounded(fit.starts.difference, 6),
        },
        "refinement": {"converged": fit.refinement.converged, "iterations": fit.refinement.iterations},
        "versions": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
    }


def warnings_of(benchmarks: Benchmarks, fit: MirtFit, comparison: Comparison) -> list[str]:
    """Return one line for each thing that makes the fit doubtful; empty when there is none."""
    warnings = []
    if not fit.starts.converged[0]:
        warnings.append(f"the fit has not converged in {fit.starts.iterations[0]} iterations")
    if not fit.refinement.converged:
        warnings.append(
            f"the refinement has not converged in {fit.refinement.iterations} iterations: predictions are nearly "
            "settled, standard deviations less so"
        )
    dims = fit.theta.shape[1]
    if len(comparison.held_out) > 1 and dims == comparison.held_out[-1].dims:
        warnings.append(
            f"{dims} dimensions are the most that were tried and predict best; try more with --dims"
        )
    there = benchmarks.answered() > 0
    for number, name in enumerate(benchmarks.names):
        shared = int((there[:, number] & (there.sum(axis=1) > 1)).sum())
        if len(benchmarks.names) > 1 and shared <= dims:
            warnings.append(
                f"{name}: {shared} of its models answered another benchmark too, few to relate it to the others in "
                f"{dims} dimensions"
            )
    return warnings


def stability_figures(stability: Stability) -> dict[str, Any]:
    """Return what fit.json says of the refits and of their shuffled control."""
    return {"refits": _agreement(stability.refits), "shuffled_control": _agreement(stability.shuffled)}


def _agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "loading_correlations": [_rounded(row) for row in agreement.loadings],
        "ability_correlations": [_rounded(row) for row in agreement.abilities],
        "prediction_difference": _rounded(agreement.predictions, 6),
    }


def _rounded(values: FloatArray, digits: int = 4) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), digits) for value in values]
