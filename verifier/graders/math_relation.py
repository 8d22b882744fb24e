r"""Equations and inequalities: what they say, and when two say the same."""

from __future__ import annotations

import re
from fractions import Fraction

from verifier.graders.math_expr import Node, Unreadable, parse
from verifier.graders.math_form import INFINITY, MINUS_INFINITY, REALS, Builder, Chain, Form, Group, Leaf
from verifier.graders.math_leaf import same_leaf
from verifier.graders.math_text import compact
from verifier.graders.math_value import letters, numeric_value, proportional

_SYMBOL = re.compile(r"(?:[A-Za-z]|\\[a-z]+)(?:_(?:\w|\{\w+\}))?'?")
_NAME = re.compile(
    r"(?:[A-Za-z]|\\[a-z]+)(?:_(?:\w|\{\w+\}))?'?(?:\(\w(?:,\w)*\))?|[A-Z]{1,4}|\\angle\w+|[A-Za-z]{3,}"
)
_FUNCTION_OF_X = re.compile(r"[fgh]\(x\)")
_FLIPPED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", "=": "=", r"\ne": r"\ne"}


def all_equations(chain: Chain) -> bool:
    """Return whether all its signs are equality signs."""
    return all(sign in ("=", r"\equiv") for sign in chain.signs)


def is_name(form: Form) -> bool:
    """Return whether a form only names something: x, f(x), AB, a tuple of names."""
    if isinstance(form, Group):
        return form.kind == "()" and all(map(is_name, form.items))
    return isinstance(form, Leaf) and _NAME.fullmatch(compact(form.text)) is not None


def value_of(chain: Chain) -> Form | None:
    """Return what an equation says the answer is; None if it says nothing of the kind."""
    if not all_equations(chain):
        return None
    first, last = chain.operands[0], chain.operands[-1]
    if is_name(last) and not is_name(first) and len(chain.operands) == 2:
        first, last = last, first  # 5 = x
    if isinstance(first, Leaf) and isinstance(last, Leaf) and _is_number(first.text):
        # 2 + 3 = 5 must be true itself.
        return last if same_leaf(first.text, last.text) else None
    return last


def _is_number(text: str) -> bool:
    try:
        return not letters(parse(text))
    except Unreadable:
        return False


def shortened(chain: Chain) -> Chain:
    """Return x = 5 for x = 2 + 3 = 5."""
    if len(chain.signs) > 1 and all_equations(chain) and is_name(chain.operands[0]):
        return Chain(("=",), (chain.operands[0], chain.operands[-1]))
    return chain


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
    if isinstance(form, Group) and form.kind in ("list", "union"):
        variables = {
            variable for item in form.items if isinstance(item, Chain) for variable in _variables(item)
        }
        if len(variables) != 1:  # x>1, y>2 are two inequalities
            return None
        return Group("union", tuple(interval(item) or item for item in form.items))
    if not isinstance(form, Chain):
        return None
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
