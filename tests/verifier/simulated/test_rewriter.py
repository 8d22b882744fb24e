"""The rewriter hits its target with the stated error and bias, and fails at the stated rates."""

from __future__ import annotations

import json
import re
import statistics
from typing import Any

import pytest

from irt.io import InputError
from verifier.items import Item, item_from_fields
from verifier.prompts import messages
from verifier.simulated.families import (
    difficulty_at,
    make_items,
    panel_pass_rate,
    problem_of,
    right_answer,
    true_difficulty,
)
from verifier.simulated.rewriter import BROKEN_FORMATS, RewriterHabits, rewrite

ITEMS = make_items(10, seed=31)
PARENTS = {problem_of(item.question).family.name: item for item in ITEMS}
PROMPT = (
    "You write new test items.\n\n## Parent item\n{parent}\n\nTarget pass rate of the panel: **{target} %**\n"
)


def prompt(parent: Item, target: float = 40, more: str = "") -> str:
    return PROMPT.format(parent=parent.question, target=target) + more


def strict(text: str, answer_type: str) -> Item | None:
    """Read the one fenced object of a reply as an impatient reader would; None if that is not an item."""
    blocks = re.findall(r"```json\n(.*?)\n```", text, re.S)
    try:
        (block,) = blocks
        fields: dict[str, Any] = json.loads(block)
        return item_from_fields(fields | {"id": "x", "answer_type": answer_type}, "x")
    except (ValueError, InputError):
        return None


def child_of(parent: Item, seed: int, habits: RewriterHabits, target: float = 40, more: str = "") -> Item:
    child = strict(rewrite(prompt(parent, target, more), seed, habits).text, parent.answer_type)
    assert child is not None
    return child


@pytest.mark.parametrize("family", PARENTS)
def test_a_child_is_of_the_parents_family_and_its_key_is_right(family: str) -> None:
    for seed in range(10):
        child = child_of(PARENTS[family], seed, RewriterHabits())
        problem = problem_of(child.question)
        assert problem.family.name == family and problem.question == child.question
        assert child.question != PARENTS[family].question
        assert child.answer == problem.reading.answer and child.choices == problem.reading.choices
        assert child.instruction_ids == problem.reading.instruction_ids
        assert child.kwargs == problem.reading.kwargs


@pytest.mark.parametrize(("bias", "sd"), [(0.0, 0.5), (0.6, 0.3), (-0.4, 0.0)])
def test_children_miss_the_target_by_the_stated_bias_and_sd(bias: float, sd: float) -> None:
    errors = [
        true_difficulty(child_of(PARENTS["power"], seed, RewriterHabits(bias, sd), target=45).question)
        - difficulty_at(0.45)
        for seed in range(300)
    ]
    assert statistics.fmean(errors) == pytest.approx(bias, abs=4 * sd / 300**0.5 + 0.01)
    assert statistics.stdev(errors) == pytest.approx(sd, rel=0.15, abs=0.05)


@pytest.mark.parametrize("target", [15, 50, 85.5])
@pytest.mark.parametrize("family", ["draws", "writing"])
def test_the_mean_pass_rate_is_the_target(family: str, target: float) -> None:
    child = child_of(PARENTS[family], 0, RewriterHabits(sd=0.0), target)
    assert panel_pass_rate(true_difficulty(child.question)) == pytest.approx(target / 100, abs=0.015)


def test_guessing_counts_in_the_pass_rate() -> None:
    child = child_of(PARENTS["fractions"], 0, RewriterHabits(sd=0.0), 70)
    assert panel_pass_rate(true_difficulty(child.question), 0.25) == pytest.approx(0.7, abs=0.015)


def test_told_of_its_misses_the_rewriter_aims_better() -> None:
    habits = RewriterHabits(bias=1.0, sd=0.0)
    landed = 100 * panel_pass_rate(difficulty_at(0.4) + 1.0)
    plain = true_difficulty(child_of(PARENTS["chain"], 0, habits).question)
    told = "".join(f"- aimed at 40 %, measured pass rate {landed:.1f} % (12 models)\n" for _ in range(4))
    better = true_difficulty(child_of(PARENTS["chain"], 0, habits, more=told).question)
    assert plain - difficulty_at(0.4) == pytest.approx(1.0, abs=0.05)
    assert better - difficulty_at(0.4) == pytest.approx(0.2, abs=0.06)
    # A pass rate of the parent is no feedback.
    unmoved = child_of(PARENTS["chain"], 0, habits, more="The parent's measured pass rate: 90 %.\n")
    assert true_difficulty(unmoved.question) == pytest.approx(plain, abs=0.1)
    # Feedback before the target, in the words of the target, is not taken for the target.
    first = f"An earlier child had the target pass rate 80 % and landed at 80 %.\n{prompt(PARENTS['chain'])}"
    child = strict(rewrite(first, 0, habits).text, "math")
    assert child is not None
    assert true_difficulty(child.question) - difficulty_at(0.4) == pytest.approx(1.0, abs=0.05)


