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
import numpy.typing as npt

from irt.arrays import FloatArray, IntArray
from irt.benchmark_options import MOST_DIMS, listed
from irt.held_out import WORTH_A_DIMENSION, Comparison
from irt.io import atomic_writer, remove_file, write_rows
from irt.mirt import MirtFit
from irt.mirt_data import Benchmarks
from irt.mirt_stability import FITS_A_ROUND, Agreement, Stability
from irt.tables import rounded

SCHEMA_VERSION = 1
OUTPUTS = ("abilities.csv", "items.csv", "fit.json")
# Below twice its standard deviation, 0 discrimination is within what the answers allow.
SURE_OF_MDISC = 2.0
LIBRARIES = ("numpy", "scipy", "statsmodels")


@dataclass(frozen=True)
class ItemSummary:
    """What the loadings of N items come to; standard deviations by the delta method from q(a, d).

    All are NaN for an item that all models answered alike: its loadings are what its benchmark's prior expects.

    Attributes
    ----------
    mdisc, mdisc_sd
        (N,) multidimensional discrimination: √(aᵀΦa), the slope of the logit along the item's own direction, with Φ
        the abilities' correlations. No rotation changes it.
    mdiff, mdiff_sd
        (N,) multidimensional difficulty −d/MDISC: how far along that direction, in standard deviations of ability, half
        the answers are right. Higher = harder. NaN where MDISC is less than ``SURE_OF_MDISC`` of its standard
        deviations: there −d/MDISC has hardly any meaning, and its standard deviation none.
    direction, direction_sd
        (N, D) correlation of what the item measures, a·θ, with each ability, over models: Φa/MDISC. Between −1 and 1;
        where abilities are uncorrelated the squares add up to 1. NaN where MDISC is 0.
    """

    mdisc: FloatArray
    mdisc_sd: FloatArray
    mdiff: FloatArray
    mdiff_sd: FloatArray
    direction: FloatArray
    direction_sd: FloatArray


