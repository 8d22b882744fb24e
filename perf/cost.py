"""What a command takes: seconds from start to end, and peak memory.

Peak memory is the largest resident set of any single process, the command or one that it started: chains that sample
in processes of their own do not add up. Standard library only.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Sequence

from irt.io import InputError

SHOWN_LINES = 10


@dataclass(frozen=True)
class Cost:
    """What a command took; ``peak_mb`` is of its largest single process."""

    seconds: float
    peak_mb: float


def measure(command: Sequence[str]) -> Cost:
    """Run a command to its end, without its output.

    Raises
    ------
    InputError
        If it fails, with its exit status and the last lines of its standard error.
    """
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            last = errors.read().decode("utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
            raise InputError(
                f"exit status {process.returncode} of {shlex.join(command)}\n  "
                + "\n  ".join(last or ["(nothing on standard error)"])
            )
    unit = 1 if sys.platform == "darwin" else 1024  # bytes; macOS counts in bytes, Linux in KiB
    return Cost(seconds, usage.ru_maxrss * unit / 1e6)
