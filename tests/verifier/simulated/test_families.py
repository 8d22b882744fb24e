"""The text of a simulated item determines its answer and its difficulty, and any difficulty can be had."""

from __future__ import annotations

import csv
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from irt.io import InputError
from verifier.items import as_fields, item_from_fields, read_items
from verifier.simulated.families import (
    ABILITIES,
    FAMILIES,
    difficulty_at,
    find,
    find_all,
    make_items,
    panel_pass_rate,
    probability,
    problem_of,
    right_answer,
    true_difficulty,
)
from verifier.simulated.problem import generator, make_problem

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", FAMILIES)
def test_any_difficulty_can_be_had_and_is_read_back_from_the_text(name: str) -> None:
    for number in range(100):
        asked = -3.5 + 7 * number / 99
        problem = make_problem(FAMILIES[name], asked, generator(name, number))
        assert problem.difficulty == pytest.approx(asked, abs=0.05)
        found = problem_of(problem.question)
        assert (found.question, found.reading, found.difficulty) == (
            problem.question,
            problem.reading,
            problem.difficulty,
        )
        assert found.family.name == name


@pytest.mark.parametrize("name", FAMILIES)
def test_items_are_valid_and_distinct_and_wrong_answers_are_wrong(name: str) -> None:
    items = make_items(60, seed=3, families=[name])
    assert len({item.question for item in items}) == 60
    for item in items:
        assert item_from_fields(as_fields(item), "here") == item
        assert item.answer == right_answer(item.question)
        wrong = problem_of(item.question).reading.wrong
        assert item.answer not in wrong and len(set(wrong)) == len(wrong)
        # Otherwise weak examinees would agree on one wrong answer, as if the key were wrong.
        assert len(wrong) >= {"math": 4, "choice": 2, "instructions": 0}[item.answer_type]


def test_there_are_families_of_every_answer_type() -> None:
    kinds = [family.answer_type for family in FAMILIES.values()]
    assert len(kinds) >= 6 and set(kinds) == {"math", "choice", "instructions"}


# Solved by hand or by counting, as an independent check of the keys.
SOLVED = {
    "A library counts 40 books in the morning. Then 5 more arrive. Then the number is multiplied by 3. "
    "After that, 35 are sold. How many books does the count show in the evening?": "100",
    "What is the remainder when $7^{22}$ is divided by $10$?": "9",
    "How many integers from $10$ to $100$ are divisible by $4$ or $6$ but not by $9$?": str(
        sum((n % 4 == 0 or n % 6 == 0) and n % 9 != 0 for n in range(10, 101))
    ),
    r"Define $a_1 = 1$, $a_2 = 2$, and for $n \geq 3$ let $a_n = 3a_{n-1} - 2a_{n-2} + 4$. What is $a_{4}$?": "24",
    "Suppose that $2x + 3y = 12$ while $4x - 5y = 2$. Determine $3x + 7y$.": "23",
    "A club has $4$ women and $5$ men. In how many ways can a committee of $3$ be chosen from them with at least $2$ "
    "women?": str(sum(sum(member < 4 for member in c) >= 2 for c in combinations(range(9), 3))),
    "A bag holds $3$ red and $4$ green marbles. From it $2$ marbles are drawn at random without replacement. What is "
    "the probability that exactly $1$ of them are red?": r"\frac{4}{7}",
    "Ben, Carla, Dan and Elif ran a race without ties. Carla finished before Ben. Dan finished after Ben. "
    "Elif finished before Carla. Among Ben, Dan and Elif, who finished last?": "B",
    r"Which of these fractions is the smallest: $\frac{3}{7}$, $\frac{5}{12}$, $\frac{2}{5}$ or $\frac{1}{2}$?": "C",
}


@pytest.mark.parametrize("question", SOLVED)
def test_keys_are_right(question: str) -> None:
    assert right_answer(question) == SOLVED[question]


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Ben, Carla and Dan ran a race without ties. Carla finished before Ben. Among Ben, Dan and Carla, who finished "
        "last?",  # not determined
        "Suppose that $2x + 3y = 12$ while $4x + 6y = 2$. Determine $3x + 7y$.",  # no solution
        r"Which of these fractions is the smallest: $\frac{1}{2}$, $\frac{2}{4}$, $\frac{3}{5}$ or $\frac{4}{5}$?",
        "Write a memo about a power cut for busy parents. Use at least 0 words.",
    ],
)
def test_what_has_no_answer_is_no_item(question: str) -> None:
    assert find(question) is None
    with pytest.raises(InputError, match="not a simulated item"):
        true_difficulty(question)


