"""Ctrl-C from a command's first moment on: one line, status 130, and never lost.

The packages propose and verifier begin with it, because what their commands import takes a second: it acts at once if
Python is running a module as a command (`-m`), and never in a program that imports them. It imports nothing that Python
has not loaded itself, Python 3.9+.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import TracebackType
    from typing import Optional

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_SECONDS_TO_RETURN = 0.1  # from a callback


def _end(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    """End as irt.command.run does where an interrupt came before it; the excepthook of the interpreter."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("interrupted", file=sys.stderr)
    raise SystemExit(EXIT_INTERRUPTED)


def _interrupt_again(unraisable: UnraisableHookArgs) -> None:
    """Send an interrupt once more that was swallowed; the unraisablehook of the interpreter.

    One that comes while a library calls Python back (as the compiler under numba does, for its cache) has nowhere to be
    raised, and the work would go on.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    import signal
    import threading

    # Later, from another thread: here it would be swallowed again. Where Ctrl-C is ignored, it was another signal.
    number = signal.SIGINT if callable(signal.getsignal(signal.SIGINT)) else signal.SIGTERM
    again = threading.Timer(_SECONDS_TO_RETURN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def install() -> None:
    """Make this process, a command, end so."""
    sys.excepthook, sys.unraisablehook = _end, _interrupt_again


if sys.argv[:1] == ["-m"]:  # what it is until the module has been found
    install()
