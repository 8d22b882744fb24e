r"""Equations and inequalities: what they say, and when two say the same."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from verifier.graders.math_expr import Node, parse
from verifier.graders.math_form import (
    INFINITY,
    MINUS_INFINITY,
    REALS,
    Builder,
    Chain,
    Form,
    Group,
    Leaf,
    Words,
    read,
    split,
)
from verifier.graders.math_leaf import same_leaf
from verifier.graders.math_text import compact
from verifier.graders.math_value import letters, numeric_value, proportional

_SYMBOL = re.compile(r"(?:[A-Za-z]|\\[a-z]+)(?:_(?:\w|\{\w+\}))?'?")
_NAME = re.compile(
    r"(?:[A-Za-z]|\\[a-z]+)(?:_(?:\w|\{\w+\}))?'?(?:\(\w(?:,\w)*\))?|[A-Z]{1,4}|\\angle ?\w+|[A-Za-z]{3,}"
)
# What an answer may call the thing that is asked for, beside a name. x+y and xy are none: with a value they are curves.
_SEGMENT = r"(?:[A-Z]{2}|\\(?:vec|overline)\s?\{?[A-Za-z]{1,2}\}?)"
_INDEXED = r"[A-Za-z]_(?:\w|\{\w+\})"
_ASKED_FOR = re.compile(
    # f(3), f^{-1}(x), P(X>2), but not n(n+1)
    r"(?P<function>[fghpqFGHPEDVC]|\\(?:phi|sigma|mu|tau|gcd|max|min|det|deg|dim|Pr))"
    r"(?:_(?:\w|\{[\w,]+\})|'|\^(?:-1|\{-1\}|\{\(\d+\)\}))*\((?!.*(?P=function)).*\)"
    r"|[a-zA-Z](?:_(?:\w|\{\w+\}))?'*\(-?\d+\)|\\(?:max|min|det|deg|dim)\s?[A-Za-z]"
    # \sin A, \tan\theta, but not \sin x
    r"|\\(?:sin|cos|tan|cot|sec|csc)(?:\^(?:2|\{2\}))?\s?\(?"
    r"(?:[A-Z]|\\angle\s?\{?[A-Z]+\}?|\\(?:theta|alpha|beta|gamma|phi))\)?"
    # |AB|, |S|, \angle ABC, AB+CD, \vec a\cdot\vec b
    rf"|\|(?:[A-Z]|{_SEGMENT})\||\\(?:triangle|angle)\s?\{{?[A-Za-z]+\}}?|{_SEGMENT}(?:(?:[-+/]|\\cdot\s?)?{_SEGMENT})*"
    # a_{10}, x_1+x_2, A \cap B, m+n, \frac{m}{n}
    rf"|[A-Za-z]_\{{[^{{}}]+\}}|{_INDEXED}(?:[-+]?{_INDEXED})+|[A-Z](?:\\cap\s?[A-Z])+|[a-w](?:\+[a-w])+"
    rf"|\\frac\{{(?:[a-w]|{_SEGMENT})\}}\{{(?:[a-w]|{_SEGMENT})\}}"
)
_ABSOLUTE = re.compile(r"\|([a-vxy])\|")
_REALS_WITHOUT = re.compile(
    r"\\mathbb\s*(?:\{\s*R\s*\}|R)\s*(?:\\setminus|-)\s*\\\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\\\}"
)
_COMMA = re.compile(r"\s*,\s*")
_LOOSE = re.compile(r"(?<![A-Za-z]) | (?![A-Za-z])")
_FUNCTION_OF_X = re.compile(r"[fgh]\(x\)")
_FLIPPED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", "=": "=", r"\ne": r"\ne"}


def all_equations(chain: Chain) -> bool:
    """Return whether all its signs are equality signs."""
    return all(sign in ("=", r"\equiv") for sign in chain.signs)


def is_name(form: Form) -> bool:
    """Return whether a form only names something: x, f(x), AB, words, a tuple of names."""
    if isinstance(form, Group):
        return form.kind == "()" and all(map(is_name, form.items))
    if isinstance(form, Words):  # Area, total cost
        return True
    return isinstance(form, Leaf) and _NAME.fullmatch(_tight(form.text)) is not None


def _tight(text: str) -> str:
    r"""Return the text without spaces, but for those that end a command: ``\log x`` is not ``\logx``."""
    return _LOOSE.sub("", text)


def value_of(chain: Chain) -> Form | None:
    """Return what an equation says the answer is; None if it says nothing of the kind.

    ``x = 5``, ``f(3) = 5`` and ``a+b+c = 5`` name what is 5; ``2x = 10`` and ``x+1 = 6`` are still to be solved, and
    ``x^2+y^2 = 25`` is a curve. What holds for all letters, ``2+3 = 5`` or ``(x+1)^2 = x^2+2x+1``, says its right side.
    """
    if not all_equations(chain):
        return None
    first, last = chain.operands[0], chain.operands[-1]
    if len(chain.operands) == 2 and _is_asked_for(last) and not _is_asked_for(first):
        first, last = last, first  # 5 = x
    if _is_asked_for(first):
        return last
    if isinstance(first, Leaf) and isinstance(last, Leaf):
        return last if same_leaf(first.text, last.text) else None
    return None


def _is_asked_for(form: Form) -> bool:
    r"""Return whether a form is a name, or else nothing that is to be solved: f(3), \sin A, |AB|, A \cap B, m+n."""
    if is_name(form):
        return True
    if isinstance(form, Group):
        return form.kind in ("union", "ratio") and all(map(is_name, form.items))
    return isinstance(form, Leaf) and _ASKED_FOR.fullmatch(_tight(form.text)) is not None


def assignments(form: Form) -> dict[str, Form]:
    """Return the values by name, in their order, of ``x=1, y=2`` or ``(x,y)=(1,2)``; empty for any other form."""
    if isinstance(form, Chain) and all_equations(form):
        names, values = form.operands[0], form.operands[-1]
        if not isinstance(names, Group) or not is_name(names):
            return {}
        if not isinstance(values, Group) or len(values.items) != len(names.items):
            return {}
        pairs = list(zip(names.items, values.items, strict=True))
    elif isinstance(form, Group) and form.kind == "list":
        chains = [item for item in form.items if isinstance(item, Chain) and all_equations(item)]
        pairs = [(chain.operands[0], chain.operands[-1]) for chain in chains]
        if len(pairs) != len(form.items):
            return {}
    else:
        return {}
    named = {compact(name.text): value for name, value in pairs if isinstance(name, Leaf) and is_name(name)}
    return named if len(named) == len(pairs) > 1 else {}


def in_alphabet(named: dict[str, Form]) -> tuple[Form, ...]:
    """Return the values in the alphabetical order of their names; as they come where a name is more than a letter."""
    if not all(re.fullmatch(r"[A-Za-z](?:_\{?\d+\}?)?", name) for name in named):
        return tuple(named.values())
    return tuple(named[name] for name in sorted(named, key=_place))


def _place(name: str) -> tuple[str, int]:
    return name[0].lower(), int(re.sub(r"\D", "", name) or 0)


def shortened(chain: Chain) -> Chain:
    """Return x = 5 for x = 2 + 3 = 5."""
    if len(chain.signs) > 1 and all_equations(chain) and is_name(chain.operands[0]):
        return Chain(("=",), (chain.operands[0], chain.operands[-1]))
    return chain


def unfolded(chain: Chain) -> Chain:
    """Return -2 < x < 2 for |x| < 2, with one real letter and a positive number."""
    sign, letter, bound = _absolute(chain) or ("", INFINITY, INFINITY)
    if sign not in ("<", r"\le") or not isinstance(bound, Leaf):
        return chain
    return Chain((sign, sign), (_negative(bound), letter, bound))


def _absolute(chain: Chain) -> tuple[str, Leaf, Leaf] | None:
    """Return sign, letter and bound of |x| < 2; z and w are complex, and |z| < 2 a disc."""
    if len(chain.signs) != 1:
        return None
    for one in (chain, flip(chain)):
        left, bound = one.operands
        if isinstance(left, Leaf) and isinstance(bound, Leaf):
            letter = _ABSOLUTE.fullmatch(_tight(left.text))
            if letter and (value := _number(bound)) is not None and value > 0:
                return one.signs[0], Leaf(letter[1]), bound
    return None


def _negative(bound: Leaf) -> Leaf:
    return Leaf(f"-({bound.text})")


def _number(form: Form) -> float | None:
    """Return the value of a real number; None of any other form."""
    if not isinstance(form, Leaf):
        return None
    node = parse(form.text)
    value = None if letters(node) else numeric_value(node, {})
    return None if value is None or value.imag else float(value.real)


def _without_points(form: Leaf) -> Form | None:
    r"""Return the union of intervals that \mathbb{R}\setminus\{1,2\} is; None of another form."""
    match = _REALS_WITHOUT.fullmatch(form.text)
    if match is None:
        return None
    points = {}
    for _, text in split(match[1], _COMMA):
        point = read(text, 1)
        value = _number(point)
        if value is None:
            return None
        points[value] = point
    ends = [MINUS_INFINITY, *(points[value] for value in sorted(points)), INFINITY]
    return Group("union", tuple(Group("()", pair) for pair in pairwise(ends)))


def flip(chain: Chain) -> Chain:
    """Return the chain read from right to left."""
    signs = tuple(_FLIPPED.get(sign, sign) for sign in reversed(chain.signs))
    return Chain(signs, tuple(reversed(chain.operands)))


def same_relation(gold: Chain, answer: Chain) -> bool:
    """Compare left minus right: proportional for = and not =; with a positive factor for an inequality.

    Raises
    ------
    Unreadable
        If a side is no expression, or too large to compute.
    """
    gold, answer = _named_like(gold, answer), _named_like(answer, gold)
    differences = []
    for chain in (gold, answer):
        if not all(isinstance(operand, Leaf) for operand in chain.operands):
            return False
        left, right = (parse(operand.text) for operand in chain.operands if isinstance(operand, Leaf))
        differences.append(Node("add", (left, Node("neg", (right,)))))
    if not letters(differences[0]) or not proportional(*differences):
        return False
    if gold.signs[0] in ("=", r"\ne"):
        return gold.signs == answer.signs
    return gold.signs[0] == (answer.signs[0] if _positive(*differences) else _FLIPPED.get(answer.signs[0]))


def _named_like(chain: Chain, other: Chain) -> Chain:
    """Return y = 2x for f(x) = 2x where the other equation is one for y."""
    name = chain.operands[0]
    if (
        isinstance(name, Leaf)
        and _FUNCTION_OF_X.fullmatch(compact(name.text))
        and other.operands[0] == Leaf("y")
    ):
        return Chain(chain.signs, (Leaf("y"), chain.operands[1]))
    return chain


def _positive(first: Node, second: Node) -> bool:
    """Return the sign of the constant ratio of two expressions."""
    point = {name: Fraction(7919 + 31 * place, 4001) for place, name in enumerate(sorted(letters(first)))}
    left, right = numeric_value(first, point), numeric_value(second, point)
    return left is not None and right is not None and (left / right).real > 0


def interval(form: Form) -> Form | None:
    r"""Return the interval of an inequality in one letter, of {x | inequality}, of \mathbb{R}; None of another form."""
    if isinstance(form, Builder):
        chains = [condition for condition in form.conditions if isinstance(condition, Chain)]
        about_head = len(chains) == len(form.conditions) and all(
            form.head in chain.operands for chain in chains
        )
        # {x | x<1 or x>3} has the same conditions as {x | x<1, x>3}, which nobody writes.
        return (
            interval(chains[0] if len(chains) == 1 else Group("union", form.conditions))
            if about_head
            else None
        )
    if form == REALS:
        return Group("()", (MINUS_INFINITY, INFINITY))
    if isinstance(form, Leaf):
        return _without_points(form)
    if isinstance(form, Group) and form.kind in ("list", "union"):
        variables = {
            variable for item in form.items if isinstance(item, Chain) for variable in _variables(item)
        }
        if len(variables) != 1:  # x>1, y>2 are two inequalities
            return None
        return Group("union", tuple(interval(item) or item for item in form.items))
    if not isinstance(form, Chain):
        return None
    if absolute := _absolute(form):
        sign, _, bound = absolute
        if sign in (">", r"\ge"):
            opening, closing = "()" if sign == ">" else "[]"
            below = Group("(" + closing, (MINUS_INFINITY, _negative(bound)))
            return Group("union", (below, Group(opening + ")", (bound, INFINITY))))
    form = unfolded(form)
    if form.signs[0] in (">", r"\ge"):
        form = flip(form)
    ends = form.operands
    if not all(sign in ("<", r"\le") for sign in form.signs):
        if form.signs == (r"\ne",) and _is_symbol(ends[0]):
            return Group("union", (Group("()", (MINUS_INFINITY, ends[1])), Group("()", (ends[1], INFINITY))))
        return None
    brackets = ["(" if sign == "<" else "[" for sign in form.signs]
    if len(ends) == 3 and _is_symbol(ends[1]) and not all(map(_is_symbol, ends)):
        return Group(brackets[0] + {"(": ")", "[": "]"}[brackets[1]], (ends[0], ends[2]))
    if len(ends) == 2 and _is_symbol(ends[0]) and not _is_symbol(ends[1]):
        return Group("(" + {"(": ")", "[": "]"}[brackets[0]], (MINUS_INFINITY, ends[1]))
    if len(ends) == 2 and _is_symbol(ends[1]) and not _is_symbol(ends[0]):
        return Group(brackets[0] + ")", (ends[0], INFINITY))
    return None


def _variables(chain: Chain) -> list[Form]:
    return [operand for operand in chain.operands if _is_symbol(operand)]


def _is_symbol(form: Form) -> bool:
    return (
        isinstance(form, Leaf)
        and _SYMBOL.fullmatch(form.text) is not None
        and form.text not in (r"\infty", r"\pi", "e")
    )
