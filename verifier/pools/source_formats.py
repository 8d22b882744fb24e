"""From a source's own files, or a local copy of them, to items with the ids and the order of the benchmark.

Items are made as the source has them, broken ones too: ``verifier.pools.pool_check`` names those and leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from irt.io import InputError, PathLike
from verifier.items import LABELS, Item
from verifier.pools.source_records import Record, read_records
from verifier.pools.sources import HOSTS, Source

CONTEST_URL = re.compile(r"20\d\d_AIME_(I{1,2})_Problems/Problem_(\d{1,2})$")
PROBLEMS_A_CONTEST = 15


def read_items_of(source: Source, paths: Sequence[PathLike]) -> list[Item]:
    """Read the files of a benchmark: in its source's own format, or as items with their origin in each record.

    The second format is JSONL with id, question, answer, source, source_path and source_commit (and choices, or
    instruction_id_list and kwargs).

    Returns
    -------
    list of Item
        With the benchmark's ids, in its order; not checked yet.

    Raises
    ------
    InputError
        With the file and the record, for what is not a record of this benchmark, an id that occurs twice, or
        another number of items than the benchmark has.
    """
    convert = LAYOUTS[source.layout]
    items: dict[str, tuple[tuple[int, int, str], Item]] = {}
    for path in paths:
        for record in read_records(path, by_subject=source.layout == "mmlu"):
            if "answer_type" in record.fields:
                raise InputError(f"{record.where}: is an item of a pool already; name the source's own file")
            item = convert(source, record)
            if item is None:
                continue
            if item.id in items:
                raise InputError(f"{record.where}: item {item.id!r} was there before; name each file once")
            items[item.id] = _place(source, item.id, record.where), item
    if len(items) != source.items:
        raise InputError(
            f"{', '.join(str(path) for path in paths)}: {len(items)} items of {source.benchmark}, which has "
            f"{source.items}; name whole files of {source.address}: {', '.join(source.files)}"
        )
    return [item for _, item in sorted(items.values(), key=lambda pair: pair[0])]


# Converting ----------------------------------------------------------------------------------------------------


def _aops(source: Source, record: Record) -> Item:
    """Return an AIME problem that is known by the address of its page: .../2024_AIME_II_Problems/Problem_3."""
    if (given := _given_id(record)) is None:
        url = record.text("url")
        if (found := CONTEST_URL.search(url)) is None:
            raise InputError(f"{record.where}: url names no AIME problem: {url!r}")
        given = f"{source.benchmark}-{found[1]}-{int(found[2])}"
    return _math(source, record, given)


def _matharena(source: Source, record: Record) -> Item:
    """Return an AIME problem that is known by its index: 1 to 15 are contest I, 16 to 30 contest II."""
    if (given := _given_id(record)) is None:
        index = record.get("problem_idx")
        if type(index) is not int or not 1 <= index <= 2 * PROBLEMS_A_CONTEST:
            raise InputError(f"{record.where}: problem_idx must be 1 to 30, found {index!r}")
        contest, problem = divmod(index - 1, PROBLEMS_A_CONTEST)
        given = f"{source.benchmark}-{'I' * (contest + 1)}-{problem + 1}"
    return _math(source, record, given)


def _numbered(source: Source, record: Record) -> Item:
    """Return a problem that has a number of its own."""
    return _math(source, record, _given_id(record) or f"{source.benchmark}-{record.text('id')}")


def _lines(source: Source, record: Record) -> Item:
    """Return a problem that is known by its place in the file, from 0."""
    return _math(source, record, _given_id(record) or f"{source.benchmark}-{record.number}")


def _math(source: Source, record: Record, given: str) -> Item:
    return Item(
        id=given,
        question=record.text("question", "problem"),
        answer=record.text("answer"),
        answer_type="math",
        source=_origin(source, record),
        licence=_licence(source, record),
    )


def _bbh(source: Source, record: Record) -> Item:
    """Return a BIG-Bench Hard question, which ends in its options; the task is in the file's name."""
    if (given := _given_id(record)) is None:
        task = next((task for task in _groups(source) if task in record.file), None)
        if task is None:
            raise InputError(
                f"{record.where}: the file's name must tell the task: {', '.join(_groups(source))}"
            )
        given = f"{task}/{record.number}"
    question, choices = split_options(record.text("input", "question"), record.where)
    answer = record.text("target", "answer")
    return _choice(source, record, given, question, choices, answer.removeprefix("(").removesuffix(")"))


