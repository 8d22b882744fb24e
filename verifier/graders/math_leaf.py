r"""Whether two expressions are equal, with their units, percent signs and rounding."""

from __future__ import annotations

import re
from fractions import Fraction

from verifier.graders.math_expr import Node, Unreadable, parse
from verifier.graders.math_library import needs_library, same_by_library
from verifier.graders.math_quantity import Quantity, quantity
from verifier.graders.math_text import compact
from verifier.graders.math_value import exact_value, letters, numeric_value, same_value

_DECIMAL = re.compile(r"-?\d*\.\d+")
FEWEST_DIGITS = 4


def same_leaf(gold: str, answer: str) -> bool:
    """Return whether two normalised texts, each one expression with maybe words and a unit around it, are equal.

    Raises
    ------
    LibraryError
        As `verifier.graders.math_library.same_by_library`.
    """
    gold, answer = _signless_infinity(gold), _signless_infinity(answer)
    if compact(gold) == compact(answer):
        return True
    if len(gold) > 2 and gold.isalpha() and answer.isalpha():
        return gold.lower() == answer.lower()
    if _same_number(gold, answer):
        return True
    sides = quantity(gold), quantity(answer)
    if (sides[0].text, sides[1].text) == (gold, answer):
        return False
    if sides[0].percent or sides[1].percent:
        return _same_percent(*sides)
    if sides[0].dimension and sides[1].dimension:
        if sides[0].dimension != sides[1].dimension:
            return False
        return _same_number(*(_scaled(side.text, side.size) for side in sides))
    if _same_number(sides[0].text, sides[1].text):
        return True
    # 30 degrees are pi/6 where the other side has no unit.
    angles = [
        rf"({side.text})\cdot \frac{{\pi }}{{180}}" if side.dimension == "degree^1" else side.text
        for side in sides
    ]
    return "degree^1" in (sides[0].dimension, sides[1].dimension) and _same_number(*angles)


def _same_percent(gold: Quantity, answer: Quantity) -> bool:
    if _same_number(gold.text, answer.text):
        return True
    if gold.percent and answer.percent:
        return False
    hundredth = Fraction(1, 100)
    return _same_number(
        *(_scaled(side.text, hundredth if side.percent else Fraction(1)) for side in (gold, answer))
    )


def _scaled(text: str, factor: Fraction) -> str:
    return text if factor == 1 else rf"({text})\cdot \frac{{{factor.numerator}}}{{{factor.denominator}}}"


def _signless_infinity(text: str) -> str:
    return re.sub(r"^\+\s*", "", text)


def _same_number(gold: str, answer: str) -> bool:
    """Compare two expressions; one that cannot be read or computed is equal to none."""
    if needs_library(gold) or needs_library(answer):
        return same_by_library(gold, answer)
    try:
        nodes = parse(gold), parse(answer)
        return (
            same_value(*nodes) or _rounded(gold, answer, *nodes) or _rounded(answer, gold, *reversed(nodes))
        )
    except Unreadable:
        return False


def _rounded(decimal: str, exact: str, decimal_node: Node, exact_node: Node) -> bool:
    """Return whether a decimal is the other side rounded or cut at its last digit, and that is no finite decimal."""
    if (
        not _DECIMAL.fullmatch(decimal)
        or _DECIMAL.fullmatch(exact)
        or len(decimal.lstrip("-0.").replace(".", "")) < FEWEST_DIGITS
    ):
        return False
    if letters(exact_node):
        return False
    value = exact_value(exact_node)
    if value is None:
        number = numeric_value(exact_node, {})
        if number is None or number.imag:
            return False
        value = Fraction(str(number.real)) if abs(number.real) < 10**9 else None
    elif _finite_decimal(value):
        return False
    shown = exact_value(decimal_node)
    if value is None or shown is None:
        return False
    unit = Fraction(1, 10 ** len(decimal.split(".")[1]))
    cut = value * shown > 0 and 0 <= abs(value) - abs(shown) < unit
    return cut or abs(value - shown) <= unit / 2


def _finite_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
