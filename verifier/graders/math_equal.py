r"""Whether a model's answer equals the key.

The rules that are not plain mathematics:

- An inequality in one variable and its interval are equal: ``x>2`` and ``(2,\infty)``, but not ``y>2`` and ``x>2``.
- ``x=5`` and ``5`` are equal, and so is any ``name = value`` to the value; of a longer chain ``S = 2+3 = 5`` the last
  part counts. A name is a letter, a word, ``f(3)``, ``\sin A``, ``A \cap B``, ``m+n`` and the like. An equation to be
  solved, ``x+1=6``, and a curve, ``x^2+y^2=25``, have no value.
- Without brackets, several answers are a set: their order does not matter, and ``\pm 2`` is the answers 2 and -2. A
  tuple has an order; the same values in the same order without its brackets are equal to it, and so are
  ``y=2, x=1`` to (1, 2): the values of letters stand in the order of the alphabet, or of a key ``(y,x)=(2,1)``.
- ``a \approx b`` is a and is b, where one of them is the other rounded; else it is no answer.
- A remainder is equal to itself with its modulus: 7 and ``7 \pmod{10}``, but not ``7 \pmod{10}`` and ``7 \pmod 9``.
- An equation is its left side minus its right, up to a nonzero factor.
- A percent sign may be read as 1/100 or, at a number beyond 1, left out, but only where it is written: 50 and 50% are
  equal, as are 0.5 and 50%; 50 and 0.5 are not, nor 0.5 and 0.5%.
- A decimal is exact, unless the other side is no finite decimal: then it may be that value rounded or cut, to four
  significant digits or more. 0.3333 is 1/3, and 0.33 is not.
- Units are converted if both sides have one, and ignored if one has none; so are dollars and cents. Other money signs
  and nouns are ignored.
- ``1,356`` is one number; where that does not match, it is the list 1, 356. ``1,000`` is a number only.
  A comma is never a decimal point.
- A key that is one letter is a choice: ``(B)``, ``B. text`` and ``B`` are equal.
- A key that cannot be read (`verifier.graders.math_readable`) is equal only to its own spelling, and the grader judges
  nothing by it; an answer that cannot be read is equal to none but that.
"""

from __future__ import annotations

import re
from itertools import pairwise

from verifier.graders.math_expr import LONGEST, Node, Unreadable, parse
from verifier.graders.math_form import Builder, Chain, Clock, Form, Group, Leaf, read
from verifier.graders.math_leaf import agree_when_rounded, same_leaf
from verifier.graders.math_quantity import quantity
from verifier.graders.math_relation import (
    all_equations,
    assignments,
    flip,
    in_alphabet,
    interval,
    is_name,
    same_relation,
    shortened,
    unfolded,
    value_of,
)
from verifier.graders.math_text import compact, normalise, split_modulus
from verifier.graders.math_value import same_value

MOST_APPROXIMATIONS = 4
MOST_SAID_TWICE = 6
_CHOICE_KEY = re.compile(r"\(?([A-Z])\)?")
_CHOICE = re.compile(r"(?:(?:option|choice|answer)\s+)?(?:\(([A-Z])\)|([A-Z])(?=[.):]|$))", re.IGNORECASE)
# 1,000 is no list: nobody writes the number 000.
_THOUSANDS_OR_LIST = re.compile(r"\d{1,3}(?:,[1-9]\d{2})+")


def equal(*, gold: str, answer: str) -> bool:
    """Return whether an answer equals the key.

    Parameters
    ----------
    gold, answer
        The key and the extracted answer, in LaTeX or plain text, of any length.

    Raises
    ------
    TypeError
        If one is not a string: a number has already lost how it was written.
    LibraryError
        If the algebra library failed on an answer that only it can read.
    """
    if not isinstance(gold, str) or not isinstance(answer, str):
        raise TypeError(
            f"gold and answer must be str, found {type(gold).__name__} and {type(answer).__name__}"
        )
    if gold.strip() == answer.strip() != "":
        return True
    if len(gold) > 2 * LONGEST or len(answer) > 2 * LONGEST:
        return False
    gold, answer = normalise(gold), normalise(answer)
    if not gold or not answer:
        return False
    if compact(gold) == compact(answer):
        return True
    if gold.isdecimal() and answer.isdecimal():
        return gold.lstrip("0") == answer.lstrip("0")
    if key := _CHOICE_KEY.fullmatch(gold):
        chosen = _CHOICE.match(answer)
        if chosen:
            return (chosen[1] or chosen[2]).upper() == key[1]
    gold, answer = _without_modulus(gold, answer)
    return any(
        _same_text(one_gold, one_answer) for one_gold in _readings(gold) for one_answer in _readings(answer)
    )


