"""Start commands that can be interrupted, whatever the tests themselves were started from."""

from __future__ import annotations

import signal


def allow_interrupts() -> None:
    """Undo, as ``preexec_fn``, what a shell does to a job in the background: its children ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
