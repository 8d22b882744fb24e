"""Numbers in words, more dimensions than the models can show, and warnings that stay short."""

from __future__ import annotations

import pytest

from irt.benchmark_options import check_dims, counted, tell_unconverged
from irt.io import InputError


def test_numbers_in_words() -> None:
    assert [counted(number, "model") for number in (0, 1, 2, 1234)] == [
        *("0 models", "1 model", "2 models", "1,234 models")
    ]
    with pytest.raises(
        InputError, match="--dims 1: 1 model to fit cannot show as many dimensions; more models"
    ):
        check_dims(1, 1)


def test_a_warning_names_few_of_many_fits(capsys: pytest.CaptureFixture[str]) -> None:
    tell_unconverged([], 9)
    assert capsys.readouterr().err == ""
    tell_unconverged(["all", "all but one"], 9)
    tell_unconverged([f"fold {number}" for number in range(1, 2001)], 3000)
    assert capsys.readouterr().err.splitlines() == [
        "warning: 2 of 9 fits had not converged: all, all but one",
        "warning: 2,000 of 3,000 fits had not converged: fold 1, fold 2, fold 3, fold 4, fold 5 and 1,995 more",
    ]
