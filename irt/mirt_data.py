"""Joins the response matrices of several benchmarks by the names of the models. NumPy and SciPy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from irt.arrays import IntArray
from irt.io import InputError, open_text, sha256_of
from irt.response_matrix import ResponseMatrix, read_response_matrix

PACKED = ".csv.gz"
# scripts/prepare_response_matrix.py writes this name, with trials.csv beside it, into the benchmark's own folder.
PREPARED = "response_matrix"


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
        Of each file that was read: its name and SHA-256.
    """

    models: tuple[str, ...]
    names: tuple[str, ...]
    items: tuple[tuple[str, str], ...]
    benchmark_of: IntArray
    correct: IntArray
    trials: IntArray
    inputs: tuple[dict[str, str], ...]

    def keep_models(self, kept: IntArray | Sequence[int]) -> Benchmarks:
        """Return the same items with the models of these numbers alone."""
        return Benchmarks(
            tuple(self.models[number] for number in kept),
            self.names,
            self.items,
            self.benchmark_of,
            self.correct[kept],
            self.trials[kept],
            self.inputs,
        )

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
        For what ``read_response_matrix`` refuses; for a matrix without trials; for trials without their matrix; for the
        same name or content twice; and if no chain of common items and models connects all answers.
    """
    names: list[str] = []
    matrices: list[ResponseMatrix] = []
    inputs: list[dict[str, str]] = []
    seen: dict[str, Path] = {}
    trials_paths = {trials.resolve() for trials in map(find_trials, paths) if trials}
    for path in paths:
        if path.resolve() in trials_paths:
            continue
        name = benchmark_name(path)
        if name.endswith(".trials"):
            matrix_name = path.name.replace(".trials.csv", ".csv")
            raise InputError(
                f"{path}: has the trials of a matrix and is none; give {matrix_name}, which finds it"
            )
        digest = sha256_of(path)
        if digest in seen:
            raise InputError(f"{path}: the same content as {seen[digest]}; give each benchmark once")
        if name in names:
            raise InputError(f"{path}: a second benchmark named {name!r}; rename the file")
        trials_path = find_trials(path)
        trials = None if trials_path else n_trials or _trials_beside(path, name)
        matrices.append(read_response_matrix(path, n_trials=trials, trials_path=trials_path, fewest_items=1))
        names.append(name)
        seen[digest] = path
        inputs.append({"file": path.name, "sha256": digest})
        if trials_path:
            inputs.append({"file": trials_path.name, "sha256": sha256_of(trials_path)})
    models = tuple(dict.fromkeys(model for matrix in matrices for model in matrix.models))
    if common_models:
        models = tuple(model for model in models if all(model in set(m.models) for m in matrices))
        if len(models) < 2:
            raise InputError(f"{len(models)} models are in every matrix; a fit needs at least 2")
    row_of = {model: row for row, model in enumerate(models)}
    items = tuple((name, item) for name, matrix in zip(names, matrices, strict=True) for item in matrix.items)
    benchmark_of = np.repeat(np.arange(len(names)), [len(matrix.items) for matrix in matrices])
    correct = np.zeros((len(models), len(items)), dtype=np.int64)
    trials_of = np.zeros_like(correct)
    for number, matrix in enumerate(matrices):
        columns = np.flatnonzero(benchmark_of == number)
        there = [row for row, model in enumerate(matrix.models) if model in row_of]
        cells = np.ix_([row_of[matrix.models[row]] for row in there], columns)
        correct[cells] = np.array(matrix.correct, dtype=np.int64)[there]
        trials_of[cells] = np.array(matrix.trials, dtype=np.int64)[there]
    data = Benchmarks(models, tuple(names), items, benchmark_of, correct, trials_of, tuple(inputs))
    _check_connected(data)
    return data


def benchmark_name(path: Path) -> str:
    """Return what the benchmark of a matrix is called: its file without .csv or .csv.gz, or its folder."""
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    return path.resolve().parent.name if name == PREPARED else name


def find_trials(path: Path) -> Path | None:
    """Return the file beside a matrix that has the trials by cell, if there is one."""
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    beside = "trials" if name == PREPARED else f"{name}.trials"
    candidates = [path.with_name(f"{beside}{suffix}") for suffix in (".csv", PACKED)]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _trials_beside(path: Path, name: str) -> int:
    """Return the ``n_trials`` of NAME.json beside a matrix."""
    description = path.with_name(f"{name}.json")
    if not description.is_file():
        raise InputError(
            f"{path}: out of how many trials are its counts? Use --n-trials, or put {name}.trials.csv beside it"
        )
    with open_text(description) as handle:
        try:
            fields = json.load(handle)
        except json.JSONDecodeError as error:
            raise InputError(f"{description}:{error.lineno}: not valid JSON ({error.msg})") from error
    value = fields.get("n_trials") if isinstance(fields, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(
            f"{description}: n_trials must be a whole number of at least 1 where there is no {name}.trials.csv, "
            f"found {value!r}"
        )
    return value


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
