"""Counting response rows: against a naive count, in any order, with every kind of row that must be refused."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irt.responses
from irt.io import InputError
from irt.responses import COLUMNS, ResponseCounts, check_trials, count_responses

HEADER = list(COLUMNS)
EXAMPLE = [
    ["model-a", "q0", "0", "1"],
    ["model-a", "q0", "1", "0"],
    ["model-a", "q1", "0", "1"],
    ["model-a", "q1", "1", "1"],
    ["model-b", "q0", "0", "0"],
    ["model-b", "q0", "1", "0"],
    ["model-b", "q1", "0", "1"],
    ["model-b", "q1", "1", "0"],
]


def count(rows: Sequence[list[str]], header: list[str] = HEADER) -> ResponseCounts:
    return count_responses("r.csv", enumerate([header, *rows], start=1))


def test_counts_of_the_worked_example() -> None:
    counts = count(EXAMPLE)
    assert (counts.models, counts.items) == (("model-a", "model-b"), ("q0", "q1"))
    assert counts.correct == [[1, 2], [0, 1]]
    assert counts.trials == [[2, 2], [2, 2]]
    assert (counts.responses, counts.blanks) == (8, 0)


def test_ids_are_kept_as_they_are_written() -> None:
    ids = ["007", "7", "1e3", " q", "q ", "q", "model", 'é\n,"', "０"]
    counts = count([[model, item, " 1", "1"] for model in ids for item in reversed(ids)])
    assert counts.models == tuple(ids)
    assert counts.items == tuple(reversed(ids))


def test_columns_in_another_order_beside_others() -> None:
    rows = [["x", correct, trial, "", item, model] for model, item, trial, correct in EXAMPLE]
    assert count(rows, ["note", "correct", "trial", "", "item_id", "model"]) == count(EXAMPLE)


responses = st.dictionaries(
    st.tuples(st.sampled_from("ABC"), st.sampled_from(["q0", "q1", "q 2", "2"]), st.sampled_from("0123456")),
    st.sampled_from("01"),
    min_size=1,
)


@given(responses, st.sampled_from([0, 1, 2, 1024]))
def test_counts_equal_a_naive_count_however_many_trial_ids_are_common(
    answers: dict[tuple[str, str, str], str], common: int
) -> None:
    rows = [[*key, correct] for key, correct in answers.items()]
    asked = Counter((model, item) for model, item, _ in answers)
    right = Counter((model, item) for (model, item, _), correct in answers.items() if correct == "1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(irt.responses, "_COMMON_TRIALS", common)
        counts = count(rows)
    assert counts.models == tuple(dict.fromkeys(row[0] for row in rows))
    assert counts.items == tuple(dict.fromkeys(row[1] for row in rows))
    for i, model in enumerate(counts.models):
        for j, item in enumerate(counts.items):
            number = asked[model, item]
            assert counts.trials[i][j] == (number or None)
            assert counts.correct[i][j] == (right[model, item] if number else None)


@settings(max_examples=30)
@given(responses, st.data(), st.sampled_from([0, 2, 1024]))
def test_every_repeated_trial_is_found_in_any_order(
    answers: dict[tuple[str, str, str], str], data: st.DataObject, common: int
) -> None:
    rows = [[*key, correct] for key, correct in answers.items()]
    repeats = data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=5))
    # A repeat is one whether or not it gives the same answer.
    rows += [[*row[:3], data.draw(st.sampled_from("01"))] for row in repeats]
    rows = data.draw(st.permutations(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(irt.responses, "_COMMON_TRIALS", common)
        with pytest.raises(InputError) as error:
            count(rows)
    message = str(error.value)
    assert message.count("is there already") == len(repeats)


def test_many_trial_ids_in_random_order() -> None:
    """More trial ids than fit in the integers, and an own id for every response."""
    rng = random.Random(1)
    rows: list[list[str]] = []
    right: dict[tuple[str, str], int] = defaultdict(int)
    for model in ("a", "b"):
        for item in ("q0", "q1", "q2"):
            for _ in range(800):
                rows.append([model, item, f"request-{len(rows)}", rng.choice("01")])
                right[model, item] += rows[-1][3] == "1"
    rng.shuffle(rows)
    counts = count(rows)
    assert counts.trials == [[800] * 3] * 2
    assert {
        (model, item): counts.correct[i][j]
        for i, model in enumerate(counts.models)
        for j, item in enumerate(counts.items)
    } == right
    with pytest.raises(InputError, match="r.csv:4802: trial 'request-.*' of model .* is there already"):
        count([*rows, rows[-1]])


@pytest.mark.parametrize(
    "row, problem",
    [
        (["a", "q", "0"], "3 cells instead of 4"),
        (["a", "q", "0", "1", ""], "5 cells instead of 4"),
        (["", "q", "0", "1"], "model is empty"),
        (["a", "", "0", "1"], "item_id is empty"),
        (["a", "q", "", "1"], "trial is empty"),
        (["a", "q", "0", ""], "correct is empty"),
        (["a", "q", "0", "2"], "correct is '2', not 0 or 1"),
        (["a", "q", "0", "1.0"], "correct is '1.0', not 0 or 1"),
        (["a", "q", "0", " 1"], "correct is ' 1', not 0 or 1"),
        (["a", "q", "0", "True"], "correct is 'True', not 0 or 1"),
        (["model-a", "q1", "1", "0"], "trial '1' of model 'model-a', item 'q1' is there already"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_line(row: list[str], problem: str) -> None:
    for header, bad, good in (
        (HEADER, row, EXAMPLE),
        (["extra", *HEADER], ["", *row], [["", *each] for each in EXAMPLE]),
    ):
        expected = problem
        if "cells" in problem and header != HEADER:
            expected = f"{len(row) + 1} cells instead of 5"
        with pytest.raises(InputError) as error:
            count([*good, bad, good[0][:-1]], header)
        assert str(error.value).startswith(f"r.csv:10: {expected}; r.csv:11: ")


def test_only_the_first_offenders_are_named() -> None:
    with pytest.raises(InputError) as error:
        count([["a", "q", str(trial), "yes"] for trial in range(1234)])
    message = str(error.value)
    assert message.count("r.csv:") == 5
    assert "r.csv:6: correct is 'yes', not 0 or 1; and 1,229 more. " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "r.csv: the file is empty; its first line must be model,item_id,trial,correct"),
        ([HEADER], "r.csv: no responses below the column names; add one row for each answer"),
        (
            [["model", "item", "trial", "correct "], ["a", "q", "0", "1"]],
            "r.csv:1: no column 'item_id', 'correct'; the columns there are 'model', 'item', 'trial', 'correct '; "
            "the first line must hold model,item_id,trial,correct once each",
        ),
        (
            [[*HEADER, "model"], ["a", "q", "0", "1", "b"]],
            "r.csv:1: more than one column 'model'; the columns there are 'model', 'item_id', 'trial', "
            "'correct', 'model'; the first line must hold model,item_id,trial,correct once each",
        ),
    ],
)
def test_files_without_responses(rows: list[list[str]], message: str) -> None:
    with pytest.raises(InputError) as error:
        count_responses("r.csv", enumerate(rows, start=1))
    assert str(error.value) == message


UNEVEN = [*EXAMPLE[:4], EXAMPLE[4]]  # model-b has one trial of q0 and none of q1


@pytest.mark.parametrize(
    "rows, n_trials, allow_missing, message",
    [
        (EXAMPLE, 2, False, None),
        (EXAMPLE, 2, True, None),
        (EXAMPLE, 3, True, None),
        (UNEVEN, 2, True, None),
        (
            UNEVEN,
            2,
            False,
            "model 'model-b', item 'q0': found 1, expected 2; model 'model-b', item 'q1': found 0, expected 2. "
            "To mend it, add the missing rows, or accept them with --allow-missing",
        ),
        (
            UNEVEN,
            1,
            True,
            "model 'model-a', item 'q0': found 2, expected 1; model 'model-a', item 'q1': found 2, expected 1. "
            "To mend it, remove the surplus rows or raise --n-trials",
        ),
        (
            UNEVEN,
            1,
            False,
            "model 'model-a', item 'q0': found 2, expected 1; model 'model-a', item 'q1': found 2, expected 1; "
            "model 'model-b', item 'q1': found 0, expected 1. To mend it, remove the surplus rows or raise "
            "--n-trials; add the missing rows, or accept them with --allow-missing",
        ),
        (
            EXAMPLE[:2],
            1,
            True,
            "model 'model-a', item 'q0': found 2, expected 1. "
            "To mend it, set --n-trials 2, which every pair has, if that is right",
        ),
        (
            EXAMPLE[:2],
            3,
            False,
            "model 'model-a', item 'q0': found 2, expected 3. To mend it, "
            "set --n-trials 2, which every pair has, if that is right; add the missing rows, "
            "or accept them with --allow-missing",
        ),
    ],
)
def test_trial_numbers(
    rows: list[list[str]], n_trials: int, allow_missing: bool, message: str | None
) -> None:
    if message is None:
        check_trials("r.csv", count(rows), n_trials, allow_missing)
        return
    with pytest.raises(InputError) as error:
        check_trials("r.csv", count(rows), n_trials, allow_missing)
    assert str(error.value) == f"r.csv: wrong number of trials: {message}"


def test_pairs_with_a_wrong_number_are_counted() -> None:
    rows = [["a", f"q{i}", "0", "1"] for i in range(100)]
    with pytest.raises(InputError, match="and 95 more"):
        check_trials("r.csv", count(rows), 2, allow_missing=False)


def test_blanks_uneven_and_constant_rows() -> None:
    counts = count(UNEVEN)
    assert counts.correct == [[1, 2], [0, None]]
    assert counts.trials == [[2, 2], [1, None]]
    assert (counts.blanks, counts.responses) == (1, 5)
    assert counts.uneven(2) and not count(EXAMPLE).uneven(2) and not count(EXAMPLE[:4]).uneven(2)
    assert counts.constant_models() == ["model-b"]
    assert counts.constant_items() == ["q1"]
