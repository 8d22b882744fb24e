"""Finds what may be an item in a rewriter's reply: objects in fences or anywhere, or a text with headings."""

from __future__ import annotations

import re
from typing import Any

from propose.loose_json import NotReadable, Pairs, read_loosely
from verifier.reply import END_OF_THINKING, START_OF_THINKING

# What a field may be called, in small letters without blanks, hyphens and underscores.
_CALLED = {
    "question": "question problem prompt newquestion newproblem questiontext stem 题目 问题",
    "answer": "answer finalanswer correctanswer correct key answerkey correctoption correctchoice answerletter gold "
    "答案 正确答案",
    "choices": "choices options 选项",
    "instruction_ids": "instructionids instructionidlist instructions",
    "kwargs": "kwargs arguments args",
}
_NAME_OF = {called: name for name, names in _CALLED.items() for called in names.split()}
# Nothing is given back (*+, ++): a line of backticks alone would be tried in as many ways as the square of its length.
_FENCE = re.compile(r"^[ \t>]*+(```++|~~~++)[^\n]*+\n(.*?)(?:^[ \t>]*+\1|\Z)", re.DOTALL | re.MULTILINE)
_OBJECT = re.compile(r"(?<!\\)[{\[]\s*(?:[{\"'“”「#]|/[/*]|\w+\s*[:：])")
_HEADING = re.compile(
    r"^[ \t]*(?:#+[ \t]*)?[*_]{0,3}(?:new[ \t]+)?(question|problem|answer|final answer|题目|问题|答案)"
    r"(?:[*_]{0,3}[ \t]*[:：][*_]{0,3}|[*_]{0,3}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_STARTS = 40


def without_thinking(text: str) -> str:
    """Return a reply without its thoughts; some servers send only the tag that ends them.

    Raises
    ------
    NotReadable
        If nothing is left.
    """
    *thoughts, last = text.split(END_OF_THINKING)
    kept = ""
    for part in thoughts:
        before, starts, _ = part.partition(START_OF_THINKING)
        kept = kept + before if starts else ""
    last, starts, _ = last.partition(START_OF_THINKING)
    text = kept + last
    if not text.strip():
        raise NotReadable(
            "the reply ends inside its thinking" if starts else "the reply is empty", cut_off=bool(starts)
        )
    return text


def objects_in(text: str) -> tuple[list[Pairs], NotReadable | None]:
    """Return the objects that may be items, and why the last one that could not be read could not.

    They are in fences, or, where none is there, anywhere.
    """
    objects: list[Pairs] = []
    unreadable: NotReadable | None = None
    # Last the whole text: a fence may be on one line with the object, or inside a string of it.
    for block in (*(fence[2] for fence in _FENCE.finditer(text)), text):
        if block is text and objects:
            break
        at = 0
        for _ in range(_MOST_STARTS):
            start = _OBJECT.search(block, at)
            if start is None:
                break
            try:
                value, at = read_loosely(block, start.start())
            except NotReadable as error:
                unreadable, at = error, start.start() + 1
            else:
                objects += _candidates(value)
    return objects, unreadable


def _candidates(value: Any) -> list[Pairs]:
    """Return the objects in a value that have a question: itself, those of a list, or the one inside a wrapper."""
    if isinstance(value, tuple):
        return [pairs for one in value for pairs in _candidates(one)]
    if not isinstance(value, list):
        return []
    if {name_of(key) for key, _ in value} & {"question", "answer"}:
        return [value]
    inside = [pairs for _, one in value for pairs in _candidates(one)]
    return inside or [value]


def name_of(key: str) -> str | None:
    """Return our name of a field, or None if it is none of an item's."""
    return _NAME_OF.get(re.sub(r"[\s_-]", "", key).casefold())


def labelled(text: str) -> dict[str, Any] | None:
    """Return the fields of a reply that has no object and says "Question: ..." and "Answer: ..." once each."""
    headings = list(_HEADING.finditer(text))
    names = [name_of(heading[1].lower().replace(" ", "")) for heading in headings]
    if names != ["question", "answer"]:
        return None
    question = text[headings[0].end() : headings[1].start()].strip()
    answer, _, rest = text[headings[1].end() :].strip().partition("\n")
    if rest.strip(" \n*_-`"):
        return None  # an explanation, or a second thought
    return {"question": question, "answer": answer.strip(" *_")}
