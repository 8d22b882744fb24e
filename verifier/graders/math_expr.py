r"""LaTeX of numbers and formulas to a tree.

The parser reads the whole text or refuses it (`Unreadable`); it never leaves a tail out, and it computes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

# Bounds, all far beyond what an answer holds.
DEEPEST = 60
LONGEST = 2_000
MOST_TOKENS = 300  # trees are walked by recursion, and a chain of divisions is as deep as it is long
MOST_DIGITS = 1_000


class Unreadable(ValueError):
    """The text is not an expression that this parser knows, or one too large to compute."""


@dataclass(frozen=True)
class Node:
    """One operation of an expression: its name, its arguments, and for leaves their value."""

    op: str
    args: tuple[Node, ...] = ()
    value: Any = None


_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+|\.(?=\s*\\(?:overline|bar|dot)))?|\.\d+)|(?P<command>\\[A-Za-z]+|\\[{}%|])|(?P<letter>[A-Za-z])|(?P<sign>[-+*/^_!()\[\]{}|']))"
)
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell".split()
)
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp".split()
)  # fmt: skip
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_ACCENTS = frozenset("vec bar hat overline tilde widehat widetilde dot angle triangle".split())


@lru_cache(maxsize=512)
def parse(text: str) -> Node:
    """Return the tree of a normalised text.

    Raises
    ------
    Unreadable
        For anything but one whole expression.
    """
    if len(text) > LONGEST:
        raise Unreadable("too long")
    tokens = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Unreadable(f"unexpected {text[position]!r}")
        tokens.append(match.group().strip())
        position = match.end()
    if len(tokens) > MOST_TOKENS:
        raise Unreadable("too long")
    parser = _Parser(tokens)
    node = parser.sum(0)
    if parser.position < len(tokens):
        raise Unreadable(f"unexpected {tokens[parser.position]!r}")
    return node


class _Parser:
    """Recursive descent over the tokens; ``depth`` bounds the recursion."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.position = 0
        self.open_bars = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise Unreadable(f"expected {expected or 'more'}, found {token or 'the end'}")
        self.position += 1
        return token

    def sum(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise Unreadable("nested too deeply")
        terms = [self.signed(depth)]
        while self.peek() in ("+", "-"):
            terms.append(self.signed(depth))
        return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

    def signed(self, depth: int) -> Node:
        negative = False
        while self.peek() in ("+", "-"):
            negative ^= self.take() == "-"
        node = self.product(depth)
        return Node("neg", (node,)) if negative else node

    def product(self, depth: int) -> Node:
        factors = [self.power(depth)]
        while token := self.peek():
            if token in ("*", r"\cdot", r"\times"):
                self.take()
                factors.append(self.signed_factor(depth))
            elif token == "/":
                self.take()
                factors = [Node("div", (_product(factors), self.signed_factor(depth)))]
            elif self.starts_atom(token):
                if token[0].isdigit() or token[0] == ".":
                    # "3 4" may be 34, 12, or two answers.
                    raise Unreadable("a number after a factor")
                self.multiply(factors, self.power(depth))
            else:
                break
        return _product(factors)

    def signed_factor(self, depth: int) -> Node:
        negative = False
        while self.peek() in ("+", "-"):
            negative ^= self.take() == "-"
        node = self.power(depth)
        return Node("neg", (node,)) if negative else node

    @staticmethod
    def multiply(factors: list[Node], factor: Node) -> None:
        r"""Append a factor that follows without a sign; ``2\frac{5}{8}`` is a mixed number, not a product."""
        last = factors[-1]
        whole = last.op == "num" and last.value.denominator == 1
        if whole and factor.op == "frac" and all(part.op == "num" for part in factor.args):
            factors[-1] = Node("add", (last, factor))
        else:
            factors.append(factor)

    def starts_atom(self, token: str) -> bool:
        if token in ("(", "[", "{") or (token == "|" and not self.open_bars):
            return True
        if token[0].isalnum() or token[0] == ".":
            return True
        return token[0] == "\\" and token[1:] in _ATOMS

    def power(self, depth: int) -> Node:
        node = self.atom(depth)
        while (token := self.peek()) in ("^", "!", r"\%"):
            if token == self.tokens[self.position - 1]:
                raise Unreadable(f"{token} twice")
            self.take()
            if token == "!":
                node = Node("fact", (node,))
            elif token == r"\%":
                node = Node("div", (node, _number("100")))
            elif self.peek() == r"\circ":
                self.take()
                node = Node("deg", (node,))
            else:
                node = Node("pow", (node, self.argument(depth)))
                if self.peek() == "^":
                    raise Unreadable("two exponents")
        return node

    def argument(self, depth: int) -> Node:
        """Read what stands after ^ or a command: a group, or one token (one digit, as TeX has it)."""
        token = self.peek()
        if token in ("{", "("):
            return self.group(depth)
        if token == "-":
            self.take()
            return Node("neg", (self.argument(depth + 1),))
        return self.atom(depth)

    def digit_or_group(self, depth: int) -> Node:
        token = self.peek()
        if token.isdecimal() and len(token) > 1:
            self.tokens[self.position : self.position + 1] = [token[0], token[1:]]
        return self.argument(depth)

    def group(self, depth: int) -> Node:
        closing = {"(": ")", "[": "]", "{": "}"}[self.take()]
        node = self.sum(depth + 1)
        self.take(closing)
        return node

    def atom(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise Unreadable("nested too deeply")
        token = self.peek()
        if token in ("(", "[", "{"):
            node = self.group(depth)
            return self.based(node) if self.peek() == "_" else node
        self.take()
        if token[0].isdigit() or token[0] == ".":
            return self.numeral(token)
        if token.isalpha():
            return self.symbol(token)
        if token == "|":
            self.open_bars += 1
            node = self.sum(depth + 1)
            self.open_bars -= 1
            self.take("|")
            return Node("abs", (node,))
        if token[0] == "\\":
            return self.command(token[1:], depth)
        raise Unreadable(f"unexpected {token!r}")

    def numeral(self, token: str) -> Node:
        if self.peek() == "_":
            return self.based(_number(token))
        if "." in token and self.peek() in (r"\overline", r"\dot", r"\bar"):
            self.take()
            braced = self.peek() == "{"
            if braced:
                self.take()
            period = self.take()
            if braced:
                self.take("}")
            if not period.isdecimal():
                raise Unreadable("not a period")
            return Node("num", value=_recurring(token, period))
        return _number(token)

    def based(self, node: Node) -> Node:
        """Read the base after a numeral: ``52_8`` is 42."""
        self.take("_")
        base = self.argument(0)
        digits = str(node.value) if node.op == "num" else ""
        if base.op != "num" or not digits.isdecimal() or base.value not in range(2, 37):
            raise Unreadable("not a numeral with its base")
        if any(int(digit) >= base.value for digit in digits):
            raise Unreadable(f"a digit too large for base {base.value}")
        return Node("num", value=Fraction(int(digits, int(base.value))))

    def symbol(self, token: str) -> Node:
        name = token
        if self.peek() == "_":
            self.take()
            name += "_" + self.raw_group()
            if token in "CPA" and self.peek() == "^" and name[2:].isdecimal():
                self.take()
                upper = self.raw_group()
                if not upper.isdecimal():
                    raise Unreadable("not a number of combinations")
                numbers = (_number(name[2:]), _number(upper))
                return Node("binom" if token == "C" else "perm", numbers)
        while self.peek() == "'":
            name += self.take()
        return Node("sym", value=name)

    def raw_group(self) -> str:
        """Return one token, or the tokens between braces, joined."""
        token = self.take()
        if token != "{":
            return token
        parts: list[str] = []
        level = 1
        while True:
            token = self.take()
            level += (token == "{") - (token == "}")
            if not level:
                return "".join(parts)
            parts.append(token)

    def command(self, name: str, depth: int) -> Node:
        if name == "frac":
            return Node("frac", (self.digit_or_group(depth + 1), self.digit_or_group(depth + 1)))
        if name == "sqrt":
            if self.peek() == "[":
                degree = self.group(depth)
                return Node("root", (degree, self.argument(depth + 1)))
            return Node("root", (_number("2"), self.argument(depth + 1)))
        if name == "binom":
            return Node("binom", (self.digit_or_group(depth + 1), self.digit_or_group(depth + 1)))
        if name in _FUNCTIONS:
            return self.function(name, depth)
        if name in _ACCENTS:
            return Node("sym", value=f"{name}({self.raw_group()})")
        if name == "pi":
            return Node("pi")
        if name in _GREEK:
            return self.symbol(name)
        raise Unreadable(f"unknown command \\{name}")

    def function(self, name: str, depth: int) -> Node:
        exponent = base = None
        while self.peek() in ("^", "_"):
            if self.take() == "^":
                exponent = self.argument(depth + 1)
            else:
                base = self.digit_or_group(depth + 1)
        if exponent == Node("neg", (_number("1"),)):
            if name not in _INVERSE:
                raise Unreadable(f"unknown inverse of {name}")
            name, exponent = _INVERSE[name], None
        if self.peek() == "(":
            argument = self.group(depth)
            if self.peek() == "^":  # \sin(x)^2 is the square of the sine
                self.take()
                exponent = self.argument(depth + 1)
        else:
            argument = self.function_argument(depth + 1)
        if name == "log":
            # Without a base it is 10, as in schools and competitions; ln is the natural one.
            node = Node("log", (base or _number("10"), argument))
        elif base is None:
            node = Node(name, (argument,))
        else:
            raise Unreadable(f"{name} with a base")
        return node if exponent is None else Node("pow", (node, exponent))

    def function_argument(self, depth: int) -> Node:
        r"""Read the factors after a function's name up to the next sign, function or bracket: \sin 2x \cos x."""
        negative = self.peek() == "-" and bool(self.take())
        factors = [self.power(depth)]
        while (token := self.peek()) and token not in ("(", "[") and self.starts_atom(token):
            if token[1:] in _FUNCTIONS or token[0].isdigit():
                break
            self.multiply(factors, self.power(depth))
        node = _product(factors)
        return Node("neg", (node,)) if negative else node


_ATOMS = {"frac", "sqrt", "binom", "pi", *_GREEK, *_FUNCTIONS, *_ACCENTS}


def _product(factors: list[Node]) -> Node:
    return factors[0] if len(factors) == 1 else Node("mul", tuple(factors))


def _number(token: str) -> Node:
    if len(token) > MOST_DIGITS:
        raise Unreadable("too many digits")
    return Node("num", value=Fraction(token if token[0] != "." else "0" + token))


def _recurring(token: str, period: str) -> Fraction:
    """Return 0.1 with the period 6 as 1/6."""
    if len(token) + len(period) > MOST_DIGITS:
        raise Unreadable("too many digits")
    shift = 10 ** len(token.split(".")[1])
    return Fraction(token) + Fraction(int(period), (10 ** len(period) - 1) * shift)
