"""Read and check what a fit needs: the count matrix, the trials behind it, the guessing probabilities.

Standard library only, so that a mistake in a file is reported before anything heavy is imported. Past this
module the data are trusted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from irt.io import InputError, PathLike, csv_rows, open_text
from irt.responses import COLUMNS as LOG_COLUMNS

SHOWN_OFFENDERS = 5

# "3.0" is what pandas writes for a whole number in a column with blanks. Nobody asks an item a million times.
_WHOLE_NUMBER = re.compile(r"([0-9]{1,6})(?:\.0*)?")


@dataclass(frozen=True)
class ResponseMatrix:
    """Counts of correct answers, models × items.

    ``correct[m][i]`` of ``trials[m][i]`` answers of model m to item i are right; 0 trials = never asked.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    correct: list[list[int]]
    trials: list[list[int]]


@dataclass(frozen=True)
class _Table:
    """A checked CSV of whole numbers: ``cells[m][i]`` is None where blank, ``lines[m]`` its line in the file."""

    models: tuple[str, ...]
    items: tuple[str, ...]
    cells: list[list[int | None]]
    lines: list[int]


def read_response_matrix(
    path: PathLike,
    *,
    n_trials: int | None = None,
    trials_path: PathLike | None = None,
    fewest_items: int = 2,
) -> ResponseMatrix:
    """Read a response matrix and the number of trials of each cell.

    Parameters
    ----------
    path
        CSV or .csv.gz: first column ``model``, then one column an item; cells are counts of correct answers,
        blank = never asked.
    n_trials
        Trials of every cell that is not blank. Give this or ``trials_path``.
    trials_path
        A table with the same models and items in the same order; cells are numbers of trials, blank or 0 =
        never asked.
    fewest_items
        A matrix with fewer is refused.

    Raises
    ------
    InputError
        With file, line, model, item, found and expected, for the first few offenders.
    """
    table = _read_table(path, fewest_items)
    if trials_path is None:
        if n_trials is None or n_trials < 1:
            raise InputError(f"the number of trials must be at least 1, got {n_trials}")
        trials = [[0 if cell is None else n_trials for cell in row] for row in table.cells]
    else:
        trials = _read_trials(trials_path, table, path)
    _check_counts(path, table, trials)
    _check_asked(path, table, trials)
    correct = [[cell or 0 for cell in row] for row in table.cells]
    return ResponseMatrix(table.models, table.items, correct, trials)


def drop_models(matrix: ResponseMatrix, names: frozenset[str], path: PathLike) -> ResponseMatrix:
    """Return the matrix without the named models.

    Raises
    ------
    InputError
        If a name is not in the matrix, or fewer than two models are left.
    """
    unknown = sorted(names - set(matrix.models))
    if unknown:
        raise InputError(f"{path}: no such model to leave out: {_listed(unknown)}")
    kept = [index for index, model in enumerate(matrix.models) if model not in names]
    if len(kept) < 2:
        raise InputError(f"{path}: {len(kept)} models left; a fit needs at least 2")
    return ResponseMatrix(
        tuple(matrix.models[index] for index in kept),
        matrix.items,
        [matrix.correct[index] for index in kept],
        [matrix.trials[index] for index in kept],
    )


def read_guessing(path: PathLike, items: tuple[str, ...]) -> list[float]:
    """Return the guessing probability of each item, in the order of ``items``.

    The file has columns ``item_id,guessing`` and exactly one row an item, 0 ≤ guessing < 1.

    Raises
    ------
    InputError
        For a missing column, a value outside [0, 1), an item that is missing, unknown or there twice.
    """
    guessing: dict[str, float] = {}
    with open_text(path) as handle:
        rows = csv_rows(path, handle)
        _, header = next(rows, (1, []))
        for column in ("item_id", "guessing"):
            if column not in header:
                raise InputError(f"{path}:1: no column {column!r}; columns there: {_listed(header)}")
        id_column, value_column = header.index("item_id"), header.index("guessing")
        for line, row in rows:
            _check_width(path, line, row, header)
            item = row[id_column]
            if item in guessing:
                raise InputError(f"{path}:{line}: item {item!r} is there twice; keep one row an item")
            guessing[item] = _guessing_value(row[value_column], f"{path}:{line}: item {item!r}")
    missing = [item for item in items if item not in guessing]
    if missing:
        raise InputError(f"{path}: no row for {len(missing)} items of the matrix: {_listed(missing)}")
    extra = sorted(set(guessing) - set(items))
    if extra:
        raise InputError(f"{path}: {len(extra)} items are not in the matrix: {_listed(extra)}")
    return [guessing[item] for item in items]


