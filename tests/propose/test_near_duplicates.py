"""A repeated item is found whatever was changed a little; one of the same template with other content is not."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from propose.near_duplicates import NearDuplicates
from propose.parsing import parse_reply
from verifier.items import Item
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources
from verifier.simulated.families import FAMILIES, make_items
from verifier.simulated.rewriter import RewriterHabits, rewrite

CARS = "In an antique car show, there are three vehicles: a {}, a {}, and a {}. The {} is newer than the {}."
PROMPT = "Target pass rate of the panel: 40 %\n\n## Parent\n{}"


def math(item_id: str, question: str) -> Item:
    return Item(item_id, question, "1", "math")


def how(index: NearDuplicates, item: Item) -> str | None:
    match = index.find(item)
    return match.how if match else None


LONG = (
    "A farmer has a field of $120$ meters by $80$ meters and wants to fence it along a river that runs on the longer "
    "side, leaving a gate of $4$ meters. How many meters of fence does the farmer need in total?"
)


@pytest.mark.parametrize(
    "question",
    [
        LONG,
        LONG.upper().replace("$", "").replace(". ", ".\n\n"),
        LONG.replace("80", "90"),
        LONG.replace("farmer", "gardener"),
        LONG.replace("in total", "altogether"),
        "Please solve this. " + LONG,
        LONG.replace("A farmer", "Once a farmer").replace("meters of fence", "meters of strong fence"),
    ],
)
def test_a_little_changed_it_is_the_same(question: str) -> None:
    index = NearDuplicates([math("farmer", LONG), math("other", "What is the sum of all primes below $30$?")])
    match = index.find(math("new", question))
    assert match is not None and match.id == "farmer" and "farmer" in str(match)


@pytest.mark.parametrize(
    ("short", "changed"),
    [
        ("What is $3^{17}$?", "What is $3^{18}$?"),
        ("Find $7 \\cdot 6$.", "Find $7 \\cdot 1,006$."),
        ("Solve $x^2=4$.", "Evaluate $x^2=4$."),
    ],
)
def test_one_number_or_word_is_found_where_there_are_few_passages(short: str, changed: str) -> None:
    assert how(NearDuplicates([math("a", short)]), math("b", changed)) == "one change"


def test_two_numbers_in_a_template_are_another_item() -> None:
    pool = [
        math(str(n), f"How many integers from ${n}$ to ${n * 7}$ are divisible by $9$?")
        for n in range(10, 30)
    ]
    index = NearDuplicates(pool)
    assert index.find(math("new", "How many integers from $40$ to $300$ are divisible by $9$?")) is None
    assert (
        how(index, math("new", "How many integers from $10$ to $71$ are divisible by $9$?")) == "one change"
    )


def test_a_shared_template_is_ignored() -> None:
    names = ["bus", "sedan", "tractor", "van", "truck", "hatchback", "limousine", "coupe"]
    rng = random.Random(2)
    pool = []
    for number in range(12):
        a, b, c = rng.sample(names[:6], 3)
        pool.append(
            Item(str(number), CARS.format(a, b, c, a, b), "A", "choice", (f"The {a}", f"The {b}", f"The {c}"))
        )
    index = NearDuplicates(pool)
    new = Item(
        "n",
        CARS.format("jeep", "pickup", "cab", "cab", "jeep"),
        "A",
        "choice",
        ("The jeep", "The pickup", "The cab"),
    )
    assert index.find(new) is None
    # With a pool of one item the whole of it is its content.
    assert NearDuplicates(pool[:1]).find(replace(pool[0], id="n", choices=pool[0].choices[::-1])) is not None


def test_reordered_options_are_a_duplicate_and_other_options_another_item() -> None:
    item = Item(
        "a",
        "Which of the following is true of cells?",
        "A",
        "choice",
        ("They divide", "They fly", "They sing"),
    )
    index = NearDuplicates([item])
    assert how(index, replace(item, id="b", choices=item.choices[::-1], answer="C")) == "same"
    assert how(index, replace(item, id="b", choices=("They grow", "They read", "They paint"))) is None
    assert (
        how(index, replace(item, id="b", choices=("They fly", "They divide", "They paint"))) == "one change"
    )
    reworded = replace(item, id="b", question="Which of the following is false of cells?")
    assert how(index, reworded) == "one change"
    assert how(index, replace(reworded, choices=("They grow", "They read", "They paint"))) is None


def test_earlier_candidates_count_and_make_no_template() -> None:
    index = NearDuplicates([math("pool", "What is the sum of all primes below $30$?")])
    for number in range(6):
        copy = math(
            f"c{number}",
            LONG.replace("river", ("river", "creek", "canal")[number % 3] + " side" * (number // 3)),
        )
        assert (index.find(copy) is None) == (number == 0)
        index.add(copy)


@pytest.mark.parametrize("family", FAMILIES)
def test_simulated_duplicates_are_caught_and_children_are_not(family: str) -> None:
    pool = make_items(40, seed=1, families=[family])
    index = NearDuplicates(pool)
    caught = flagged = 0
    for seed in range(60):
        parent = pool[seed % len(pool)]
        for habits in (RewriterHabits(duplicate_rate=1.0), RewriterHabits()):
            child = parse_reply(rewrite(PROMPT.format(parent.question), seed, habits).text, parent, "c")
            assert isinstance(child, Item)
            found = index.find(child) is not None
            caught, flagged = (
                caught + (found and habits.duplicate_rate > 0),
                flagged + (found and not habits.duplicate_rate),
            )
    assert caught == 60 and flagged <= 2


# Published items -------------------------------------------------------------------------------------------------


def published(benchmark: str) -> list[Item]:
    folder = os.environ.get("BENCHFILL_ITEMS")
    if not folder:
        pytest.skip("BENCHFILL_ITEMS is not set: no published items to read")
    names = {
        "bbh_3obj": ["bbh_logical_deduction_three_objects", "bbh_tracking_shuffled_objects_three_objects"],
        "mmlu_bio": ["mmlu_biology"],
    }
    paths = [Path(folder) / f"{name}.jsonl" for name in names.get(benchmark, [benchmark])]
    return read_items_of(read_sources()[benchmark], paths)


def other_number(item: Item) -> Item | None:
    number = next(re.finditer(r"\d+", item.question), None)
    if number is None:
        return None
    start, end = number.span()
    return replace(
        item, id="new", question=f"{item.question[:start]}{int(number[0]) + 1}{item.question[end:]}"
    )


def other_order(item: Item) -> Item | None:
    return replace(item, id="new", choices=item.choices[::-1]) if item.choices else None


@pytest.mark.parametrize("benchmark", read_sources())
@pytest.mark.parametrize("change", [other_number, other_order])
def test_every_published_item_is_known_again(benchmark: str, change: Callable[[Item], Item | None]) -> None:
    items = published(benchmark)
    index = NearDuplicates(items)
    changed = [new for item in items if (new := change(item))]
    assert [new.question for new in changed if index.find(new) is None] == []


@pytest.mark.parametrize("benchmark", [name for name in read_sources() if name != "bbh_3obj"])
def test_published_items_do_not_repeat_each_other(benchmark: str) -> None:
    """Of BBH's tracking items, which are drawn from few names, a quarter have a twin that differs in one word."""
    items = published(benchmark)
    first, second = items[::2], items[1::2]
    index = NearDuplicates(first)
    repeated = [item.id for item in second if index.find(item)]
    assert len(repeated) <= 0.01 * len(items), repeated
