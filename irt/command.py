"""How every command ends: one line for a user's mistake, the right exit status, no traceback.

Standard library only, Python 3.9+.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import re
import select
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Callable, Iterator, NoReturn, Optional, TextIO

from irt.interrupts import EXIT_INTERRUPTED, install
from irt.io import InputError

EXIT_USER_ERROR = 2
# C0 and C1, and the marks that turn the direction of writing.
_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose help is the module docstring as it stands and whose errors are one line."""

    def __init__(self, description: str | None, epilog: str | None = None) -> None:
        super().__init__(
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Print the message alone, without the list of all options in front of it."""
        self.exit(EXIT_USER_ERROR, f"{self.prog}: error: {message}; see --help\n")


def whole_number(lowest: int, highest: int = 999_999) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``lowest`` to ``highest``, for argparse."""

    def parse(text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) < 20
        if not digits or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {lowest} to {highest}, found {text!r}"
            )
        return int(text)

    return parse


def proportion(*, zero: bool, one: bool) -> Callable[[str], float]:
    """Return a parser of numbers between 0 and 1, with or without either end, for argparse."""
    if zero:
        interval = "from 0 to 1" if one else "from 0 to below 1"
    else:
        interval = "above 0 and at most 1" if one else "above 0 and below 1"

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan  # inside no interval
        if not 0 <= value <= 1 or (value == 0 and not zero) or (value == 1 and not one):
            raise argparse.ArgumentTypeError(f"must be a number {interval}, found {text!r}")
        return value

    return parse


def run(main: Callable[[], int]) -> NoReturn:
    """Call ``main`` and exit with the status it returns.

    A user's mistake (``InputError``, or a file that cannot be opened) is one line on standard error and exit
    status 2, as is an output that takes no more. A reader of standard output who stops early has seen enough, which is
    no error: so a command prints there what it has done, and what it is doing goes to standard error; a reader of that
    who stops ends the work, with status 2. Ctrl-C is status 130, and so are SIGTERM and SIGHUP: a batch system or a
    closed terminal must not leave behind what Ctrl-C would have ended. Anything else is a fault of ours and keeps its
    traceback.
    """
    install()
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup's choice is left alone
            signal.signal(number, _interrupt)
    name = Path(sys.argv[0]).name
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the caller
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))
    # A character that the encoding lacks is an escape, as on standard error, and no failure of what was done.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    status = 0
    try:
        status = main()
        sys.stdout.flush()
    except InputError as error:
        _tell(f"{name}: error: {error}")
        status = EXIT_USER_ERROR
    except BrokenPipeError:
        lost = _without_reader()
        if lost is None:
            raise
        _discard(lost)
        if lost is sys.stderr:
            status = EXIT_USER_ERROR
    except OSError as error:
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
            raise
        _tell(f"{name}: error: {error.filename or 'standard output'}: {error.strerror}")
        if error.filename is None:
            _discard(sys.stdout)
        status = EXIT_USER_ERROR
    except KeyboardInterrupt:
        _tell(f"{name}: interrupted")
        status = EXIT_INTERRUPTED
        # Python ends itself by the signal, whatever the status, where it came inside exec() of a text, as in imports.
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.exit(status)


def print_json(value: object) -> None:
    """Print figures as JSON: ASCII, so that it is valid in whatever encoding standard output has.

    Raises
    ------
    ValueError
        If there is a NaN in it, which JSON has not; None stands for what there is not.
    """
    print(json.dumps(value, indent=2, allow_nan=False))


def printable(text: str) -> str:
    """Return a text with its control characters escaped, but for line ends and tabs.

    A terminal would obey what stands in a server's reply.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def _interrupt(number: int, frame: Optional[FrameType]) -> None:
    """Treat a signal as Ctrl-C, whatever that does now: asyncio cancels its main task."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt  # Ctrl-C is ignored here, as in a job in the background; this signal is not
    handler(signal.SIGINT, frame)


def _tell(line: str) -> None:
    """Print a last line on standard error, if anybody reads it."""
    try:
        print(printable(line), file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _without_reader() -> Optional[TextIO]:
    """Return the stream whose reader has gone, after a BrokenPipeError; None if it is neither, but some other pipe."""
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()  # what could not be written is still waiting
        except BrokenPipeError:
            return stream
    # With PYTHONUNBUFFERED nothing waits.
    for stream in (sys.stderr, sys.stdout):
        poller = select.poll()
        poller.register(stream.fileno(), 0)
        if poller.poll(0):
            return stream
    return None


def _discard(stream: TextIO) -> None:
    """Point a stream elsewhere, or the interpreter complains at exit of what it could not write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def packages_of(requirements: str) -> Iterator[None]:
    """Say how to install a requirements file if an import in the ``with`` block finds a package missing.

    Such imports come after the input has been checked: PyMC takes seconds, and a mistake should not wait for it.

    Raises
    ------
    InputError
        With the missing package and the Python that lacks it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] in ("irt", "verifier"):
            raise  # a fault of ours
        raise InputError(
            f"{sys.executable} has no package {error.name!r}; use `make setup`, or "
            f"`python -m pip install -r {requirements}` with Python 3.12 or newer"
        ) from error
