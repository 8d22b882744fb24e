r"""Whether two expressions are equal: by exact fractions where there are only numbers, else to 100 digits.

Formulas are equal if they agree at several random points, which costs microseconds and needs no simplification. A
power, factorial or binomial is bounded before it is computed, so a tower of exponents costs nothing.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, perm, prod
from typing import TYPE_CHECKING, Any

from verifier.graders.math_expr import Node, Unreadable

if TYPE_CHECKING:
    from mpmath import MPContext

# Bounds, all far beyond what an answer holds.
MOST_BITS = 200_000
MOST_ROOT_BITS = 2_000  # a larger number's root is not looked for among the whole numbers
LARGEST_EXPONENT = 10_000
LARGEST_FACTORIAL = 5_000

DIGITS = 100
# Relative. A hundred digits leave room for cancellation, and no two different answers are as near as this.
TOLERANCE = 1e-60
# What is left of a sum that cancels to zero is smaller than this.
ZERO = 1e-80
POINTS = 3
SEED = 20261129

_THREAD = threading.local()


class _Irrational(Exception):
    """There is no exact value."""


def same_value(first: Node, second: Node) -> bool:
    """Return whether two expressions are equal for every value of their letters.

    Letters are taken as positive numbers first; where both sides stay real, negative ones must agree as well, so
    sqrt(x^2) is not x, but ln(ab) is ln a + ln b.

    Raises
    ------
    Unreadable
        If one of them is too large to compute, or has no value anywhere.
    """
    exact = exact_value(first), exact_value(second)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    names = letters(first) | letters(second)
    agreed = False
    for point, real_only in sample_points(names):
        left, right = numeric_value(first, point), numeric_value(second, point)
        if left is None or right is None:
            if (left is None) != (right is None) and not names:
                return False
            continue
        if real_only and (_imaginary(left) or _imaginary(right)):
            continue
        if not near(left, right):
            return False
        agreed = True
    if not agreed:
        raise Unreadable("has no value")
    return True


def proportional(first: Node, second: Node) -> bool:
    """Return whether one expression is the other times a nonzero constant, and neither is zero.

    Raises
    ------
    Unreadable
        As `same_value`.
    """
    ratios = []
    for point, real_only in sample_points(letters(first) | letters(second)):
        left, right = numeric_value(first, point), numeric_value(second, point)
        if left is None or right is None or (real_only and (_imaginary(left) or _imaginary(right))):
            continue
        if abs(left) < ZERO or abs(right) < ZERO:
            return False
        ratios.append(left / right)
    return len(ratios) >= 2 and all(near(ratio, ratios[0]) for ratio in ratios[1:])


def near(left: Any, right: Any) -> bool:
    """Return whether two numbers are equal but for rounding: relatively, however small they are."""
    scale = max(abs(left), abs(right))
    if min(abs(left), abs(right)) == 0:
        return bool(scale < ZERO)
    return bool(abs(left - right) <= TOLERANCE * scale)


def sample_points(names: frozenset[str]) -> list[tuple[dict[str, Fraction], bool]]:
    """Return values for the letters, and whether they are only to be used where the result is real."""
    if not names:
        return [({}, False)]
    draw = random.Random(SEED)
    order = sorted(names)
    points = [
        ({name: Fraction(draw.randint(300, 3000), 997) for name in order}, False) for _ in range(POINTS)
    ]
    mixed = [
        ({name: Fraction(draw.choice((-1, 1)) * draw.randint(300, 3000), 997) for name in order}, True)
        for _ in range(POINTS)
    ]
    mixed[0] = ({name: -value for name, value in points[0][0].items()}, True)
    return points + mixed


@lru_cache(maxsize=512)
def letters(node: Node) -> frozenset[str]:
    """Return the letters that stand for any number: not e and i."""
    if node.op == "sym":
        return frozenset() if node.value in ("e", "i") else frozenset([node.value])
    return frozenset().union(*(letters(argument) for argument in node.args))


@lru_cache(maxsize=512)
def exact_value(node: Node) -> Fraction | None:
    """Return the value as a fraction; None if it is not rational, or is not seen to be.

    Raises
    ------
    Unreadable
        If it is too large to compute, or divides by zero.
    """
    try:
        return _exact(node)
    except _Irrational:
        return None
    except ZeroDivisionError as error:
        raise Unreadable("divides by zero") from error


def _exact(node: Node) -> Fraction:
    if node.op == "num":
        value: Fraction = node.value
        return value
    if node.op in ("sym", "pi", "deg", "log") or node.op not in _EXACT:
        raise _Irrational
    values = [_exact(argument) for argument in node.args]
    result = _EXACT[node.op](*values)
    if max(result.numerator.bit_length(), result.denominator.bit_length()) > MOST_BITS:
        raise Unreadable("too large")
    return result


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if base < 0 or exponent.denominator > 100:
            raise _Irrational
        return _power(_root(Fraction(exponent.denominator), base), Fraction(exponent.numerator))
    if base in (0, 1, -1) and exponent >= 0:
        return base ** int(exponent % 2 or (2 if exponent else 0))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * bits > MOST_BITS:
        raise Unreadable("too large")
    return base ** int(exponent)


def _root(degree: Fraction, radicand: Fraction) -> Fraction:
    if degree.denominator != 1 or not 2 <= degree <= 100 or radicand < 0:
        raise _Irrational
    if max(radicand.numerator.bit_length(), radicand.denominator.bit_length()) > MOST_ROOT_BITS:
        raise _Irrational
    parts = [_integer_root(part, int(degree)) for part in (radicand.numerator, radicand.denominator)]
    if None in parts:
        raise _Irrational
    return Fraction(*parts)  # type: ignore[arg-type]


def _integer_root(number: int, degree: int) -> int | None:
    """Return the whole root by bisection, or None."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= number:
            low = middle
        else:
            high = middle - 1
    return low if low**degree == number else None


