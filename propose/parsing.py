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
from propose.reply_parts import labelled, name_of, objects_in, without_thinking
from verifier.graders.grading import check_item
from verifier.graders.instruction_arguments import ARGUMENTS
from verifier.items import Item, as_fields, item_from_fields
from verifier.pools.source_formats import split_options

_INSTEAD_OF_ANSWER = "solution"  # the key in some replies, the whole working in others
_LABEL_BEFORE_QUESTION = re.compile(
    r"\s*[*_]{0,2}(?:question|problem)[*_]{0,2}\s*[:：][*_]{0,2}\s*", re.IGNORECASE
)
SHORTEST_QUESTION = 12  # characters
LONGEST_NUMBER = 20  # in arguments of instructions, where numbers are counts


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
        return _item_of(without_thinking(text), parent, item_id)
    except NotReadable as error:
        return _unreadable(error)
    except _No as error:
        return error.unusable


def _unreadable(error: NotReadable) -> Unusable:
    return Unusable("truncated" if error.cut_off else "malformed", str(error))


def _item_of(text: str, parent: Item, item_id: str) -> Item:
    found: dict[Item, None] = {}
    refused: list[_No] = []
    objects, unreadable = objects_in(text)
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
        raise unreadable
    if refused:
        raise refused[-1]
    if (fields := labelled(text)) is not None:
        return _item(fields, parent, item_id)
    if unreadable is not None:
        raise unreadable
    raise _No("malformed", "no item in the reply")


# What is in it -------------------------------------------------------------------------------------------------------


def _fields(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields by our names; what has none is left out.

    A field may be there twice, by two names, if both say the same.
    """
    fields: dict[str, Any] = {}
    for key, value in pairs:
        name = name_of(key)
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
        if len(value.text) > LONGEST_NUMBER:
            raise _No("malformed", f"a number of {len(value.text)} characters in kwargs")
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
