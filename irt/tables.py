"""The tables of released benchmarks: diagnostics of each, of each domain, and of filled ones. Standard library only.

A row is the same in every form: aligned text and Markdown for readers, CSV and JSON with full figures.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from irt.benchmark_list import Benchmark
from irt.difficulty import Diagnosis, diagnose, widest_gaps
from irt.difficulty_csv import read_difficulties
from irt.io import InputError
from irt.release import DIFFICULTY, read_provenance

NOT_KNOWN = "—"
DIFFICULTY_BEFORE = "difficulty_before.csv"


@dataclass(frozen=True)
class Row:
    """A benchmark's diagnostics. What only a provenance.json could tell is None where there is none.

    Attributes
    ----------
    trials
        Answers of each model to each item, or "varies, MIN–MAX".
    z_lower, z_upper, b_lower, b_upper
        Edges of the widest gap, from easiest to hardest item as 0 to 1, and in difficulty.
    max_r_hat
        Of the fit, over all abilities and difficulties.
    """

    domain: str | None
    benchmark: str
    items: int
    models: int | None
    trials: int | str | None
    ddm: float
    max_gap: float
    z_lower: float
    z_upper: float
    b_lower: float
    b_upper: float
    max_r_hat: float | None


@dataclass(frozen=True)
class DomainRow:
    """Diagnostics over the benchmarks of a domain, each benchmark counting once."""

    domain: str
    benchmarks: int
    items: int
    ddm_median: float
    ddm_mean: float
    max_gap_median: float
    max_gap_mean: float


@dataclass(frozen=True)
class FilledRow:
    """A benchmark before and after new items were added to it.

    ``panel`` says which models answered, None where it is not known.
    """

    benchmark: str
    panel: str | None
    items_before: int
    items_after: int
    ddm_before: float
    ddm_after: float
    max_gap_before: float
    max_gap_after: float


@dataclass(frozen=True)
class Table:
    """A table as text: ``left`` says of each column whether it is aligned left."""

    headings: tuple[str, ...]
    left: tuple[bool, ...]
    rows: list[tuple[str, ...]]


# Reading and computing ------------------------------------------------------------------------------------------


def read_rows(folder: Path, listed: Sequence[Benchmark]) -> tuple[list[Row], list[str]]:
    """Return a row for every sub-folder with a difficulty.csv, and the names of those without.

    Rows come by domain in the order of the list, within it in the order of the list; what is not in the list
    comes after it, by name, and what has no domain last.

    Raises
    ------
    InputError
        If there is no difficulty.csv, or one cannot be diagnosed.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of benchmarks")
    folders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    rows = [read_row(path) for path in folders if (path / DIFFICULTY).is_file()]
    if not rows:
        raise InputError(f"{folder}: no sub-folder has a {DIFFICULTY}; expected NAME/{DIFFICULTY}")
    domains = list(dict.fromkeys(benchmark.domain for benchmark in listed))
    names = [benchmark.name for benchmark in listed]

    def place(row: Row) -> tuple[bool, int, str, int, str]:
        return (
            row.domain is None,
            _index(domains, row.domain),
            row.domain or "",
            _index(names, row.benchmark),
            row.benchmark,
        )

    return sorted(rows, key=place), [path.name for path in folders if not (path / DIFFICULTY).is_file()]


def read_row(folder: Path) -> Row:
    """Return the diagnostics of one benchmark's folder."""
    path = folder / DIFFICULTY
    difficulties = read_difficulties(path)
    try:
        diagnosis = diagnose(difficulties.values)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    gap = widest_gaps(diagnosis.z, 1)[0]
    # The easiest item is at 0 and the hardest at 1, so no gap touches a boundary without an item.
    assert gap.lower_index is not None and gap.upper_index is not None
    provenance = read_provenance(folder) or {}
    return Row(
        domain=provenance.get("domain"),
        benchmark=folder.name,
        items=diagnosis.items,
        models=provenance.get("models"),
        trials=provenance.get("trials_per_cell"),
        ddm=diagnosis.ddm,
        max_gap=diagnosis.max_gap,
        z_lower=gap.lower,
        z_upper=gap.upper,
        b_lower=difficulties.values[gap.lower_index],
        b_upper=difficulties.values[gap.upper_index],
        max_r_hat=provenance.get("max_r_hat"),
    )


def summarize(rows: Sequence[Row]) -> list[DomainRow]:
    """Return a row for each domain in the order of the rows, and one named All over every row."""
    domains = dict.fromkeys(row.domain for row in rows if row.domain is not None)
    groups = {domain: [row for row in rows if row.domain == domain] for domain in domains} | {
        "All": list(rows)
    }
    return [
        DomainRow(
            domain=domain,
            benchmarks=len(group),
            items=sum(row.items for row in group),
            ddm_median=median(row.ddm for row in group),
            ddm_mean=fmean(row.ddm for row in group),
            max_gap_median=median(row.max_gap for row in group),
            max_gap_mean=fmean(row.max_gap for row in group),
        )
        for domain, group in groups.items()
    ]


