"""What the commands that join the response matrices of several benchmarks have in common. Standard library only."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irt.command import whole_number
from irt.io import InputError, check_output
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


def check_outputs(outputs: Sequence[Path], inputs: Iterable[Path]) -> None:
    """Find out before the fit whether the outputs can be written, and not onto an input or each other.

    An output that is a link is written through to the file that it points to.

    Parameters
    ----------
    inputs
        All files that were read.

    Raises
    ------
    InputError
        In one line.
    """
    read = {os.path.realpath(path) for path in inputs}
    targets: dict[str, Path] = {}
    for output in outputs:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(output)  # or it is a link to itself, or its name too long
        target = os.path.realpath(output)
        if target in read or (output.exists() and any(output.samefile(path) for path in read)):
            raise InputError(f"{output} is an input and would be overwritten; choose another place")
        if target in targets:
            raise InputError(f"{output} and {targets[target]} are the same file; remove the link")
        targets[target] = output
        check_output(output)
        _check_folder((Path(target) if output.is_symlink() else output).parent)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that is a file, or in which, or in the nearest above it that is there, nothing can be made."""
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file, not a folder; choose another")
    try:
        # A trial, as permissions do not tell root of a file system that takes nothing.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"{folder}: this folder cannot be written to ({error.strerror}); choose another"
        ) from error


def check_csv_name(output: Path) -> None:
    """Refuse an --output that is no .csv.

    Raises
    ------
    InputError
        In one line.
    """
    if output.suffix != ".csv":
        raise InputError(f"--output {output}: the file name must end in .csv")
