"""The forms of a benchmark × dimension table: CSV and JSON rows, lines for readers, and its files in a folder."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from irt.alignment import Alignment
from irt.intervals import Figure
from irt.io import atomic_path, atomic_writer, write_rows
from irt.tables import NOT_KNOWN, Table, as_text


def fields(row: Alignment) -> dict[str, Any]:
    """Return a row by the names of the columns; None where a figure is not defined."""
    found: dict[str, Any] = {}
    for name, value in vars(row).items():
        if isinstance(value, Figure):
            found[name] = _figure(value.value)
            found |= {f"{name}_low": _figure(value.low), f"{name}_high": _figure(value.high)}
        else:
            found[name] = _figure(value) if isinstance(value, float) else value
    return found


def write_alignment(
    folder: Path,
    rows: Sequence[Alignment],
    report: dict[str, Any],
    drawings: Mapping[str, Callable[[Path], None]],
) -> None:
    """Write alignment.csv, alignment.json and the drawings: all take their places once all are written.

    ``drawings`` has for each file name a function that draws into the path it is given.
    """
    table = [fields(row) for row in rows]
    with contextlib.ExitStack() as files:
        described = files.enter_context(atomic_writer(folder / "alignment.json"))
        for name, draw in drawings.items():
            draw(files.enter_context(atomic_path(folder / name)))
        handle = files.enter_context(atomic_writer(folder / "alignment.csv"))
        write_rows(handle, list(table[0]), (["" if x is None else x for x in row.values()] for row in table))
        json.dump(report, described, indent=1, ensure_ascii=False, allow_nan=False)
        described.write("\n")


def lines(rows: Sequence[Alignment]) -> list[str]:
    """Return the table of corrected values with their intervals, weight and uncorrected beside, and the notes below."""
    dims = max(row.dimension for row in rows)
    table: list[tuple[str, ...]] = []
    for start in range(0, len(rows), dims):
        run = rows[start : start + dims]
        name = f"  {run[0].subset}" if run[0].subset else run[0].benchmark
        cells = [
            cell
            for row in run
            for cell in (_shown(row.corrected), _number(row.weight.value), _number(row.uncorrected.value))
        ]
        table.append((name, f"{run[0].items:,}", f"{run[0].models:,}", *cells))
    headings = ["", "items", "models"]
    for k in range(dims):
        headings += [f"dimension {k + 1}", "weight", "uncorrected"]
    found = as_text(Table(tuple(headings), (True, *[False] * (len(headings) - 1)), table))
    notes = [
        f"{row.benchmark}{f' ({row.subset})' if row.subset else ''}, dimension {row.dimension}: no corrected value: "
        f"{row.note}"
        for row in rows
        if row.note
    ]
    return [*found, *([""] if notes else []), *notes]


def _shown(figure: Figure) -> str:
    if math.isnan(figure.value):
        return NOT_KNOWN
    return f"{_number(figure.value)} [{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float) -> str:
    return NOT_KNOWN if math.isnan(value) else f"{value:.2f}"


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 6)
