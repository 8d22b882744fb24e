"""Reads item difficulties from a CSV file and checks every row. Standard library only, Python 3.9+."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterator

from irt.io import InputError, PathLike, csv_rows, open_text

ID_COLUMNS = ("item", "item_id")


@dataclass(frozen=True)
class Difficulties:
    """The rows of a difficulty file, in file order.

    Attributes
    ----------
    ids
        The items' ids as written; row numbers from 1 if the file has no id column.
    values
        The difficulties, finite, higher = harder.
    lines
        The line of each row in the file, for messages.
    """

    ids: tuple[str, ...]
    values: tuple[float, ...]
    lines: tuple[int, ...]


def read_difficulties(path: PathLike, column: str = "b_mean") -> Difficulties:
    """Read the difficulty of every item from a .csv or .csv.gz file.

    Parameters
    ----------
    path
        The file. Its first column named ``item`` or ``item_id`` holds the ids.
    column
        The column that holds the difficulties; others are ignored.

    Raises
    ------
    InputError
        If the file has no rows, the column is missing, a row has the wrong number of cells, a difficulty is
        blank or not a finite number, or an id is blank or there twice; with the line.
    OSError
        If the file cannot be opened.
    """
    with open_text(path) as handle:
        rows = csv_rows(path, handle)
        line, header = next(rows, (0, []))
        if not header:
            raise InputError(f"{path}: the file is empty; its first line must hold column names")
        at = _column(f"{path}:{line}", header, column)
        id_at = next((i for i, name in enumerate(header) if name in ID_COLUMNS), None)
        difficulties = _read_rows(path, rows, len(header), id_at, at)
    if not difficulties.ids:
        raise InputError(f"{path}: no items below the column names")
    if id_at is not None and len(set(difficulties.ids)) < len(difficulties.ids):
        _raise_repeated(path, difficulties)
    return difficulties


def check_unit_interval(path: PathLike, difficulties: Difficulties) -> None:
    """Check that every difficulty is on [0, 1].

    Raises
    ------
    InputError
        If not, with the first row that is outside.
    """
    for item, value, line in zip(difficulties.ids, difficulties.values, difficulties.lines):
        if not 0 <= value <= 1:
            raise InputError(
                f"{path}:{line}: the difficulty of item {item!r} is {value}, which is not on "
                "[0, 1]; leave out --normalized"
            )


def _column(where: str, header: list[str], column: str) -> int:
    """Return the place of the one column of that name."""
    if header.count(column) == 1:
        return header.index(column)
    problem = "more than one" if column in header else "no"
    raise InputError(
        f"{where}: {problem} column {column!r}; the columns there are {', '.join(map(repr, header))}; "
        "choose one with --column"
    )


def _read_rows(
    path: PathLike, rows: Iterator[tuple[int, list[str]]], width: int, id_at: int | None, at: int
) -> Difficulties:
    ids, values, lines = [], [], []
    for line, row in rows:
        if len(row) != width:
            raise InputError(f"{path}:{line}: {len(row)} cells instead of {width}")
        cell = row[at]
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        # float() takes 1_000 for a thousand; in a CSV file it is a typing mistake.
        if not math.isfinite(value) or "_" in cell:
            found = repr(cell) if cell.strip() else "blank"
            raise InputError(f"{path}:{line}: the difficulty is {found}; it must be a finite number")
        values.append(value)
        lines.append(line)
        item = str(len(values)) if id_at is None else row[id_at]
        if not item:
            raise InputError(f"{path}:{line}: the item's id is blank")
        ids.append(item)
    return Difficulties(tuple(ids), tuple(values), tuple(lines))


def _raise_repeated(path: PathLike, difficulties: Difficulties) -> None:
    first_line: dict[str, int] = {}
    for item, line in zip(difficulties.ids, difficulties.lines):
        if item in first_line:
            raise InputError(f"{path}:{line}: item {item!r} is there already, on line {first_line[item]}")
        first_line[item] = line
