"""Files of sources, whatever their form, as records that know where they stand: JSONL, JSON and parquet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irt.io import InputError, PathLike, open_text

PARQUET = b"PAR1"


@dataclass(frozen=True)
class Record:
    """One record of a source file: its fields, its number in the file from 0, the file's name, and where it stands."""

    fields: dict[str, Any]
    number: int
    file: str
    where: str

    def get(self, *names: str) -> Any:
        """Return the first of the fields that is there; one of them must be."""
        for name in names:
            if name in self.fields:
                return self.fields[name]
        raise InputError(f"{self.where}: has no field {' or '.join(names)}; is this the benchmark's file?")

    def text(self, *names: str) -> str:
        """Return the first of the fields that is there, as text without outer blanks; null is an empty text."""
        value = self.get(*names)
        # Sources write a whole number as 27.0 where another of their answers is a fraction.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise InputError(f"{self.where}: {names[0]} must be a text or a number, found {value!r}")
        return "" if value is None else str(value).strip()

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of texts."""
        values = self.get(name)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise InputError(f"{self.where}: {name} must be a list of texts, found {values!r}")
        return tuple(values)


def read_records(path: PathLike, *, by_subject: bool) -> Iterator[Record]:
    """Yield the records of a parquet file, a JSON file (a list, or an object with ``examples``) or a JSONL file.

    ``by_subject`` numbers those of each subject from 0, as if each had its own file.
    """
    if _starts_with(path, PARQUET):
        rows: Iterable[tuple[str, Any]] = _numbered_rows(path, "row", _parquet_rows(path))
    elif Path(path).name.endswith(".json"):
        rows = _numbered_rows(path, "record", _json_rows(path))
    else:
        rows = _jsonl_rows(path)
    seen: Counter[str] = Counter()
    for where, row in rows:
        if not isinstance(row, dict):
            raise InputError(f"{where}: must be a JSON object, found {type(row).__name__}")
        group = str(row.get("subject")) if by_subject else ""
        yield Record(row, seen[group], Path(path).name, where)
        seen[group] += 1


def _numbered_rows(path: PathLike, unit: str, rows: list[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{path}: {unit} {number}", row) for number, row in enumerate(rows))


def _starts_with(path: PathLike, start: bytes) -> bool:
    with open(path, "rb") as handle:
        return handle.read(len(start)) == start


def _parquet_rows(path: PathLike) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: not a whole parquet file ({reason}); download it again") from error
    return rows


def _json_rows(path: PathLike) -> list[Any]:
    with open_text(path) as handle:
        value = _loads(handle.read(), str(path))
    rows = value.get("examples") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise InputError(f"{path}: must be a list, or an object with a list of examples")
    return rows


def _jsonl_rows(path: PathLike) -> Iterator[tuple[str, Any]]:
    with open_text(path) as handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield f"{path}:{number}", _loads(line, f"{path}:{number}")


def _loads(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise InputError(f"{where}: nested too deeply to be read") from error
