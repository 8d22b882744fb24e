"""How every command ends: one line for a user's mistake, the right exit status, no traceback.

Standard library only, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Callable, Iterator, NoReturn

from irt.io import InputError

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def run(main: Callable[[], int]) -> NoReturn:
    """Call ``main`` and exit with the status it returns.

    A user's mistake (``InputError``, or a file that cannot be opened) is one line on standard error and exit
    status 2. Ctrl-C is status 130. Anything else is a fault of ours and keeps its traceback.
    """
    name = Path(sys.argv[0]).name
    try:
        status = main()
        sys.stdout.flush()
    except InputError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        status = EXIT_USER_ERROR
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Point stdout elsewhere, or the interpreter complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except OSError as error:
        if error.filename is None:
            raise
        print(f"{name}: error: {error.filename}: {error.strerror}", file=sys.stderr)
        status = EXIT_USER_ERROR
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        status = EXIT_INTERRUPTED
    sys.exit(status)


@contextlib.contextmanager
def packages_for_fitting() -> Iterator[None]:
    """Say how to install what a fit needs if an import in the ``with`` block finds it missing.

    Such imports come after the input has been checked: PyMC takes seconds, and a mistake should not wait for it.

    Raises
    ------
    InputError
        With the missing package and the Python that lacks it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("irt"):
            raise  # a fault of ours
        raise InputError(
            f"{sys.executable} has no package {error.name!r}; use `make setup`, or "
            "`python -m pip install -r requirements_irt.txt` with Python 3.12 or newer"
        ) from error
