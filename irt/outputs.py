"""Finds out before long work whether its outputs can be written. Standard library only."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from irt.io import InputError, check_output


def check_outputs(outputs: Sequence[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that cannot be written, that are an input, or that are one file.

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
    if folder.is_symlink() and not folder.exists():
        # Making it could fill the place where a disk is to be mounted.
        raise InputError(f"{folder}: is a link to a folder that is not there; make that, or choose another")
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
