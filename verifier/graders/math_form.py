r"""The form of an answer: a number, or a list, a set, an interval, an equation, a matrix made of such.

Only the outermost structure is taken apart here, by brackets, commas and relation signs; what is left in the leaves is
for `verifier.graders.math_expr`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from verifier.graders.math_expr import Unreadable
from verifier.graders.math_quantity import without_words


@dataclass(frozen=True)
class Leaf:
    """An expression, as normalised text."""

    text: str


@dataclass(frozen=True)
class Words:
    """An answer in words, in lower case, without articles."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Clock:
    """A time of day in minutes; whether a.m. or p.m. is said."""

    minutes: int
    half_known: bool


@dataclass(frozen=True)
class Group:
    """Several forms.

    ``kind`` is ``list`` (no brackets), ``set``, ``union``, ``ratio``, the two brackets of a tuple or interval, or
    ``matrix`` (``det`` for a determinant) and ``row``.
    """

    kind: str
    items: tuple[Form, ...]


@dataclass(frozen=True)
class Chain:
    """Forms with relation signs between them: an equation, an inequality, a chain of either."""

    signs: tuple[str, ...]
    operands: tuple[Form, ...]


@dataclass(frozen=True)
class Builder:
    """A set in the form {head | conditions}."""

    head: Form
    conditions: tuple[Form, ...]


Form = Leaf | Words | Clock | Group | Chain | Builder

DEEPEST = 12
MOST_ITEMS = 100
INFINITY = Leaf(r"\infty")
MINUS_INFINITY = Leaf(r"-\infty")
EMPTY = Leaf(r"\emptyset")
REALS = Leaf(r"\mathbb{R}")

_OPEN, _CLOSE = "([", ")]"
_RELATION = re.compile(r"\s*(\\(?:le|ge|ne|in|approx|equiv|parallel|perp)(?![A-Za-z])|[<>=])\s*")
_AND_OR = re.compile(r"\s*,?\s*(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])\s*,?\s*|\s*,?\s*[或和与及]\s*")
_SEMICOLON = re.compile(r"\s*;\s*")
_SPACED_COMMA = re.compile(r"\s*,\s+")
_COMMA = re.compile(r"\s*,\s*")
_CUP = re.compile(r"\s*\\cup\s*")
_BAR = re.compile(r"\s*[|:]\s*")
_REAL = re.compile(r"\s*\\in\s*(?:\\mathbb\s*)?(?:\{\s*R\s*\}|R)$")
_ROW = re.compile(r"\s*\\\\(?:\[\w+\])?\s*")
_CELL = re.compile(r"\s*&\s*")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_MATRIX = re.compile(
    r"\\begin\s*\{(\w*matrix|array|cases|aligned?)\}\s*(?:\{[lcr|]*\})?(.*)\\end\s*\{\1\}", re.DOTALL
)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::00)?\s*(?:([ap])\.?\s?m\.?)?", re.IGNORECASE)
_RATIO = re.compile(r"[^:]+(?::[^:]+)+")
_ORDINALS = {"first": "i", "second": "ii", "third": "iii", "fourth": "iv"}
_IGNORED_WORDS = frozenset("a an the is are it condition conditions".split())


def read(text: str, depth: int = 0) -> Form:
    """Return the form of a normalised text.

    Raises
    ------
    Unreadable
        If its brackets do not match, it is nested too deeply, or holds too many items.
    """
    if depth > DEEPEST:
        raise Unreadable("nested too deeply")
    text = text.strip()
    if not text:
        raise Unreadable("nothing there")
    if text.isdecimal():
        return Leaf(text)
    check_brackets(text)
    if words := _words(text):
        return words
    text = without_words(text, trailing=False) if depth < 2 else text
    return (
        _clock(text)
        or _parts(text, depth)
        or _relation(text, depth)
        or _union(text, depth)
        or _matrix(text, depth)
        or _bracketed(text, depth)
        or _plus_minus(text, depth)
        or _ratio(text, depth)
        or Leaf(_without_thousands(text))
    )


def check_brackets(text: str) -> None:
    r"""Refuse text whose brackets do not match; ``[2,3)`` is an interval and matches.

    Raises
    ------
    Unreadable
        At the first bracket without its partner.
    """
    expected = []
    for match in re.finditer(r"\\[{}]|[()\[\]{}]", text):
        bracket = match[0]
        if bracket in ("(", "[", "{", r"\{"):
            expected.append(bracket)
        elif not expected or not _closes(expected.pop(), bracket):
            raise Unreadable(f"{bracket} without its partner")
    if expected:
        raise Unreadable(f"{expected[-1]} without its partner")


