r"""The answer in a mathematics reply: one extractor for the whole project.

The rules, in their order:

1. The last ``\boxed{...}`` (or ``\fbox{...}``, or ``\boxed 5``) that is not empty is the answer, whatever stands after
   it. Braces are counted, so ``\boxed{\frac{1}{2}}`` is taken whole; a box inside a box is unwrapped. If the last
   box never closes, the reply was cut inside its answer and there is none: an earlier box was not the last word.
   Two boxes are not a list: a list belongs in one box.
2. Without any box, what follows the last cue ("final answer is", "Answer:", "答案是") up to the end of its sentence
   or line; the line below it if there is nothing else on the cue's own.
3. Without a cue, the reply itself if it is one short line, little more than the answer.
4. Otherwise there is no answer.
"""

from __future__ import annotations

import re

_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_UNBRACED = re.compile(r"[^\S\n]*(?!\\(?:boxed|fbox))([^\s${}][^\s$]*)")
# Spaces are bounded: unbounded ones beside each other cost the square of a text's length.
_CUE = re.compile(
    r"(?:final\s|correct\s)?(?:answer|答案)(?:\s(?:to|for)\s(?:the|this)\s(?:question|problem))?"
    r"[ \t]{0,4}(?:\*\*|__)?[ \t]{0,4}(?:\bis\b|应?[是为]|[:：=])[ \t]{0,4}(?:[:：][ \t]{0,4})?(?:\*\*|__)?",
    re.IGNORECASE,
)
# A full stop inside a number or between letters (a.m.) does not end a sentence.
_SENTENCE_END = re.compile(
    r"[.!?](?=\s|\*|$)(?<![ap]\.m\.)|。|\s(?:because|since|as|which)\b|[,，]\s*(?:because|since|因为)"
)
# A line of these alone opens the display on the next.
_NO_CONTENT = re.compile(r"\\[\[\]()]|[\s*_$:：]")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")

LONGEST_BARE = 100
MOST_BARE_WORDS = 4


def extract_math(text: str) -> str | None:
    """Return the answer that a reply gives, as it is written there; None if it gives none.

    Parameters
    ----------
    text
        The whole reply, of any length, without its reasoning part. Time is linear in its length.
    """
    boxes = _boxes(text)
    if boxes:
        return next((box for box in reversed(boxes) if box != ""), None) if boxes[-1] is not None else None
    cues = list(_CUE.finditer(text))
    return _after_cue(text[cues[-1].end() :]) if cues else _bare(text)


def _boxes(text: str) -> list[str | None]:
    """Return the contents of the outermost boxes in their order; None for one that does not close."""
    if not _BOX.search(text):
        return []
    closing = _closing_braces(text)
    boxes: list[str | None] = []
    position = 0
    while match := _BOX.search(text, position):
        position = start = match.end()
        while start < len(text) and text[start].isspace():
            start += 1
        if start < len(text) and text[start] == "{":
            end = closing.get(start)
            # Where the box does not close, a later one may; it is then the last.
            boxes.append(None if end is None else _unwrapped(text[start + 1 : end]))
            position = start + 1 if end is None else end + 1
        elif unbraced := _UNBRACED.match(text, position):
            boxes.append(_without_closing(unbraced[1]))
            position = unbraced.end()
    return boxes


def _without_closing(word: str) -> str:
    """Return the word after a box without the punctuation and the end of the formula that follow it."""
    while (shorter := word.rstrip(".,;:!，。；").removesuffix("\\)").removesuffix("\\]")) != word:
        word = shorter
    return word


def _closing_braces(text: str) -> dict[int, int]:
    """Return the place of the closing brace of every opening one; escaped braces are characters like others."""
    open_braces: list[int] = []
    closing = {}
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif match[0] == "}" and open_braces:
            closing[open_braces.pop()] = match.start()
    return closing


def _unwrapped(content: str) -> str:
    r"""Return a box's content without the boxes inside it: ``x=\boxed{5}`` becomes ``x={5}``."""
    inner = _BOX.sub("", content).strip()
    while inner != content and inner.startswith("{") and _closing_braces(inner).get(0) == len(inner) - 1:
        inner = inner[1:-1].strip()
    return inner


def _after_cue(text: str) -> str | None:
    for line in text.split("\n", 20)[:20]:
        if _NO_CONTENT.sub("", line):
            end = _SENTENCE_END.search(line)
            return _undecorated(line[: end.start()] if end else line) or None
    return None


def _bare(text: str) -> str | None:
    line = text.strip()
    if not line or len(line) > LONGEST_BARE or "\n" in line or re.search(r"[.!?。]\s", line):
        return None
    if len(_WORD.findall(line)) > MOST_BARE_WORDS:
        return None
    return _undecorated(line) or None


def _undecorated(line: str) -> str:
    """Return the line without Markdown emphasis and the full stop at its end."""
    return re.sub(r"[.。]$", "", line.strip(" \t\r*_`")).strip(" \t*_`")