def _without_modulus(gold: str, answer: str) -> tuple[str, str]:
    r"""Return both without ``\pmod{10}`` at the end, unless the two name different moduli."""
    (gold_value, gold_modulus), (value, modulus) = split_modulus(gold), split_modulus(answer)
    if gold_modulus and modulus and compact(gold_modulus) != compact(modulus):
        return gold, answer
    return gold_value, value


def _readings(text: str) -> list[str]:
    r"""Return the ways to read a text: 1,356 as a number, then as a list; x \approx y as each, if they agree."""
    if _THOUSANDS_OR_LIST.fullmatch(text):
        return [text, text.replace(",", ", ")]
    if r"\approx" in text:
        parts = [part for part in (part.strip() for part in text.split(r"\approx")) if part]
        return parts if len(parts) <= MOST_APPROXIMATIONS and _approximations(parts) else []
    return [text]


def _approximations(parts: list[str]) -> bool:
    """Return whether of each two parts one is the other rounded; ``x = 5`` counts as its value."""
    try:
        forms = [read(part) for part in parts]
        forms = [(value_of(form) or form) if isinstance(form, Chain) else form for form in forms]
        return all(
            isinstance(left, Leaf) and isinstance(right, Leaf) and agree_when_rounded(left.text, right.text)
            for left, right in pairwise(forms)
        )
    except Unreadable:
        return False


def _same_text(gold: str, answer: str) -> bool:
    try:
        return _same(read(gold), read(answer))
    except Unreadable:
        return False


def _same(gold: Form, answer: Form) -> bool:
    """Compare two forms. Each rule looks at one kind of pair; the first that knows the pair decides."""
    if gold == answer:
        return True
    if isinstance(gold, Clock) and isinstance(answer, Clock):
        whole_day = gold.half_known and answer.half_known
        return (gold.minutes - answer.minutes) % (1440 if whole_day else 720) == 0
    if isinstance(gold, Clock) or isinstance(answer, Clock):
        return _same_ratio(gold, answer)
    if isinstance(gold, Chain) and isinstance(answer, Chain):
        return _same_chain(gold, answer)
    gold, answer = interval(gold) or gold, interval(answer) or answer
    if isinstance(gold, Builder) or isinstance(answer, Builder):
        return _same_builder(gold, answer)
    if isinstance(gold, Group) or isinstance(answer, Group):
        return _same_group(gold, answer)
    if isinstance(gold, Chain):
        return is_name(gold.operands[0]) and all_equations(gold) and _same(gold.operands[-1], answer)
    if isinstance(answer, Chain):
        value = value_of(answer)
        return value is not None and _same(gold, value)
    if not isinstance(gold, Leaf) or not isinstance(answer, Leaf):
        return False
    return same_leaf(gold.text, answer.text) or _same_without_words(gold.text, answer.text)


def _same_without_words(gold: str, answer: str) -> bool:
    """Compare what is left without words and units, where that is more than an expression: "the points (1,2)"."""
    bare = quantity(gold).text, quantity(answer).text
    if bare == (gold, answer):
        return False
    forms = read(bare[0]), read(bare[1])
    return not all(isinstance(form, Leaf) for form in forms) and _same(*forms)


def _same_group(gold: Form, answer: Form) -> bool:
    if (ordered := _same_by_name(gold, answer)) is not None:
        return ordered
    gold, answer = _unassigned(gold), _unassigned(answer)
    kinds = tuple(form.kind if isinstance(form, Group) else "" for form in (gold, answer))
    if isinstance(gold, Chain):
        return is_name(gold.operands[0]) and _same(gold.operands[-1], answer)
    if isinstance(answer, Chain):
        value = value_of(answer)
        return value is not None and _same(gold, value)
    if "ratio" in kinds:
        return _same_ratio(gold, answer)
    unordered = ("list", "set", "union", "")
    items = tuple(form.items if isinstance(form, Group) else (form,) for form in (gold, answer))
    if kinds[0] in unordered and kinds[1] in unordered:
        return _same_unordered(*items)
    return _same_ordered(kinds, items)


def _same_ordered(kinds: tuple[str, ...], items: tuple[tuple[Form, ...], ...]) -> bool:
    ordered = kinds[0] == kinds[1] or set(kinds) == {"list", "()"}
    return ordered and len(items[0]) == len(items[1]) and all(map(_same, *items))


