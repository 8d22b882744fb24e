"""Answers of models with two independent abilities to benchmarks whose items each measure a known mixture of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from irt.mirt_data import Benchmarks

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Planted:
    """The answers and the truth behind them."""

    data: Benchmarks
    theta: FloatArray  # (M, 2)
    a: FloatArray  # (N, 2)


def plant(loadings: dict[str, FloatArray], models: int, seed: int = 0) -> Planted:
    """Draw abilities, intercepts and one answer a cell; ``loadings`` has the (items, 2) of each benchmark."""
    rng = np.random.default_rng(seed)
    a = np.concatenate(list(loadings.values()))
    sizes = [len(values) for values in loadings.values()]
    theta, d = rng.normal(size=(models, 2)), rng.normal(size=len(a))
    correct = rng.binomial(1, 1 / (1 + np.exp(-theta @ a.T - d)))
    items = tuple((name, f"q{i}") for name, size in zip(loadings, sizes, strict=True) for i in range(size))
    names = tuple(f"m{i}" for i in range(models))
    benchmark_of = np.repeat(np.arange(len(sizes)), sizes)
    data = Benchmarks(names, tuple(loadings), items, benchmark_of, correct, np.ones_like(correct), ())
    return Planted(data, theta, a)


def on_first(items: int, size: float) -> FloatArray:
    """Return the loadings of items that measure the first ability alone."""
    return np.column_stack([np.full(items, size), np.zeros(items)])


def on_second(items: int, size: float) -> FloatArray:
    """Return the loadings of items that measure the second ability alone."""
    return on_first(items, size)[:, ::-1].copy()


def write_matrices(folder: Path, data: Benchmarks) -> list[str]:
    """Write NAME.csv for each benchmark, cells without trials blank; return the file names."""
    for number, name in enumerate(data.names):
        columns = np.flatnonzero(data.benchmark_of == number)
        lines = [",".join(["model", *(data.items[column][1] for column in columns)])]
        for row, model in enumerate(data.models):
            cells = [str(data.correct[row, column]) if data.trials[row, column] else "" for column in columns]
            if any(cells):
                lines.append(",".join([model, *cells]))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [f"{name}.csv" for name in data.names]