def read_filled_rows(folder: Path) -> tuple[list[FilledRow], list[str]]:
    """Return a row for every filled benchmark by name, and the names of those without difficulties.

    A filled benchmark is NAME.json; NAME/difficulty_before.csv holds the difficulties of the originals as they were
    before, NAME/difficulty.csv those of all items, recalibrated. Without the folder there are no rows.

    Raises
    ------
    InputError
        If a file of difficulties cannot be diagnosed.
    """
    rows, without = [], []
    for path in sorted(folder.glob("*.json")):
        beside = path.with_suffix("")
        if all((beside / name).is_file() for name in (DIFFICULTY_BEFORE, DIFFICULTY)):
            rows.append(_read_filled_row(beside))
        else:
            without.append(path.stem)
    return rows, without


def _read_filled_row(folder: Path) -> FilledRow:
    before, after = (_diagnosis(folder / name) for name in (DIFFICULTY_BEFORE, DIFFICULTY))
    panel = (read_provenance(folder) or {}).get("panel")
    return FilledRow(
        benchmark=folder.name,
        panel=panel if isinstance(panel, str) else None,
        items_before=before.items,
        items_after=after.items,
        ddm_before=before.ddm,
        ddm_after=after.ddm,
        max_gap_before=before.max_gap,
        max_gap_after=after.max_gap,
    )


def _diagnosis(path: Path) -> Diagnosis:
    try:
        return diagnose(read_difficulties(path).values)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _index(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else len(names)


# For readers ----------------------------------------------------------------------------------------------------


def diagnostics_table(rows: Sequence[Row]) -> Table:
    """Return the benchmarks' table, rounded."""
    headings = ("Domain", "Benchmark", "Items", "Models", "Trials", "DDM", "Max Gap", "Gap at z", "R-hat max")
    left = tuple(heading in ("Domain", "Benchmark", "Trials", "Gap at z") for heading in headings)
    return Table(
        headings,
        left,
        [
            (
                row.domain or NOT_KNOWN,
                row.benchmark,
                f"{row.items:,}",
                _shown(row.models),
                _shown(row.trials),
                f"{row.ddm:.3f}",
                f"{row.max_gap:.3f}",
                f"{row.z_lower:.2f}–{row.z_upper:.2f}",
                _shown(row.max_r_hat, ".4f"),
            )
            for row in rows
        ],
    )


def domain_table(rows: Sequence[DomainRow]) -> Table:
    """Return the domains' table, rounded."""
    headings = (
        "Domain", "Benchmarks", "Items", "DDM median", "DDM mean", "Max Gap median", "Max Gap mean",
    )  # fmt: skip
    left = tuple(heading == "Domain" for heading in headings)
    return Table(
        headings,
        left,
        [
            (
                row.domain,
                str(row.benchmarks),
                f"{row.items:,}",
                *(f"{x:.3f}" for x in (row.ddm_median, row.ddm_mean, row.max_gap_median, row.max_gap_mean)),
            )
            for row in rows
        ],
    )


def filled_table(rows: Sequence[FilledRow]) -> Table:
    """Return the table of filled benchmarks, rounded."""
    headings = (
        "Filled benchmark", "Panel", "Items before", "after", "DDM before", "after", "Max Gap before", "after",
    )  # fmt: skip
    left = tuple(heading in ("Filled benchmark", "Panel") for heading in headings)
    return Table(
        headings,
        left,
        [
            (
                row.benchmark,
                _shown(row.panel),
                f"{row.items_before:,}",
                f"{row.items_after:,}",
                *(f"{x:.3f}" for x in (row.ddm_before, row.ddm_after, row.max_gap_before, row.max_gap_after)),
            )
            for row in rows
        ],
    )


def as_text(table: Table) -> list[str]:
    """Return the lines of a table with aligned columns."""
    lines = [table.headings, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(line, widths, table.left, strict=True)
        ).rstrip()
        for line in lines
    ]


def as_markdown(table: Table) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [table.headings, tuple("---" if left else "---:" for left in table.left), *table.rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _shown(value: float | int | str | None, form: str = "") -> str:
    return NOT_KNOWN if value is None else format(value, form)


# For programs ---------------------------------------------------------------------------------------------------


def as_csv(
    rows: Sequence[Row] | Sequence[DomainRow] | Sequence[FilledRow],
) -> tuple[list[str], list[list[Any]]]:
    """Return the column names and the rows: figures with 6 decimals, blank where not known."""
    header = [field.name for field in dataclasses.fields(rows[0])]
    return header, [[_cell(value) for value in dataclasses.astuple(row)] for row in rows]


def rounded(value: float, digits: int) -> float | None:
    """Return a figure as JSON has it: None for NaN, which JSON lacks, and never −0."""
    return None if math.isnan(value) else round(float(value), digits) + 0.0


def _cell(value: float | int | str | None) -> str:
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)
