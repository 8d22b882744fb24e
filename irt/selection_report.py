"""What select_items.py says of the kept items: one JSON object, or lines for readers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irt.arrays import FloatArray, IntArray
from irt.intervals import Figure
from irt.mirt_data import Benchmarks
from irt.selection_check import FIGURES
from irt.tables import NOT_KNOWN, Table, as_text, rounded

TOO_NARROW = (
    "Intervals of a gain are too narrow, as they take the folds, halves and fits as they are: in 131 simulations of",
    "24 to 30 models without any ability, 1 in 10 excluded 0, not 1 in 20; with more models this was not measured. Do",
    "not build on a gain whose interval barely excludes 0.",
)


@dataclass(frozen=True)
class Kept:
    """Which items were kept, and from which.

    Attributes
    ----------
    pool, kept
        Numbers of the items that separate models, and of the kept ones.
    easiness
        (N,) expected share correct of all items.
    figures
        The summary of the check, by subset.
    """

    pool: IntArray
    kept: IntArray
    easiness: FloatArray
    figures: Mapping[str, Sequence[Figure]]


def json_report(data: Benchmarks, found: Kept) -> dict[str, Any]:
    """Return what was kept and how good it is; null where a figure is not defined."""
    return {
        "models": len(data.models),
        "items": len(data.items),
        "separating_items": len(found.pool),
        "kept_items": len(found.kept),
        "easiness": {
            "separating": _spread(found.easiness[found.pool]),
            "kept": _spread(found.easiness[found.kept]),
        },
        "benchmarks": [
            dict(zip(("name", "items", "kept"), row, strict=True)) for row in _counts(data, found)
        ],
        "warnings": list(data.warnings),
        "inputs": [file.entry() for file in data.inputs],
        "figures": [
            {"subset": subset, "figure": re.sub("[ -]", "_", name.lower())}
            | {key: rounded(x, 6) for key, x in vars(figure).items()}
            for subset, row in found.figures.items()
            for name, figure in zip(FIGURES, row, strict=True)
        ],
    }


def report_lines(data: Benchmarks, found: Kept) -> list[str]:
    """Return how the expected share correct is spread, the items of each benchmark and the figures of each subset."""
    lines = []
    for title, members in (("items that separate models", found.pool), ("kept items", found.kept)):
        spread = _spread(found.easiness[members])
        lines.append(f"Expected share correct, {title}: mean {spread['mean']:.3f}, sd {spread['sd']:.3f}")
    rows: list[tuple[str, ...]] = [
        (name, f"{items:,}", f"{kept:,}") for name, items, kept in _counts(data, found)
    ]
    lines += ["", *as_text(Table(("benchmark", "items", "kept"), (True, False, False), rows))]
    shown = [
        (subset, *(_shown(figure, "minus" in subset) for figure in row))
        for subset, row in found.figures.items()
    ]
    lines += ["", f"{len(data.models):,} models, none used for the choice that it judges"]
    lines += as_text(Table(("", *FIGURES), (True, *[False] * len(FIGURES)), shown))
    return [*lines, "", *TOO_NARROW]


def _counts(data: Benchmarks, found: Kept) -> list[tuple[str, int, int]]:
    """Return name, number of items and number of kept ones of each benchmark."""
    kept_of = data.benchmark_of[found.kept]
    return [
        (name, int((data.benchmark_of == number).sum()), int((kept_of == number).sum()))
        for number, name in enumerate(data.names)
    ]


def _spread(values: FloatArray) -> dict[str, float]:
    """Return the mean and the standard deviation."""
    return {"mean": round(float(values.mean()), 6), "sd": round(float(values.std()), 6)}


def _shown(figure: Figure, signed: bool) -> str:
    """Return a figure and its interval with three decimals; a difference has its sign."""
    if math.isnan(figure.value):
        return NOT_KNOWN
    value, low, high = (format(x, "+z.3f" if signed else "z.3f") for x in vars(figure).values())
    return f"{value} [{low}, {high}]"
