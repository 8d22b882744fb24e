"""Joins the response matrices of several benchmarks by the names of the models. NumPy and SciPy."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from irt.arrays import IntArray
from irt.io import InputError, read_json_object, sha256_of
from irt.matrix_options import (
    MOST_TRIALS,
    PREPARED,
    TRIALS,
    find_trials,
    matrix_of_trials,
    matrix_stem,
    named_as_trials,
    trials_of_no_matrix,
    trials_paths,
    unfit_name,
    without_trials,
)
from irt.model_overlap import common_names, fewest_shared, overlap_warnings
from irt.response_matrix import ResponseMatrix, read_response_matrix

# From so many answered cells on it is no chance that none has all its trials right.
ENOUGH_CELLS = 20


@dataclass(frozen=True)
class InputFile:
    """A file that was read for a benchmark, and the SHA-256 of what was in it."""

    benchmark: str
    path: Path
    sha256: str

    def entry(self) -> dict[str, str]:
        """Return what reports say of it; the benchmark tells one response_matrix.csv from another."""
        return {"benchmark": self.benchmark, "file": self.path.name, "sha256": self.sha256}


@dataclass(frozen=True)
class Benchmarks:
    """Answers of M models to the N items of B benchmarks.

    Attributes
    ----------
    models
        (M,) names, in first-seen order.
    names
        (B,) names of the benchmarks.
    items
        (N,) pairs of benchmark and item id: an id is unique only within its benchmark.
    benchmark_of
        (N,) number of each item's benchmark.
    correct, trials
        (M, N) whole numbers; 0 trials = never asked.
    inputs
        The files that were read: matrices, trials and descriptions.
    warnings
        A line for each thing in them that is likely a slip.
    """

    models: tuple[str, ...]
    names: tuple[str, ...]
    items: tuple[tuple[str, str], ...]
    benchmark_of: IntArray
    correct: IntArray
    trials: IntArray
    inputs: tuple[InputFile, ...] = ()
    warnings: tuple[str, ...] = ()

    def keep_models(self, kept: IntArray | Sequence[int]) -> Benchmarks:
        """Return the same items with the models of these numbers alone."""
        models = tuple(self.models[number] for number in kept)
        return replace(self, models=models, correct=self.correct[kept], trials=self.trials[kept])

    def answered(self) -> IntArray:
        """Return how many items of each benchmark each model was asked, (M, B)."""
        asked = self.trials > 0
        counts = [asked[:, self.benchmark_of == number].sum(axis=1) for number in range(len(self.names))]
        return np.stack(counts, axis=1)


def read_benchmarks(
    paths: Sequence[Path], *, n_trials: int | None = None, common_models: bool = False
) -> Benchmarks:
    """Read response matrices, one a benchmark, and join them by the models' names.

    The trials of NAME.csv or NAME.csv.gz are in NAME.trials.csv(.gz) beside it if there is one (or in trials.csv beside
    a response_matrix.csv), else they are ``n_trials``, else what NAME.json says in ``n_trials``. A benchmark is called
    NAME, or like its folder if the file is response_matrix.csv. A path that has the trials of another, as *.csv.gz
    finds it, is no benchmark.

    Parameters
    ----------
    common_models
        Keep only the models that are in every matrix; otherwise all, with no answers where a matrix lacks one.

    Raises
    ------
    InputError
        For what ``read_response_matrix`` refuses; for a matrix without trials; for trials without their matrix, or of
        which it is not known which matrix they are of; for a name that cannot be printed; for the same name or content
        twice; and if no chain of common items and models connects all answers.
    """
    matrices: dict[str, ResponseMatrix] = {}
    inputs: list[InputFile] = []
    path_of: dict[str, Path] = {}
    warnings: list[str] = []
    for path in without_trials(paths):
        _check_matrix_path(path)
        name = benchmark_name(path)
        trials_path, description = find_trials(path), None
        trials = None if trials_path else n_trials
        if trials_path is None and n_trials is None:
            description, trials = _described_trials(path)
        matrix = read_response_matrix(path, n_trials=trials, trials_path=trials_path, fewest_items=1)
        # Of what is in them, as the same file may be packed once.
        for other, known in matrices.items():
            if (matrix.models, matrix.items, matrix.correct) == (known.models, known.items, known.correct):
                raise InputError(f"{path}: the same content as {path_of[other]}; give each benchmark once")
        if name in matrices:
            raise InputError(f"{path}: a second benchmark named {name!r}; rename the file")
        matrices[name], path_of[name] = matrix, path
        files = (path, trials_path, description)
        inputs += [InputFile(name, file, sha256_of(file)) for file in files if file]
        if trials:
            source = f"n_trials in {description.name}" if description else "--n-trials"
            warnings += _trials_warnings(name, matrix, trials, source)
    models_of = {name: matrix.models for name, matrix in matrices.items()}
    models = tuple(dict.fromkeys(model for models in models_of.values() for model in models))
    if len(matrices) > 1:
        warnings += overlap_warnings(models_of, common_models)
    if common_models:
        models = tuple(common_names(models_of))
        if len(models) < 2:
            raise InputError(
                f"--common-models: {len(models)} of the models in every matrix, and a fit needs at least 2; "
                f"{fewest_shared(models_of)}"
            )
    data = replace(_join(matrices, models), inputs=tuple(inputs), warnings=tuple(warnings))
    _check_connected(data)
    return data


def benchmark_name(path: Path) -> str:
    """Return what the benchmark of a matrix is called: its file without .csv or .csv.gz, or its folder."""
    stem = matrix_stem(path)
    return path.resolve().parent.name if stem == PREPARED else stem


def _check_matrix_path(path: Path) -> None:
    """Refuse what is no file, cannot be named, or has trials; and trials beside it that may be those of another."""
    path.stat()  # or there is no such file
    if not path.is_file():
        what = "a folder; give the matrices in it" if path.is_dir() else "no file; write the matrix to one"
        raise InputError(f"{path}: is {what}")
    stem, name = matrix_stem(path), benchmark_name(path)
    if unfit_name(name):
        # ascii(): not all of it can be printed.
        raise InputError(
            f"{ascii(str(path))}: the benchmark would be called {ascii(name)}; give the file, or the folder of a "
            f"{PREPARED}.csv, a name in UTF-8 without control characters"
        )
    if named_as_trials(path):
        matrix = matrix_of_trials(path)
        if matrix is not None:
            raise InputError(
                f"{path}: has the trials of a matrix and is none; give {matrix.name}, which finds it"
            )
        raise InputError(
            f"{path}: of which matrix are these trials? Rename it NAME.{TRIALS}.csv, or remove it"
        )
    stray = trials_of_no_matrix(path)
    if stem != PREPARED and find_trials(path) is None and stray is not None:
        raise InputError(
            f"{stray}: of which matrix are these trials? Rename it {stem}.{TRIALS}.csv if of {path.name}, or remove it"
        )


def _described_trials(path: Path) -> tuple[Path, int]:
    """Return NAME.json beside a matrix and its ``n_trials``."""
    name = benchmark_name(path)
    description = path.with_name(f"{name}.json")
    beside = trials_paths(path)[0].name
    if not description.is_file():
        raise InputError(
            f"{path}: out of how many trials are its counts? Use --n-trials, or put {beside} beside it"
        )
    value = read_json_object(description).get("n_trials")
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_TRIALS:
        raise InputError(
            f"{description}: n_trials must be a whole number from 1 to {MOST_TRIALS} where there is no {beside}, "
            f"found {reprlib.repr(value)}"
        )
    return description, value


def _trials_warnings(name: str, matrix: ResponseMatrix, trials: int, source: str) -> list[str]:
    """Return a warning if no cell has all its trials right, as where the counts are of fewer trials.

    A matrix without any right answer says nothing of how many trials there were. ``source`` says where their number is
    from.
    """
    most = max(map(max, matrix.correct))
    asked = sum(bool(count) for row in matrix.trials for count in row)
    if asked < ENOUGH_CELLS or most in (0, trials):
        return []
    return [f"no cell of {name!r} has more than {most:,} of {trials:,} correct: is {source} right?"]


def _join(matrices: dict[str, ResponseMatrix], models: tuple[str, ...]) -> Benchmarks:
    """Return the answers of these models, with no trials where a matrix lacks one."""
    row_of = {model: row for row, model in enumerate(models)}
    items = tuple((name, item) for name, matrix in matrices.items() for item in matrix.items)
    benchmark_of = np.repeat(np.arange(len(matrices)), [len(matrix.items) for matrix in matrices.values()])
    correct = np.zeros((len(models), len(items)), dtype=np.int64)
    trials = np.zeros_like(correct)
    for number, matrix in enumerate(matrices.values()):
        columns = np.flatnonzero(benchmark_of == number)
        there = [row for row, model in enumerate(matrix.models) if model in row_of]
        cells = np.ix_([row_of[matrix.models[row]] for row in there], columns)
        correct[cells] = np.array(matrix.correct, dtype=np.int64)[there]
        trials[cells] = np.array(matrix.trials, dtype=np.int64)[there]
    return Benchmarks(models, tuple(matrices), items, benchmark_of, correct, trials)


def groups_of(trials: IntArray) -> IntArray:
    """Return the group of each model, (M,), from 0; two groups of the (M, N) trials have no item in common.

    −1 for a model without answers.
    """
    there = trials.any(axis=1)
    asked = csr_array(trials[there] > 0)
    _, group = connected_components(block_array([[None, asked], [asked.T, None]]), directed=False)
    found = np.full(len(trials), -1, dtype=np.int64)
    # An item that nobody was asked is a group of its own, without a number here.
    found[there] = np.unique(group[: int(there.sum())], return_inverse=True)[1]
    return found


def _check_connected(data: Benchmarks) -> None:
    """Refuse answers that fall into groups of models without a common item: nothing would relate their abilities."""
    group = groups_of(data.trials)
    if group.max() < 1:
        return
    examples = []
    for number in (0, 1):
        model = int(np.argmax(group == number))
        benchmark = data.names[data.benchmark_of[np.argmax(data.trials[model] > 0)]]
        examples.append(f"{data.models[model]!r} (in {benchmark!r})")
    raise InputError(
        f"nothing connects the answers of {' and '.join(examples)}: the models fall into {group.max() + 1} groups "
        "without a common item, so their abilities cannot be compared; models are joined by name: give matrices with "
        "models in common"
    )
