"""Holds what was read from JSON to the types it is used as: a value edited by hand must not become a figure.

A kind is what a type hint says: a type, a union, ``list[...]`` or ``Mapping[str, ...]``. ``float`` takes whole numbers
too, and finite ones alone; neither it nor ``int`` takes true and false.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin


def check_values(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Hold an object's values to their kinds, by name; what has no kind is left alone.

    Raises
    ------
    TypeError
        With the first that is missing, or of another kind.
    """
    for name, kind in kinds.items():
        if name not in values:
            raise TypeError(f"no {name}")
        if not fits(values[name], kind):
            raise TypeError(f"{name} cannot be {reprlib.repr(values[name])}")


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value is of a kind."""
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(fits(value, one) for one in get_args(kind))
    container, of = get_origin(kind), get_args(kind)
    if container is list:
        return isinstance(value, list) and all(fits(one, of[0]) for one in value)
    if container is Mapping:
        return isinstance(value, dict) and all(fits(one, of[1]) for one in value.values())
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        # NaN is in no interval, and a whole number beyond it would be no float.
        return isinstance(value, int | float) and -sys.float_info.max <= value <= sys.float_info.max
    return isinstance(value, kind)
