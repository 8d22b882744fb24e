r"""JSON as language models write it.

Beyond JSON it reads: comments, commas too many, keys without quotes, single, typographic and Chinese quotes and
marks, Python's None, True and False, line breaks and other control characters inside strings, quotes inside strings
that were not escaped, and backslashes of LaTeX that were not doubled. The last matter most: ``"\frac{1}{2}"`` is valid
JSON, and means a form feed and ``rac{1}{2}``; here a backslash that begins a LaTeX command is a backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


class NotReadable(Exception):
    """The text is not an object or list, not even loosely; ``cut_off`` if it ends too early."""

    def __init__(self, reason: str, *, cut_off: bool = False) -> None:
        super().__init__(reason)
        self.cut_off = cut_off


@dataclass(frozen=True)
class Number:
    """A number as it was written: 0.50 is not 0.5 to a reader of keys."""

    text: str


Pairs = list[tuple[str, Any]]  # an object: keys may occur twice

_SPACE = re.compile(r"(?:[\s\ufeff\u200b]|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_NAME = re.compile(r"[^\W\d]\w*")
_WORDS = {"null": None, "none": None, "true": True, "false": False}
# Opening quotes, and what closes each.
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "「": "」", "『": "』", "`": "`"}
_COLONS, _COMMAS = ":：", ",，、"
_AFTER_STRING = re.compile(rf"\s*(?:[{_COMMAS}{_COLONS}\]}}]|//|/\*|$)")
_COMMAND = re.compile(r"[A-Za-z]+")
# Commands that begin as an escape for a line break or a tab. (No item has a backspace, a form feed or a bell.)
_N_COMMANDS = frozenset(
    "nabla ncong ne nearrow neg neq newline nexists ngeq ngtr ni nless nleq nmid nobreak node noindent nolimits "
    "nonumber not notin nparallel nprec nsim nsubseteq nsucc nsupseteq nu nwarrow".split()
)
# A line break and a variable, unless the writer does not double backslashes.
_N_OR_LINE = ("ne", "ni", "nu")
_T_COMMANDS = frozenset(
    "tan tanh tau tbinom text textbf textit textrm textsf textsc texttt textstyle tfrac therefore theta thickapprox "
    "thicksim thinspace tilde times to top triangle triangledown triangleleft triangleq triangleright".split()
)
_R_COMMANDS = re.compile(r"r[a-z]{2,}")
# A backslash alone before what JSON knows no escape for, or before a command: whoever writes \sqrt, \( or \frac does
# not double backslashes.
_NOT_DOUBLED = re.compile(
    r"(?<!\\)\\(?:[^\\\"/bfnrtu\n]|[bf][a-z]|r[a-z]{2}|(?:"
    + "|".join(sorted((_T_COMMANDS | _N_COMMANDS) - set(_N_OR_LINE)))
    + r")(?![A-Za-z]))"
)
_DEPTH = 30


def read_loosely(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the object or list that begins at ``start``, and where it ends.

    An object is a list of (key, value) pairs and no dict, because a key may be there twice with two values; a list is a
    tuple. Numbers are ``Number``.

    Raises
    ------
    NotReadable
        If it cannot be read, or ends too early.
    """
    lenient = False
    try:
        value, end = _Reader(text, True, lenient).value(start, 0)
    except NotReadable as strict:
        lenient = True
        try:
            value, end = _Reader(text, True, lenient).value(start, 0)
        except NotReadable:
            raise strict from None
    if _NOT_DOUBLED.search(text, start, end):
        return _Reader(text, False, lenient).value(start, 0)
    return value, end


