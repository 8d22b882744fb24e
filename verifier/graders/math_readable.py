r"""Whether a key can be compared with anything: it is a value, several values, or words.

A key that cannot be read, such as ``\foo{3}``, ``(1,2`` or ``1/0``, equals only its own spelling, and every model would
score 0 on its item. Nothing heavy is imported, unless only the algebra library reads the key.
"""

from __future__ import annotations

import re
from functools import lru_cache

from verifier.graders.math_expr import LONGEST, Unreadable, parse
from verifier.graders.math_form import Builder, Chain, Clock, Form, Group, Leaf, Words, read
from verifier.graders.math_library import check_library_reads, needs_library
from verifier.graders.math_quantity import quantity
from verifier.graders.math_relation import interval
from verifier.graders.math_text import compact, normalise, split_modulus
from verifier.graders.math_value import exact_value, letters, numeric_value, sample_points

# What stands for itself, and is compared by its spelling alone.
_CONSTANT = re.compile(
    r"[-+]?\\infty|\\emptyset|\\mathbb\{?[CNQRZP]\}?(?:[\^_]\{?[-+*\d]+\}?)*|\\(?:l|c)?dots"
)
# A text in one alphabet, of at least one word: compared letter by letter.
_TEXT = re.compile(r"[^\W\d_]{2,}(?:[\s.,'’-]+[^\W\d_]+)*[.!]?")


@lru_cache(maxsize=4096)
def readable(gold: str) -> bool:
    """Return whether a key has a value, or several, or is a text of words, which is compared as text.

    Raises
    ------
    LibraryError
        If only the algebra library reads the key, and it fails.
    """
    if len(gold) > 2 * LONGEST:
        return False
    text, _ = split_modulus(normalise(gold))
    if text.isdecimal():
        return True
    parts = [part.strip() for part in text.split(r"\approx") if part.strip()]
    try:
        return bool(parts) and all(_has_value(read(part)) for part in parts)
    except Unreadable:
        return False


def _has_value(form: Form) -> bool:
    if isinstance(form, Words):
        return bool(form.words)
    if isinstance(form, Clock):
        return True
    if isinstance(form, Group):
        return all(map(_has_value, form.items))
    if isinstance(form, Chain):
        return all(map(_has_value, form.operands))
    if isinstance(form, Builder):
        return _has_value(form.head) and all(map(_has_value, form.conditions))
    assert isinstance(form, Leaf)
    if pieces := interval(form):
        return _has_value(pieces)
    return _leaf_has_value(form.text)


def _leaf_has_value(text: str) -> bool:
    """Return whether an expression is defined; for a formula, at one of some random points.

    Raises
    ------
    Unreadable
        If it is no expression, or too large to compute.
    """
    if _CONSTANT.fullmatch(compact(text)) or _TEXT.fullmatch(text):
        return True
    bare = quantity(text).text
    if needs_library(bare):
        check_library_reads(bare)
        return True
    form = read(bare) if bare != text else Leaf(text)
    if not isinstance(form, Leaf):  # "the points (1,2)"
        return _has_value(form)
    node = parse(form.text)
    if not letters(node) and exact_value(node) is not None:
        return True
    return any(numeric_value(node, point) is not None for point, _ in sample_points(letters(node)))
