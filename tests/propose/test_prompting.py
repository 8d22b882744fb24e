"""Every benchmark has its prompt, whole and in the words that the simulated rewriter reads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from irt.io import InputError
from propose import prompting
from propose.candidate import Brief, Miss
from propose.parsing import parse_reply
from propose.prompting import FAMILIES, FOLDER, check_prompts, family_for, family_of, rewrite_prompt
from propose.show_prompt import example_brief
from verifier.items import Item, write_items
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources
from verifier.simulated.families import FAMILIES as SIMULATED
from verifier.simulated.families import (
    difficulty_at,
    make_items,
    panel_pass_rate,
    problem_of,
    true_difficulty,
)
from verifier.simulated.rewriter import FEEDBACK, TARGET, RewriterHabits, rewrite

ROOT = Path(__file__).resolve().parents[2]
PARENTS = {
    "math": Item("m", r"What is $\frac{{1}}{2}$ of {{parent}} ten?", "5", "math"),
    "choice": Item("c", "Which is the oldest?", "B", "choice", ("Ann", "Bo", "Cy")),
    "instructions": Item(
        "i", "Write a poem in 30 words.", None, "instructions",
        instruction_ids=("length_constraints:number_words",), kwargs=({"relation": "at least", "num_words": 30},),
    ),
}  # fmt: skip
MISSES = (Miss(0.4, 0.615), Miss(0.4, 0.2), Miss(0.4, 0.41))


def brief(parent: Item, benchmark: str = "general", **more: object) -> Brief:
    return Brief(benchmark, parent, 0.9, 0.4, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("benchmark", [*FAMILIES, "a-benchmark-of-mine", "SIM-Chains"])
@pytest.mark.parametrize("answer_type", PARENTS)
def test_a_prompt_tells_all_that_the_rewriter_needs(benchmark: str, answer_type: str) -> None:
    parent = PARENTS[answer_type]
    neighbour = Item("n", "Another question, for comparison?", "7", "math")
    text = rewrite_prompt(brief(parent, benchmark, neighbours=((neighbour, 0.55),), misses=MISSES))
    assert parent.question in text and neighbour.question in text
    assert all(part in text for part in (*parent.choices, *parent.instruction_ids))
    assert parent.answer is None or f"Answer: {parent.answer}" in text
    assert "harder than the parent" in text and "Measured pass rate of this item: 90 %" in text
    assert re.findall(r"^Target pass rate of the panel: (.*)$", text, re.M) == ["40 %"]
    assert "- aimed at 40 %, measured 61.5 %: it was too easy" in text
    assert "measured 20 %: it was too hard" in text and "measured 41 %: it hit" in text
    assert "```json" in text and "55 %" in text
    assert "{{" not in text.replace(parent.question, "") and "\n\n\n" not in text


def test_sections_without_content_are_not_there() -> None:
    text = rewrite_prompt(brief(PARENTS["math"]))
    assert "earlier items" not in text and "Other items" not in text and "\n\n\n" not in text


@pytest.mark.parametrize(
    ("now", "target", "words"), [(0.9, 0.4, "harder"), (0.2, 0.6, "easier"), (0.4, 0.41, "about as hard")]
)
def test_the_direction_is_told(now: float, target: float, words: str) -> None:
    assert f"that is {words}" in rewrite_prompt(Brief("aime25", PARENTS["math"], now, target))


def test_what_the_answer_must_be_is_told() -> None:
    assert "a whole number from 0 to 999" in rewrite_prompt(brief(PARENTS["math"], "aime24"))
    assert "exactly 3 choices" in rewrite_prompt(brief(PARENTS["choice"]))
    text = rewrite_prompt(brief(PARENTS["instructions"]))
    assert "- punctuation:no_comma: no arguments" in text
    assert "num_words (a whole number from 1)" in text and "relation ('less than' or 'at least')" in text


def test_a_benchmark_of_yours_has_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text("Aim at {{target_pass_rate}}.\n", encoding="utf-8")
    (tmp_path / "wrong.txt").write_text("Aim at {{target}}.\n", encoding="utf-8")
    (tmp_path / "reply").symlink_to(FOLDER / "reply")
    monkeypatch.setattr(prompting, "FOLDER", tmp_path)
    assert rewrite_prompt(brief(PARENTS["math"], "mine")) == "Aim at 40 %.\n"
    with pytest.raises(InputError, match=r"wrong\.txt: no field \{\{target\}\}; there are target_pass_rate"):
        rewrite_prompt(brief(PARENTS["math"], "wrong"))


@pytest.mark.parametrize("family", SIMULATED)
def test_the_simulated_rewriter_reads_target_parent_and_feedback(family: str) -> None:
    parent, other = make_items(2, seed=3, families=[family])
    neighbours = tuple((item, 0.5) for item in (other, *make_items(3, seed=4)))
    text = rewrite_prompt(brief(parent, "demo", neighbours=neighbours))
    assert TARGET.search(text) and not FEEDBACK.findall(text)
    child = parse_reply(rewrite(text, 1, RewriterHabits(sd=0.0)).text, parent, "c")
    assert isinstance(child, Item) and problem_of(child.question).family.name == family
    assert true_difficulty(child.question) == pytest.approx(difficulty_at(0.4, parent.guessing), abs=0.06)
    landed = panel_pass_rate(difficulty_at(0.4, parent.guessing) + 1.0, parent.guessing)
    told = rewrite_prompt(brief(parent, "demo", neighbours=neighbours, misses=(Miss(0.4, landed),) * 4))
    assert len(FEEDBACK.findall(told)) == 4
    better = parse_reply(rewrite(told, 1, RewriterHabits(bias=1.0, sd=0.0)).text, parent, "c")
    assert isinstance(better, Item)
    # A guess blurs what a pass rate says of the difficulty of a hard item.
    assert true_difficulty(better.question) - difficulty_at(0.4, parent.guessing) < 0.5


def test_prompts_are_plain_files_and_each_is_used() -> None:
    used = {family.prompt for family in FAMILIES.values()} | {"general", "simulated"}
    assert {path.stem for path in FOLDER.glob("*.txt")} == used
    assert family_of("../demo").prompt == family_of("anything").prompt == "general"


def test_the_simulated_prompt_goes_by_the_item_and_not_by_the_name_of_its_benchmark() -> None:
    simulated = make_items(1, seed=4)[0]
    real = Item("x", "What is 1 + 1?", "2", "math")
    assert {family_for(name, simulated).prompt for name in ("demo", "mine", "sim-a")} == {"simulated"}
    assert {family_for(name, real).prompt for name in ("demo", "mine", "sim-a")} == {"general"}
    assert family_for("aime25", simulated) == family_of("aime25")  # a listed benchmark keeps its own


# The command -----------------------------------------------------------------------------------------------------


def show(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "propose.show_prompt", *arguments]
    environment = os.environ | {"BENCHFILL_DATA": str(data)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("number", ["9" * 5000, "99999999"])
def test_a_rewriter_that_writes_as_simulated_items_do_holds_nothing_up(number: str) -> None:
    """What such a text asks is not worked out: with these numbers that fails, or takes for ever."""
    for item in make_items(8, seed=3, families=["power", "committee", "draws", "chain"]):
        odd = replace(item, question=re.sub(r"\d+", number, item.question))
        assert number in rewrite_prompt(Brief("demo", odd, 0.5, 0.4))


def test_the_command_shows_a_prompt_or_says_where_the_pool_belongs(tmp_path: Path) -> None:
    missing = show("aime25", data=tmp_path)
    assert missing.returncode == 2 and missing.stdout == ""
    assert (
        str(tmp_path / "pool" / "aime25.jsonl") in missing.stderr
        and "fetch_items.py aime25" in missing.stderr
    )
    items = make_items(5, seed=2)
    (tmp_path / "pool").mkdir()
    write_items(tmp_path / "pool" / "demo.jsonl", items)
    answer = show("demo", "--parent", items[2].id, data=tmp_path)
    assert (
        answer.returncode == 0
        and items[2].question in answer.stdout
        and "propose/prompts/simulated.txt" in answer.stderr
    )
    wrong = show("demo", "--parent", "none", data=tmp_path)
    assert wrong.returncode == 2 and "no such item" in wrong.stderr and wrong.stderr.count("\n") == 1


@pytest.mark.parametrize("benchmark", read_sources())
def test_the_prompts_of_all_eight_benchmarks_are_rendered(benchmark: str) -> None:
    folder = os.environ.get("BENCHFILL_ITEMS")
    if not folder:
        pytest.skip("BENCHFILL_ITEMS is not set: no published items to render")
    names = {
        "bbh_3obj": ["bbh_logical_deduction_three_objects", "bbh_tracking_shuffled_objects_three_objects"],
        "mmlu_bio": ["mmlu_biology"],
    }
    paths = [Path(folder) / f"{name}.jsonl" for name in names.get(benchmark, [benchmark])]
    items = read_items_of(read_sources()[benchmark], paths)
    for item in items[:: max(1, len(items) // 10)]:
        text = rewrite_prompt(example_brief(benchmark, items, item.id))
        assert item.question in text and len(text) < 20_000
        assert re.findall(r"^Target pass rate of the panel: (.*)$", text, re.M) == ["40 %"]


def test_a_prompt_is_checked_before_a_run_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Item("a", "1 + 1?", "2", "math")]
    monkeypatch.setattr(prompting, "FOLDER", tmp_path)
    for name, text, message in (
        ("unknown", "{{parnt}} {{reply_format}}", r"unknown\.txt: no field \{\{parnt\}\}; there are target"),
        ("short", "{{target_pass_rate}} {{parent}}", r"short\.txt: without \{\{reply_format\}\} no item"),
    ):
        (tmp_path / f"{name}.txt").write_text(text)
        with pytest.raises(InputError, match=message):
            check_prompts(name, items)
    (tmp_path / "good.txt").write_text("{{target_pass_rate}} {{parent}} {{reply_format}}")
    check_prompts("good", items)


@pytest.mark.parametrize("benchmark", [*FAMILIES, "somebody's"])
def test_the_prompts_here_pass_their_check(benchmark: str) -> None:
    check_prompts(benchmark, [Item("a", "1 + 1?", "2", "math"), *make_items(1, seed=1)])
