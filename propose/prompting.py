"""The prompt that asks for a new item: one plain file a benchmark family in propose/prompts/, with ``{{fields}}``.

A benchmark of yours has its own prompt if there is a file of its name; else it gets general.txt, or simulated.txt where
the item is one that verifier.simulated made.

The fields, filled from a ``propose.candidate.Brief``: target_pass_rate, parent (its question, choices and key),
parent_pass_rate, direction (harder or easier), neighbours and misses (each a section with its heading, or nothing), and
reply_format (propose/prompts/reply/, one a type of answer). The lines on the target, the parent and the misses keep the
words that they have: the simulated rewriter reads them, see verifier/simulated/rewriter.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irt.io import InputError
from propose.candidate import Brief, Miss
from verifier.graders.instruction_arguments import ARGUMENTS
from verifier.items import Item
from verifier.simulated.families import is_simulated

FOLDER = Path(__file__).with_name("prompts")
MOST_MISSES = 6
MOST_NEIGHBOURS = 4
_FIELD = re.compile(r"\{\{(\w+)\}\}")
_NEAR = 0.03  # pass rates that differ by less are the same


@dataclass(frozen=True)
class Family:
    """A kind of benchmark.

    Attributes
    ----------
    prompt
        The name of its file, without .txt.
    whole_numbers
        The lowest and highest answer, where answers are whole numbers.
    """

    prompt: str
    whole_numbers: tuple[int, int] | None = None


FAMILIES = {
    "aime24": Family("competition", (0, 999)),
    "aime25": Family("competition", (0, 999)),
    "aime26": Family("competition", (0, 999)),
    "amc23": Family("competition"),
    "gaokao2023en": Family("exam"),
    "bbh_3obj": Family("logic"),
    "mmlu_bio": Family("biology"),
    "ifeval": Family("instructions"),
}
GENERAL = "general"
# What a prompt can show, and what it must.
NEEDED = ("target_pass_rate", "parent", "reply_format")
FIELDS = (*NEEDED, "parent_pass_rate", "direction", "neighbours", "misses")


def family_of(benchmark: str) -> Family:
    """Return the family of a benchmark, by its name."""
    if (FOLDER / f"{benchmark}.txt").is_file() and re.fullmatch(r"[\w-]+", benchmark):
        return Family(benchmark)
    return FAMILIES.get(benchmark, Family(GENERAL))


def family_for(benchmark: str, parent: Item) -> Family:
    """Return the family whose prompt asks for a child of an item of a benchmark."""
    family = family_of(benchmark)
    if family.prompt == GENERAL and is_simulated(parent.question):
        return Family("simulated")
    return family


def check_prompts(benchmark: str, items: Sequence[Item]) -> None:
    """Check the prompt files that a run with these items will fill in.

    Raises
    ------
    InputError
        If a file has a field that does not exist, or lacks one without which no item could come of it.
    """
    for path in sorted({FOLDER / f"{family_for(benchmark, item).prompt}.txt" for item in items}):
        used = set(_FIELD.findall(_read(path)))
        if unknown := used - set(FIELDS):
            raise InputError(f"{path}: no field {{{{{min(unknown)}}}}}; there are {', '.join(FIELDS)}")
        if missing := [name for name in NEEDED if name not in used]:
            raise InputError(f"{path}: without {{{{{missing[0]}}}}} no item can come of it; put it in")


def rewrite_prompt(brief: Brief) -> str:
    """Return the text that asks the rewriter for one child of the brief's parent.

    Raises
    ------
    InputError
        If the prompt file has a field that does not exist.
    """
    family = family_for(brief.benchmark, brief.parent)
    fields = {
        "target_pass_rate": _percent(brief.target_pass_rate),
        "parent": _shown(brief.parent),
        "parent_pass_rate": _percent(brief.parent_pass_rate),
        "direction": _direction(brief.parent_pass_rate, brief.target_pass_rate),
        "neighbours": _neighbours(brief.neighbours),
        "misses": _misses(brief.misses),
        "reply_format": _reply_format(brief.parent, family),
    }
    return _fill(FOLDER / f"{family.prompt}.txt", fields)


def _fill(path: Path, fields: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise InputError(f"{path}: no field {{{{{match[1]}}}}}; there are {', '.join(fields)}")
        return fields[match[1]]

    text = _FIELD.sub(value, _read(path))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}".removesuffix(".0") + " %"


def _direction(now: float, target: float) -> str:
    if abs(now - target) < _NEAR:
        return "about as hard as the parent, but a different problem"
    return "harder than the parent" if target < now else "easier than the parent"


def _shown(item: Item) -> str:
    """Return an item with its key, as the rewriter sees it."""
    parts = [item.question]
    if item.answer_type == "choice":
        parts.append(
            "\n".join(f"{label}) {text}" for label, text in zip(item.labels, item.choices, strict=True))
        )
    if item.answer_type == "instructions":
        parts.append(
            f"instruction_ids: {json.dumps(item.instruction_ids)}\n"
            f"kwargs: {json.dumps([dict(one) for one in item.kwargs], ensure_ascii=False)}"
        )
    else:
        parts.append(f"Answer: {item.answer}")
    return "\n\n".join(parts)


def _neighbours(neighbours: Sequence[tuple[Item, float]]) -> str:
    if not neighbours:
        return ""
    shown = [
        f"### Measured pass rate {_percent(rate)}\n\n{_shown(item)}"
        for item, rate in neighbours[:MOST_NEIGHBOURS]
    ]
    return "\n\n".join(["## Other items, to compare with", *shown])


def _misses(misses: Sequence[Miss]) -> str:
    if not misses:
        return ""
    lines = [
        f"- aimed at {_percent(miss.aimed)}, measured {_percent(miss.measured)}: {_verdict(miss)}"
        for miss in misses[:MOST_MISSES]
    ]
    return "\n".join(["## Your earlier items, and what the panel made of them", "", *lines])


def _verdict(miss: Miss) -> str:
    if abs(miss.aimed - miss.measured) < _NEAR:
        return "it hit"
    return "it was too easy" if miss.measured > miss.aimed else "it was too hard"


def _reply_format(parent: Item, family: Family) -> str:
    path = FOLDER / "reply" / f"{parent.answer_type}.txt"
    if parent.answer_type == "math":
        answer = "a value in LaTeX or plain text, alone"
        if family.whole_numbers:
            answer = "a whole number from {} to {}".format(*family.whole_numbers)
        elif family.prompt == "competition":
            answer = "one number"
        return _fill(path, {"answer": answer}).strip()
    if parent.answer_type == "choice":
        fields = {"count": str(len(parent.choices)), "first": parent.labels[0], "last": parent.labels[-1]}
        return _fill(path, fields).strip()
    known = "\n".join(
        f"- {name}: {', '.join(f'{key} ({kind[1]})' for key, kind in arguments.items()) or 'no arguments'}"
        for name, arguments in ARGUMENTS.items()
    )
    return _fill(path, {"instructions": known}).strip()