def split_options(text: str, where: str) -> tuple[str, tuple[str, ...]]:
    r"""Split ``question\nOptions:\n(A) one\n(B) two`` into the question and the texts of the options.

    Raises
    ------
    InputError
        If there are no options, or their letters do not run A, B, C...
    """
    question, _, tail = text.rpartition("\nOptions:\n")
    lines = [re.fullmatch(r"\(([A-Z])\) *(.*)", line) for line in tail.splitlines()]
    letters = "".join(line[1] for line in lines if line)
    if not question or len(letters) != len(lines) or not LABELS.startswith(letters):
        raise InputError(f"{where}: must end in a line 'Options:' and options (A), (B)... in order")
    return question, tuple(line[2].strip() for line in lines if line)


def _mmlu(source: Source, record: Record) -> Item | None:
    """Return an MMLU question, or None for one of another subject: some files hold all subjects."""
    if (given := _given_id(record)) is None:
        subject = record.text("subject")
        if subject not in _groups(source):
            return None
        given = f"{subject}/{record.number}"
    index = record.get("answer")
    inside = type(index) is int and 0 <= index < len(LABELS)
    question, choices = record.text("question"), record.texts("choices")
    return _choice(source, record, given, question, choices, LABELS[index] if inside else str(index))


def _choice(
    source: Source, record: Record, given: str, question: str, choices: tuple[str, ...], answer: str
) -> Item:
    return Item(
        id=given,
        question=question,
        answer=answer,
        answer_type="choice",
        choices=choices,
        source=_origin(source, record),
        licence=_licence(source, record),
    )


def _ifeval(source: Source, record: Record) -> Item:
    """Return an IFEval prompt. Some copies fill every argument that a checker does not have with null."""
    arguments = record.get("kwargs")
    if not isinstance(arguments, list) or not all(isinstance(values, dict) for values in arguments):
        raise InputError(f"{record.where}: kwargs must be a list of objects, found {arguments!r}")
    return Item(
        id=_given_id(record) or f"ifeval-{record.text('key')}",
        question=record.text("prompt", "question"),
        answer=None,
        answer_type="instructions",
        instruction_ids=record.texts("instruction_id_list"),
        kwargs=tuple(
            {name: value for name, value in values.items() if value is not None} for values in arguments
        ),
        source=_origin(source, record),
        licence=_licence(source, record),
    )


LAYOUTS: dict[str, Callable[[Source, Record], Item | None]] = {
    "aops": _aops,
    "matharena": _matharena,
    "numbered": _numbered,
    "lines": _lines,
    "bbh": _bbh,
    "mmlu": _mmlu,
    "ifeval": _ifeval,
}


# Ids, order and origin -----------------------------------------------------------------------------------------


def _groups(source: Source) -> list[str]:
    """Return the tasks or subjects of a benchmark of several files, in order."""
    if source.layout == "bbh":
        return [PurePosixPath(file).stem for file in source.files]
    return [PurePosixPath(file).parent.name for file in source.files]


def _place(source: Source, item_id: str, where: str) -> tuple[int, int, str]:
    """Return what the items of a benchmark are sorted by: the order that released matrices have."""
    if source.layout in ("bbh", "mmlu"):
        if (found := re.fullmatch(r"(\w+)/(\d{1,6})", item_id)) and found[1] in _groups(source):
            return _groups(source).index(found[1]), int(found[2]), ""
    elif source.layout in ("aops", "matharena"):
        if found := re.fullmatch(rf"{source.benchmark}-(I{{1,2}})-(\d{{1,2}})", item_id):
            return len(found[1]), int(found[2]), ""
    elif found := re.fullmatch(rf"{source.benchmark}-(\d{{1,6}})", item_id):
        # IFEval's file sorts its keys as texts: 1019, 102, 1021.
        return (0, 0, found[1]) if source.layout == "ifeval" else (0, int(found[1]), "")
    raise InputError(f"{where}: {item_id!r} is not the id of an item of {source.benchmark}")


def _given_id(record: Record) -> str | None:
    """Return the id of a record that is an item with its origin, else None."""
    return record.text("id") if "source_commit" in record.fields else None


def _origin(source: Source, record: Record) -> str:
    if "source_commit" in record.fields:
        path, commit = record.text("source_path"), record.text("source_commit")
        return f"{HOSTS['github']}/{record.text('source')}@{commit[:12]}: {path}"
    return source.address


def _licence(source: Source, record: Record) -> str:
    """Return the source's licence; of a record from elsewhere it is not known here."""
    return source.licence if record.fields.get("source", source.repository) == source.repository else ""
