r"""What only the algebra library reads: sums, products, integrals, limits, floors, greatest common divisors.

math-verify and latex2sympy2_extended run sympy, which no time limit of ours can stop: the caller runs this in a
process that can be killed. They are imported at the first such answer, and asked only about commands that our own
parser does not know; their own search for an answer in a text is not used. What they raise becomes `LibraryError`,
never a verdict.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from irt.io import InputError
from verifier.graders.math_expr import Unreadable

PACKAGES = ("math-verify", "latex2sympy2_extended", "antlr4-python3-runtime", "sympy", "mpmath")

_COMMANDS = re.compile(
    r"\\(?:sum|prod|int|iint|lim|lfloor|rfloor|lceil|rceil|gcd|max|min|det|mathbb|setminus|cap)(?![A-Za-z])"
)
# Of each kind that is left to the library one expression, its value, and another one.
KNOWN = (
    (r"\frac{1}{2}", r"\frac{2}{4}", "2"),
    (r"\sum_{k=1}^{5} k", "15", "5"),
    (r"\int_{0}^{1} 2x dx", "1", "2"),
    (r"\lfloor 2.5 \rfloor", "2", "2.5"),
)
LONGEST = 300
DIGITS = 50
TOLERANCE = 1e-30
# Figures: ten of them in a bound or exponent are more than a sum or power can be worked out for.
_TOO_LARGE = re.compile(r"\^\s*\{?\s*\(?\s*\d{4,}|\^[^+\-]*\^[^+\-]*\^|\d{7,}\s*!|\d{30,}")


# What sympy and the parser raise where they fail on an expression. MemoryError is left to the process's owner.
_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)


class LibraryError(Exception):
    """The algebra library failed; the answer was not judged."""


def needs_library(text: str) -> bool:
    """Return whether a normalised text holds a command that only the library reads."""
    return "\\" in text and _COMMANDS.search(text) is not None


def check_library_reads(text: str) -> None:
    """Check that the library reads a normalised text; nothing is worked out.

    Raises
    ------
    Unreadable, LibraryError
        As `same_by_library`.
    """
    if len(text) > LONGEST or _TOO_LARGE.search(text):
        raise Unreadable("too large for the algebra library")
    _converted(_library()[1], text)


def same_by_library(gold: str, answer: str) -> bool:
    """Return whether math-verify finds two expressions equal.

    Raises
    ------
    Unreadable
        If one of them is no LaTeX to the library, or is too large to be handed to it.
    LibraryError
        If it fails in another way.
    """
    for text in (gold, answer):
        if len(text) > LONGEST or _TOO_LARGE.search(text):
            raise Unreadable("too large for the algebra library")
    verify, convert = _library()
    from sympy.polys.polyerrors import BasePolynomialError

    try:
        expressions = [_converted(convert, text) for text in (gold, answer)]
        if (agree := _same_constants(*expressions)) is not None:
            return agree
        return bool(verify(*expressions, timeout_seconds=None, raise_on_error=True))
    except Unreadable:  # a ValueError too, but it judges the text
        raise
    except (*_FAILURES, BasePolynomialError) as error:
        # Its message may hold an expression, and to print one can take for ever.
        raise LibraryError(f"{type(error).__name__} in math-verify or its parser") from error


def _same_constants(gold: Any, answer: Any) -> bool | None:
    """Compare two numbers relatively, which math-verify does absolutely, to 15 decimals; None if one is no number."""
    values = []
    for expression in (gold, answer):
        value = expression.doit()
        if not getattr(value, "is_number", False):
            return None
        values.append(value.evalf(DIGITS))
    left, right = values
    if not (left.is_Float or left.is_Integer) or not (right.is_Float or right.is_Integer):
        return None
    return bool(abs(left - right) <= TOLERANCE * max(abs(left), abs(right)))


def self_test() -> None:
    """Check that the algebra library works, by what it must answer.

    Raises
    ------
    InputError
        Naming the package, if one is missing or reads one of a few expressions wrongly.
    """
    for package in PACKAGES:
        try:
            version(package)
        except PackageNotFoundError as error:
            raise InputError(
                f"the mathematics grader needs the package {package}; install it again"
            ) from error
    for text, value, other in KNOWN:
        again = "install latex2sympy2_extended and antlr4-python3-runtime again"
        try:
            works = same_by_library(text, value) and not same_by_library(text, other)
        except (Unreadable, LibraryError) as error:
            raise InputError(f"latex2sympy2_extended cannot read {text} ({error}); {again}") from error
        except ImportError as error:
            raise InputError(
                f"the mathematics grader cannot use latex2sympy2_extended ({error}); install it again"
            ) from error
        if not works:
            raise InputError(f"latex2sympy2_extended reads {text} as something else than {value}; {again}")


@cache
def library_version() -> str:
    """Return the versions of what decides a verdict, without importing any of it."""
    return " ".join(
        f"{package} {version(package)}"
        for package in ("math-verify", "latex2sympy2_extended", "sympy", "mpmath")
    )


@cache
def _library() -> tuple[Any, Any]:
    import logging

    from latex2sympy2_extended import latex2sympy
    from math_verify import verify

    # It warns once that its own time limit is off; ours is outside.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    return verify, latex2sympy


def _converted(convert: Any, text: str) -> Any:
    try:
        return convert(text)
    except (ArithmeticError, ValueError) as error:
        # It is LaTeX, without a value: a division by zero, for example.
        raise Unreadable(f"latex2sympy2_extended: {type(error).__name__}") from error
    except _FAILURES as error:
        # A converter that is broken, or that its grammar let something through to; the answer may well be right.
        raise LibraryError(f"{type(error).__name__} in latex2sympy2_extended") from error
    except Exception as error:
        if type(error) is Exception:  # what the parser raises for text that is no LaTeX to it
            raise Unreadable("latex2sympy2_extended: no LaTeX") from error
        raise
