"""An item: the question, the key, and how an answer to it is judged. One item a line in a JSONL file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from irt.io import InputError, PathLike, atomic_writer, open_text

ANSWER_TYPES = ("math", "choice", "instructions")
# "\frac" in JSON is a form feed and "rac". A tab may be meant, unless a LaTeX command goes on behind it.
_SWALLOWED_BACKSLASH = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f]\w{0,10}|\r(?!\n)\w{0,10}|\t(?:imes|ext|heta|an|frac|au|riangle|o)\b"
)
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Item:
    """One question of a benchmark.

    Attributes
    ----------
    answer
        The key: LaTeX or plain text for ``math``, the label (A, B, ...) of the right choice for ``choice``, None for
        ``instructions``, which are judged by program.
    choices
        The texts of the options, for ``choice`` alone; the first is A.
    instruction_ids, kwargs
        For ``instructions`` alone: the IFEval checkers and the arguments of each.
    source, licence
        Where the item comes from, and the licence there; may be empty.
    source_item_id
        The id that it has there, or had as a candidate; may be empty.
    parent_id
        Of the item of the same file that it was written after; empty for an item that was not.
    """

    id: str
    question: str
    answer: str | None
    answer_type: str
    choices: tuple[str, ...] = ()
    instruction_ids: tuple[str, ...] = ()
    kwargs: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    source: str = ""
    licence: str = ""
    source_item_id: str = ""
    parent_id: str = ""

    @property
    def labels(self) -> str:
        """The labels of the choices, one letter each; empty for other items."""
        return LABELS[: len(self.choices)]

    @property
    def key(self) -> str | None:
        """What a verdict rests on beside the text: the answer, or a hash of the instructions and their arguments."""
        if self.answer_type != "instructions":
            return self.answer
        rules = json.dumps(
            [self.instruction_ids, [dict(arguments) for arguments in self.kwargs]], sort_keys=True
        )
        return hashlib.sha256(rules.encode()).hexdigest()[:16]

    @property
    def guessing(self) -> float:
        """The probability that a blind guess is right: 1 / choices, or 0 where there is nothing to choose from."""
        return 1 / len(self.choices) if self.choices else 0.0


def read_items(path: PathLike) -> list[Item]:
    """Read a JSONL file of items, in the order of the file.

    Raises
    ------
    InputError
        With path:line, for a line that is not an item, an id that occurs twice, or a file without items.
    """
    items: dict[str, Item] = {}
    # The file object splits lines at newlines alone; str.splitlines() would also split at U+2028 inside a text.
    with open_text(path) as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            item = item_from_fields(_fields(line, f"{path}:{number}"), f"{path}:{number}")
            if item.id in items:
                raise InputError(f"{path}:{number}: id {item.id!r} occurs twice; give each item its own")
            items[item.id] = item
    if not items:
        raise InputError(
            f"{path}: holds no items; write one JSON object a line (id, question, answer, answer_type)"
        )
    return list(items.values())


def write_items(path: PathLike, items: Iterable[Item]) -> None:
    """Write items as JSONL, the whole file or nothing."""
    with atomic_writer(path) as handle:
        for item in items:
            handle.write(json.dumps(as_fields(item), ensure_ascii=False) + "\n")


def as_fields(item: Item) -> dict[str, Any]:
    """Return the item as its JSON object; what its answer type does not use is left out."""
    fields: dict[str, Any] = {
        "id": item.id,
        "question": item.question,
        "answer": item.answer,
        "answer_type": item.answer_type,
    }
    if item.answer_type == "choice":
        fields["choices"] = list(item.choices)
    if item.answer_type == "instructions":
        fields["instruction_ids"] = list(item.instruction_ids)
        fields["kwargs"] = [dict(arguments) for arguments in item.kwargs]
    origin = {name: getattr(item, name) for name in ("source_item_id", "parent_id") if getattr(item, name)}
    return fields | {"source": item.source, "licence": item.licence} | origin


def item_from_fields(fields: Any, where: str) -> Item:
    """Check one JSON object and return it as an item; ``where`` begins every error message.

    Raises
    ------
    InputError
        If a field is missing, unknown, of the wrong type, or does not fit the answer type.
    """
    if not isinstance(fields, dict):
        raise InputError(f"{where}: must be a JSON object, found {type(fields).__name__}")
    known = set(Item.__dataclass_fields__)
    if unknown := sorted(set(fields) - known):
        raise InputError(f"{where}: unknown field {unknown[0]!r}; an item has {', '.join(sorted(known))}")
    if "answer_type" not in fields or fields["answer_type"] not in ANSWER_TYPES:
        raise InputError(
            f"{where}: answer_type must be one of {', '.join(ANSWER_TYPES)}, found {fields.get('answer_type')!r}"
        )
    for name in ("id", "question"):
        _check_text(fields.get(name), f"{where}: {name}")
    for name in ("source", "licence", "source_item_id", "parent_id"):
        if not isinstance(fields.get(name, ""), str):
            raise InputError(f"{where}: {name} must be a text, found {fields[name]!r}")
    item = Item(
        id=fields["id"],
        question=fields["question"],
        answer=fields.get("answer"),
        answer_type=fields["answer_type"],
        choices=_texts(fields, "choices", where),
        instruction_ids=_texts(fields, "instruction_ids", where),
        kwargs=_arguments(fields, where),
        source=fields.get("source", ""),
        licence=fields.get("licence", ""),
        source_item_id=fields.get("source_item_id", ""),
        parent_id=fields.get("parent_id", ""),
    )
    _check_key(item, where)
    return item


def _fields(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or nesting as deep
        raise InputError(f"{where}: not an item ({error})") from error


def _check_text(value: Any, what: str) -> None:
    if value is None:
        raise InputError(f"{what} is missing")
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} must be a text that is not blank, found {value!r}; write numbers in quotes")
    if not value.isprintable() and re.search(r"[\ud800-\udfff]", value):
        raise InputError(f"{what} has half of a surrogate pair in it, which is no character: {value!r}")
    if found := _SWALLOWED_BACKSLASH.search(value):
        escape = json.dumps(found[0][0])[1:-1]
        raise InputError(
            f"{what} has a control character ({escape}) in {found[0]!r}: in JSON a backslash is doubled, "
            "\\\\frac for \\frac"
        )


def _texts(fields: dict[str, Any], name: str, where: str) -> tuple[str, ...]:
    values = fields.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(f"{where}: {name} must be a list of texts, found {values!r}")
    for number, value in enumerate(values, 1):
        _check_text(value, f"{where}: {name} {number}")
    return tuple(values)


def _arguments(fields: dict[str, Any], where: str) -> tuple[dict[str, Any], ...]:
    values = fields.get("kwargs", [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputError(f"{where}: kwargs must be a list of objects, one an instruction, found {values!r}")
    return tuple(values)


def _check_key(item: Item, where: str) -> None:
    """Hold the key and what goes with it to the answer type."""
    if item.answer_type == "instructions":
        if not item.instruction_ids or len(item.kwargs) != len(item.instruction_ids):
            raise InputError(
                f"{where}: instructions need instruction_ids and kwargs of the same length, found "
                f"{len(item.instruction_ids)} and {len(item.kwargs)}"
            )
        if item.answer is not None:
            raise InputError(f"{where}: instructions are judged by program; answer must be null")
        return
    _check_text(item.answer, f"{where}: answer")
    if item.answer_type == "choice":
        if not 2 <= len(item.choices) <= len(LABELS):
            raise InputError(f"{where}: a choice needs 2 to {len(LABELS)} choices, found {len(item.choices)}")
        if item.answer not in tuple(item.labels):
            raise InputError(
                f"{where}: answer must be one of {item.labels[0]} to {item.labels[-1]}, found {item.answer!r}"
            )
    elif item.choices or item.instruction_ids or item.kwargs:
        raise InputError(f"{where}: a math item has no choices, instruction_ids or kwargs")
