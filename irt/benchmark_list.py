"""Reads the list of the released benchmarks, data/benchmarks.toml, and checks every entry. Standard library only."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irt.io import InputError, PathLike

BENCHMARK_LIST = Path(__file__).resolve().parents[1] / "data" / "benchmarks.toml"

REQUIRED = ("title", "domain", "matrix")
OPTIONAL = ("guessing", "drop_models")

# Both become file names.
_FILE_NAME = re.compile(r"\w[\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Benchmark:
    """One entry of the list.

    Attributes
    ----------
    name
        Its folder under data/benchmarks.
    title, domain
        As the tables show them.
    matrix
        Its response matrix: MATRIX.csv.gz and MATRIX.json.
    guessing
        Guessing probability of all its items, 0 ≤ g < 1.
    drop_models
        Models of the matrix that are left out.
    """

    name: str
    title: str
    domain: str
    matrix: str
    guessing: float
    drop_models: tuple[str, ...]


def read_benchmark_list(path: PathLike) -> tuple[Benchmark, ...]:
    """Return the benchmarks in file order.

    Raises
    ------
    InputError
        If the file is not TOML or holds no benchmark; with the entry, if a key is missing or unknown, or a
        value is not what the key stands for.
    OSError
        If the file cannot be opened.
    """
    try:
        with open(path, "rb") as handle:
            entries = tomllib.load(handle)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{path}: not valid TOML ({error})") from error
    if not entries:
        raise InputError(f"{path}: no benchmark; an entry is [NAME] with {', '.join(REQUIRED)}")
    return tuple(_benchmark(f"{path}: [{name}]", name, entry) for name, entry in entries.items())


def _benchmark(where: str, name: str, entry: Any) -> Benchmark:
    if not isinstance(entry, dict):
        raise InputError(
            f"{where}: found {entry!r}; an entry is [{name}] with {', '.join(REQUIRED)} below it"
        )
    for key in REQUIRED:
        if key not in entry:
            raise InputError(f"{where}: no {key!r}")
    unknown = sorted(set(entry) - {*REQUIRED, *OPTIONAL})
    if unknown:
        raise InputError(
            f"{where}: unknown key {unknown[0]!r}; known are {', '.join((*REQUIRED, *OPTIONAL))}"
        )
    benchmark = Benchmark(
        name=name,
        title=_text(where, entry, "title"),
        domain=_text(where, entry, "domain"),
        matrix=_text(where, entry, "matrix"),
        guessing=_guessing(where, entry.get("guessing", 0.0)),
        drop_models=_models(where, entry.get("drop_models", [])),
    )
    for what, value in (("name", name), ("matrix", benchmark.matrix)):
        if not _FILE_NAME.fullmatch(value):
            raise InputError(
                f"{where}: {what} {value!r} is a file's name: letters, digits, dots, hyphens, underscores"
            )
    return benchmark


def _text(where: str, entry: Mapping[str, Any], key: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key} must be a text that is not blank, found {value!r}")
    return value


def _guessing(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise InputError(f"{where}: guessing must be a number from 0 to below 1, found {value!r}")
    return float(value)


def _models(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(model, str) and model for model in value):
        raise InputError(f"{where}: drop_models must be a list of model names, found {value!r}")
    if len(set(value)) < len(value):
        raise InputError(f"{where}: drop_models names a model twice: {value!r}")
    return tuple(value)
