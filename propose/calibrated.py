"""The calibrated benchmark that a run starts from: its items, their difficulties, the panel's answers and abilities."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.difficulty import normalize
from irt.io import InputError
from irt.response_matrix import ResponseMatrix, read_guessing, read_response_matrix
from propose.calibration_record import (
    CalibrationRecord,
    check_fitted,
    check_identities,
    check_pool,
    read_record,
)
from propose.candidate import CANDIDATE_ID
from verifier.ability_calibration import models_seen, read_calibration
from verifier.ability_posterior import Abilities, fit_ability
from verifier.items import Item, read_items
from verifier.pools.sources import read_sources

FEWEST_MODELS = 3
_MAKE = "`bash run_experiment.sh calibrate` makes it"
_SIMULATED = re.compile(
    r"demo|sim(?:ulated)?\b.*", re.IGNORECASE
)  # what one calls a benchmark of simulated items


@dataclass(frozen=True)
class CalibrationFiles:
    """Where the files of a benchmark are; ``trials`` and ``guessing`` need not be there."""

    pool: Path
    matrix: Path
    trials: Path
    guessing: Path
    difficulty: Path

    def present(self) -> dict[str, Path]:
        """Return those that are there, by what they are."""
        return {name: path for name, path in vars(self).items() if path.exists()}


@dataclass(frozen=True)
class Calibrated:
    """N items and the answers of M models to them.

    Attributes
    ----------
    items
        In the order of the pool; column q0, q1, … of the matrix is the position here.
    b_mean, b_sd
        (N,) difficulties of the calibration table; higher is harder.
    models
        The rows of the matrix, and of ``abilities``.
    correct, trials
        (M, N) counts; 0 trials = not asked.
    guessing
        (N,) probability that a guess is right.
    n_trials
        Answers that a verifier gave to an item, and gives to a new one.
    """

    items: tuple[Item, ...]
    b_mean: FloatArray
    b_sd: FloatArray
    models: tuple[str, ...]
    correct: IntArray
    trials: IntArray
    guessing: FloatArray
    abilities: Abilities
    n_trials: int


def files_of(data: Path, benchmark: str) -> CalibrationFiles:
    """Return where the files of a benchmark belong under the root of data."""
    matrix = data / "matrix"
    return CalibrationFiles(
        pool=data / "pool" / f"{benchmark}.jsonl",
        matrix=matrix / f"{benchmark}_response_matrix.csv",
        trials=matrix / f"{benchmark}_trials.csv",
        guessing=matrix / f"{benchmark}_guessing.csv",
        difficulty=data / "calibration" / benchmark / "difficulty.csv",
    )


def check_present(files: CalibrationFiles, *names: str) -> None:
    """Hold that files are there, by their names in ``CalibrationFiles``; all that a run cannot do without, if none.

    Raises
    ------
    InputError
        With the first that is missing, where it belongs, and how to make it.
    """
    for name in names or ("pool", "matrix", "difficulty"):
        path = getattr(files, name)
        if path.is_file():
            continue
        if name == "pool":
            raise InputError(f"{path}: the item pool is missing; {_how_to_make_pool(path)}")
        what = {"matrix": "response matrix of the panel", "difficulty": "calibration table"}[name]
        raise InputError(f"{path}: the {what} is missing; {_MAKE}")


def _how_to_make_pool(path: Path) -> str:
    benchmark, output = path.stem, shlex.quote(str(path))
    if benchmark in read_sources():
        return f"`python scripts/fetch_items.py {benchmark} --output {output}` fetches it"
    if _SIMULATED.fullmatch(benchmark):
        return f"`python -m verifier.simulated.make_items --count 30 --output {output}` makes a simulated one"
    return "write one JSON object a line there: id, question, answer, answer_type"


def read_calibrated(files: CalibrationFiles, n_trials: int | None = None) -> Calibrated:
    """Read the files of a benchmark and hold them to each other.

    Parameters
    ----------
    n_trials
        Answers that a verifier gave to an item. If None, it is the largest number in the table of trials, or what the
        diagnostics.json beside the calibration table says.

    Raises
    ------
    InputError
        If a file is missing (with where it belongs and how to make it), is wrong, or does not fit the others.
    """
    check_present(files)
    items = tuple(read_items(files.pool))
    check_ids(files.pool, items)
    record = read_record(files.difficulty)
    check_pool(record, files.pool, items)
    n_trials = _trials_of(record, n_trials)
    matrix = read_response_matrix(
        files.matrix,
        n_trials=None if files.trials.exists() else n_trials,
        trials_path=files.trials if files.trials.exists() else None,
    )
    _check_matrix(files, matrix, items, n_trials)
    table = read_calibration(files.difficulty, matrix.items, files.matrix)
    try:
        normalize(table.mean.tolist())
    except ValueError as error:
        raise InputError(f"{files.difficulty}: {error}; there is no scale to find gaps on") from error
    # Last, as the checks above can say more of what is wrong.
    check_fitted(record, files.difficulty, files.matrix, files.trials, files.guessing)
    correct, trials = np.array(matrix.correct), np.array(matrix.trials)
    guessing = _guessing(files, matrix, items)
    abilities = fit_ability(correct, trials, guessing, table, own_table=_own_table(files, matrix.models))
    return Calibrated(
        items, table.mean, table.sd, matrix.models, correct, trials, guessing, abilities, n_trials
    )


def check_ids(pool: Path, items: Sequence[Item]) -> None:
    """Hold that no item of a pool is called as candidates are: the candidate of that id would take its place.

    Raises
    ------
    InputError
        With the first that is.
    """
    if taken := [item.id for item in items if CANDIDATE_ID.fullmatch(item.id)]:
        raise InputError(f"{pool}: item {taken[0]!r}: candidates are called so; give it another id")


def check_panel(
    models: tuple[str, ...],
    identities: Mapping[str, str],
    matrix: Path,
    panel: Path,
    record: CalibrationRecord,
) -> None:
    """Hold the panel to the rows of the matrix, in any order, and to the identities that gave them.

    Raises
    ------
    InputError
        With the first name that only one of them has, or whose identity is another.
    """
    if missing := sorted(set(models) - set(identities)):
        raise InputError(
            f"{panel}: no verifier {missing[0]!r}, which is a row of {matrix}; the models that "
            "calibrated the benchmark must answer new items too"
        )
    if extra := sorted(set(identities) - set(models)):
        raise InputError(
            f"{matrix}: no row {extra[0]!r}, which is a verifier of {panel}; let it answer the pool too, "
            "or leave it out of the panel"
        )
    check_identities(record, identities, panel)


def _trials_of(record: CalibrationRecord, n_trials: int | None) -> int:
    """Return the given number of trials, held to what the fit says, or what the fit says."""
    path, fitted = record.path, record.n_trials
    if n_trials is None:
        n_trials = fitted
    if n_trials is None:
        raise InputError(f"{path}: does not tell the trials of the calibration; say them with --trials")
    if fitted is not None and fitted != n_trials:
        raise InputError(
            f"{path}: the calibration had {fitted} trials of a model and item, not {n_trials}; leave --trials out, or "
            "calibrate again"
        )
    return n_trials


def _check_matrix(
    files: CalibrationFiles, matrix: ResponseMatrix, items: tuple[Item, ...], n_trials: int
) -> None:
    if len(matrix.models) < FEWEST_MODELS:
        raise InputError(
            f"{files.matrix}: {len(matrix.models)} models; a panel needs at least {FEWEST_MODELS}"
        )
    if len(matrix.items) != len(items):
        raise InputError(
            f"{files.matrix}: {len(matrix.items)} columns of items, and {files.pool} has {len(items)} items; a column "
            "q0, q1, … is a position in the pool"
        )
    for position, column in enumerate(matrix.items):
        if column != f"q{position}":
            raise InputError(
                f"{files.matrix}: column {position + 2} is {column!r} where q{position} is expected: the position of "
                f"{items[position].id!r} in {files.pool}"
            )
    most = max(map(max, matrix.trials))
    if most != n_trials:
        raise InputError(
            f"{files.trials}: the largest number of trials is {most}, the calibration had {n_trials}; use the "
            "trials and the calibration of one matrix"
        )


def _guessing(files: CalibrationFiles, matrix: ResponseMatrix, items: tuple[Item, ...]) -> FloatArray:
    if files.guessing.exists():
        return np.array(read_guessing(files.guessing, matrix.items))
    return np.array([item.guessing for item in items])


def _own_table(files: CalibrationFiles, models: Sequence[str]) -> list[bool]:
    """Return for each model whether the table was fitted to its answers."""
    seen = models_seen(files.difficulty, files.matrix)
    return [seen is None or model in seen for model in models]
