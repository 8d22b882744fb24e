"""One table of replies and the choice that each makes, and what holds for every reply."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier.graders.choice_grader import extract_choice, grade_choice
from verifier.items import LABELS, Item
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources

TEN = tuple(f"option number {number}" for number in range(10))
FOUR = ("gene", "Ulysses", "3.5 km", "None of the above")

# (reply, labels, options, right)
REPORTED = [
    ("The answer is C because I computed it.", TEN, "C"),
    ("The answer is B. Note that A is a distractor.", TEN, "B"),
    ("Antwort:\n\nAntwort: C", TEN, "C"),
    ("ANSWER: None of the above", TEN, None),
    ("Don't know", TEN, None),
    ("Answer seems to be A.\nAnswer: B", TEN, "B"),
    ("Answer seems to be A", TEN, "A"),
    ("I would pick B — a safe choice.", TEN, "B"),
    (r"\boxed{\text{E}}", TEN, "E"),
    (r"\boxed{E: gene}", TEN, "E"),
    ("ANSWER: A,", TEN, "A"),
    ("Answer: $B", TEN, "B"),
    ("d", FOUR, "D"),
    ("the answer is (A)", TEN, "A"),
]
FORMS = [
    ("ANSWER: B", "B"),
    ("work\n\nANSWER: B\n", "B"),
    ("ANSWER: b", "B"),
    ("ANSWER:B.", "B"),
    ("ANSWER: (B)", "B"),
    ("**ANSWER: B**", "B"),
    ("**ANSWER:** B", "B"),
    ("**Answer**: **B**", "B"),
    ("ANSWER: **B**", "B"),
    ("ANSWER: [B]", "B"),
    ("ANSWER: <B>", "B"),
    ("Answer:\nB", "B"),
    ("## Answer\n\n**B**", "B"),
    ("<answer>B</answer>", "B"),
    ('{"answer": "B"}', "B"),
    ("ANSWER = B", "B"),
    ("Answer: B) Ulysses", "B"),
    ("Answer: Option B", "B"),
    ("Answer: The correct option is (B).", "B"),
    ("The correct answer is **B**", "B"),
    ("The correct answer is: B", "B"),
    ("The correct answer is:\n\n**B) Ulysses**", "B"),
    ("The answer to this question should therefore be B.", "B"),
    ("The best choice is B, as A is too short.", "B"),
    ("so the final answer is $\\boxed{B}$.", "B"),
    (r"The answer is $\boxed{\textbf{(B)}}$", "B"),
    (r"\boxed{\mathrm{B}}", "B"),
    (r"\[\boxed{B}\]", "B"),
    (r"First \boxed{A}; no, \boxed{B}", "B"),
    (r"\boxed{\text{Ulysses}}", "B"),
    ("Answer: A? No. The answer is B.", "B"),
    ("The answer is not A. The answer is B.", "B"),
    ("The answer is B. The answer is not A, which is too long.", "B"),
    ("The answer is B; if the answer is A, the sum is odd.", "B"),
    ("Answer: B\n\nThe wrong answer is C.", "B"),
    ("Final answer: b", "B"),
    ("The answer is B. Option A: gene. Option C: 3.5 km.", "B"),
    ("Option A is gene.\nChoice C is 3.5 km\n\nSo the answer I give is B", "B"),
    ("答案是B。选项A是gene", "B"),
    ("ANSWER B: Ulysses", "B"),
    # what follows the line that is asked for explains it
    ("ANSWER: B\n\nExplanation of each answer: A is too small.", "B"),
    ("ANSWER: B\n\nExplanation of the answers: A is too small.", "B"),
    ("ANSWER: B\n\nThe answer is A if you ignore friction", "B"),
    ("ANSWER: B\n\nThe answer is A only if x > 0.", "B"),
    ("ANSWER: B\n\nMany would say that the answer is A.", "B"),
    ("**Answer: B) Ulysses**\n\nEvery other answer is A or worse.", "B"),
    ("**ANSWER: (B)**\n\nStudents choose A, for whom the answer is A.", "B"),
    ("ANSWER: Ulysses\n\nThe answer is A in the abridged book.", "B"),
    ("ANSWER: A\n\nWait, the book is long.\n\nANSWER: B", "B"),
    ("ANSWER: A\n\nWait. \\boxed{B}", "B"),
    ("The answer is B.\n\nThe answer is A if you ignore friction", "B"),
    ("The answer is B. Any other answer: A, C, D is too short.", "B"),
    ("The answer is B if the book is meant.", "B"),
    ("IF\n\nANSWER: B", "B"),
    # other languages and scripts
    ("Die richtige Antwort ist B.", "B"),
    ("La réponse est B.", "B"),
    ("La respuesta correcta es B", "B"),
    ("答案：B", "B"),
    ("答案是B。", "B"),
    ("正确答案为（B）", "B"),
    ("因此选B", "B"),
    ("故选择 B。", "B"),
    ("ANSWER：Ｂ", "B"),
    ("ответ: B", "B"),
    # the text of an option
    ("The answer is Ulysses", "B"),
    ("The answer is Ulysses.", "B"),
    ("ANSWER: ulysses", "B"),
    ("ANSWER: 3.5 km", "C"),
    ("ANSWER: None of the above", "D"),
    ("I read it long ago.\n\nUlysses", "B"),
    ("ANSWER - B", "B"),
    ("The correct answer is Ulysses (B).", "B"),
    ("答案应该是B", "B"),
    ("正确的选项是B", "B"),
    ("答案 B", "B"),
    ("B是正确的", "B"),
    # no cue
    ("I believe it's B.", "B"),
    ("A is out.\n\nHence **B**.", "B"),
    ("B", "B"),
    (" b \n", "B"),
    ("(B)", "B"),
    ("B.", "B"),
    ("**B**", "B"),
    ("$B$", "B"),
    ("B) Ulysses", "B"),
    ("B. Joyce wrote it in Trieste.\nIt was printed in Paris.", "B"),
    ("Joyce wrote it.\n\nB", "B"),
    ("I choose B because it is long.", "B"),
    ("I'll go with option B.", "B"),
    ("Option B is correct, A is not.", "B"),
    ("A is too short. B is the right one, B is correct.", "B"),
    ("Clearly **B**.", "B"),
]
NO_CHOICE = [
    "",
    " \n ",
    "!!!",
    "123",
    "A cell has a wall.",
    "I think it is a hard question.",
    "A good question! I have no idea.",
    "The answer is a positive number.",
    "The answer is I think something else",
    "The answer is e.g. long",
    "ANSWER: I don't know",
    "ANSWER: unknown",
    "ANSWER: A or B",
    "ANSWER: A and C",
    "ANSWER: A, C",
    "ANSWER: A/B",
    r"\boxed{A, B}",
    "ANSWER: E",
    "ANSWER: $LETTER",
    "ANSWER: B-cell",
    "ANSWER: C++",
    "The answer is A's brother",
    "A) gene\nB) Ulysses\nC) 3.5 km\nD) None of the above",
    "Answer: None",
    "Option A is short. Option B is long.",
    "Option A: gene\nOption B: Ulysses\nOption C: 3.5 km\n\nHm.",
    "Answer A is gene, answer B is Ulysses",
    "答案：无法确定",
    r"\boxed{",
    r"\boxed{}",
    "\ud800 answer is \udfff",
]

BIOLOGY = ("mitosis", "meiosis", "a gene", "binary fission")
RULED_OUT = [
    ("The answer cannot be A. It must be B.", "B"),
    ("The answer can't be A; it is B", "B"),
    ("The answer cannot be A.", None),
    ("The answer couldn’t be A.", None),
    ("Is the answer A? No. Is it B? Yes.", None),
    ("The answer is A? No, B.", None),
    ("The answer is A? Yes.", "A"),
    ("A is not the answer. D is.", "D"),
    ("The answer isn't A. B is.", "B"),
    ("The correct answer is neither A nor B; it is C.", "C"),
    ("The answer is not A or B but C.", "C"),
    ("The correct answer is neither A nor B.", None),
    ("The answer is not B, so it is A or C.", None),
    ("The answer is perhaps A or maybe B", None),
    ("ANSWER: B C", None),
    ("The answer is either A or B", None),
]
SHORT = [
    ("故选：B。", "B"),
    ("故选: B", "B"),
    ("故选：B．", "B"),
    ("本题选：C", "C"),
    ("答：B", "B"),
    ("不选A，选B。", "B"),
    ("选B不选A", "B"),
    ("不选A", None),
    ("请选择：\nA. mitosis\nB. meiosis", None),
    ("Correct: B", "B"),
    ("Solution: B", "B"),
    ("Solution: A cell divides.", None),
    ("Answer → B", "B"),
    ("Answer⇒B", "B"),
    ("Probably B", "B"),
    ("Probably A mistake", None),
    ("I'd say B", "B"),
    ("I'd say A good question", None),
    ("The answer is likely B", "B"),
    ("The answer is most probably (B).", "B"),
    ("- B", "B"),
    ("1. B", "B"),
    ("1. A\n2. B\n3. C", None),
    ("A: mitosis is wrong\nB: wrong\nC: wrong\nD: right\n\nD", "D"),
    ("A: mitosis\nB: meiosis\nC: a gene", None),
    ("A\nB\nC\nD", None),
    ("ANSWER: gene", "C"),
    ("ANSWER: The gene", "C"),
    ("ANSWER: A gene", "C"),
]


@pytest.mark.parametrize(("reply", "right"), RULED_OUT + SHORT)
def test_labels_that_are_ruled_out_and_short_forms(reply: str, right: str | None) -> None:
    assert extract_choice(reply, "ABCD", BIOLOGY) == right


def test_options_that_differ_in_their_article_alone_are_told_apart() -> None:
    assert extract_choice("ANSWER: the gene", "AB", ("a gene", "the gene")) == "B"
    assert extract_choice("ANSWER: gene", "AB", ("a gene", "the gene")) is None


@pytest.mark.parametrize(("reply", "choices", "right"), REPORTED)
def test_replies_that_other_extractors_misread(
    reply: str, choices: tuple[str, ...], right: str | None
) -> None:
    assert extract_choice(reply, LABELS[: len(choices)], choices) == right


@pytest.mark.parametrize(("reply", "right"), FORMS)
def test_forms_of_a_choice(reply: str, right: str) -> None:
    assert extract_choice(reply, "ABCD", FOUR) == right


@pytest.mark.parametrize("reply", NO_CHOICE)
def test_no_choice_is_read_into_what_makes_none(reply: str) -> None:
    assert extract_choice(reply, "ABCD", FOUR) is None


def test_a_refusal_after_the_last_cue_takes_an_earlier_choice_back() -> None:
    assert extract_choice("The answer is B.\nANSWER: none of these", "ABCD", FOUR) is None


def test_the_text_of_two_options_is_no_choice() -> None:
    choices = ("same", "Same.", "other", "other")
    assert extract_choice("ANSWER: SAME", "ABCD", choices) is None
    assert extract_choice("ANSWER: same", "ABCD", choices) == "A"
    assert extract_choice("ANSWER: other", "ABCD", choices) is None


def test_options_that_differ_in_case_or_brackets_alone_are_told_apart() -> None:
    choices = ("Bb bb", "bb Bb", "Bb Bb", "(0, 1)", "[0, 1]", "x (see above)")
    for label, choice in zip("ABCDEF", choices):
        for form in ("ANSWER: {}", "The answer is {}.", "**Answer:** {}", "{}"):
            assert extract_choice(form.format(choice), "ABCDEF", choices) == label


def test_an_option_longer_than_a_paragraph_is_recognised() -> None:
    choices = ("water " * 200, "salt " * 200)
    assert extract_choice(f"The answer is {choices[1]}", "AB", choices) == "B"


@pytest.mark.parametrize("number", [2, 4, 5, 10, 26])
def test_every_label_of_every_number_of_options(number: int) -> None:
    labels, choices = LABELS[:number], tuple(f"text {place}" for place in range(number))
    for label in LABELS:
        right = label if label in labels else None
        for form in (
            "ANSWER: {}",
            "The answer is {}.",
            r"\boxed{{{}}}",
            "**{}**",
            "{}",
            "I pick {}.",
            "({})",
        ):
            assert extract_choice(form.format(label), labels, choices) == right, form.format(label)
        for place, choice in enumerate(choices):
            assert extract_choice(f"ANSWER: {choice}", labels, choices) == labels[place]


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ABI ab.:,*(){}\\\n答案选是") | st.characters(), max_size=80),
    st.sampled_from("ABCD"),
)
def test_a_last_line_in_the_form_that_is_asked_for_decides(before: str, label: str) -> None:
    assert extract_choice(f"{before}\n\nANSWER: {label}", "ABCD", FOUR) == label


@pytest.mark.parametrize(
    "unit",
    [
        "answer ",
        "answer is ",
        "answer: A and ",
        r"\boxed{",
        "**",
        "(",
        "A",
        " ",
        "\n",
        "选",
        "is be ",
        "option A ",
        "\ufdfa",
        "ANSWER: A\n",
        "ANSWER: perhaps\n",
        "ANSWER: A\n\\boxed{",
    ],
)
def test_a_megabyte_of_anything_is_read(unit: str) -> None:
    assert extract_choice(unit * (1_000_000 // len(unit)) + "\n\nANSWER: C", "ABCD", FOUR) == "C"
    extract_choice(unit * (1_000_000 // len(unit)), "ABCD", FOUR)


FORMS_OF_AN_ITEM = (
    "ANSWER: {label}",
    "ANSWER: {label}) {choice}",
    "The answer is ({label}) {choice}.",
    "So the answer is: {choice}",
    "The answer is **{choice}**",
    r"\boxed{{\text{{{choice}}}}}",
    "Option {label} is correct: {choice}",
    "I choose {label}: {choice}",
    "**{label}) {choice}**",
    "{label}. {choice}",
    "{choice}",
    "{label}",
)


@pytest.mark.parametrize(
    ("benchmark", "files"),
    [
        ("mmlu_bio", ["mmlu_biology.jsonl"]),
        (
            "bbh_3obj",
            [
                "bbh_logical_deduction_three_objects.jsonl",
                "bbh_tracking_shuffled_objects_three_objects.jsonl",
            ],
        ),
    ],
)
def test_every_option_of_every_published_item_is_told_from_the_others(
    benchmark: str, files: list[str]
) -> None:
    if not (folder := os.environ.get("BENCHFILL_ITEMS")):
        pytest.skip("BENCHFILL_ITEMS is not set: the folder of published items")
    items = read_items_of(read_sources()[benchmark], [Path(folder) / name for name in files])
    for item in items:
        for label, choice in zip(item.labels, item.choices):
            for form in FORMS_OF_AN_ITEM:
                reply = form.format(label=label, choice=choice)
                assert extract_choice(reply, item.labels, item.choices) == label, (item.id, reply)
            assert grade_choice(item, f"ANSWER: {label}").correct is (label == item.answer)


def test_verdicts_name_the_grader_and_tell_no_answer_from_a_wrong_one() -> None:
    item = Item("1", "?", "B", "choice", FOUR)
    right, wrong, none = (grade_choice(item, text) for text in ("ANSWER: B", "ANSWER: A", "Hm."))
    assert (right.outcome, right.correct, right.answer, right.grader) == ("ok", True, "B", "choice")
    assert (wrong.outcome, wrong.correct, wrong.answer) == ("ok", False, "A")
    assert (none.outcome, none.correct, none.answer) == ("no_answer", False, None)