def _guessing_value(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < 1:
        raise InputError(f"{where}: guessing must be a number from 0 to below 1, found {text!r}")
    return value


def _read_table(path: PathLike, fewest_items: int) -> _Table:
    """Read a models × items CSV of whole numbers and blanks; check ids, widths and cells."""
    models: list[str] = []
    cells: list[list[int | None]] = []
    lines: list[int] = []
    offenders: list[str] = []
    known: dict[str, int | None] = {"": None}
    with open_text(path) as handle:
        rows = csv_rows(path, handle)
        _, header = next(rows, (1, []))
        if not header:
            raise InputError(f"{path}: the file is empty; expected a header 'model,<item>,<item>,…'")
        if set(LOG_COLUMNS) <= set(header):
            raise InputError(
                f"{path}:1: this is a response log, one answer a row (columns {', '.join(LOG_COLUMNS)}), not a "
                f"matrix; make it one: python scripts/prepare_response_matrix.py {path} --n-trials 1 --output NAME.csv"
            )
        if header[0] != "model":
            raise InputError(f"{path}:1: the first column must be 'model', found {header[0]!r}")
        items = header[1:]
        _check_ids(path, items, "item")
        for line, row in rows:
            _check_width(path, line, row, header)
            values: list[int | None] = []
            for item, text in zip(items, row[1:], strict=True):
                if text not in known:
                    match = _WHOLE_NUMBER.fullmatch(text)
                    if match is None:
                        offenders.append(f"{path}:{line}: model {row[0]!r}, item {item!r}: found {text!r}")
                        values.append(None)
                        continue
                    known[text] = int(match[1])
                values.append(known[text])
            models.append(row[0])
            cells.append(values)
            lines.append(line)
    if offenders:
        raise InputError(
            _first_few(offenders) + "; expected a whole number from 0 to 999999, or a blank where never asked"
        )
    _check_ids(path, models, "model")
    for found, name, fewest in ((models, "model", 2), (items, "item", fewest_items)):
        if len(found) < fewest:
            raise InputError(
                f"{path}: number of {name}s: {len(found)}; a fit needs at least 2 models and {fewest_items} items"
            )
    return _Table(tuple(models), tuple(items), cells, lines)


def _read_trials(path: PathLike, table: _Table, matrix_path: PathLike) -> list[list[int]]:
    trials = _read_table(path, len(table.items))
    for name, found, expected in (
        ("models", trials.models, table.models),
        ("items", trials.items, table.items),
    ):
        if found != expected:
            differing = sorted(set(found) ^ set(expected))
            what = f"only in one of them: {_listed(differing)}" if differing else "their order differs"
            raise InputError(f"{path}: its {name} are not those of {matrix_path}: {what}")
    offenders = [
        f"{path}:{line}: model {model!r}, item {item!r}: "
        + ("a count without trials" if cell is not None else f"{asked} trials without a count")
        for model, line, row, asked_row in zip(
            table.models, trials.lines, table.cells, trials.cells, strict=True
        )
        for item, cell, asked in zip(table.items, row, asked_row, strict=True)
        if (cell is None) != (not asked)
    ]
    if offenders:
        raise InputError(_first_few(offenders) + f"; blanks must agree with {matrix_path}")
    return [[asked or 0 for asked in row] for row in trials.cells]


def _check_counts(path: PathLike, table: _Table, trials: list[list[int]]) -> None:
    offenders = [
        f"{path}:{line}: model {model!r}, item {item!r}: found {cell}, expected 0 to {asked}"
        for model, line, row, asked_row in zip(table.models, table.lines, table.cells, trials, strict=True)
        for item, cell, asked in zip(table.items, row, asked_row, strict=True)
        if cell is not None and cell > asked
    ]
    if offenders:
        raise InputError(_first_few(offenders) + "; a count cannot exceed the number of trials")


def _check_asked(path: PathLike, table: _Table, trials: list[list[int]]) -> None:
    for model, line, row in zip(table.models, table.lines, trials, strict=True):
        if not any(row):
            raise InputError(f"{path}:{line}: model {model!r} was never asked anything; leave its row out")
    never = [
        item for item, column in zip(table.items, zip(*trials, strict=True), strict=True) if not any(column)
    ]
    if never:
        raise InputError(f"{path}: no model was asked {len(never)} items; leave them out: {_listed(never)}")


def _check_ids(path: PathLike, ids: list[str], name: str) -> None:
    seen: set[str] = set()
    for position, identifier in enumerate(ids, start=1):
        if not identifier:
            raise InputError(f"{path}: {name} {position} has an empty id")
        if identifier in seen:
            raise InputError(f"{path}: {name} {identifier!r} is there twice; ids must be unique")
        seen.add(identifier)


def _check_width(path: PathLike, line: int, row: list[str], header: list[str]) -> None:
    if len(row) != len(header):
        raise InputError(f"{path}:{line}: {len(row)} cells where the header has {len(header)}")


def _first_few(offenders: list[str]) -> str:
    more = len(offenders) - SHOWN_OFFENDERS
    return "; ".join(offenders[:SHOWN_OFFENDERS]) + (f"; and {more} more" if more > 0 else "")


def _listed(names: list[str]) -> str:
    more = len(names) - SHOWN_OFFENDERS
    return ", ".join(repr(name) for name in names[:SHOWN_OFFENDERS]) + (
        f" and {more} more" if more > 0 else ""
    )
