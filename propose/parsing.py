r"""Reads the item in a rewriter's reply, however it is written; refuses, with the reason, what is not certain.

A key is never guessed: where two answers are there, or one that fits no choice, or two different items, there is none.
How the JSON may be written is told in propose/loose_json.py; what its fields may be called and hold, here.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from irt.io import InputError
from propose.loose_json import NotReadable, Number, read_loosely
from propose.read_key import NoKey, choice_key, choices_of, math_key, without_choices
from verifier.graders.grading import check_item
from verifier.graders.instruction_arguments import ARGUMENTS
from verifier.items import Item, as_fields, item_from_fields
from verifier.pools.source_formats import split_options
from verifier.reply import END_OF_THINKING, START_OF_THINKING

# What a field may be called, in small letters without blanks, hyphens and underscores.
_CALLED = {
    "question": (
        "question",
        "problem",
        "prompt",
        "newquestion",
        "newproblem",
        "questiontext",
        "stem",
        "题目",
        "问题",
    ),
    "answer": (
        *(
            "answer",
            "finalanswer",
            "correctanswer",
            "correct",
            "key",
            "answerkey",
            "correctoption",
            "correctchoice",
        ),
        *("answerletter", "gold", "答案", "正确答案"),
    ),
    "choices": ("choices", "options", "选项"),
    "instruction_ids": ("instructionids", "instructionidlist", "instructions"),
    "kwargs": ("kwargs", "arguments", "args"),
}
_NAME_OF = {called: name for name, names in _CALLED.items() for called in names}
_INSTEAD_OF_ANSWER = "solution"  # the key in some replies, the whole working in others
_FENCE = re.compile(
    r"^[ \t>]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE
)
_OBJECT = re.compile(r"(?<!\\)[{\[]\s*(?:[{\"'“”「#]|/[/*]|\w+\s*[:：])")
_HEADING = re.compile(
    r"^[ \t]*(?:#+[ \t]*)?[*_]{0,3}(?:new[ \t]+)?(question|problem|answer|final answer|题目|问题|答案)"
    r"(?:[*_]{0,3}[ \t]*[:：][*_]{0,3}|[*_]{0,3}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL_BEFORE_QUESTION = re.compile(
    r"\s*[*_]{0,2}(?:question|problem)[*_]{0,2}\s*[:：][*_]{0,2}\s*", re.IGNORECASE
)
SHORTEST_QUESTION = 12  # characters
_MOST_STARTS = 40


@dataclass(frozen=True)
class Unusable:
    """Why there is no item.

    Attributes
    ----------
    reason
        ``truncated``: the reply ends inside its item. ``malformed``: no item, or none that is certain. ``wrong_type``:
        an item of another kind than its parent. ``ungradable``: instructions that no program can judge. All are
        reasons of propose.candidate.
    detail
        What is wrong, for people.
    """

    reason: str
    detail: str


class _No(Exception):
    """There is no item, for this reason."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.unusable = Unusable(reason, detail)


def parse_reply(text: str, parent: Item, item_id: str) -> Item | Unusable:
    """Return the item of a reply, with this id, the parent's answer type and its number of choices.

    Parameters
    ----------
    text
        The reply as served.
    """
    try:
        return _item_of(_without_thinking(text), parent, item_id)
    except _No as error:
        return error.unusable


def _without_thinking(text: str) -> str:
    """Return a reply without its thoughts; some servers send only the tag that ends them."""
    *thoughts, last = text.split(END_OF_THINKING)
    kept = ""
    for part in thoughts:
        before, starts, _ = part.partition(START_OF_THINKING)
        kept = kept + before if starts else ""
    last, starts, _ = last.partition(START_OF_THINKING)
    text = kept + last
    if starts and not text.strip():
        raise _No("truncated", "the reply ends inside its thinking")
    if not text.strip():
        raise _No("malformed", "the reply is empty")
    return text


def _item_of(text: str, parent: Item, item_id: str) -> Item:
    found: dict[Item, None] = {}
    refused: list[_No] = []
    objects, unreadable = _objects(text)
    for pairs in objects:
        try:
            found[_item(_fields(pairs), parent, item_id)] = None
        except _No as error:
            refused.append(error)
    if len(found) > 1:
        raise _No("malformed", f"{len(found)} different items; one was asked for")
    if found:
        return next(iter(found))
    if unreadable is not None and unreadable.cut_off:
        raise _No("truncated", str(unreadable))
    if refused:
        raise refused[-1]
    if (fields := _labelled(text)) is not None:
        return _item(fields, parent, item_id)
    if unreadable is not None:
        raise _No("malformed", str(unreadable))
    raise _No("malformed", "no item in the reply")


# Where the item is -----------------------------------------------------------------------------------------------


def _objects(text: str) -> tuple[list[list[tuple[str, Any]]], NotReadable | None]:
    """Return the objects that may be items, and why the last one that could not be read could not.

    They are in fences, or, where none is there, anywhere.
    """
    objects: list[list[tuple[str, Any]]] = []
    unreadable: NotReadable | None = None
    # Last the whole text: a fence may be on one line with the object, or inside a string of it.
    for block in (*(fence[3] for fence in _FENCE.finditer(text)), text):
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


def _candidates(value: Any) -> list[list[tuple[str, Any]]]:
    """Return the objects in a value that have a question: itself, those of a list, or the one inside a wrapper."""
    if isinstance(value, tuple):
        return [pairs for one in value for pairs in _candidates(one)]
    if not isinstance(value, list):
        return []
    if any(_name(key) == "question" for key, _ in value) or any(_name(key) == "answer" for key, _ in value):
        return [value]
    inside = [pairs for _, one in value for pairs in _candidates(one)]
    return inside or [value]


