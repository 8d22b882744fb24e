"""IFEval's checkers: the same verdict every time, no argument left to chance, and the published verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from verifier.graders.instruction_arguments import ARGUMENTS, check_instructions
from verifier.graders.instruction_grader import follows, grade_instructions, self_test, version
from verifier.graders.punkt_data import write_punkt
from verifier.items import Item

ROOT = Path(__file__).resolve().parents[3]

# One instruction of each kind: arguments, a text that follows it, one that does not.
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        "A word and NASA.",
        "Only one: NASA.",
    ),
    (
        "change_case:english_capital",
        {},
        "THIS IS AN ENGLISH SENTENCE. EVERY LETTER IS CAPITALIZED!!!",
        "This is an English sentence.",
    ),
    (
        "change_case:english_lowercase",
        {},
        "this is an english sentence, and every letter is small.",
        "This is an English sentence, and one letter is not.",
    ),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, "say it. It.", "Well: Say it."),
    ("combination:two_responses", {}, "one\n******\ntwo", "one\n******\none"),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name], [town]", "[name]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\nP.S. More.", "Bye. PS more"),
    ("detectable_format:constrained_response", {}, "My answer is maybe.", "Maybe."),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Part", "num_sections": 2},
        "Part 1\nx\nPart 2\ny",
        "Part 1\nx",
    ),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n- two", "* one\n* two\n* three"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* and *b*", "*a* and b"),
    ("detectable_format:title", {}, "<<Joy>>\ntext", "<Joy>\ntext"),
    ("keywords:existence", {"keywords": ["art", "moon"]}, "A start on the Moon", "the sun is a star"),
    ("keywords:forbidden_words", {"forbidden_words": ["art"]}, "A start", "An art"),
    (
        "keywords:frequency",
        {"keyword": "sun", "frequency": 2, "relation": "less than"},
        "Sun.",
        "Sun, sunny.",
    ),
    (
        "keywords:letter_frequency",
        {"letter": "Q", "let_frequency": 2, "let_relation": "at least"},
        "q and Q",
        "one q",
    ),
    (
        "language:response_language",
        {"language": "fr"},
        "Je ne sais pas ce que vous voulez dire.",
        "I do not know what you want to say.",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Beta"},
        "alpha one\n\nbeta, two",
        "alpha one\n\ngamma two",
    ),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", "a\n\nb"),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "at least"},
        "Dr. Who ran. He left.",
        "Dr. Who ran.",
    ),
    (
        "length_constraints:number_words",
        {"num_words": 3, "relation": "less than"},
        "two words",
        "now three words",
    ),
    ("punctuation:no_comma", {}, "No comma; none.", "One, here."),
    ("startend:end_checker", {"end_phrase": "The End."}, "All.\nthe end.", "The end. Really."),
    ("startend:quotation", {}, ' "All of it" ', '"Some" of it'),
]
NAMES = [case[0] for case in CASES]


def item_of(name: str, arguments: dict[str, Any]) -> Item:
    return Item("row-7", "?", None, "instructions", instruction_ids=(name,), kwargs=(arguments,))


def test_every_checker_is_in_the_table() -> None:
    assert NAMES == list(ARGUMENTS)
    self_test()


@pytest.mark.parametrize(("name", "arguments", "good", "bad"), CASES, ids=NAMES)
def test_each_checker_passes_one_text_and_fails_another(
    name: str, arguments: dict[str, Any], good: str, bad: str
) -> None:
    item = item_of(name, arguments)
    assert follows(item, good) == [True]
    assert follows(item, bad) == [False]


@pytest.mark.parametrize(("name", "arguments", "good", "bad"), CASES, ids=NAMES)
def test_each_checker_survives_any_text_and_is_looser_when_loose(
    name: str, arguments: dict[str, Any], good: str, bad: str
) -> None:
    item = item_of(name, arguments)
    texts = [
        "",
        " \n",
        "!!!",
        "123",
        "\ud800",
        "\udfff\x00",
        "𝔘😀",
        "*",
        "\n\n",
        "***",
        "。！",
        good,
        bad,
        good + bad,
    ]
    texts += [f"Sure!\n{good}", f"**{good}**", f"{good}\nThat is all."]
    for text in texts:
        strict, loose = follows(item, text), follows(item, text, loose=True)
        assert loose >= strict, text
        assert all(follows(item, text) == strict for _ in range(3))


def test_less_than_is_strictly_less() -> None:
    item = item_of("length_constraints:number_words", {"num_words": 101, "relation": "less than"})
    assert follows(item, "word " * 100) == [True]
    assert follows(item, "word " * 101) == [False]


def test_a_character_that_is_no_letter_is_counted_and_not_drawn() -> None:
    item = item_of(
        "keywords:letter_frequency", {"letter": "!", "let_frequency": 6, "let_relation": "at least"}
    )
    assert {follows(item, "!!!!!!")[0] for _ in range(50)} == {True}
    assert {follows(item, "!!!!! aaaaaaaaaaaaaaaaaaaaaaaaaaaaa")[0] for _ in range(50)} == {False}


def test_the_language_of_a_text_is_the_same_every_time() -> None:
    item = item_of("change_case:english_capital", {})
    text = "THIS IS AN ENGLISH SENTENCE. EVERY LETTER IS CAPITALIZED!!!"
    assert {follows(item, text)[0] for _ in range(100)} == {True}


def test_the_published_oddity_of_blank_paragraphs_is_kept() -> None:
    item = item_of(
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "beta"},
    )
    assert follows(item, "alpha one\n\nbeta two") == [True]
    # Two paragraphs are counted, but the second of the three pieces is "alpha one".
    assert follows(item, "\n\nalpha one\n\nbeta two") == [False]


def test_the_verdict_lists_what_was_not_followed() -> None:
    item = replace(
        item_of("punctuation:no_comma", {}),
        instruction_ids=("punctuation:no_comma", "startend:quotation", "detectable_format:title"),
        kwargs=({}, {}, {}),
    )
    verdict = grade_instructions(item, '"Well, <<Title>>"')
    assert (verdict.outcome, verdict.correct, verdict.detail) == (
        "ok",
        False,
        "not followed: punctuation:no_comma",
    )
    assert grade_instructions(item, '"<<Title>>"').correct is True
    blank = grade_instructions(item, " \n")
    assert (blank.outcome, blank.correct) == ("no_answer", False)
    assert (verdict.grader, verdict.version) == ("ifeval", version())
    assert "lm_eval 0." in version()


BAD = [
    ("keywords:existance", {}, "'keywords:existance' is unknown"),
    ("length_constraints:number_words", {"num_words": 5, "relation": "fewer"}, "found 'fewer'"),
    ("length_constraints:number_words", {"num_words": 5}, "needs 'relation'"),
    ("length_constraints:number_words", {"num_words": None, "relation": "less than"}, "needs 'num_words'"),
    ("length_constraints:number_words", {"num_words": -1, "relation": "less than"}, "found -1"),
    ("length_constraints:number_words", {"num_words": 0, "relation": "less than"}, "found 0"),
    ("length_constraints:number_words", {"num_words": True, "relation": "less than"}, "found True"),
    ("length_constraints:number_words", {"num_words": "9", "relation": "less than"}, "found '9'"),
    ("punctuation:no_comma", {"relation": "less than"}, "takes no arguments, found 'relation'"),
    ("keywords:existence", {"keywords": []}, "found []"),
    ("keywords:existence", {"keywords": ["c++("]}, "regular expression"),
    ("keywords:existence", {"keywords": ["a{99999999999}"]}, "regular expression"),
    ("keywords:existence", {"keywords": ["(" * 3000 + ")" * 3000]}, "regular expression"),
    ("keywords:frequency", {"keyword": " ", "frequency": 1, "relation": "at least"}, "keyword must be"),
    (
        "keywords:letter_frequency",
        {"letter": "ab", "let_frequency": 1, "let_relation": "at least"},
        "one character",
    ),
    ("language:response_language", {"language": "klingon"}, "found 'klingon'"),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 1, "nth_paragraph": 2, "first_word": "a"},
        "at most num_paragraphs, found 2 of 1",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "message"), BAD)
def test_an_instruction_that_would_be_judged_at_random_is_refused(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match="item 'row-7': instruction") as caught:
        check_instructions(item_of(name, arguments))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_without_a_value_are_as_if_not_there() -> None:
    item = item_of("punctuation:no_comma", {"relation": None, "num_words": None})
    check_instructions(item)
    assert follows(item, "none") == [True]


@pytest.mark.parametrize(("name", "arguments", "good", "bad"), CASES, ids=NAMES)
def test_every_missing_argument_is_named(name: str, arguments: dict[str, Any], good: str, bad: str) -> None:
    for missing in arguments:
        with pytest.raises(InputError, match=f"needs '{missing}'"):
            check_instructions(item_of(name, {**arguments, missing: None}))


# The published items and the published verdicts ----------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> list[Item]:
    folder = os.environ.get("BENCHFILL_ITEMS")
    if not folder:
        pytest.skip("BENCHFILL_ITEMS is not set: the folder of published items")
    rows = [json.loads(line) for line in (Path(folder) / "ifeval.jsonl").read_text("utf-8").splitlines()]
    return [
        Item(
            row["id"],
            row["question"],
            None,
            "instructions",
            instruction_ids=tuple(row["instruction_id_list"]),
            kwargs=tuple(row["kwargs"]),
        )
        for row in rows
    ]


def test_all_published_items_can_be_judged(published: list[Item]) -> None:
    assert len(published) == 541
    for item in published:
        check_instructions(item)


def test_verdicts_are_the_published_ones(published: list[Item]) -> None:
    """Strict and loose, on replies of several shapes; the two items whose published verdict is random left out."""
    from lm_eval.tasks.ifeval import utils

    texts = [good for _, _, good, _ in CASES] + [bad for _, _, _, bad in CASES]
    compared = 0
    for number, item in enumerate(published):
        if any(given.get("letter") in ("#", "!") for given in item.kwargs):
            continue
        given = utils.InputExample(
            0, list(item.instruction_ids), item.question, [dict(k) for k in item.kwargs]
        )
        echo = f'{item.question}\n\n***\n\n"{item.question}"\n* P.S. <<x>>'
        for text in (texts[number % len(texts)], echo, f"{item.question.lower()}", "", "!!!"):
            strict = utils.test_instruction_following_strict(given, text).follow_instruction_list
            loose = utils.test_instruction_following_loose(given, text).follow_instruction_list
            assert follows(item, text) == strict, (item.id, text)
            assert follows(item, text, loose=True) == loose, (item.id, text)
            compared += 1
    assert compared == 539 * 5


# NLTK's data ---------------------------------------------------------------------------------------------------

# Without the packages that NLTK takes along where it finds them, and that are slow to load.
CHECK = """
import socket, sys
sys.modules.update(scipy=None, sklearn=None)
def refuse(*arguments):
    raise AssertionError("the network was asked")
socket.socket.connect = refuse
from verifier.graders.instruction_grader import self_test
self_test()
import nltk
from nltk.tokenize.punkt import PunktTokenizer
from punkt.data import english
parameters = PunktTokenizer("english")._params
assert parameters.abbrev_types == set(english.ABBREV_TYPES)
assert parameters.collocations == set(english.COLLOCATIONS)
assert parameters.sent_starters == set(english.SENT_STARTERS)
assert dict(parameters.ortho_context) == dict(english.ORTHO_CONTEXT)
assert nltk.sent_tokenize("Dr. Who ran. He left.") == ["Dr. Who ran.", "He left."]
assert nltk.word_tokenize("He left.") == ["He", "left", "."]
"""


def test_nothing_is_downloaded_or_printed_and_the_parameters_are_nltks(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "NLTK_DATA": ""}
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_several_processes_write_the_same_data_at_once(tmp_path: Path) -> None:
    script = "import sys, pathlib, verifier.graders.punkt_data as data; data.write_punkt(pathlib.Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], env=environment) for _ in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    write_punkt(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "abbrev_types.txt",
        "collocations.tab",
        "english",
        "ortho_context.tab",
        "punkt_tab",
        "sent_starters.txt",
        "tokenizers",
    ]
