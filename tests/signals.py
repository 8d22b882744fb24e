"""Start commands that can be interrupted, whatever the tests themselves were started from."""

from __future__ import annotations

import signal


def allow_interrupts() -> None:
    """Undo, as ``preexec_fn``, what a shell or nohup does to a job in the background: its children ignore signals."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