def test_the_parent_is_the_item_after_its_heading() -> None:
    example = f"An example of an item: {PARENTS['draws'].question}\n\n"
    child = strict(rewrite(example + prompt(PARENTS["system"]), 0, RewriterHabits()).text, "math")
    assert child is not None and problem_of(child.question).family.name == "system"


def test_faults_come_at_their_rates() -> None:
    habits = RewriterHabits(wrong_key_rate=0.2, duplicate_rate=0.25, broken_format_rate=0.15)
    count = {"wrong": 0, "duplicate": 0, "broken": 0, "good": 0}
    for seed in range(800):
        parent = ITEMS[seed % len(ITEMS)]
        reply = rewrite(prompt(parent), seed, habits).text
        item = strict(reply, parent.answer_type)
        if item is None:
            count["broken"] += 1
        elif near(item.question, parent.question):
            count["duplicate"] += 1
        elif wrong_key(item):
            count["wrong"] += 1
        else:
            count["good"] += 1
    for name, rate in {"wrong": 0.2, "duplicate": 0.25, "broken": 0.15, "good": 0.4}.items():
        assert abs(count[name] - 800 * rate) < 4 * (800 * rate * (1 - rate)) ** 0.5, count


def near(one: str, other: str) -> bool:
    """Whether two texts differ by at most one word."""
    first, second = one.split(), other.split()
    return len(first) == len(second) and sum(a != b for a, b in zip(first, second, strict=True)) <= 1


def wrong_key(item: Item) -> bool:
    if item.answer_type == "instructions":
        return item.instruction_ids != problem_of(item.question).reading.instruction_ids
    return item.answer != right_answer(item.question)


def test_duplicates_still_have_the_right_key() -> None:
    kinds = set()
    for seed in range(120):
        parent = ITEMS[seed % len(ITEMS)]
        item = strict(
            rewrite(prompt(parent), seed, RewriterHabits(duplicate_rate=1.0)).text, parent.answer_type
        )
        assert item is not None and near(item.question, parent.question)
        if item.answer_type == "choice":
            right = problem_of(item.question).reading
            assert (
                item.choices[item.labels.index(item.answer or "")]
                == right.choices["ABCD".index(right.answer or "")]
            )
        else:
            assert not wrong_key(item)
        kinds.add((item.question == parent.question, item.choices == parent.choices))
    assert kinds == {(True, True), (False, True), (True, False)}


def test_ten_kinds_of_broken_replies_and_none_is_an_item() -> None:
    assert len(BROKEN_FORMATS) >= 10
    for parent in ITEMS:
        habits = RewriterHabits(broken_format_rate=1.0)
        replies = {rewrite(prompt(parent), seed, habits).text for seed in range(60)}
        assert len(replies) > 40
        assert [reply for reply in replies if strict(reply, parent.answer_type)] == []


def test_without_a_target_the_rewriter_solves() -> None:
    item = make_items(1, seed=33, families=["power"], difficulties=[0.0])[0]
    texts = [rewrite(messages(item)[-1]["content"], seed, RewriterHabits()).text for seed in range(100)]
    assert sum((item.answer or "") in text.splitlines()[-1] for text in texts) > 85


def test_a_target_without_an_item_says_so() -> None:
    assert "no simulated item" in rewrite("Target pass rate: 20 %. Parent: 1 + 1?", 0, RewriterHabits()).text


def test_the_same_seed_gives_the_same_child() -> None:
    text = prompt(PARENTS["committee"])
    assert rewrite(text, 5, RewriterHabits()) == rewrite(text, 5, RewriterHabits())
    assert rewrite(text, 5, RewriterHabits()) != rewrite(text, 6, RewriterHabits())


def test_rates_over_one_are_refused() -> None:
    with pytest.raises(InputError, match="must not add up to over 1"):
        RewriterHabits(wrong_key_rate=0.6, duplicate_rate=0.6)
