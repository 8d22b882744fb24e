"""Finds the response matrices of benchmarks in a folder, with what is written beside each of where it comes from.

A matrix is NAME.csv.gz; NAME.json says the repository, commit and licence of its source, and the number of trials: a
whole number, or a text that says "varies", and NAME.trials.csv.gz has them by cell. Standard library only.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irt.benchmark_list import Benchmark
from irt.io import InputError, read_json_object, sha256_of
from irt.matrix_options import MOST_TRIALS
from irt.response_matrix import ResponseMatrix, drop_models, read_response_matrix

SHOWN_MISSING = 6


@dataclass(frozen=True)
class MatrixSource:
    """A response matrix's files and source; of ``n_trials`` and ``trials`` one is None."""

    matrix: Path
    n_trials: int | None
    trials: Path | None
    repository: str
    commit: str
    licence: str

    def inputs(self) -> dict[str, dict[str, str]]:
        """Return name and SHA-256 of the matrix, and of the trials by cell where there are such."""
        files = {"matrix": self.matrix} | ({"trials": self.trials} if self.trials else {})
        return {what: {"file": path.name, "sha256": sha256_of(path)} for what, path in files.items()}


def find_sources(folder: Path, benchmarks: Sequence[Benchmark]) -> list[MatrixSource]:
    """Return the source of each benchmark's matrix.

    Raises
    ------
    InputError
        If a file is missing, with all that are; or if a .json lacks what is needed.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of response matrices")
    names = [benchmark.matrix for benchmark in benchmarks]
    _check_there([folder / f"{name}{suffix}" for name in names for suffix in (".csv.gz", ".json")])
    sources = [_read_source(folder, name) for name in names]
    _check_there([source.trials for source in sources if source.trials])
    return sources


def read_matrix(source: MatrixSource, benchmark: Benchmark) -> ResponseMatrix:
    """Return the benchmark's matrix without the models that it leaves out."""
    matrix = read_response_matrix(source.matrix, n_trials=source.n_trials, trials_path=source.trials)
    if not benchmark.drop_models:
        return matrix
    return drop_models(matrix, frozenset(benchmark.drop_models), source.matrix)


def _check_there(paths: Sequence[Path]) -> None:
    missing = [path for path in paths if not path.is_file()]
    if missing:
        names = ", ".join(path.name for path in missing[:SHOWN_MISSING])
        more = f" and {len(missing) - SHOWN_MISSING} more" if len(missing) > SHOWN_MISSING else ""
        raise InputError(f"{missing[0].parent}: missing {names}{more}; nothing was fitted")


def _read_source(folder: Path, name: str) -> MatrixSource:
    path = folder / f"{name}.json"
    fields = read_json_object(path)
    n_trials, trials = _trials(path, fields.get("n_trials"))
    return MatrixSource(
        matrix=folder / f"{name}.csv.gz",
        n_trials=n_trials,
        trials=trials,
        repository=_text(path, fields, "source_repo"),
        commit=_text(path, fields, "commit"),
        licence=_text(path, fields, "licence"),
    )


def _text(path: Path, fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f"{path}: {key} must be a text, found {value!r}")
    return value


def _trials(path: Path, value: Any) -> tuple[int | None, Path | None]:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_TRIALS:
        return value, None
    if isinstance(value, str) and value.startswith("varies"):
        return None, path.with_name(f"{path.stem}.trials.csv.gz")
    raise InputError(
        f"{path}: n_trials must be a whole number from 1 to {MOST_TRIALS}, or 'varies…', found {reprlib.repr(value)}"
    )