def test_an_item_is_found_inside_other_text_and_spacing_does_not_change_it() -> None:
    for item in make_items(40, seed=8):
        respaced = item.question.replace(". ", ".\n  ")
        problem = find(f"Solve this, please.\n\n{respaced}\n\nReason step by step.")
        assert problem is not None and problem.question == respaced
        assert problem.difficulty == true_difficulty(item.question)
    first, second = make_items(2, seed=1, families=["chain", "power"])
    assert [p.question for p in find_all(f"{second.question} {first.question}")] == [
        second.question,
        first.question,
    ]


def test_probability_is_the_rasch_model_with_guessing() -> None:
    item = make_items(1, seed=2, families=["ordering"], difficulties=[0.4])[0]
    b = true_difficulty(item.question)
    for model, theta in ABILITIES.items():
        assert probability(model, item.question) == pytest.approx(
            1 / 3 + 2 / 3 / (1 + 2.718281828 ** (b - theta))
        )
    assert len(ABILITIES) == 12 and min(ABILITIES.values()) < -1.5 and max(ABILITIES.values()) > 2


@pytest.mark.parametrize("guessing", [0.0, 0.25, 1 / 3])
def test_difficulty_at_a_pass_rate_is_the_inverse_of_the_pass_rate(guessing: float) -> None:
    for b in (-3.0, -0.7, 0.0, 1.9, 3.4):
        assert difficulty_at(panel_pass_rate(b, guessing), guessing) == pytest.approx(b, abs=1e-6)


def test_a_pool_is_the_same_for_the_same_seed_and_its_difficulties_can_be_given() -> None:
    assert make_items(20, seed=4) == make_items(20, seed=4) != make_items(20, seed=5)
    asked = [-3.0, 0.0, 0.1, 3.0]
    items = make_items(4, seed=4, families=["draws"], difficulties=asked)
    assert [true_difficulty(item.question) for item in items] == pytest.approx(asked, abs=0.05)
    assert all(item.id.startswith("SIM-") and item.source == "simulated" for item in items)
    with pytest.raises(InputError, match="no family 'magic'; there are chain"):
        make_items(1, seed=0, families=["magic"])
    with pytest.raises(InputError, match="2 items need 2 difficulties"):
        make_items(2, seed=0, difficulties=[0.0])


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))}


@pytest.mark.parametrize("name", FAMILIES)
def test_items_of_a_family_are_not_near_duplicates(name: str) -> None:
    """With the template they share, few pairs come near; nine tenths of the items have no neighbour above 0.6."""
    sets = [shingles(item.question) for item in make_items(100, seed=11, families=[name])]
    nearest = sorted(
        max(len(one & other) / len(one | other) for other in sets if other is not one) for one in sets
    )
    assert nearest[89] < 0.6


def test_the_command_writes_items_and_their_truth(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "verifier.simulated.make_items", "--count", "12", "--seed", "6"]
    output, truth = tmp_path / "pool.jsonl", tmp_path / "truth.csv"
    result = subprocess.run(
        [*command, "--output", output, "--truth", truth],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"Wrote 12 simulated items to {output} and their true difficulties to {truth}\n"
    items = read_items(output)
    assert items == make_items(12, seed=6)
    with open(truth, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["item"] for row in rows] == [item.id for item in items]
    assert [float(row["b_true"]) for row in rows] == pytest.approx(
        [true_difficulty(item.question) for item in items], abs=1e-6
    )
    result = subprocess.run(
        [*command, "--output", output, "--families", "power,magic"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2 and "no family 'magic'" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["Anna, ", "A farm shop starts the week with 5 crates. ", "Write a memo about a power cut. "]
)
def test_a_long_text_that_nearly_matches_everywhere_is_searched_to_its_end(text: str) -> None:
    """Without bounds in the patterns this takes hours."""
    assert find(text * (500_000 // len(text))) is None
