"""Reads the calibration table: what an earlier fit knows of the difficulty of every item, and whose answers it saw."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from irt.difficulty_csv import ID_COLUMNS
from irt.io import InputError, PathLike, csv_rows, open_text, sha256_of
from verifier.ability_posterior import Calibration

# How the ability.csv of scripts/fit_irt.py begins.
FIT_COLUMNS = ["model", "theta_mean", "theta_sd", "r_hat"]
_SHOWN = 5
# Of b_mean and b_sd, in logits: at 20 an answer is one in 500 million. Far beyond them sums overflow, or vanish.
LARGEST = 100.0
SMALLEST_SD = 1e-9


def read_calibration(path: PathLike, items: tuple[str, ...], matrix: PathLike) -> Calibration:
    """Return difficulty mean and sd of each of ``items``, in their order.

    Parameters
    ----------
    path
        .csv or .csv.gz with columns ``item`` or ``item_id``, ``b_mean`` and ``b_sd``; others are ignored. Exactly one
        row an item, in any order. Rows of further items are kept apart, as ``other_sd``: all of a table's items
        together define its scale, and errors of b that sum to zero over them do not over a part of them.
    matrix
        Where the items come from, for messages.

    Raises
    ------
    InputError
        For a missing column, a repeated id, a value that is not finite or no difficulty in logits, an sd that is not
        positive (with the line), or items without a row (with the first few).
    """
    known: dict[str, tuple[float, float]] = {}
    with open_text(path) as handle:
        rows = csv_rows(path, handle)
        line, header = next(rows, (1, []))
        id_at, mean_at, sd_at = _columns(header, f"{path}:{line}")
        for line, row in rows:
            where = f"{path}:{line}"
            if len(row) != len(header):
                raise InputError(f"{where}: {len(row)} cells where the header has {len(header)}")
            item = row[id_at]
            if item in known:
                raise InputError(f"{where}: item {item!r} is there twice; keep one row an item")
            mean, sd = _number(row[mean_at]), _number(row[sd_at])
            if not math.isfinite(mean):
                raise InputError(
                    f"{where}: item {item!r}: b_mean must be a finite number, found {row[mean_at]!r}"
                )
            if not (math.isfinite(sd) and sd > 0):
                raise InputError(
                    f"{where}: item {item!r}: b_sd must be a number above 0, found {row[sd_at]!r}"
                )
            if abs(mean) > LARGEST or not SMALLEST_SD <= sd <= LARGEST:
                raise InputError(
                    f"{where}: item {item!r}: no difficulty in logits: b_mean {row[mean_at]} must be within "
                    f"±{LARGEST:g} and b_sd {row[sd_at]} from {SMALLEST_SD:g} to {LARGEST:g}"
                )
            known[item] = mean, sd
    missing = [item for item in items if item not in known]
    if missing:
        raise InputError(
            f"{path}: no row for {len(missing)} of {len(items)} items of {matrix}: {listed(missing)}; "
            "calibrate them too, or leave their columns out"
        )
    mean_and_sd = np.array([known.pop(item) for item in items])
    other_sd = np.array([sd for _, sd in known.values()])
    return Calibration(mean_and_sd[:, 0], mean_and_sd[:, 1], other_sd)


def models_seen(table: Path, matrix: Path) -> frozenset[str] | None:
    """Return the models whose answers the table was fitted to; None if it was fitted to exactly this matrix.

    The table itself does not say. What scripts/fit_irt.py writes beside it does: diagnostics.json has the hash of its
    matrix, ability.csv the names of its models. A name stands for one examinee, so its answers in the matrix count as
    seen also where the fit had further models, items or trials. Without these files no model is seen.
    """
    sha256 = sha256_of(matrix)
    try:
        fit = json.loads(table.with_name("diagnostics.json").read_bytes())
        if fit["inputs"]["matrix"]["sha256"] == sha256:
            return None
    except (FileNotFoundError, ValueError, RecursionError, KeyError, TypeError):  # none, or of something else
        pass
    abilities = table.with_name("ability.csv")
    if not abilities.is_file():
        return frozenset()
    with open_text(abilities) as handle:
        rows = csv_rows(abilities, handle)
        _, header = next(rows, (1, []))
        # Another table of that name, such as verifier/fit_ability.py's, says nothing of the fit.
        return frozenset(row[0] for _, row in rows) if header[:4] == FIT_COLUMNS else frozenset()


def _columns(header: list[str], where: str) -> tuple[int, int, int]:
    """Return the places of the id, b_mean and b_sd."""
    ids = [index for index, name in enumerate(header) if name in ID_COLUMNS]
    for name, count in (
        ("item", len(ids)),
        ("b_mean", header.count("b_mean")),
        ("b_sd", header.count("b_sd")),
    ):
        if count != 1:
            raise InputError(
                f"{where}: {'no' if not count else 'more than one'} column {name!r}; the columns there are "
                f"{', '.join(map(repr, header)) or 'none'}; use the difficulty.csv of scripts/fit_irt.py"
            )
    return ids[0], header.index("b_mean"), header.index("b_sd")


def _number(text: str) -> float:
    try:
        # float() takes 1_000 for a thousand; in a CSV file it is a typing mistake.
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def listed(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