def _same_by_name(gold: Form, answer: Form) -> bool | None:
    """Compare values that have names, ``y=2, x=1``, with others or with a tuple; None where that is not the case."""
    named = assignments(gold), assignments(answer)
    if named[0] and named[1]:
        return named[0].keys() == named[1].keys() and all(
            _same(value, named[1][name]) for name, value in named[0].items()
        )
    for values, form, other in ((named[0], gold, answer), (named[1], answer, gold)):
        if values and isinstance(other, Group) and other.kind == "()":
            keys_order = form is gold and isinstance(gold, Chain)
            in_order = tuple(values.values()) if keys_order else in_alphabet(values)
            sides = (in_order, other.items) if form is gold else (other.items, in_order)
            return _same_ordered(("()", "()"), sides)
    return None


def _same_unordered(gold: tuple[Form, ...], answer: tuple[Form, ...]) -> bool:
    """Match every item with one of the other side; equality is transitive, so the first match will do."""
    wanted, left = _distinct(gold), _distinct(answer)
    if len(left) > len(wanted) and len(left) <= MOST_SAID_TWICE:  # 1/2 or 0.5
        left = [
            item for place, item in enumerate(left) if not any(_same(item, other) for other in left[:place])
        ]
    if len(wanted) != len(left):
        return False
    for item in wanted:
        match = next((other for other in left if _same(item, other)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _distinct(items: tuple[Form, ...]) -> list[Form]:
    """Drop what is said twice: x = 0 or x = 0."""
    return list(dict.fromkeys(items))


def _unassigned(form: Form) -> Form:
    """Return the values of a list of assignments.

    ``x=1, x=2`` are the list 1, 2. ``x=1, y=2`` stay as they are, unless written in one go with values: ``n=2, 3``.
    """
    if not isinstance(form, Group) or form.kind != "list":
        return form
    chains = [item for item in form.items if isinstance(item, Chain)]
    if not chains or not all(all_equations(chain) and is_name(chain.operands[0]) for chain in chains):
        return form
    names = {_base_name(chain.operands[0]) for chain in chains}
    if len(names) > 1:
        return form
    values: list[Form] = []
    for item in form.items:
        value = item.operands[-1] if isinstance(item, Chain) else item
        values.extend(value.items if isinstance(value, Group) and value.kind == "list" else (value,))
    return Group("list", tuple(values))


def _base_name(form: Form) -> str:
    return form.text.split("_")[0] if isinstance(form, Leaf) else ""


def _same_ratio(gold: Form, answer: Form) -> bool:
    """Compare 2:4 with 1:2 or 1/2; but not where either is a time of day."""
    if isinstance(gold, Clock) or isinstance(answer, Clock):
        return False
    terms = [form.items if isinstance(form, Group) else (form,) for form in (gold, answer)]
    if not all(isinstance(item, Leaf) for side in terms for item in side):
        return False
    sides = [[parse(item.text) for item in side if isinstance(item, Leaf)] for side in terms]
    if len(sides[0]) != len(sides[1]):
        fractions = [side[0] if len(side) == 1 else Node("frac", tuple(side)) for side in sides]
        return max(map(len, sides)) == 2 and same_value(*fractions)
    first = [side[0] for side in sides]
    return all(
        same_value(Node("mul", (left, first[1])), Node("mul", (right, first[0])))
        for left, right in zip(*sides, strict=True)
    )


def _same_builder(gold: Form, answer: Form) -> bool:
    if not isinstance(gold, Builder) or not isinstance(answer, Builder):
        return False
    gold, answer = _explicit(gold), _explicit(answer)
    return _same(gold.head, answer.head) and _same_unordered(gold.conditions, answer.conditions)


def _explicit(builder: Builder) -> Builder:
    """Return {3k | k in Z} for {x | x=3k, k in Z}."""
    for condition in builder.conditions:
        if (
            isinstance(condition, Chain)
            and condition.signs == ("=",)
            and condition.operands[0] == builder.head
        ):
            rest = tuple(other for other in builder.conditions if other != condition)
            return Builder(condition.operands[1], rest)
    return builder


def _same_chain(gold: Chain, answer: Chain) -> bool:
    gold, answer = unfolded(shortened(gold)), unfolded(shortened(answer))
    if gold == answer:
        return True
    if len(gold.signs) == len(answer.signs):
        for other in (answer, flip(answer)):
            if gold.signs == other.signs and all(map(_same, gold.operands, other.operands)):
                return True
    if len(gold.signs) == len(answer.signs) == 1:
        return same_relation(gold, answer)
    return False