@dataclass(frozen=True)
class _Reader:
    """One way to read a text.

    Attributes
    ----------
    doubled
        Whether the writer doubles backslashes, as JSON wants it.
    lenient
        A quote inside a string ends it only where a mark of the structure follows.
    """

    text: str
    doubled: bool
    lenient: bool

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        at = self.skip(at)
        if depth > _DEPTH:
            raise NotReadable("nested too deeply")
        mark = self.text[at : at + 1]
        if not mark:
            raise NotReadable("it ends where a value should be", cut_off=True)
        if mark == "{":
            return self.members(at + 1, depth)
        if mark == "[":
            return self.elements(at + 1, depth)
        if mark in _QUOTES:
            return self.string(at)
        if number := _NUMBER.match(self.text, at):
            return Number(number[0]), number.end()
        if (word := _NAME.match(self.text, at)) and word[0].lower() in _WORDS:
            return _WORDS[word[0].lower()], word.end()
        raise NotReadable(f"no value at {self.text[at : at + 20]!r}")

    def members(self, at: int, depth: int) -> tuple[Pairs, int]:
        pairs: Pairs = []
        while True:
            at = self.skip(at, _COMMAS)
            mark = self.text[at : at + 1]
            if not mark:
                raise NotReadable("the object does not end", cut_off=True)
            if mark == "}":
                return pairs, at + 1
            if mark in _QUOTES:
                key, at = self.string(at)
            elif name := _NAME.match(self.text, at):
                key, at = name[0], name.end()
            else:
                raise NotReadable(f"no key at {self.text[at : at + 20]!r}")
            at = self.skip(at)
            if not self.text[at : at + 1]:
                raise NotReadable("the object does not end", cut_off=True)
            if self.text[at] not in _COLONS:
                raise NotReadable(f"no colon after {key[:40]!r}")
            value, at = self.value(at + 1, depth + 1)
            pairs.append((key, value))
            at = self.after_value(at, "}")

    def elements(self, at: int, depth: int) -> tuple[tuple[Any, ...], int]:
        values: list[Any] = []
        while True:
            at = self.skip(at, _COMMAS)
            mark = self.text[at : at + 1]
            if not mark:
                raise NotReadable("the list does not end", cut_off=True)
            if mark == "]":
                return tuple(values), at + 1
            value, at = self.value(at, depth + 1)
            values.append(value)
            at = self.after_value(at, "]")

    def after_value(self, at: int, closing: str) -> int:
        """Return where the next member begins; on a line of its own it needs no comma."""
        following = self.skip(at)
        mark = self.text[following : following + 1]
        if mark and mark not in _COMMAS + closing and "\n" not in self.text[at:following]:
            raise NotReadable(f"no comma before {self.text[following : following + 20]!r}")
        return following

    def skip(self, at: int, also: str = "") -> int:
        while True:
            found = _SPACE.match(self.text, at)
            assert found
            at = found.end()
            if not also or self.text[at : at + 1] not in tuple(also):
                return at
            at += 1

    def string(self, at: int) -> tuple[str, int]:
        opening = self.text[at]
        closing = _QUOTES[opening]
        # An apostrophe is no end, so single quotes are always read leniently.
        lenient = self.lenient or closing in "'’`"
        parts: list[str] = []
        at += 1
        while at < len(self.text):
            character = self.text[at]
            if character == closing and (not lenient or _AFTER_STRING.match(self.text, at + 1)):
                return _clean("".join(parts)), at + 1
            if character == "\\":
                part, at = _escape(self.text, at, self.doubled)
                parts.append(part)
            else:
                parts.append(character)
                at += 1
        raise NotReadable("a string does not end", cut_off=True)


def _escape(text: str, at: int, doubled: bool) -> tuple[str, int]:
    r"""Return what the backslash at ``at`` and what belongs to it stand for, and where the text goes on."""
    following = text[at + 1 : at + 2]
    command = _COMMAND.match(text, at + 1)
    run = command[0] if command else ""
    if following == "\\":
        # Where backslashes are not doubled, a pair ends the row of a matrix, unless a command's name follows.
        if text.startswith("\\\\", at + 2):
            return "\\\\", at + 4
        row_ends = not doubled and not re.compile("[A-Za-z]{2}").match(text, at + 2)
        return "\\\\" if row_ends else "\\", at + 2
    if following in ('"', "/", "'", "`"):
        return following, at + 2
    if following == "u" and (code := re.compile(r"u([0-9a-fA-F]{4})").match(text, at + 1)):
        return _unicode(text, at, int(code[1], 16))
    if following == "n" and (run not in _N_COMMANDS or doubled and run in _N_OR_LINE):
        return "\n", at + 2
    if following == "t" and run not in _T_COMMANDS:
        return "\t", at + 2
    if following == "r" and not _R_COMMANDS.match(run):
        return "", at + 2  # of a line end \r\n
    if following == "\n":
        return "", at + 2  # a string that goes on in the next line
    return "\\", at + 1


def _unicode(text: str, at: int, code: int) -> tuple[str, int]:
    pair = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(text, at + 6)
    if 0xD800 <= code < 0xDC00 and pair:
        return chr(0x10000 + ((code - 0xD800) << 10) + int(pair[1], 16) - 0xDC00), pair.end()
    return ("\ufffd" if 0xD800 <= code < 0xE000 else chr(code)), at + 6


def _clean(text: str) -> str:
    """Return a text without control characters, line ends and tabs apart; half of a surrogate pair is no character."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff]", "", text)
