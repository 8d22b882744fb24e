"""Matrix products on one thread, and what was set before afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from irt.blas import one_thread


def threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))  # loads the library
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_one_thread_inside_and_as_before_outside() -> None:
    before = threads()
    inside = one_thread(threads)()
    assert inside and set(inside) == {1}
    assert threads() == before


def test_an_error_passes_through_and_restores_the_threads() -> None:
    before = threads()

    @one_thread
    def fails(what: str) -> None:
        raise ValueError(what)

    with pytest.raises(ValueError, match="so"):
        fails("so")
    assert threads() == before
