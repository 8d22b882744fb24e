"""The forms of a benchmark × dimension table: CSV and JSON rows, lines for readers, and its files in a folder."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from irt.alignment import LOWEST_AGREEMENT, LOWEST_RELIABILITY, NEEDS_ALL, Alignment
from irt.arrays import FloatArray
from irt.intervals import Figure
from irt.io import atomic_path, atomic_writer, write_rows
from irt.mirt_data import Benchmarks
from irt.tables import NOT_KNOWN, Table, as_text, rounded

SCHEMA_VERSION = 1


def fields(row: Alignment) -> dict[str, Any]:
    """Return a row by the names of the columns; None where a figure is not defined."""
    found: dict[str, Any] = {}
    for name, value in vars(row).items():
        if isinstance(value, Figure):
            found[name] = rounded(value.value, 6)
            found |= {f"{name}_low": rounded(value.low, 6), f"{name}_high": rounded(value.high, 6)}
        else:
            found[name] = rounded(value, 6) if isinstance(value, float) else value
    return found


def json_report(
    data: Benchmarks,
    rows: Sequence[Alignment],
    correlations: FloatArray,
    *,
    seed: int,
    not_converged: Sequence[str],
    inputs: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """Return what alignment.json says; ``inputs`` are the files that were read.

    ``correlations`` (D, D) are those of the abilities of the fit of all benchmarks.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "dims": len(correlations),
        "seed": seed,
        "models": len(data.models),
        "items": len(data.items),
        "dimension_correlations": [[rounded(r, 6) for r in row] for row in correlations],
        "fits_not_converged": len(not_converged),
        "not_converged": list(not_converged),
        "warnings": list(data.warnings),
        "inputs": list(inputs),
        "alignment": [fields(row) for row in rows],
    }


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


def lines(rows: Sequence[Alignment], correlations: FloatArray) -> list[str]:
    """Return the table, a line for each dimension of a benchmark or subset, and below it what to read first and why.

    ``correlations`` (D, D) are those of the abilities of the fit of all benchmarks.
    """
    several = len(correlations) > 1
    headings = [
        "",
        "items",
        "models",
        "dimension",
        "corrected",
        "weight",
        "uncorrected",
        "agreement",
        "reliability",
    ]
    table = [
        (
            *((_label(row), f"{row.items:,}", f"{row.models:,}") if row.dimension == 1 else ("", "", "")),
            str(row.dimension),
            _with_interval(row.corrected),
            *([_with_interval(row.weight)] if several else []),
            *map(_number, (row.uncorrected.value, row.agreement, row.reliability)),
        )
        for row in rows
    ]
    if not several:  # the weight of the only ability is its correlation
        headings.remove("weight")
    found = as_text(Table(tuple(headings), (True, *[False] * (len(headings) - 1)), table))
    notes = [note for row in rows for note in _notes(row)]
    return [*found, "", *notes, *([""] if notes else []), *_how_to_read(correlations)]


def as_shown(name: str) -> str:
    """Return a name on one line: line breaks, control characters and bytes that are no text as their escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def correlated_pairs(correlations: FloatArray) -> list[tuple[int, int, float]]:
    """Return (k, m, correlation) of each pair of dimensions, numbered from 1, in order of m and k."""
    dims = len(correlations)
    return [(k + 1, m + 1, float(correlations[k, m])) for m in range(dims) for k in range(m)]


def _label(row: Alignment) -> str:
    return f"  {as_shown(row.subset)}" if row.subset else as_shown(row.benchmark)


def _notes(row: Alignment) -> list[str]:
    """Return why a row has no corrected value, or with its first dimension why none of them has a weight."""
    name = as_shown(row.benchmark) + (f" ({as_shown(row.subset)})" if row.subset else "")
    if row.reason:
        return [f"{name}, dimension {row.dimension}: no corrected value: {row.note}"]
    if row.dimension == 1 and row.weight_reason and row.weight_reason != NEEDS_ALL:
        return [f"{name}: no weights: {row.weight_reason}"]
    return []


def _how_to_read(correlations: FloatArray) -> list[str]:
    pairs = correlated_pairs(correlations)
    weight, no_weight = "", ""
    if pairs:
        k, m, strongest = max(pairs, key=lambda pair: abs(pair[2]))
        weight = f" then weight where dimensions correlate (most: {k} and {m}, {strongest:z.2f});"
        no_weight = " No weight: one of the dimensions has no corrected value."
    found = [
        f"Read corrected first: the other benchmarks alone measure the ability;{weight} uncorrected last: the "
        "benchmark itself is in the ability, which usually raises it.",
        f"No corrected value: agreement below {LOWEST_AGREEMENT} (the others by themselves find another dimension) or "
        f"reliability below {LOWEST_RELIABILITY} (they hardly measure it).{no_weight}",
    ]
    if pairs:
        (k, m, value), *others = pairs
        listed = [
            f"Dimensions {k} and {m} correlate {value:z.2f}",
            *(f"{k} and {m} {r:z.2f}" for k, m, r in others),
        ]
        found.append(", ".join(listed))
    return found


def _with_interval(figure: Figure) -> str:
    if math.isnan(figure.value):
        return NOT_KNOWN
    return f"{_number(figure.value)} [{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float) -> str:
    return NOT_KNOWN if math.isnan(value) else f"{value:z.2f}"
