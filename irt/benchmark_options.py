"""What the commands that join the response matrices of several benchmarks have in common. Standard library only."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from irt.command import whole_number
from irt.io import InputError
from irt.matrix_options import MOST_TRIALS

if TYPE_CHECKING:
    from irt.mirt_data import Benchmarks


def add_benchmark_options(parser: argparse.ArgumentParser) -> None:
    """Add the matrices, what their counts are out of, --common-models and --seed."""
    parser.add_argument("matrices", nargs="+", type=Path, metavar="MATRIX", help="response matrices")
    parser.add_argument(
        "--n-trials", type=whole_number(1, MOST_TRIALS), help="trials of every cell that is not blank"
    )
    parser.add_argument(
        "--common-models", action="store_true", help="use only the models that are in every matrix"
    )
    parser.add_argument(
        "--seed", type=whole_number(0, 2**32 - 1), default=0, help="random seed (%(default)s)"
    )


def counted(number: int, what: str) -> str:
    """Return a number and what it counts, in the plural unless it is 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def size_of(data: Benchmarks) -> str:
    """Return how many models, items and benchmarks there are, in words."""
    models, items = counted(len(data.models), "model"), counted(len(data.items), "item")
    return f"{models} × {items} of {counted(len(data.names), 'benchmark')}"


def tell_size(data: Benchmarks, more: str = "") -> None:
    """Print on standard error the size, in how many matrices the models are, and what is likely a slip in the input."""
    print(f"{size_of(data)}{more}", file=sys.stderr)
    if len(data.names) > 1:
        common = int((data.answered() > 0).all(axis=1).sum())
        print(
            f"{common:,} of {counted(len(data.models), 'model')} in all {len(data.names)} matrices",
            file=sys.stderr,
        )
    for warning in data.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def check_dims(dims: int, models: int) -> None:
    """Refuse as many dimensions as there are models in the smallest fit, or more: any answers would show them.

    Raises
    ------
    InputError
        With how many could be shown.
    """
    if dims < models:
        return
    most = f"use --dims {models - 1} or fewer" if models > 1 else "more models are needed"
    raise InputError(
        f"--dims {dims}: {counted(models, 'model')} to fit cannot show as many dimensions; {most}"
    )


def check_csv_name(output: Path) -> None:
    """Refuse an --output that is no .csv.

    Raises
    ------
    InputError
        In one line.
    """
    if output.suffix != ".csv":
        raise InputError(f"--output {output}: the file name must end in .csv")
