"""Keeps a function's matrix products on one thread.

Those of multidimensional item response theory are many and narrow: threads of BLAS wait for each other longer than they
work, and on a busy machine four times as long as one thread takes in all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps

from threadpoolctl import ThreadpoolController


def one_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, run with one thread of BLAS; what was set before holds again afterwards."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that are loaded, NumPy's among them: looking for them takes longer than a small fit."""
    return ThreadpoolController()