def _whole(value: Fraction) -> int:
    if value.denominator != 1 or value < 0:
        raise _Irrational
    if value > LARGEST_FACTORIAL:
        raise Unreadable("too large")
    return int(value)


def _sum(*terms: Fraction) -> Fraction:
    return sum(terms, Fraction(0))


_EXACT: Mapping[str, Any] = {
    "add": _sum,
    "neg": lambda value: -value,
    "mul": lambda *factors: prod(factors, start=Fraction(1)),
    "div": lambda left, right: left / right,
    "frac": lambda left, right: left / right,
    "pow": _power,
    "root": _root,
    "abs": abs,
    "fact": lambda value: Fraction(factorial(_whole(value))),
    "binom": lambda n, k: Fraction(comb(_whole(n), _whole(k))),
    "perm": lambda n, k: Fraction(perm(_whole(n), _whole(k))),
}


def numeric_value(node: Node, point: Mapping[str, Fraction]) -> Any:
    """Return the value to 100 digits with the letters at ``point``; None where it has none.

    Raises
    ------
    Unreadable
        If it is too large to compute.
    """
    context = _context()
    try:
        value = _numeric(node, point, context)
    except (ZeroDivisionError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        return None
    return value if context.isfinite(value) else None


def _context() -> MPContext:
    # mpmath changes the precision of a context while it computes, so each thread has its own.
    if not hasattr(_THREAD, "context"):
        from mpmath import MPContext

        _THREAD.context = MPContext()
        _THREAD.context.dps = DIGITS
    context: MPContext = _THREAD.context
    return context


def _imaginary(value: Any) -> bool:
    return bool(abs(value.imag) > TOLERANCE * max(1, abs(value)))


def _numeric(node: Node, point: Mapping[str, Fraction], context: MPContext) -> Any:
    if node.op == "num":
        return context.mpf(node.value.numerator) / node.value.denominator
    if node.op == "pi":
        return +context.pi
    if node.op == "sym":
        if node.value in point:
            return context.mpf(point[node.value].numerator) / point[node.value].denominator
        return context.mpc(0, 1) if node.value == "i" else +context.e
    values = [_numeric(argument, point, context) for argument in node.args]
    return _NUMERIC[node.op](context, *values)


def _numeric_power(context: MPContext, base: Any, exponent: Any) -> Any:
    if abs(exponent) > LARGEST_EXPONENT or (base != 0 and abs(context.mag(base)) > MOST_BITS):
        raise Unreadable("too large")
    return context.power(base, exponent)


def _bounded(context: MPContext, value: Any) -> Any:
    """Return an argument of a function that must not be huge."""
    if abs(value) > LARGEST_EXPONENT:
        raise Unreadable("too large")
    return value


def _numeric_root(context: MPContext, degree: Any, radicand: Any) -> Any:
    # The real cube root of -8 is -2; the principal one is not real.
    if (
        not context.im(radicand)
        and context.re(radicand) < 0
        and degree == int(context.re(degree))
        and int(degree.real) % 2
    ):
        return -context.power(-radicand, 1 / degree)
    return context.power(radicand, 1 / degree)


def _product(context: MPContext, *factors: Any) -> Any:
    result = context.mpf(1)
    for factor in factors:
        result = result * factor
    return result


_NUMERIC: Mapping[str, Any] = {
    "add": lambda context, *terms: context.fsum(terms),
    "neg": lambda context, value: -value,
    "mul": _product,
    "div": lambda context, left, right: left / right,
    "frac": lambda context, left, right: left / right,
    "pow": _numeric_power,
    "root": _numeric_root,
    "abs": lambda context, value: abs(value),
    "deg": lambda context, value: value * context.pi / 180,
    "fact": lambda context, value: context.factorial(_bounded(context, value)),
    "binom": lambda context, n, k: context.binomial(_bounded(context, n), _bounded(context, k)),
    "perm": lambda context, n, k: context.rf(_bounded(context, n) - k + 1, _bounded(context, k)),
    "log": lambda context, base, value: context.log(value) / context.log(base),
    "lg": lambda context, value: context.log(value) / context.log(10),
    "ln": lambda context, value: context.log(value),
    "exp": lambda context, value: context.exp(_bounded(context, value)),
    "sin": lambda context, value: context.sin(_bounded(context, value)),
    "cos": lambda context, value: context.cos(_bounded(context, value)),
    "tan": lambda context, value: context.tan(_bounded(context, value)),
    "cot": lambda context, value: context.cot(_bounded(context, value)),
    "sec": lambda context, value: context.sec(_bounded(context, value)),
    "csc": lambda context, value: context.csc(_bounded(context, value)),
    "arcsin": lambda context, value: context.asin(value),
    "arccos": lambda context, value: context.acos(value),
    "arctan": lambda context, value: context.atan(value),
    "sinh": lambda context, value: context.sinh(_bounded(context, value)),
    "cosh": lambda context, value: context.cosh(_bounded(context, value)),
    "tanh": lambda context, value: context.tanh(_bounded(context, value)),
}
