"""Matrix products on one thread, and what was set before afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from irt.blas import one_thread


def threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))  # loads the library
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Also where the machine or its settings allow only one."""
    with threadpool_limits(2, user_api="blas"):
        assert set(threads()) == {2}
        yield


def test_one_thread_inside_and_as_before_outside() -> None:
    assert set(one_thread(threads)()) == {1}
    assert set(threads()) == {2}


def test_an_error_passes_through_and_restores_the_threads() -> None:
    @one_thread
    def fails(what: str) -> None:
        raise ValueError(what)

    with pytest.raises(ValueError, match="so"):
        fails("so")
    assert set(threads()) == {2}
