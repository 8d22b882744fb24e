r"""The answer in a mathematics reply: one extractor for the whole project.

The rules, in their order:

1. The last ``\boxed{...}`` (or ``\fbox{...}``, or ``\boxed 5``) that is not empty is the answer, whatever stands after
   it. Braces are counted, so ``\boxed{\frac{1}{2}}`` is taken whole; a box inside a box is unwrapped. If the last
   box never closes, the reply was cut inside its answer and there is none: an earlier box was not the last word.
   Two boxes are not a list: a list belongs in one box.
2. Without any box, what follows the last cue up to the end of its sentence or line; the line below it if there is
   nothing else on the cue's own. A cue is "final answer is", "Answer:", "答案是", a heading "Final Answer",
   ``<answer>``, or ``####`` before a number in the last line. A cue followed by something mathematical goes before a
   later one that is not: in "The answer is 42. Is the answer: plausible?" it is 42. Where none is, words are an answer.
3. Without a cue, what is emphasised after "is", "are" or "=" at the reply's end ("There are **7**."), or the reply
   itself if it is one short line, little more than the answer.
   In 2 and 3 a farewell ("Hope this helps!") is not part of the reply.
4. Otherwise there is no answer.
"""

from __future__ import annotations

import re
from collections import deque

_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_UNBRACED = re.compile(r"[^\S\n]*(?!\\(?:boxed|fbox))([^\s${}][^\s$]*)")
# Spaces are bounded: unbounded ones beside each other cost the square of a text's length.
_CUE = re.compile(
    r"(?:final\s|correct\s)?(?:answer|答案)(?:\s(?:to|for)\s(?:the|this|your)(?:\s(?:question|problem|exercise))?)?"
    r"[ \t]{0,4}(?:\*\*|__)?[ \t]{0,4}"
    r"(?:\b(?:is|(?:should|must|would|will)\s(?:therefore\s|thus\s|hence\s)?be)\b(?:\s(?:simply|therefore|thus|indeed|exactly|equal\sto)\b)?|\bequals\b"
    r"|应?[是为]|[:：=])[ \t]{0,4}(?:[:：][ \t]{0,4})?(?:\*\*|__)?",
    re.IGNORECASE,
)
# A heading of its own: "**Final Answer**", "## Answer", "Final answer". And the last line of GSM8K, "#### 42".
_HEADING = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]{1,4})?(?:\*\*|__)?[ \t]{0,4}(?:the[ \t])?(?:final[ \t]|correct[ \t])?(?:answer|答案)"
    r"[ \t]{0,4}[:：]?(?:\*\*|__)?[ \t]{0,4}[:：]?[ \t]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_JSON = re.compile(
    r"\"(?:final[ _]?)?answer\"\s{0,4}:\s{0,4}(?P<value>\"(?:[^\"\\\n]|\\.){1,400}\"|-?[\d.]{1,40})\s{0,4}[,}]",
    re.IGNORECASE,
)
# "The number of ways is **7**." at the end of a reply.
_EMPHASISED = re.compile(
    r"(?:\b(?:is|are|equals)\b:?|=)[ \t]{0,4}\*\*(?P<value>[^*\n]{1,100})\*\*[.。]?$", re.IGNORECASE
)
_TAG = re.compile(r"<answer>", re.IGNORECASE)
_HASHES = re.compile(r"^####[ \t]{1,4}(?=[-+$\\(\[{.\d]+)(?!\d{1,3}[.)][ \t])", re.MULTILINE)
# A sentence that speaks about an answer.
_UNMEANT = re.compile(
    r"\b(?:is|was|whether|if|each|every|other|another|wrong|incorrect)[ \t](?:(?:the|my|your)[ \t])?$",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\n\s{0,10}(?:\*\*|_)?(?:i (?:really )?hope|hope (?:this|that|it)|let me know|feel free|please (?:let|feel)|"
    r"good luck|thank|if you (?:have|need|want)|would you like|do you (?:want|need|have)|happy to)\b[^\n]*\s*$",
    re.IGNORECASE,
)
# A digit, a command, an operator, one letter by itself, a number in words, or that there is nothing.
_MATHEMATICAL = re.compile(
    r"\d|\\[A-Za-z]|[=<>^∞√π]|(?<![A-Za-z'’])(?-i:[A-HJ-Zb-hj-z])(?![A-Za-z'’])"
    r"|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|no solutions?|none|infinit\w+|undefined|empty|"
    r"does not exist|impossible|never|real numbers|quadrant)\b|[零一二三四五六七八九十无]",
    re.IGNORECASE,
)
# A full stop inside a number or between letters (a.m.) does not end a sentence.
_SENTENCE_END = re.compile(
    r"[.!?](?=\s|\*|$)(?<![ap]\.m\.)|。|\s\(?(?:because|since|as|which)\b|[,，]\s*(?:because|since|因为)"
    # "7 and not 8"
    r"|(?<=[\d}$)%*])\s{0,3},?\s{0,3}(?:and\s|but\s)?(?:not|rather\sthan)\s{1,3}(?=[-\d\\$({*])"
)
# "The answer is not 8 but 7."
_NOT_BUT = re.compile(r"^\s{0,4}not\s{1,4}[^\s,;]{1,40},?\s{1,4}but\s{1,4}(?:rather\s{1,4})?")
# A line of these alone opens the display on the next.
_NO_CONTENT = re.compile(r"\\[\[\]()]|[\s*_$:：]")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")

LONGEST_BARE = 100
MOST_BARE_WORDS = 4
# They bound the work, whatever the text holds: how many cues are looked at, the last first, and how far behind each.
MOST_CUES = 200
WINDOW = 6_000


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
    text = _without_farewell(text)
    answers = _cued(text)
    if answers is None:
        return _bare(text)
    return next(filter(_is_mathematical, answers), None) or next(iter(answers), None)


def _cued(text: str) -> list[str] | None:
    """Return what follows each of the last cues that is followed by anything, the last first; None without a cue."""
    tail = text.rstrip()
    last_line = tail.rfind("\n") + 1
    cues = deque(_CUE.finditer(text), MOST_CUES)
    ends = {match.end(): match for match in cues}
    for pattern in (_HEADING, _TAG, _JSON):
        ends.update({match.end(): match for match in deque(pattern.finditer(text), MOST_CUES)})
    if hashes := _HASHES.match(text, last_line):
        ends[hashes.end()] = hashes
    if not ends:
        return None
    found = []
    for end in sorted(ends, reverse=True)[:MOST_CUES]:
        cue = ends[end]
        if _UNMEANT.search(text, max(0, cue.start() - 40), cue.start()):
            continue
        value = cue["value"].strip('" ') if cue.re is _JSON else _after_cue(text[end : end + WINDOW])
        if value:
            found.append(value)
    return found


def _is_mathematical(answer: str) -> bool:
    """Return whether an answer holds anything of mathematics, beside the articles "a" and "I"."""
    return _MATHEMATICAL.search(answer) is not None


def _without_farewell(text: str) -> str:
    for _ in range(3):
        head, tail = text[:-WINDOW], text[-WINDOW:]
        match = _FAREWELL.search(tail)
        if match is None:
            break
        text = head + tail[: match.start()]
    return text


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
    inner = _BOX.sub("", content)
    closing = _closing_braces(inner) if inner != content else {}
    start, end = _stripped(inner, 0, len(inner))
    while closing.get(start) == end - 1:
        start, end = _stripped(inner, start + 1, end - 1)
    return inner[start:end]


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the ends of ``text[start:end]`` without the spaces around it."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _after_cue(text: str) -> str | None:
    for line in text.split("\n", 20)[:20]:
        if _NO_CONTENT.sub("", line):
            line = line.partition("</answer>")[0]
            line = _NOT_BUT.sub("", line)
            end = _SENTENCE_END.search(line)
            return _undecorated(line[: end.start()] if end else line) or None
    return None


def _bare(text: str) -> str | None:
    line = text.strip()
    if emphasised := _EMPHASISED.search(line, max(0, len(line) - WINDOW)):
        return _undecorated(emphasised["value"]) or None
    if not line or len(line) > LONGEST_BARE or "\n" in line or re.search(r"[.!?。]\s", line):
        return None
    if len(_WORD.findall(line)) > MOST_BARE_WORDS:
        return None
    return _undecorated(line) or None


def _undecorated(line: str) -> str:
    """Return the line without Markdown emphasis and the full stop at its end."""
    return re.sub(r"[.。]$", "", line.strip(" \t\r*_`")).strip(" \t*_`")
