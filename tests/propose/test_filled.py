"""The filled benchmark: the contract of its ids and fields, the originals as they were, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irt.io import InputError
from propose.filled import filled_name, filled_pool, write_filled
from verifier.items import Item, read_items, write_items
from verifier.simulated.families import make_items


def item(number: int, question: str = "What is <n> + 1?") -> Item:
    return Item(f"x{number}", question.replace("<n>", str(number)), str(number + 1), "math")


def test_ids_are_those_of_the_contract_and_originals_come_first_unchanged(tmp_path: Path) -> None:
    originals, accepted = [item(n) for n in range(3)], [item(n) for n in range(10, 12)]
    pool = filled_pool(filled_name("aime26"), originals, accepted)
    write_filled(tmp_path / "AIME26.json", pool)
    text = (tmp_path / "AIME26.json").read_text(encoding="utf-8")
    assert json.loads(text) == [
        {"id": "AIME26-origin-000", "question": "What is 0 + 1?", "answer": "1"},
        {"id": "AIME26-origin-001", "question": "What is 1 + 1?", "answer": "2"},
        {"id": "AIME26-origin-002", "question": "What is 2 + 1?", "answer": "3"},
        {"id": "AIME26-fill-001", "question": "What is 10 + 1?", "answer": "11"},
        {"id": "AIME26-fill-002", "question": "What is 11 + 1?", "answer": "12"},
    ]


def test_every_item_can_be_found_again_under_the_id_that_it_had(tmp_path: Path) -> None:
    """Results on the filled benchmark must be joined to the user's own, and a new item to its candidate and parent."""
    originals = [replace(item(n), id=name) for n, name in enumerate(("mine/7", "mine/2"))]
    accepted = [
        replace(item(10), id="r01-g1-p2-c1", parent_id="mine/2"),
        replace(item(11), id="r02-g1-p1-c1", parent_id="r01-g1-p2-c1"),
    ]
    write_items(tmp_path / "pool.jsonl", filled_pool("M", originals, accepted))
    pool = read_items(tmp_path / "pool.jsonl")
    assert [(one.id, one.source_item_id, one.parent_id) for one in pool] == [
        ("M-origin-000", "mine/7", ""),
        ("M-origin-001", "mine/2", ""),
        ("M-fill-001", "r01-g1-p2-c1", "M-origin-001"),
        ("M-fill-002", "r02-g1-p1-c1", "M-fill-001"),
    ]
    # Filled once more: what was new is an original now, and its parent has another id, too.
    again = filled_pool("N", pool, [])
    assert [(one.source_item_id, one.parent_id) for one in again[2:]] == [
        ("M-fill-001", "N-origin-001"),
        ("M-fill-002", "N-origin-002"),
    ]


@pytest.mark.parametrize(
    ("originals", "accepted", "first", "last"),
    [
        (1000, 0, "N-origin-000", "N-origin-999"),
        (1001, 1, "N-origin-0000", "N-fill-0001"),
        (1, 1000, "N-origin-0000", "N-fill-1000"),
    ],
)
def test_ids_of_many_items_keep_one_width(originals: int, accepted: int, first: str, last: str) -> None:
    pool = filled_pool("N", [item(n) for n in range(originals)], [item(n) for n in range(accepted)])
    assert (pool[0].id, pool[-1].id) == (first, last)
    assert len({entry.id for entry in pool}) == originals + accepted


def test_choices_stand_below_the_question_once(tmp_path: Path) -> None:
    plain = Item("a", "Which is even?", "B", "choice", choices=("1", "2"))
    listed = Item("b", "Which is even?\n(A) 1\n(B) 2", "B", "choice", choices=("1", "2"))
    write_filled(tmp_path / "N.json", [plain, listed])
    questions = [entry["question"] for entry in json.loads((tmp_path / "N.json").read_text())]
    assert questions == ["Which is even?\n\nA) 1\nB) 2", listed.question]


def test_the_pool_beside_it_keeps_what_a_grader_needs(tmp_path: Path) -> None:
    originals = make_items(6, seed=1, families=["writing", "fractions", "power"])
    pool = filled_pool("SIM-X", originals, originals[:1])
    write_items(tmp_path / "pool.jsonl", pool)
    again = read_items(tmp_path / "pool.jsonl")
    assert [entry.kwargs for entry in again[:6]] == [entry.kwargs for entry in originals]
    assert [entry.question for entry in again[:6]] == [entry.question for entry in originals]


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "N.json").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_filled(tmp_path / "N.json", [item(1)])
    assert list((tmp_path / "N.json").iterdir()) == []
