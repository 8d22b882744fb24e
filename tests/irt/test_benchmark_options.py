"""Numbers in words, and more dimensions than the models can show."""

from __future__ import annotations

import pytest

from irt.benchmark_options import check_dims, counted
from irt.io import InputError


def test_numbers_in_words() -> None:
    assert [counted(number, "model") for number in (0, 1, 2, 1234)] == [
        *("0 models", "1 model", "2 models", "1,234 models")
    ]
    with pytest.raises(
        InputError, match="--dims 1: 1 model to fit cannot show as many dimensions; more models"
    ):
        check_dims(1, 1)
