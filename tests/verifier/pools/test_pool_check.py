"""The pool check: what is certainly broken goes, what may be is named, and sound items are never touched."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt.io import InputError
from verifier.items import Item, as_fields, read_items, write_items
from verifier.pools.pool_check import check_file, check_pool
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources

SOUND = Item("q", "What is $1+1$?", "2", "math")
CHOICE = Item("c", "Which is a gas?", "A", "choice", choices=("neon", "iron", "gold"))
PROMPT = Item(
    "i",
    "Write without commas.",
    None,
    "instructions",
    instruction_ids=("punctuation:no_comma",),
    kwargs=({},),
)


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (replace(SOUND, answer=""), "the answer is empty"),
        (replace(SOUND, answer=" \n"), "the answer is empty"),
        # 107, 167, 190 and 245 of gaokao2023en are broken in these ways.
        (replace(SOUND, answer="$145$solution: "), "the answer carries stray words"),
        (replace(SOUND, answer="Answer: 3"), "the answer carries stray words"),
        (
            replace(SOUND, answer=r"\frac{3}{10}", question=r"Find p.answers: $\frac{3}{10}$"),
            "ends with its answer",
        ),
        (replace(CHOICE, question="Which?(A) neon (B) iron Answer: A"), "ends with its answer"),
        (
            replace(CHOICE, question="Compare the medians: (A) less (B) cannot compare the med"),
            "the question ends inside the word 'medians'",
        ),
        (
            replace(SOUND, question="At Jefferson High School, who? (D) Students at Jefferson High Sc"),
            "the question ends inside the word 'School'",
        ),
        (replace(CHOICE, answer="D"), "answer must be one of A to C"),
        (replace(CHOICE, choices=("neon",)), "a choice needs 2 to 26 choices"),
        (replace(CHOICE, choices=("neon", "iron", " ")), "choices 3 must be a text that is not blank"),
        (replace(CHOICE, choices=("neon", "iron", "neon ")), "the right choice is there twice: 'neon'"),
        (replace(SOUND, question=" "), "question must be a text"),
        (replace(PROMPT, instruction_ids=("no:such",)), "no:such"),
        (replace(SOUND, answer=r"\frac{1}{2"), "the grader cannot read the answer"),
        (replace(SOUND, answer=r"\foo{3}"), "the grader cannot read the answer"),
        (replace(SOUND, answer="(1,2"), "the grader cannot read the answer"),
        (replace(SOUND, answer="4 +"), "the grader cannot read the answer"),
        (replace(SOUND, answer="1/0"), "the grader cannot read the answer"),
        (replace(SOUND, answer="3x="), "the grader cannot read the answer"),
        (replace(SOUND, answer="$$"), "the grader cannot read the answer"),
        (replace(SOUND, answer="9^{9^{9^{9}}}"), "the grader cannot read the answer"),
    ],
)
def test_a_broken_item_is_left_out_in_one_line(item: Item, says: str) -> None:
    report = check_pool([SOUND, replace(item, id="x"), CHOICE])
    assert report.items == (SOUND, CHOICE)
    (finding,) = report.broken
    assert finding.id == "x"
    assert says in str(finding) and "\n" not in str(finding)


@pytest.mark.parametrize(
    "item",
    [
        SOUND,
        CHOICE,
        PROMPT,
        # Genotypes differ by case alone, in three items of high school biology.
        replace(CHOICE, choices=("BB BB", "BB Bb", "Bb Bb"), answer="B"),
        # Two wrong choices that are the same leave the key clear.
        replace(CHOICE, choices=("neon", "iron", "iron")),
        replace(SOUND, question="Which equation has no solution: (A) $x=x+1$ (B) $x=1$", answer="A"),
        replace(SOUND, question="Say it. End with a line ANSWER: X"),
        replace(SOUND, question="Which must be true: (A) x (B) all numbers greater than or equal to 0"),
        replace(SOUND, question="The solution of the equation is asked. Solve the equation", answer="3"),
        replace(SOUND, answer="$48$, $384$"),
        replace(SOUND, answer="$2$ or $-2$"),
        replace(SOUND, answer=r"20 $cm^{2}$"),
        replace(SOUND, answer="5am"),
        replace(SOUND, answer="025"),
        replace(SOUND, answer="Monday"),
        replace(SOUND, question="In pyramid of triangle ABCD, what is the ratio of triangle ABC"),
    ],
)
def test_a_sound_item_is_kept(item: Item) -> None:
    report = check_pool([item])
    assert (report.items, report.broken, report.duplicates) == ((item,), (), ())


def test_known_defects_are_left_out_by_id() -> None:
    other = replace(SOUND, id="other")
    report = check_pool([SOUND, other], {"q": "the key is wrong", "absent": "not here"})
    assert report.items == (other,)
    assert str(report.broken[0]) == "q: the key is wrong: '2'"


def test_duplicates_are_listed_and_kept_and_contradictions_told_apart() -> None:
    again = replace(SOUND, id="again", question="what  is $1+1$?\n", answer="$2$")
    against = replace(SOUND, id="against", answer="3")
    shuffled = replace(CHOICE, id="shuffled", choices=("gold", "neon", "iron"), answer="B")
    wrong = replace(CHOICE, id="wrong", answer="C")
    other = replace(CHOICE, id="other", choices=("helium", "iron", "gold"))
    items = (SOUND, again, against, CHOICE, shuffled, wrong, other)
    report = check_pool(items)
    assert report.items == items
    assert [str(finding) for finding in report.duplicates] == [
        "again: the same as q: 'what  is $1+1$?\\n'",
        "against: the same question as q with another answer: '2 and 3'",
        "shuffled: the same as c: 'Which is a gas?'",
        "wrong: the same question as c with another answer: 'neon and gold'",
    ]


def test_a_missing_figure_is_a_doubt_and_a_drawn_one_is_not() -> None:
    shown = replace(SOUND, id="shown", question="What is the area of the right triangle shown?")
    drawn = replace(SOUND, id="drawn", question="The shaded part? [asy]draw((0,0)--(1,1));[/asy]")
    report = check_pool([shown, drawn])
    assert report.items == (shown, drawn)
    assert [str(finding) for finding in report.doubtful] == ["shown: may need a figure: 'shown'"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=10), st.booleans()), max_size=6))
def test_every_item_is_either_kept_in_order_or_named_once(texts: list[tuple[str, str, bool]]) -> None:
    """Whatever the texts hold; the choice items have keys inside and outside the choices."""
    items = [
        Item(str(number), question, answer if choice else None, "choice", choices=(question, answer))
        for number, (question, answer, choice) in enumerate(texts)
    ]
    report = check_pool(items)
    left = {finding.id for finding in report.broken}
    assert len(left) == len(report.broken)
    assert list(report.items) == [item for item in items if item.id not in left]
    for finding in (*report.broken, *report.duplicates):
        assert len(str(finding).splitlines()) == 1


# Files of the user's own ---------------------------------------------------------------------------------------


def test_a_file_is_checked_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    lines = [
        json.dumps(as_fields(SOUND)),
        "{",
        "",
        json.dumps(as_fields(replace(SOUND, id="empty", answer=""))),
        json.dumps(as_fields(SOUND)),
        json.dumps(as_fields(replace(SOUND, id="stray", answer="3 solution: see"))),
    ]
    path.write_text("\n".join(lines) + "\n")
    report = check_file(path)
    assert report.items == (SOUND,)
    assert [str(finding).removeprefix(f"{path}:") for finding in report.broken] == [
        "2: not JSON: '{'",
        "4: not an item: answer must be a text that is not blank, found ''; write numbers in quotes",
        "5: an id that occurred before: q",
        "stray: the answer carries stray words: '3 solution: see'",
    ]


def test_a_file_without_a_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no items"):
        check_file(tmp_path / "own.jsonl")


def test_a_checked_pool_can_be_written_and_read(tmp_path: Path) -> None:
    report = check_pool([SOUND, replace(SOUND, id="x", answer=""), CHOICE, PROMPT])
    write_items(tmp_path / "pool.jsonl", report.items)
    assert (
        tuple(read_items(tmp_path / "pool.jsonl"))
        == report.items
        == check_file(tmp_path / "pool.jsonl").items
    )


# Real files ----------------------------------------------------------------------------------------------------

BROKEN = {
    "gaokao2023en": ["107", "149", "167", "190", "192", "234", "245", "349"],
}


@pytest.mark.parametrize(
    "benchmark", ["aime24", "aime25", "aime26", "amc23", "gaokao2023en", "mmlu_bio", "ifeval"]
)
def test_what_is_broken_in_real_files_is_known_to_the_item(benchmark: str) -> None:
    if not (folder := os.environ.get("BENCHFILL_ITEMS")):
        pytest.skip("BENCHFILL_ITEMS names no folder of item files")
    source = read_sources()[benchmark]
    name = "mmlu_biology" if benchmark == "mmlu_bio" else benchmark
    report = check_pool(read_items_of(source, [Path(folder) / f"{name}.jsonl"]), source.defects)
    assert [finding.id.partition("-")[2] for finding in report.broken] == BROKEN.get(benchmark, [])
    assert len(report.items) + len(report.broken) == source.items
    assert report.duplicates == ()
