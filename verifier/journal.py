"""An append-only journal: one JSON object a line, written in one piece, readable after a kill at any byte."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from irt.io import InputError, PathLike

Append = Callable[[dict[str, Any]], None]  # writes one record

SECONDS_BETWEEN_SYNCS = 1.0
_BLOCK = 1 << 16


@contextlib.contextmanager
def open_journal(path: PathLike) -> Iterator[Append]:
    """Open a journal to append to, make it if it is not there, and yield ``append(record)``.

    A record that a kill cut short is removed first, with a word on standard error: the next record would be glued to
    it, and the journal be unreadable from there on. A record is in the hands of the operating system when ``append``
    returns, and on disk about a second later and at the end of the block.

    Raises
    ------
    InputError
        If another process has the journal open, or it cannot be written; ``append`` raises it, too.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{path}: another process is writing to it; wait for it or stop it") from error
        _remove_torn_record(descriptor, path)
        synced = time.monotonic()

        def append(record: dict[str, Any]) -> None:
            nonlocal synced
            _write(descriptor, _line(record), path)
            if time.monotonic() - synced > SECONDS_BETWEEN_SYNCS:
                os.fsync(descriptor)
                synced = time.monotonic()

        yield append
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_journal(
    path: PathLike, remedy: str = "restore the line from a copy, or remove it"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, record) of a journal, which may be in use; a last line without its end is left out.

    ``remedy`` is what the message advises for a bad line.

    Raises
    ------
    InputError
        With path:line, if a line is not a JSON object.
    """
    with open(path, "rb") as handle:
        # Binary lines end at a newline alone; str.splitlines() would also split at U+2028 inside a text.
        for number, line in enumerate(handle, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path}:{number}: not JSON ({error}); {remedy}") from error
            if not isinstance(record, dict):
                raise InputError(
                    f"{path}:{number}: must be a JSON object, found {type(record).__name__}; {remedy}"
                )
            yield number, record


def _line(record: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(record, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a surrogate pair, as cut-off output has it, is not UTF-8
        return (json.dumps(record) + "\n").encode()


def _write(descriptor: int, line: bytes, path: PathLike) -> None:
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); what is there stays, run again to go on"
        ) from error


def _remove_torn_record(descriptor: int, path: PathLike) -> None:
    size = end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _BLOCK)
        block = os.pread(descriptor, end - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        print(f"{path}: removed a record of {size - end} bytes that was cut short", file=sys.stderr)
        os.ftruncate(descriptor, end)
        os.fsync(descriptor)
