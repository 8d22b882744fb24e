"""Reads the calibration table: what an earlier fit knows of the difficulty of every item."""

from __future__ import annotations

import math

import numpy as np

from irt.difficulty_csv import ID_COLUMNS
from irt.io import InputError, PathLike, csv_rows, open_text
from verifier.ability_posterior import Calibration

_SHOWN = 5


def read_calibration(path: PathLike, items: tuple[str, ...], matrix: PathLike) -> Calibration:
    """Return difficulty mean and sd of each of ``items``, in their order.

    Parameters
    ----------
    path
        .csv or .csv.gz with columns ``item`` or ``item_id``, ``b_mean`` and ``b_sd``; others are ignored. Exactly one
        row an item, in any order.
    matrix
        Where the items come from, for messages.

    Raises
    ------
    InputError
        For a missing column, a blank or repeated id, a value that is not finite, an sd that is not positive (with the
        line), or items of only one of the two (with the first few).
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
            known[item] = mean, sd
    missing = [item for item in items if item not in known]
    if missing:
        raise InputError(
            f"{path}: no row for {len(missing)} of {len(items)} items of {matrix}: {_listed(missing)}; "
            "calibrate them too, or leave their columns out"
        )
    extra = sorted(set(known) - set(items))
    if extra:
        raise InputError(
            f"{path}: {len(extra)} items are not in {matrix}: {_listed(extra)}; leave their rows out"
        )
    mean_and_sd = np.array([known[item] for item in items])
    return Calibration(mean_and_sd[:, 0], mean_and_sd[:, 1])


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


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
