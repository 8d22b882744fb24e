"""A key that the rewriter does not find again is refused, and good items pass although a solver may err."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from propose.candidate import REASONS, Brief, Solution
from propose.near_duplicates import NearDuplicates
from propose.parsing import parse_reply
from propose.prompting import rewrite_prompt
from propose.screening import screen_item, screen_solutions
from verifier.graders.grading import grade
from verifier.items import Item
from verifier.prompts import messages
from verifier.simulated.examinees import answer
from verifier.simulated.families import REWRITER, make_items, problem_of
from verifier.simulated.rewriter import RewriterHabits, rewrite

MATH = Item("c", "What is one and one, please?", "2", "math")
WRITING = Item(
    "c", "Write a poem.", None, "instructions", instruction_ids=("punctuation:no_comma",), kwargs=({},)
)


def solution(given: str | None, key: str = "2", outcome: str = "ok") -> Solution:
    """One that gives this answer; None: none."""
    correct = given == key if outcome in ("ok", "no_answer", "truncated") else None
    outcome = outcome if given or outcome != "ok" else "no_answer"
    return Solution("c", 1, outcome, correct, given, reply="...", seed=1)


def verdict(*given: str | None) -> str | None:
    found = screen_solutions(MATH, [solution(one) for one in given])
    return found[0] if found else None


@pytest.mark.parametrize(
    "given",
    [
        ("2", "2", "2", "2"),
        ("2", "2", "3", "3"),  # as often as another
        ("2", "3", "4", "5"),  # a hard item: whoever errs errs in another way
        ("2", None, None, None),
        ("2", "2"),
        ("2",),
    ],
)
def test_a_key_that_is_found_at_least_as_often_as_any_other_answer_passes(
    given: Sequence[str | None],
) -> None:
    assert verdict(*given) is None


@pytest.mark.parametrize(
    "given",
    [("3", "3", "3", "3"), ("2", "3", "3", "4"), ("3", "4", "5", "6"), (None, None, None, None), ("3", None)],
)
def test_a_key_that_is_not_found_is_refused(given: Sequence[str | None]) -> None:
    assert verdict(*given) == "unsolved"


def test_the_same_wrong_answer_in_other_dress_is_one_answer() -> None:
    given = [solution("2"), solution(r"\dfrac{3}{4}"), solution(r"$\frac{3}{4}$"), solution("7")]
    found = screen_solutions(MATH, given)
    assert found == ("unsolved", r"1 of 4 solutions give the key, 2 give '\\frac{3}{4}'")


def test_what_could_not_be_judged_has_no_vote() -> None:
    broken = [solution("x", outcome="grader_timeout"), solution(None, outcome="error")]
    assert screen_solutions(MATH, [solution("2"), *broken]) is None
    assert screen_solutions(MATH, broken) == ("ungradable", "1 of 2 solutions could not be judged")
    assert screen_solutions(MATH, []) == ("unsolved", "none of 0 solutions has an answer")


def test_instructions_pass_if_one_reply_follows_all() -> None:
    def reply(correct: bool | None) -> Solution:
        outcome = "ok" if correct is not None else "grader_error"
        return Solution("c", 1, outcome, correct, None, reply="...", seed=1)

    assert screen_solutions(WRITING, [reply(False), reply(True), reply(None)]) is None
    refused = screen_solutions(WRITING, [reply(False), reply(False), reply(None)])
    assert refused is not None and refused[0] == "unsolved"


# Form ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("benchmark", "change", "reason"),
    [
        ("aime25", {}, None),
        ("aime25", {"answer": "007"}, None),
        ("aime25", {"answer": "1000"}, "wrong_type"),
        ("aime25", {"answer": r"\frac{1}{2}"}, "wrong_type"),
        ("aime25", {"answer": "-1"}, "wrong_type"),
        ("amc23", {"answer": r"\frac{1}{2}"}, None),
        ("gaokao2023en", {"answer": r"[2, +\infty)"}, None),
        ("general", {"question": "What is one and one? Answer: 2"}, "malformed"),
        ("general", {"answer": "2 explanation: as above"}, "malformed"),
        ("general", {"question": "What is the shaded area in the figure below?"}, "malformed"),
        ("general", {"question": "The lines meet as shown in the diagram. Where?"}, "malformed"),
        ("general", {"question": "It can be shown that $x$ is whole. What is it?"}, None),
    ],
)
def test_an_item_must_have_the_form_of_its_benchmark(
    benchmark: str, change: dict[str, str], reason: str | None
) -> None:
    found = screen_item(replace(MATH, **change), benchmark)  # type: ignore[arg-type]
    assert (found[0] if found else None) == reason
    assert found is None or found[0] in REASONS and found[1]


@pytest.mark.parametrize(
    "question", ["a" * 200_000, "Find it. " + "answer: " * 25_000 + "\nWell?", "x_ " * 70_000]
)
def test_a_long_question_is_screened_in_time(question: str) -> None:
    assert screen_item(replace(MATH, question=question), "general") is None


@pytest.mark.parametrize("family", ["system", "fractions", "writing", "draws"])
def test_simulated_items_have_the_form(family: str) -> None:
    assert [screen_item(item, "demo") for item in make_items(20, seed=2, families=[family])] == [None] * 20


# The rule --------------------------------------------------------------------------------------------------------

SOLUTIONS = 4
DIFFICULTIES = [-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]


def passes(item: Item, key: Item) -> bool:
    """Whether an item with this key would pass, solved by the simulated rewriter."""
    prompt = messages(item)[0]["content"]
    solutions = []
    for number in range(SOLUTIONS):
        judged = grade(key, answer(REWRITER, prompt, f"{item.id} {number}").text)
        solutions.append(
            Solution("c", number, judged.outcome, judged.correct, judged.answer, reply="", seed=1)
        )
    return screen_solutions(key, solutions) is None


@pytest.mark.parametrize("families", [("power", "system", "committee"), ("fractions", "ordering")])
def test_wrong_keys_are_caught_and_good_hard_items_survive(families: Sequence[str]) -> None:
    rng = random.Random(7)
    items = make_items(
        len(DIFFICULTIES) * 30,
        seed=11,
        families=families,
        difficulties=[b for b in DIFFICULTIES for _ in range(30)],
    )
    wrong = [replace(item, answer=rng.choice(problem_of(item.question).reading.wrong)) for item in items]
    good_passed = [passes(item, item) for item in items]
    wrong_passed = [passes(item, key) for item, key in zip(items, wrong, strict=True)]
    assert sum(wrong_passed) / len(items) <= 0.03
    assert sum(good_passed) / len(items) >= 0.97
    hardest = [
        at for at in range(len(items)) if at // 30 == len(DIFFICULTIES) - 1
    ]  # the solver is right in 62 %
    assert sum(good_passed[at] for at in hardest) / len(hardest) >= 0.8


@pytest.mark.parametrize(
    ("habits", "lowest", "highest"),
    [
        (RewriterHabits(wrong_key_rate=1.0), 0.0, 0.05),
        (RewriterHabits(duplicate_rate=1.0), 0.0, 0.0),
        (RewriterHabits(), 0.95, 1.0),
    ],
    ids=["wrong keys", "duplicates", "good items"],
)
def test_from_prompt_to_screen(habits: RewriterHabits, lowest: float, highest: float) -> None:
    pool = make_items(40, seed=1, families=["chain", "draws", "fractions", "system"])
    index = NearDuplicates(pool)
    passed = 0
    for seed in range(160):
        parent = pool[seed % len(pool)]
        prompt = rewrite_prompt(Brief("demo", parent, 0.5, (0.2, 0.35, 0.5, 0.7)[seed % 4]))
        item = parse_reply(rewrite(prompt, seed, habits).text, parent, f"c{seed}")
        assert isinstance(item, Item) and screen_item(item, "demo") is None
        repeated = index.find(item)
        index.add(item)
        passed += repeated is None and passes(item, item)
    assert lowest <= passed / 160 <= highest
