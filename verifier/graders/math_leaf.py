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
_ROUNDED = re.compile(r"-?\d*\.?\d+(?:\\times10\^\{?(?P<power>-?\d{1,3})\}?)?")
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
        if not _same_dimension(sides[0].dimension, sides[1].dimension):
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


def _same_dimension(gold: str, answer: str) -> bool:
    """Return whether two units measure the same; a degree may be one of a temperature."""
    if gold == answer:
        return True
    return "degree^1" in (gold, answer) and gold.startswith("degree") and answer.startswith("degree")


def _same_percent(gold: Quantity, answer: Quantity) -> bool:
    if gold.percent and answer.percent:
        return _same_number(gold.text, answer.text)
    # 50 may be 50%; but who writes 0.5 means a half, not half a percent.
    if _same_number(gold.text, answer.text) and _exceeds_one(gold.text):
        return True
    hundredth = Fraction(1, 100)
    if gold.percent != answer.percent:  # 1/3 and 33.33%, which is rounded
        hundreds = (
            side.text if side.percent else _scaled(side.text, 1 / hundredth) for side in (gold, answer)
        )
        if _same_number(*hundreds):
            return True
    return _same_number(
        *(_scaled(side.text, hundredth if side.percent else Fraction(1)) for side in (gold, answer))
    )


def _exceeds_one(text: str) -> bool:
    """Return whether an expression is a number beyond 1 and -1."""
    node = parse(text)
    if letters(node):
        return True
    value = exact_value(node)
    if value is None:
        value = numeric_value(node, {})
    return value is not None and abs(value) > 1


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
    return _is_rounded(shown, value, Fraction(1, 10 ** len(decimal.split(".")[1])))


def _finite_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def agree_when_rounded(first: str, second: str) -> bool:
    r"""Return whether two normalised texts can stand on the two sides of an approximation sign.

    They must be equal, or one is the other rounded or cut at its last digit: ``\sqrt{2}`` and 1.41, but not 5 and 6.

    Raises
    ------
    Unreadable
        If one of them is too large to compute.
    """
    if same_leaf(first, second):
        return True
    sides = quantity(first), quantity(second)
    if all(side.dimension for side in sides) and not _same_dimension(*(side.dimension for side in sides)):
        return False
    both_units = all(side.dimension for side in sides)
    factors = [
        Fraction(1, 100) if side.percent else side.size if both_units else Fraction(1) for side in sides
    ]
    values = [_real_value(side.text) for side in sides]
    if values[0] is None or values[1] is None:
        return False
    left, right = values[0] * factors[0], values[1] * factors[1]
    return any(
        _is_rounded(shown, exact, unit * factor)
        for shown, exact, unit, factor in (
            (left, right, _last_digit(sides[0].text), factors[0]),
            (right, left, _last_digit(sides[1].text), factors[1]),
        )
        if unit is not None
    )


def _real_value(text: str) -> Fraction | None:
    node = parse(text)
    if letters(node):
        return None
    value = exact_value(node)
    if value is not None:
        return value
    number = numeric_value(node, {})
    return None if number is None or number.imag or abs(number.real) > 10**30 else Fraction(str(number.real))


def _last_digit(text: str) -> Fraction | None:
    """Return what one more in the last digit of a decimal is worth; None for what is no decimal."""
    text = compact(text)
    match = _ROUNDED.fullmatch(text)
    if match is None:
        return None
    mantissa = text.partition("\\")[0]
    decimals = len(mantissa.partition(".")[2])
    return Fraction(10) ** (int(match["power"] or 0) - decimals)


def _is_rounded(shown: Fraction, exact: Fraction, unit: Fraction) -> bool:
    cut = exact * shown > 0 and 0 <= abs(exact) - abs(shown) < unit
    return cut or abs(exact - shown) <= unit / 2
