from __future__ import annotations

from typing import Any

import pytest

from irt.io import InputError
from propose.settings import Settings, settings_from_fields


def test_settings_come_back_from_their_fields() -> None:
    settings = Settings("aime26", "first", gaps=2, max_rollouts=100, drop_below=0.0)
    assert settings_from_fields(settings.as_fields(), "here") == settings


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("gaps", 0, "gaps must be a whole number of at least 1"),
        ("max_rounds", True, "max_rounds must be a whole number"),
        ("children", 2.0, "children must be a whole number"),
        ("solutions", -1, "solutions must be a whole number of at least 0"),
        ("max_tokens", 0, "max_tokens must be a whole number"),
        ("drop_below", 1, "drop_below must be a number from 0 to below 1"),
        ("accept_above", "0.5", "accept_above must be a number"),
        ("run", "", "run must be a name"),
        ("unheard", 1, "unknown setting 'unheard'"),
    ],
)
def test_an_impossible_setting_is_named(name: str, value: Any, words: str) -> None:
    with pytest.raises(InputError, match="here") as error:
        settings_from_fields(Settings("a", "b").as_fields() | {name: value}, "here")
    assert words in str(error.value)


def test_a_missing_setting_is_named() -> None:
    fields = Settings("a", "b").as_fields()
    del fields["parents"]
    with pytest.raises(InputError, match="missing setting 'parents'"):
        settings_from_fields(fields, "here")
    with pytest.raises(InputError, match="must be an object"):
        settings_from_fields([], "here")
