"""The filled benchmark: the originals, unchanged and in their order, followed by the items that were accepted.

NAME.json is an array of {id, question, answer}, ids ``NAME-origin-000`` and ``NAME-fill-001`` on. A question of
multiple choice has its choices below it, as the models saw them. What a grader needs beyond that (the type of the
answer, the checkers of an instruction) is in the pool, a JSONL file of verifier.items with the same ids. There
``source_item_id`` is the id that an original has in its own benchmark, or a new item had as a candidate, and
``parent_id`` the id, in the filled benchmark, of the item that a new one was written after.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from irt.io import PathLike, atomic_writer
from verifier.items import Item

ORIGIN, FILL = "origin", "fill"


def filled_name(benchmark: str) -> str:
    """Return what ids begin with: the benchmark's name in capitals, aime26 → AIME26."""
    return benchmark.upper()


def filled_pool(name: str, originals: Sequence[Item], accepted: Sequence[Item]) -> list[Item]:
    """Return all items under their new ids, the originals first; ``source_item_id`` keeps the old ones.

    A ``parent_id`` among the old ids becomes a new one; nothing else of an item changes. Numbers have three digits, or
    as many as the largest needs.
    """
    digits = max(3, len(str(max(len(originals) - 1, len(accepted)))))
    items = [*originals, *accepted]
    ids = [
        *(f"{name}-{ORIGIN}-{number:0{digits}}" for number in range(len(originals))),
        *(f"{name}-{FILL}-{number:0{digits}}" for number in range(1, len(accepted) + 1)),
    ]
    now = {item.id: new for item, new in zip(items, ids, strict=True)}
    return [
        replace(item, id=new, source_item_id=item.id, parent_id=now.get(item.parent_id, item.parent_id))
        for item, new in zip(items, ids, strict=True)
    ]


def write_filled(path: PathLike, pool: Sequence[Item]) -> None:
    """Write NAME.json, whole or not at all."""
    entries = [{"id": item.id, "question": shown(item), "answer": item.answer} for item in pool]
    with atomic_writer(path) as handle:
        json.dump(entries, handle, ensure_ascii=False, indent=2)
        handle.write("\n")


def shown(item: Item) -> str:
    """Return the question, for multiple choice with a line for each choice below it unless it lists them itself."""
    options = list(zip(item.labels, item.choices, strict=True))
    if all(
        re.search(rf"^\s*\(?{label}[).:]\s*{re.escape(choice)}", item.question, re.M)
        for label, choice in options
    ):
        return item.question
    return "\n".join([item.question, "", *(f"{label}) {choice}" for label, choice in options)])
