"""What is wrong with the items of a pool: broken ones are named and left out, doubtful ones are named and kept.

An item is broken only where that is certain: a key that is empty or carries words which belong elsewhere, a question
that ends inside a word or gives its own answer, a key that its grader cannot read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from irt.io import InputError, PathLike, open_text
from verifier.items import Item, as_fields, item_from_fields

SHOWN = 80  # characters of a value in a finding
# "$145$solution: ": what followed the answer on the page was taken along.
STRAY_WORDS = re.compile(r"\b(?:answers?|solutions?|explanations?)\s*[:：]", re.IGNORECASE)
# "...at least one saddle point.answers: $\frac{3}{10}$" at a question's end.
ANSWER_GIVEN = re.compile(r"(?:answers?|solutions?)\s*[:：]\s*", re.IGNORECASE)
FIGURE = re.compile(
    r"\b(?:figure|diagram|picture|graph|plot) (?:below|above|shown)|\b(?:shown|shaded|pictured)\b", re.I
)
DRAWN = re.compile(r"\\begin\{(?:tikzpicture|tabular|array)\}|\[asy\]")


@dataclass(frozen=True)
class Finding:
    """Something about one item: its id, what it is, and the value that shows it."""

    id: str
    what: str
    value: str

    def __str__(self) -> str:
        """Return the finding as one line."""
        return f"{self.id}: {self.what}: {self.value}"


@dataclass(frozen=True)
class PoolReport:
    """The outcome of a pool check.

    Attributes
    ----------
    items
        Those that are not broken, in their order, with their ids.
    broken
        The items left out, one finding each.
    duplicates
        Items whose question and choices occurred before; kept. Where the keys differ too, the finding says so.
    doubtful
        Items that may need a figure which the text does not hold; kept.
    """

    items: tuple[Item, ...]
    broken: tuple[Finding, ...]
    duplicates: tuple[Finding, ...]
    doubtful: tuple[Finding, ...]


def check_pool(items: Sequence[Item], defects: Mapping[str, str] | None = None) -> PoolReport:
    """Check items, and separate the broken ones.

    Parameters
    ----------
    defects
        Ids of items that are known to be broken, each with why.
    """
    known = defects or {}
    broken: list[Finding] = []
    kept: list[Item] = []
    for item in items:
        finding = _known(item, known) or _broken(item)
        if finding:
            broken.append(finding)
        else:
            kept.append(item)
    return PoolReport(tuple(kept), tuple(broken), tuple(_duplicates(kept)), tuple(_doubtful(kept)))


def check_file(path: PathLike) -> PoolReport:
    """Check a JSONL file of items; a line that is no item is a finding, with the line as its id.

    Raises
    ------
    InputError
        If the file holds no line at all, or cannot be read.
    """
    items: dict[str, Item] = {}
    unreadable: list[Finding] = []
    with open_text(path) as handle:
        for number, line in enumerate(handle, 1):
            where = f"{path}:{number}"
            if not line.strip():
                continue
            try:
                item = item_from_fields(json.loads(line), where)
            except (json.JSONDecodeError, RecursionError):
                unreadable.append(Finding(where, "not JSON", _shown(line.strip())))
            except InputError as error:
                unreadable.append(Finding(where, "not an item", str(error).removeprefix(f"{where}: ")))
            else:
                if item.id in items:
                    unreadable.append(Finding(where, "an id that occurred before", item.id))
                items.setdefault(item.id, item)
    if not items and not unreadable:
        raise InputError(f"{path}: holds no items; write one JSON object a line")
    report = check_pool(tuple(items.values()))
    return replace(report, broken=(*unreadable, *report.broken))


# Broken --------------------------------------------------------------------------------------------------------


def _known(item: Item, defects: Mapping[str, str]) -> Finding | None:
    return Finding(item.id, defects[item.id], _shown(item.answer or "")) if item.id in defects else None


def _broken(item: Item) -> Finding | None:
    """Return the first thing that is certainly wrong with the item."""
    question, answer = item.question.strip(), item.answer or ""
    if item.answer_type != "instructions" and not answer.strip():
        return Finding(item.id, "the answer is empty; the question ends", _shown(question[-SHOWN:]))
    if item.answer_type == "math" and STRAY_WORDS.search(answer):
        return Finding(item.id, "the answer carries stray words", _shown(answer))
    if (given := _answer_given(question)) and _bare(question[given.end() :]) == _bare(answer) != "":
        return Finding(item.id, "the question ends with its answer", _shown(question[given.start() :]))
    if item.answer_type != "instructions" and (word := _cut_word(question)):
        return Finding(item.id, f"the question ends inside the word {word!r}", _shown(question[-SHOWN:]))
    try:
        item_from_fields(as_fields(item), "item")
    except InputError as error:
        return Finding(item.id, "not an item", _shown(str(error).removeprefix("item: ")))
    if item.answer_type == "choice":
        return _ambiguous(item)
    return _ungradable(item)


def _answer_given(question: str) -> re.Match[str] | None:
    """Return the first "Answer:" with all that follows it on one line, the last; None if there is none."""
    last_line = question.rfind("\n") + 1
    cues = ANSWER_GIVEN.finditer(question)
    return next((cue for cue in cues if last_line <= cue.end() < len(question)), None)


def _cut_word(question: str) -> str | None:
    """Return the word that the question breaks off in: it ends in "High Sc" and has "High School" before.

    The last word must be a beginning of the other, follow the same word, and occur nowhere by itself. Names in capital
    letters are none: a question may end in "triangle ABC" and speak of pyramid ABCD before.
    """
    *_, words, last = ("", "", *question.rsplit(maxsplit=2))
    # Read from its end: a search for a word's end takes the square of its length.
    backwards = re.match(r"\w+", words[::-1])
    if backwards is None or last.isupper() or not re.fullmatch(r"[^\W\d_]{2,}", last):
        return None
    text = question.removesuffix(last)
    if re.search(rf"\b{last}\b", text):
        return None
    longer = re.search(rf"\b{backwards[0][::-1]}\s+({last}[^\W\d_]+)", text)
    return longer[1] if longer else None


def _ambiguous(item: Item) -> Finding | None:
    """Return a finding if the right choice is there twice. Case counts: Bb and BB are different genotypes."""
    texts = [" ".join(choice.split()) for choice in item.choices]
    right = texts[item.labels.index(item.answer or "")]
    if texts.count(right) > 1:
        return Finding(item.id, "the right choice is there twice", _shown(right))
    return None


def _ungradable(item: Item) -> Finding | None:
    """Return a finding if not even the key itself would be taken for right, or the instructions cannot be judged."""
    # Imported here: a pool of choices needs neither grader.
    if item.answer_type == "math":
        from verifier.graders.math_grader import grade_math, readable

        answer = item.answer or ""
        if not readable(answer):
            return Finding(item.id, "the grader cannot read the answer", _shown(answer))
        if not grade_math(answer, rf"\boxed{{{answer}}}").correct:
            return Finding(item.id, "the grader does not take the answer for itself", _shown(answer))
        return None
    from verifier.graders.grading import check_item

    try:
        check_item(item)
    except InputError as error:
        return Finding(item.id, "cannot be graded", _shown(str(error).removeprefix(f"{item.id}: ")))
    return None


# Kept, and worth knowing ---------------------------------------------------------------------------------------


def _duplicates(items: Sequence[Item]) -> list[Finding]:
    """Return a finding for every item that was there before, apart from blanks, case and the order of choices."""
    first: dict[tuple[str, ...], Item] = {}
    found: list[Finding] = []
    for item in items:
        # Case is not ignored in choices, where it may be all that tells two items apart.
        choices = sorted(" ".join(choice.split()) for choice in item.choices)
        earlier = first.setdefault((_plain(item.question), *choices), item)
        if earlier is item:
            continue
        if _key(earlier) == _key(item):
            found.append(Finding(item.id, f"the same as {earlier.id}", _shown(item.question)))
        else:
            keys = f"{_key(earlier)} and {_key(item)}"
            found.append(
                Finding(item.id, f"the same question as {earlier.id} with another answer", _shown(keys))
            )
    return found


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _bare(answer: str) -> str:
    return _plain(answer).strip("$().")


def _key(item: Item) -> str:
    """Return what is compared of two keys: the text of the right choice, or the answer without dollar signs."""
    if item.answer_type == "choice":
        return " ".join(item.choices[item.labels.index(item.answer or "")].split())
    return _plain((item.answer or "").replace("$", ""))


def _doubtful(items: Sequence[Item]) -> list[Finding]:
    return [
        Finding(item.id, "may need a figure", _shown(found[0]))
        for item in items
        if item.answer_type == "math"
        and (found := FIGURE.search(item.question))
        and not DRAWN.search(item.question)
    ]


def _shown(value: str) -> str:
    """Return a value as it can stand in one line: quoted, control characters escaped, not too long."""
    return repr(value if len(value) <= SHOWN else f"{value[:SHOWN]}...")
