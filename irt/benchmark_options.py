"""What the commands that join the response matrices of several benchmarks have in common. Standard library only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irt.command import whole_number
from irt.io import InputError
from irt.matrix_options import MOST_TRIALS

if TYPE_CHECKING:
    from irt.mirt_data import Benchmarks

MOST_DIMS = 20
MOST_NAMES = 5


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


def read_asked(arguments: argparse.Namespace) -> Benchmarks:
    """Read the matrices that these options name; see ``read_benchmarks`` for what it refuses."""
    from irt.mirt_data import read_benchmarks  # NumPy, without which --help and a mistyped option still work

    return read_benchmarks(
        arguments.matrices, n_trials=arguments.n_trials, common_models=arguments.common_models
    )


def counted(number: int, what: str) -> str:
    """Return a number and what it counts, in the plural unless it is 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def size_of(data: Benchmarks) -> str:
    """Return how many models, items and benchmarks there are, in words."""
    models, items = counted(len(data.models), "model"), counted(len(data.items), "item")
    return f"{models} × {items} of {counted(len(data.names), 'benchmark')}"


def tell_size(data: Benchmarks, more: str = "") -> None:
    """Print on standard error the size, and a warning of what is likely a slip in the input."""
    print(f"{size_of(data)}{more}", file=sys.stderr)
    tell_warnings(data.warnings)


def tell_warnings(warnings: Iterable[str]) -> None:
    """Print each on standard error."""
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def tell_unconverged(names: Sequence[str], fits: int) -> None:
    """Print on standard error how many of the fits stopped at their last iteration, and the names of the first."""
    if names:
        tell_warnings([f"{len(names):,} of {counted(fits, 'fit')} had not converged: {listed(names)}"])


def listed(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


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
