"""All families of simulated items: find an item in a text, make items, and the truth about them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from irt.io import InputError
from irt.simulate import probability_correct
from verifier.items import Item
from verifier.simulated.families_algebra import ALGEBRA_FAMILIES
from verifier.simulated.families_choice import CHOICE_FAMILIES
from verifier.simulated.families_numbers import NUMBER_FAMILIES
from verifier.simulated.families_writing import WRITING_FAMILIES
from verifier.simulated.problem import (
    HIGHEST,
    LOWEST,
    Family,
    Problem,
    find_in_family,
    generator,
    make_problem,
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (*NUMBER_FAMILIES, *ALGEBRA_FAMILIES, *CHOICE_FAMILIES, *WRITING_FAMILIES)
}
DIFFICULTY_SD = 1.2  # of the difficulties that are not asked for

EXAMINEE_THETAS = (-1.8, -1.4, -1.05, -0.7, -0.35, 0.0, 0.3, 0.65, 1.0, 1.4, 1.8, 2.2)
ABILITIES: dict[str, float] = {
    f"simulated-{number:02d}": theta for number, theta in enumerate(EXAMINEE_THETAS, 1)
}
REWRITER = "simulated-rewriter"
REWRITER_ABILITY = 3.5


def find_all(text: str) -> list[Problem]:
    """Return the first item of each family that occurs in a text, in the order of the text."""
    found = [problem for family in FAMILIES.values() if (problem := find_in_family(family, text))]
    return sorted(found, key=lambda problem: problem.start)


@lru_cache(maxsize=4096)
def find(text: str) -> Problem | None:
    """Return the first simulated item in a text, or None."""
    return next(iter(find_all(text)), None)


def is_simulated(text: str) -> bool:
    """Return whether a text has the wording of a simulated item.

    What it asks is not read, which could take for ever where somebody else has put the numbers in.
    """
    return any(pattern.search(text) for family in FAMILIES.values() for pattern in family.patterns)


def problem_of(question: str) -> Problem:
    """Return what the text of an item says.

    Raises
    ------
    InputError
        If no family knows the text.
    """
    problem = find(question)
    if problem is None:
        raise InputError(
            f"not a simulated item: {question[:80]!r}; make items with verifier.simulated.make_items"
        )
    return problem


def true_difficulty(question: str) -> float:
    """Return the difficulty b of a simulated item, on the scale of ABILITIES; higher is harder."""
    return problem_of(question).difficulty


def right_answer(question: str) -> str | None:
    """Return the right key: a number, a label in the order of the question's own choices, None for instructions."""
    return problem_of(question).reading.answer


def probability(model: str, question: str) -> float:
    """Return the probability g + (1 − g)·σ(θ − b) that an examinee, or the rewriter, is right."""
    problem = problem_of(question)
    return probability_correct(ability(model), problem.difficulty, problem.guessing)


def ability(model: str) -> float:
    """Return the ability θ of an examinee or of the rewriter."""
    return REWRITER_ABILITY if model == REWRITER else ABILITIES[model]


def panel_pass_rate(difficulty: float, guessing: float = 0.0) -> float:
    """Return the mean probability of the twelve examinees on an item."""
    rates = (probability_correct(theta, difficulty, guessing) for theta in EXAMINEE_THETAS)
    return sum(rates) / len(EXAMINEE_THETAS)


def difficulty_at(pass_rate: float, guessing: float = 0.0) -> float:
    """Return the difficulty at which the mean pass rate of the twelve is ``pass_rate``, from -6 to 6."""
    low, high = -6.0, 6.0
    for _ in range(40):
        middle = (low + high) / 2
        if panel_pass_rate(middle, guessing) > pass_rate:
            low = middle
        else:
            high = middle
    return low


def make_item(family: Family, difficulty: float, rng: random.Random, item_id: str) -> Item:
    """Return an item of the family whose difficulty is within 0.04 of the one given, from -3.5 to 3.5."""
    return as_item(make_problem(family, difficulty, rng), item_id)


def as_item(problem: Problem, item_id: str) -> Item:
    """Return a problem as the item that a benchmark holds."""
    reading = problem.reading
    return Item(
        id=item_id,
        question=problem.question,
        answer=reading.answer,
        answer_type=problem.family.answer_type,
        choices=reading.choices,
        instruction_ids=reading.instruction_ids,
        kwargs=reading.kwargs,
        source="simulated",
        licence="simulated",
    )


def make_items(
    count: int,
    *,
    seed: int,
    families: Sequence[str] | None = None,
    difficulties: Sequence[float] | None = None,
) -> list[Item]:
    """Make a pool of simulated items, the families in turn; no two have the same text.

    Parameters
    ----------
    families
        Names from FAMILIES; all of them if None.
    difficulties
        One an item, each from -3.5 to 3.5; if None they are drawn from Normal(0, 1.2), cut to that range. The truth of
        an item is ``true_difficulty(item.question)``, within 0.04 of what is asked here.

    Raises
    ------
    InputError
        For a family that does not exist, or not ``count`` difficulties in range.
    """
    names = list(FAMILIES) if families is None else list(families)
    if unknown := [name for name in names if name not in FAMILIES] or ([] if names else ["(none)"]):
        raise InputError(f"no family {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    rng = generator("pool", seed)
    if difficulties is None:
        difficulties = [min(max(rng.gauss(0, DIFFICULTY_SD), LOWEST), HIGHEST) for _ in range(count)]
    if len(difficulties) != count:
        raise InputError(f"{count} items need {count} difficulties, found {len(difficulties)}")
    if outside := [value for value in difficulties if not LOWEST <= value <= HIGHEST]:
        raise InputError(f"a difficulty must be from {LOWEST} to {HIGHEST}, found {outside[0]}")
    items: dict[str, Item] = {}
    for number, difficulty in enumerate(difficulties, 1):
        family = FAMILIES[names[(number - 1) % len(names)]]
        while (item := make_item(family, float(difficulty), rng, f"SIM-{number:04d}")).question in items:
            pass
        items[item.question] = item
    return list(items.values())