def split(text: str, separator: re.Pattern[str]) -> list[tuple[str, str]]:
    """Return the parts between the separators that stand outside all brackets, each with the separator before it."""
    parts = []
    level = start = position = 0
    before = ""
    while position < len(text):
        if text.startswith((r"\{", r"\}"), position):
            level += 1 if text[position + 1] == "{" else -1
            position += 2
            continue
        if text[position] in "([{":
            level += 1
        elif text[position] in ")]}":
            level -= 1
        elif level == 0 and (match := separator.match(text, position)) and match.end() > position:
            parts.append((before, text[start:position].strip()))
            before, start = match[0].strip(), match.end()
            position = start
            continue
        if text.startswith("\\begin", position):
            level += 1
        elif text.startswith("\\end", position):
            level -= 1
        position += 1
    parts.append((before, text[start:].strip()))
    return parts


def _closes(opening: str, closing: str) -> bool:
    if opening in _OPEN:
        return closing in _CLOSE
    return closing == {"{": "}", r"\{": r"\}"}[opening]


def _words(text: str) -> Words | Leaf | None:
    """Return an answer in words; letters that may be a product (three or fewer, or with signs between) are none."""
    if re.search(r"[\d\\^_=<>+*/|(\[{:]", text):
        return None
    words = re.findall(r"[^\W\d_]+", text.lower())
    long = (
        any(len(word) >= 4 or not word.isascii() for word in words)
        or sum(len(word) > 1 for word in words) > 1
    )
    if long and "," not in text and " or " not in text:
        if "quadrant" in words:  # the first quadrant, Quadrant I
            words = sorted(_ORDINALS.get(word, word) for word in words)
        if words in (["no", "solution"], ["no", "solutions"], ["empty", "set"], ["the", "empty", "set"]):
            return EMPTY
        if words in (["real", "numbers"], ["all", "real", "numbers"]):
            return REALS
        return Words(tuple(word for word in words if word not in _IGNORED_WORDS))
    return None


def _clock(text: str) -> Clock | None:
    match = _CLOCK.fullmatch(text)
    if match is None or (match[2] is None and match[3] is None):
        return None
    hours, minutes = int(match[1]), int(match[2] or 0)
    if hours > 24 or minutes > 59:
        return None
    if match[3]:
        hours = hours % 12 + (12 if match[3] in "pP" else 0)
    return Clock(hours * 60 + minutes, match[3] is not None)


def _parts(text: str, depth: int) -> Group | None:
    """Return what commas, semicolons, "and" and "or" separate."""
    bare = _without_thousands(text)
    for separator in (_SEMICOLON, _AND_OR, _SPACED_COMMA, _COMMA):
        parts = split(bare, separator)
        if len(parts) > 1:
            if len(parts) > MOST_ITEMS:
                raise Unreadable("too many items")
            items = [read(part, depth + 1) for _, part in parts]
            return Group("list", tuple(item for form in items for item in _flat(form)))
    return None


def _union(text: str, depth: int) -> Group | None:
    parts = split(text, _CUP)
    return Group("union", tuple(read(part, depth + 1) for _, part in parts)) if len(parts) > 1 else None


def _flat(form: Form) -> tuple[Form, ...]:
    return form.items if isinstance(form, Group) and form.kind == "list" else (form,)


def _without_thousands(text: str) -> str:
    """Return the text with 1,356 as 1356; inside brackets commas separate."""
    if "," not in text or any(bracket in text for bracket in "([{"):
        return text
    return _THOUSANDS.sub(lambda match: match[1].replace(",", ""), text)


def _relation(text: str, depth: int) -> Form | None:
    parts = split(text, _RELATION)
    if len(parts) == 1:
        return None
    if len(parts) > MOST_ITEMS:
        raise Unreadable("too many relations")
    if not parts[0][1]:  # "= 5" and "\approx 5" are 5
        return (
            read(text[len(parts[1][0]) :].strip(), depth + 1) if text.startswith(("=", r"\approx")) else None
        )
    if depth == 0 and len(parts) == 2 and parts[1][0] == r"\in" and re.fullmatch(r"[A-Za-z]", parts[0][1]):
        return read(parts[1][1], depth + 1)
    return Chain(tuple(sign for sign, _ in parts[1:]), tuple(read(part, depth + 1) for _, part in parts))


