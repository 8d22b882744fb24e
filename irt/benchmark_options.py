"""What the commands that join the response matrices of several benchmarks have in common. Standard library only."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from irt.command import whole_number
from irt.io import InputError, check_output


def add_benchmark_options(parser: argparse.ArgumentParser) -> None:
    """Add the matrices, what their counts are out of, --common-models and --seed."""
    parser.add_argument("matrices", nargs="+", type=Path, metavar="MATRIX", help="response matrices")
    parser.add_argument("--n-trials", type=whole_number(1), help="trials of every cell that is not blank")
    parser.add_argument(
        "--common-models", action="store_true", help="use only the models that are in every matrix"
    )
    parser.add_argument(
        "--seed", type=whole_number(0, 2**32 - 1), default=0, help="random seed (%(default)s)"
    )


def check_dims(dims: int, models: int) -> None:
    """Refuse as many dimensions as there are models in the smallest fit, or more: any answers would show them.

    Raises
    ------
    InputError
        With how many could be shown.
    """
    if dims < models:
        return
    most = f"use --dims {models - 1} or fewer" if models > 1 else "more are needed"
    raise InputError(f"--dims {dims}: {models} models to fit cannot show as many dimensions; {most}")


def check_csv_output(output: Path, inputs: Iterable[Path | None]) -> None:
    """Refuse an --output that is no .csv, cannot be written, or is one of the inputs.

    Raises
    ------
    InputError
        In one line.
    """
    if output.suffix != ".csv":
        raise InputError(f"--output {output}: the file name must end in .csv")
    check_output(output)
    if output.resolve() in {path.resolve() for path in inputs if path}:
        raise InputError(f"--output {output} is an input; choose another name")
