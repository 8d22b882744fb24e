"""Examinees are right as often as their ability says, in forms that the graders read, and the same each time."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from verifier.graders.grading import grade
from verifier.graders.instruction_grader import follows
from verifier.items import Item
from verifier.prompts import messages
from verifier.simulated.examinees import NO_ANSWERS, NOT_SIMULATED, REASONING_MODELS, Answer, answer, is_right
from verifier.simulated.families import ABILITIES, REWRITER, make_items, probability, problem_of
from verifier.simulated.families_writing import compose

CHI_SQUARE_10 = 29.6  # exceeded once in 1,000 with 10 degrees of freedom


def prompt_of(item: Item) -> str:
    return messages(item)[-1]["content"]


def last_number(text: str) -> int | None:
    numbers = re.findall(r"-?\d(?:[\d,]|\{,\}|\\,)*", text.splitlines()[-1])
    return int(re.sub(r"[^\d-]", "", numbers[-1])) if numbers else None


def test_frequencies_are_the_probabilities_of_the_model() -> None:
    """Read with a regular expression of this test alone, not with the graders."""
    items = make_items(50, seed=21, families=["power", "chain", "divisible"])
    expected, variance, observed = [0.0] * 10, [0.0] * 10, [0] * 10
    for model in ABILITIES:
        for item in items:
            p = probability(model, item.question)
            for seed in range(6):
                bin_ = min(9, int(p * 10))
                expected[bin_] += p
                variance[bin_] += p * (1 - p)
                observed[bin_] += last_number(answer(model, prompt_of(item), seed).text) == int(
                    item.answer or ""
                )
    assert min(variance) > 5
    squares = [(k - e) ** 2 / v for k, e, v in zip(observed, expected, variance, strict=True)]
    assert sum(squares) < CHI_SQUARE_10, squares


@pytest.mark.parametrize("family", ["ordering", "fractions"])
def test_choices_are_guessed_right_as_often_as_there_are_choices(family: str) -> None:
    """The weakest examinee on the hardest items: one in three, one in four, and a little more."""
    items = make_items(100, seed=22, families=[family], difficulties=[3.4] * 100)
    expected = sum(probability("simulated-01", item.question) for item in items) * 4
    right = sum(
        bool(grade(item, answer("simulated-01", prompt_of(item), seed).text).correct)
        for item in items
        for seed in range(4)
    )
    assert abs(right - expected) < 4 * (400 * 0.33 * 0.67) ** 0.5


def test_the_graders_read_every_reply_as_it_was_meant() -> None:
    rng = random.Random(7)
    outcomes: Counter[str] = Counter()
    for item in make_items(150, seed=23):
        for seed in range(3):
            model = rng.choice(list(ABILITIES))
            text = answer(model, prompt_of(item), seed).text
            verdict = grade(item, text)
            assert verdict.correct == is_right(model, item.question, seed), (item, text, verdict)
            if item.answer_type != "instructions":
                assert (verdict.outcome == "no_answer") == (text in NO_ANSWERS), (text, verdict)
            outcomes[verdict.outcome] += 1
    assert outcomes["ok"] > 400 and outcomes["no_answer"] > 0


def test_every_broken_instruction_is_seen_by_its_checker_and_no_other() -> None:
    """But for a text that is too short, which has no room for the others."""
    for item in make_items(60, seed=24, families=["writing"]):
        reading = problem_of(item.question).reading
        rng = random.Random(item.id)
        assert all(follows(item, compose(reading, rng, broken=None)))
        for broken, instruction in enumerate(item.instruction_ids):
            followed = follows(item, compose(reading, rng, broken=broken))
            if instruction == "length_constraints:number_words":
                assert not followed[broken]
            else:
                assert [n for n, follow in enumerate(followed) if not follow] == [broken]


def test_shuffled_choices_keep_their_answer() -> None:
    item = make_items(1, seed=25, families=["ordering"], difficulties=[-3.0])[0]
    turned = Item(
        id="x",
        question=item.question,
        answer="ABC"[2 - "ABC".index(item.answer or "")],
        answer_type="choice",
        choices=item.choices[::-1],
    )
    right = [grade(turned, answer(REWRITER, prompt_of(turned), seed).text).correct for seed in range(40)]
    assert sum(map(bool, right)) >= 38


def test_the_same_request_gets_the_same_reply_and_seeds_differ() -> None:
    prompt = prompt_of(make_items(1, seed=26, families=["system"], difficulties=[0.0])[0])
    assert answer("simulated-05", prompt, 1) == answer("simulated-05", prompt, 1)
    assert len({answer("simulated-05", prompt, seed).text for seed in range(20)}) > 5
    assert len({answer(model, prompt, 1).text for model in ABILITIES}) > 5


def test_wrong_answers_are_spread() -> None:
    """Strong agreement on one wrong answer would look like a wrong key."""
    item = make_items(1, seed=27, families=["chain"], difficulties=[3.0])[0]
    wrong = Counter(
        last_number(text)
        for seed in range(200)
        if (text := answer("simulated-02", prompt_of(item), seed).text) not in NO_ANSWERS
    )
    wrong.pop(int(item.answer or ""), None)
    assert max(wrong.values()) < 0.4 * sum(wrong.values())


def test_the_stronger_third_and_the_rewriter_think() -> None:
    prompt = prompt_of(make_items(1, seed=28)[0])
    thinking = {model for model in [*ABILITIES, REWRITER] if answer(model, prompt, 0).thinking is not None}
    assert thinking == REASONING_MODELS == {f"simulated-{n:02d}" for n in range(9, 13)} | {REWRITER}


def test_what_is_no_simulated_item_is_said_to_be_none() -> None:
    assert answer("simulated-03", "What is the capital of France?", 0) == Answer(NOT_SIMULATED, None)