def _matrix(text: str, depth: int) -> Form | None:
    for opening, closing in (("(", ")"), ("[", "]"), (r"\{", "")):
        if text.startswith(opening + r"\begin") or text.startswith(opening + r" \begin"):
            text = text[len(opening) : len(text) - len(closing)].strip()
    match = _MATRIX.fullmatch(text)
    if match is None:
        return None
    rows = [row for _, row in split(match[2].strip(), _ROW) if row]
    if match[1] in ("cases", "align", "aligned"):
        return Group("list", tuple(read(row.replace("&", " "), depth + 1) for row in rows))
    cells = [[cell for _, cell in split(row, _CELL)] for row in rows]
    kind = "det" if match[1] == "vmatrix" else "matrix"
    return Group(kind, tuple(Group("row", tuple(read(cell, depth + 1) for cell in row)) for row in cells))


def _bracketed(text: str, depth: int) -> Form | None:
    """Return what one pair of brackets around everything holds."""
    named = re.match(r"[A-Z]'?\s*(?=\()", text)  # the point A(1,2)
    if named and len(split(text[named.end() + 1 : -1], _COMMA)) > 1 and _spans(text[named.end() :]):
        text = text[named.end() :]
    if text.startswith(r"\{") and text.endswith(r"\}") and _spans(text):
        return _set(text[2:-2].strip(), depth)
    if text[0] == "{" and text[-1] == "}" and _spans(text):
        return read(text[1:-1], depth + 1)
    if text[0] in _OPEN and text[-1] in _CLOSE and _spans(text):
        inner = text[1:-1].strip()
        items = [item for _, item in split(inner, _COMMA)]
        if len(items) == 1:
            items = [item for _, item in split(inner, _SEMICOLON)]
        if len(items) > MOST_ITEMS:
            raise Unreadable("too many items")
        if len(items) > 1:
            return Group(text[0] + text[-1], tuple(read(item, depth + 1) for item in items))
        if text[0] == "(" and text[-1] == ")":
            return read(inner, depth + 1)
        if inner:  # [7] is a list of one, or 7 rounded down, and not 7
            return Group(text[0] + text[-1], (read(inner, depth + 1),))
    return None


def _spans(text: str) -> bool:
    """Return whether the first bracket closes at the end."""
    level = 0
    for match in re.finditer(r"\\[{}]|[()\[\]{}]", text):
        level += 1 if match[0][-1] in "([{" else -1
        if level == 0:
            return match.end() == len(text)
    return False


def _set(inner: str, depth: int) -> Form:
    if not inner:
        return EMPTY
    parts = [part for _, part in split(inner, _BAR)]
    if len(parts) == 2 and all(parts):
        parts[0] = _REAL.sub("", parts[0])
        conditions = read(parts[1], depth + 1)
        return Builder(read(parts[0], depth + 1), _flat(conditions))
    items = [item for _, item in split(inner, _COMMA)]
    if len(items) > MOST_ITEMS:
        raise Unreadable("too many items")
    return Group("set", tuple(read(item, depth + 1) for item in items))


def _plus_minus(text: str, depth: int) -> Form | None:
    r"""Return both values of a ``\pm``; two in one expression are independent, ``\mp`` goes with them."""
    signs = re.findall(r"\\pm(?![A-Za-z])", text)
    if not signs or len(signs) > 3:
        return None
    values = []
    for choice in range(2 ** len(signs)):
        value = text
        for place in range(len(signs)):
            sign, opposite = ("+", "-") if choice >> place & 1 == 0 else ("-", "+")
            value = re.sub(r"\\pm(?![A-Za-z])\s*", lambda _, s=sign: s, value, count=1)  # type: ignore[misc]
            if len(signs) == 1:
                value = re.sub(r"\\mp(?![A-Za-z])\s*", lambda _, s=opposite: s, value)  # type: ignore[misc]
        values.append(read(value, depth + 1))
    return Group("list", tuple(values))


def _ratio(text: str, depth: int) -> Form | None:
    if _RATIO.fullmatch(text) and len(parts := split(text, _BAR)) > 1 and all(part for _, part in parts):
        if "|" not in text:
            return Group("ratio", tuple(read(part, depth + 1) for _, part in parts))
    return None