def summarise_items(fit: MirtFit, alike: npt.NDArray[np.bool_]) -> ItemSummary:
    """Return discrimination, difficulty and direction of each item (Reckase 2009).

    ``alike`` (N,) says which items all models answered alike.
    """
    pull = fit.a @ fit.ability_covariance
    mdisc = np.sqrt(np.sum(pull * fit.a, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = pull / mdisc[:, None]
        mdiff = -fit.d / mdisc
        # The derivatives by (a, d): those of MDISC are (direction, 0).
        of_mdisc = np.column_stack([direction, np.zeros(len(mdisc))])
        of_mdiff = np.column_stack([-mdiff[:, None] * direction, -np.ones(len(mdisc))]) / mdisc[:, None]
        of_direction = fit.ability_covariance - direction[:, :, None] * direction[:, None, :]
        of_direction /= mdisc[:, None, None]
    mdisc_sd = _delta(of_mdisc, fit.items.covariance)
    told = ~alike
    sure = told & (mdisc >= SURE_OF_MDISC * mdisc_sd)
    variance = np.einsum(
        "jka,jab,jkb->jk", of_direction, fit.items.covariance[:, :-1, :-1], of_direction, optimize=True
    )
    return ItemSummary(
        np.where(told, mdisc, np.nan),
        np.where(told, mdisc_sd, np.nan),
        np.where(sure, mdiff, np.nan),
        np.where(sure, _delta(of_mdiff, fit.items.covariance), np.nan),
        np.where(told[:, None], direction, np.nan),
        # In one dimension the direction is 1 and rounding could make its variance negative.
        np.where(told[:, None], np.sqrt(np.maximum(variance, 0)), np.nan),
    )


def _delta(gradient: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.sqrt(np.einsum("jk,jkl,jl->j", gradient, covariance, gradient))


def write_mirt(output_dir: Path, benchmarks: Benchmarks, fit: MirtFit, figures: dict[str, Any]) -> None:
    """Write the three files: all take their places once all are written."""
    numbers = range(1, fit.theta.shape[1] + 1)
    theta_sd = np.sqrt(np.diagonal(fit.abilities.covariance, axis1=1, axis2=2))
    item_sd = np.sqrt(np.diagonal(fit.items.covariance, axis1=1, axis2=2))
    summary = summarise_items(fit, answered_alike(benchmarks))
    item_columns = [
        fit.items.mean,
        summary.mdisc,
        summary.mdiff,
        summary.direction,
        item_sd,
        summary.mdisc_sd,
        summary.mdiff_sd,
        summary.direction_sd,
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
                *(f"sd_direction_{k}" for k in numbers),
            ],
            _rows([list(pair) for pair in benchmarks.items], np.column_stack(item_columns)),
        )
        json.dump(figures, fit_file, indent=2, ensure_ascii=False, allow_nan=False)
        fit_file.write("\n")
        for handle in (abilities_file, items_file, fit_file):
            handle.flush()
        # It vouches for the other two: the old one goes before they change, the new one comes after them.
        remove_file(output_dir / "fit.json")


def _rows(names: Sequence[list[str]], values: FloatArray) -> list[list[str]]:
    return [
        [*name, *("" if np.isnan(value) else f"{value:z.6f}" for value in row)]
        for name, row in zip(names, values, strict=True)
    ]


def mirt_figures(
    benchmarks: Benchmarks, fit: MirtFit, comparison: Comparison, stability: Stability | None = None
) -> dict[str, Any]:
    """Return what fit.json says of the data and of the fit, and of its stability if that was measured.

    The axes of ``fit`` are fixed.
    """
    answered = benchmarks.answered()
    dims = fit.theta.shape[1]
    return {
        "models": len(benchmarks.models),
        "models_in_all": int((answered > 0).all(axis=1).sum()),
        "benchmarks": {
            name: {
                "items": int((benchmarks.benchmark_of == number).sum()),
                "models": int((answered[:, number] > 0).sum()),
                "mean_loadings": _rounded(fit.prior.mean[number, :dims]),
                "mean_d": rounded(fit.prior.mean[number, dims], 4),
            }
            for number, name in enumerate(benchmarks.names)
        },
        "constant_items": [
            {"benchmark": name, "item": item}
            for (name, item), constant in zip(benchmarks.items, answered_alike(benchmarks), strict=True)
            if constant
        ],
        "blank_cells": int((benchmarks.trials == 0).sum()),
        "warnings": [*benchmarks.warnings, *warnings_of(benchmarks, fit, comparison, stability)],
        "held_out": {
            "answers": comparison.answers,
            "by_dims": [
                {
                    "dims": entry.dims,
                    "log_likelihood": rounded(entry.log_likelihood, 6),
                    "standard_error": rounded(entry.standard_error, 6),
                    "behind_best": rounded(entry.behind, 6),
                    "behind_best_standard_error": rounded(entry.behind_standard_error, 6),
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
        **({} if stability is None else {"stability": _stability(stability)}),
    }


def warnings_of(
    benchmarks: Benchmarks, fit: MirtFit, comparison: Comparison, stability: Stability | None = None
) -> list[str]:
    """Return one line for each thing that makes the fit doubtful, beside the input's; empty when there is none."""
    warnings = []
    if not fit.starts.converged[0]:
        warnings.append(f"the fit has not converged in {fit.starts.iterations[0]} iterations")
    if not fit.refinement.converged:
        warnings.append(
            f"the refinement has not converged in {fit.refinement.iterations} iterations: predictions are nearly "
            "settled, standard deviations less so"
        )
    if comparison.not_converged:
        warnings.append(
            f"of the fits that compare dimensions, these had not converged: {listed(comparison.not_converged)}"
        )
    if stability is not None and stability.not_converged:
        fits = len(stability.halves) * FITS_A_ROUND
        warnings.append(f"{stability.not_converged} of {fits} refits for --stability had not converged")
    dims = fit.theta.shape[1]
    if len(comparison.held_out) > 1 and dims == comparison.held_out[-1].dims:
        if dims >= len(benchmarks.models) - 1:
            more = "more models could show more"
        elif dims < MOST_DIMS:
            more = "try more with --dims"
        else:
            more = "--dims takes no more"
        warnings.append(f"{dims} dimensions are the most that were tried and predict best; {more}")
    alike = answered_alike(benchmarks)
    vague = int(np.isnan(summarise_items(fit, alike).mdiff[~alike]).sum())
    if vague:
        warnings.append(
            f"{vague:,} of {len(benchmarks.items):,} items have no MDIFF: their MDISC is less than twice its standard "
            "deviation"
        )
    there = benchmarks.answered() > 0
    for number, name in enumerate(benchmarks.names):
        shared = int((there[:, number] & (there.sum(axis=1) > 1)).sum())
        if len(benchmarks.names) > 1 and shared <= dims:
            warnings.append(
                f"{name}: {shared:,} of its models answered another benchmark too, few to relate it to the others in "
                f"{dims} dimensions"
            )
    return warnings


def answered_alike(benchmarks: Benchmarks) -> npt.NDArray[np.bool_]:
    """Return of each item, (N,), whether all its answers are right or all wrong: they say nothing of a."""
    right = benchmarks.correct.sum(axis=0)
    return (right == 0) | (right == benchmarks.trials.sum(axis=0))


def _stability(stability: Stability) -> dict[str, Any]:
    """Return what fit.json says of the refits, the halves and their shuffled controls."""
    return {
        "refits": _agreement(stability.refits),
        "shuffled_refits": _agreement(stability.shuffled_refits),
        "halves": _halves(stability.halves, stability.not_measured),
        "shuffled_halves": _halves(stability.shuffled_halves, stability.shuffled_not_measured),
    }


def _halves(correlations: FloatArray, not_measured: IntArray) -> dict[str, Any]:
    return {
        "ability_correlations": [_rounded(row) for row in correlations],
        "not_measured": not_measured.tolist(),
    }


def _agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "loading_correlations": [_rounded(row) for row in agreement.loadings],
        "ability_correlations": [_rounded(row) for row in agreement.abilities],
        "prediction_difference": _rounded(agreement.predictions, 6),
    }


def _rounded(values: FloatArray, digits: int = 4) -> list[float | None]:
    return [rounded(value, digits) for value in values]