def _name(key: str) -> str | None:
    return _NAME_OF.get(re.sub(r"[\s_-]", "", key).casefold())


def _labelled(text: str) -> dict[str, Any] | None:
    """Return the fields of a reply that has no object and says "Question: ..." and "Answer: ..." once each."""
    headings = list(_HEADING.finditer(text))
    names = [_name(heading[1].lower().replace(" ", "")) for heading in headings]
    if names != ["question", "answer"]:
        return None
    question = text[headings[0].end() : headings[1].start()].strip()
    answer, _, rest = text[headings[1].end() :].strip().partition("\n")
    if rest.strip(" \n*_-`"):
        return None  # an explanation, or a second thought
    return {"question": question, "answer": answer.strip(" *_")}


# What is in it -------------------------------------------------------------------------------------------------------


def _fields(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields by our names; what has none is left out.

    A field may be there twice, by two names, if both say the same.
    """
    fields: dict[str, Any] = {}
    for key, value in pairs:
        name = _name(key)
        if name is None or value is None and name in fields:
            continue
        if fields.get(name) is not None and not _same(fields[name], value):
            raise _No("malformed", f"two different values of {name}")
        fields[name] = value
    others = {re.sub(r"[\s_-]", "", key).casefold(): value for key, value in pairs}
    if fields.get("answer") is None and _INSTEAD_OF_ANSWER in others:
        fields["answer"] = others[_INSTEAD_OF_ANSWER]
    return fields


def _same(one: Any, other: Any) -> bool:
    return (one.text if isinstance(one, Number) else one) == (
        other.text if isinstance(other, Number) else other
    )


def _item(fields: dict[str, Any], parent: Item, item_id: str) -> Item:
    question = _question(fields.get("question"))
    if parent.answer_type == "instructions":
        item = _instructions(fields, question, item_id)
    elif parent.answer_type == "choice":
        item = _choice(fields, question, parent, item_id)
    else:
        if fields.get("choices"):
            raise _No("wrong_type", "it has choices, and its parent has none")
        item = Item(item_id, question, _key(math_key, fields.get("answer")), "math")
    return _checked(replace(item, source=f"written after {parent.id}", licence=parent.licence))


def _question(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _No("malformed", "no question")
    text = _LABEL_BEFORE_QUESTION.sub("", value, count=1) if _LABEL_BEFORE_QUESTION.match(value) else value
    text = re.sub(r"&(lt|gt|amp|quot|#39);", lambda entity: html.unescape(entity[0]), text)
    text = "\n".join(line.rstrip() for line in text.strip().splitlines())
    if len(text) < SHORTEST_QUESTION:
        raise _No("malformed", f"the question is only {text!r}")
    return text


def _key(read: Any, *values: Any) -> str:
    try:
        return str(read(*values))
    except NoKey as error:
        raise _No("malformed", str(error)) from error


def _choice(fields: dict[str, Any], question: str, parent: Item, item_id: str) -> Item:
    try:
        choices = choices_of(fields.get("choices"))
    except NoKey as error:
        raise _No("malformed", str(error)) from error
    if not choices:
        try:
            question, choices = split_options(question, "question")
        except InputError:
            raise _No("malformed", "no choices") from None
    question = without_choices(question, choices)
    if len(choices) != len(parent.choices):
        raise _No("wrong_type", f"{len(choices)} choices, where the parent has {len(parent.choices)}")
    folded = [unicodedata.normalize("NFKC", " ".join(choice.split())) for choice in choices]
    if len(set(folded)) < len(folded):
        raise _No("malformed", "two choices are the same")
    return Item(item_id, question, _key(choice_key, fields.get("answer"), choices), "choice", choices)


def _instructions(fields: dict[str, Any], question: str, item_id: str) -> Item:
    ids = fields.get("instruction_ids")
    ids = (ids,) if isinstance(ids, str) else ids
    if not isinstance(ids, tuple) or not ids or not all(isinstance(one, str) for one in ids):
        raise _No("malformed", "no list of instruction_ids")
    ids = tuple(one.strip() for one in ids)
    kwargs = fields.get("kwargs")
    if isinstance(kwargs, str) and kwargs.strip().startswith(("[", "{")):
        try:
            kwargs, _ = read_loosely(kwargs)
        except NotReadable as error:
            raise _No("malformed", f"kwargs: {error}") from error
    if isinstance(kwargs, list) and len(ids) == 1:
        kwargs = (kwargs,)
    if kwargs in (None, ()) and not any(ARGUMENTS.get(one) for one in ids):
        kwargs = ([],) * len(ids)
    if not isinstance(kwargs, tuple) or len(kwargs) != len(ids):
        raise _No("malformed", "kwargs must be a list with one object an instruction")
    item = Item(
        item_id,
        question,
        None,
        "instructions",
        instruction_ids=ids,
        kwargs=tuple(_arguments(one) for one in kwargs),
    )
    try:
        check_item(item)
    except InputError as error:
        raise _No("ungradable", str(error).removeprefix(f"{item_id}: ")) from error
    return item


def _arguments(value: Any) -> dict[str, Any]:
    """Return the arguments of one instruction; null is how some files say that there is none."""
    if value is None or value == ():
        return {}
    if not isinstance(value, list):
        raise _No("malformed", "kwargs must be a list with one object an instruction")
    return {key: _plain(one) for key, one in value if one is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Number):
        return int(value.text) if re.fullmatch(r"[-+]?\d+", value.text) else float(value.text)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return {key: _plain(one) for key, one in value} if isinstance(value, list) else value


def _checked(item: Item) -> Item:
    """Hold the item to what a pool holds its items to."""
    try:
        return item_from_fields(as_fields(item), item.id)
    except InputError as error:
        raise _No("malformed", str(error).removeprefix(f"{item.id}: ")) from error
