# ruff: noqa: E501  (a table of replies is read best with one a line)
r"""Replies as models write them: what is certain is recovered to the letter, the rest is refused with its reason."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from propose.candidate import REASONS
from propose.parsing import Unusable, parse_reply
from verifier.items import Item, as_fields
from verifier.pools.pool_check import check_pool
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources
from verifier.simulated.families import FAMILIES, make_items
from verifier.simulated.rewriter import BROKEN_FORMATS

MATH = Item("p", "What is $1 + 1$, and why?", "2", "math")
CHOICE = Item("p", "Which is the oldest of them all?", "A", "choice", ("One", "Two", "Three"))
WRITING = Item(
    "p",
    "Write something, please.",
    None,
    "instructions",
    instruction_ids=("punctuation:no_comma",),
    kwargs=({},),
)
Q = r"Find $\frac{1}{2} + \sqrt{x}$ for $x = 4$, with $\theta \neq 0$."
GOOD = json.dumps({"question": Q, "answer": r"\frac{5}{2}"})
C = '"question": "Which one is it then?", "choices": ["red", "blue", "green"]'
POEM = '"question": "Write a short poem about rain without any comma."'

# name: reply, then the question and key that it certainly has.
MATH_RECOVERED: dict[str, tuple[str, str, str]] = {
    "strict json": (GOOD, Q, r"\frac{5}{2}"),
    "a fence": (f"Here it is.\n```json\n{GOOD}\n```\nI hope that it helps.", Q, r"\frac{5}{2}"),
    "a fence that does not close": (f"```json\n{GOOD}", Q, r"\frac{5}{2}"),
    "a fence of another language": (f"~~~python\n{GOOD}\n~~~", Q, r"\frac{5}{2}"),
    "a fence on the line of the object": (f"```json {GOOD}```", Q, r"\frac{5}{2}"),
    "no fence": (f"Sure! {GOOD} Done.", Q, r"\frac{5}{2}"),
    "two fences with the same item": (f"```\n{GOOD}\n```\nAgain:\n```json\n{GOOD}\n```", Q, r"\frac{5}{2}"),
    "two fences, one without an item": (
        f"```json\n{GOOD}\n```\n```python\nprint({{1: 2}})\n```",
        Q,
        r"\frac{5}{2}",
    ),
    "a draft without a key, then the item": (
        f'```json\n{{"question": "A first draft of it"}}\n```\n```json\n{GOOD}\n```',
        Q,
        r"\frac{5}{2}",
    ),
    "a fence inside the question": (
        json.dumps({"question": "What does\n```\nprint(7)\n```\nprint on the screen?", "answer": "7"}),
        "What does\n```\nprint(7)\n```\nprint on the screen?",
        "7",
    ),
    "trailing commas": ('{"question": "What is one and one?", "answer": "2",}', "What is one and one?", "2"),
    "a comma forgotten at a line's end": (
        '{"question": "What is one and one?"\n"answer": "2"}',
        "What is one and one?",
        "2",
    ),
    "single quotes": (
        "{'question': 'What isn't one and one?', 'answer': '2'}",
        "What isn't one and one?",
        "2",
    ),
    "python's repr": (str({"question": Q, "answer": "2"}), Q, "2"),
    "keys without quotes": ('{question: "What is one and one?", answer: "2"}', "What is one and one?", "2"),
    "typographic quotes": (
        "{“question”: “What is one and one?”, “answer”: “2”}",
        "What is one and one?",
        "2",
    ),
    "chinese marks": ("{“题目”：“What is one and one?”，“答案”：“2”}", "What is one and one?", "2"),
    "comments": (
        '{// new\n"question": "What is one and one?", # here\n/* so */ "answer": "2"}',
        "What is one and one?",
        "2",
    ),
    "latex with single backslashes": (
        r'{"question": "' + Q + r'", "answer": "\frac{5}{2}"}',
        Q,
        r"\frac{5}{2}",
    ),
    "latex that json takes for escapes": (
        r'{"question": "Is $\beta \times \tau \ne \rho$ and $\nu \neq \forall$ in $\begin{pmatrix}1 \\ 2\end{pmatrix}$?", "answer": "\binom{4}{2}"}',
        r"Is $\beta \times \tau \ne \rho$ and $\nu \neq \forall$ in $\begin{pmatrix}1 \\ 2\end{pmatrix}$?",
        r"\binom{4}{2}",
    ),
    "line breaks as json has them": (
        r'{"question": "Let $x$ be\ne and $\\frac{1}{x}$\n\nunder it.\tWhat is $x$?", "answer": "4"}',
        "Let $x$ be\ne and $\\frac{1}{x}$\n\nunder it.\tWhat is $x$?",
        "4",
    ),
    "line breaks in a string": (
        '{"question": "What is one\nand one?", "answer": "2"}',
        "What is one\nand one?",
        "2",
    ),
    "control characters": (
        '{"question": "What is one\x0b\x00 and one?\u200b", "answer": "2"}',
        "What is one and one?",
        "2",
    ),
    "quotes inside a string": (
        '{"question": "What is "one" and one?", "answer": "2"}',
        'What is "one" and one?',
        "2",
    ),
    "unicode escapes": (
        r'{"question": "What is \u00e9 and \ud83d\ude00, both?", "answer": "2"}',
        "What is é and 😀, both?",
        "2",
    ),
    "keys in capitals": ('{"Question": "What is one and one?", "ANSWER": "2"}', "What is one and one?", "2"),
    "keys by other names": (
        '{"Problem": "What is one and one?", "Final_Answer": "2"}',
        "What is one and one?",
        "2",
    ),
    "the solution is the key": (
        '{"problem": "What is one and one?", "solution": "2"}',
        "What is one and one?",
        "2",
    ),
    "extra keys": (
        '{"question": "What is one and one?", "answer": "2", "solution": "So 1 + 1 = 2.", "difficulty": 0.4}',
        "What is one and one?",
        "2",
    ),
    "the answer is a number": (
        '{"question": "What is one and one?", "answer": 2}',
        "What is one and one?",
        "2",
    ),
    "a number keeps its digits": (
        '{"question": "What is one half?", "answer": 0.50}',
        "What is one half?",
        "0.50",
    ),
    "the answer is in a box": (
        '{"question": "What is one and one?", "answer": "$\\boxed{2}$"}',
        "What is one and one?",
        "2",
    ),
    "the answer is in dollars": (
        '{"question": "What is one and one?", "answer": "$2$"}',
        "What is one and one?",
        "2",
    ),
    "the answer is a sentence with a cue": (
        '{"question": "What is one and one?", "answer": "The answer is 2."}',
        "What is one and one?",
        "2",
    ),
    "the answer is a list of one": (
        '{"question": "What is one and one?", "answer": ["2"]}',
        "What is one and one?",
        "2",
    ),
    "the answer is inside an object": (
        '{"question": "What is one and one?", "answer": {"value": "2"}}',
        "What is one and one?",
        "2",
    ),
    "the same answer twice": (
        '{"question": "What is one and one?", "answer": "2", "final_answer": 2}',
        "What is one and one?",
        "2",
    ),
    "the item is inside an object": (f'{{"new_item": {GOOD}, "why": "harder"}}', Q, r"\frac{5}{2}"),
    "an outer brace is missing": (f'{{"item": {GOOD}', Q, r"\frac{5}{2}"),
    "a list of one item": (f"[{GOOD}]", Q, r"\frac{5}{2}"),
    "bold around it": (f"**New item**\n\n**{GOOD}**", Q, r"\frac{5}{2}"),
    "thinking before it": (
        f'<think>Maybe {{"question": "Not this one, no", "answer": "1"}}</think>{GOOD}',
        Q,
        r"\frac{5}{2}",
    ),
    "thinking without its start": (
        f'Maybe {{"question": "Not this one, no", "answer": "1"}}</think>\n{GOOD}',
        Q,
        r"\frac{5}{2}",
    ),
    "thinking after it": (f"{GOOD}\n<think>Is it right? Yes.</think>", Q, r"\frac{5}{2}"),
    "latex braces in the prose": (
        rf"For $\{{x: x > 0\}}$ and $\frac{{a}}{{b}}$ I propose {GOOD}",
        Q,
        r"\frac{5}{2}",
    ),
    "a label before the question": (
        '{"question": "**Question:** What is one and one?", "answer": "2"}',
        "What is one and one?",
        "2",
    ),
    "headings without a colon": (
        "## Question\nWhat is one and one?\n\n## Answer\n2",
        "What is one and one?",
        "2",
    ),
    "html entities": (
        '{"question": "If $1 &lt; x &lt; 3$, what is whole $x$?", "answer": "2"}',
        "If $1 < x < 3$, what is whole $x$?",
        "2",
    ),
    "tabs and line breaks that are latex": (
        r'{"question": "If $\tan x = 1$ and $\text{for } n \neq 0$, what is $\nu$?", "answer": "2"}',
        r"If $\tan x = 1$ and $\text{for } n \neq 0$, what is $\nu$?",
        "2",
    ),
    "no json at all": ("Question: What is one and one?\nAnswer: 2", "What is one and one?", "2"),
    "no json, and markdown": (
        "**Question:** What is one\nand one?\n\n**Answer:** $2$\n",
        "What is one\nand one?",
        "2",
    ),
}

MATH_REFUSED: dict[str, tuple[str, str]] = {
    "an empty reply": ("", "malformed"),
    "an apology": ("I'm sorry, but I cannot write an item that meets this target.", "malformed"),
    "thinking alone": ("<think>Let me see.</think>  ", "malformed"),
    "thinking that does not end": ("<think>Let me see, what if", "truncated"),
    "cut off": (f"```json\n{GOOD[:-20]}", "truncated"),
    "cut off before the key": ('{"question": "What is one and one?", ', "truncated"),
    "no question": ('{"answer": "2"}', "malformed"),
    "a blank question": ('{"question": " ", "answer": "2"}', "malformed"),
    "a question of one word": ('{"question": "?", "answer": "2"}', "malformed"),
    "no answer": ('{"question": "What is one and one?"}', "malformed"),
    "an answer of null": ('{"question": "What is one and one?", "answer": null}', "malformed"),
    "two items": (f'{GOOD}\n{{"question": "What is one and one?", "answer": "2"}}', "malformed"),
    "a list of items": (f'[{GOOD}, {{"question": "What is one and one?", "answer": "2"}}]', "malformed"),
    "two keys": ('{"question": "What is one and one?", "answer": "2", "final_answer": "3"}', "malformed"),
    "the same name twice": ('{"question": "What is one and one?", "answer": "2", "answer": "3"}', "malformed"),
    "several answers": ('{"question": "What is one and one?", "answer": ["2", "3"]}', "malformed"),
    "two boxes": (r'{"question": "What is one and one?", "answer": "\\boxed{2} or \\boxed{3}"}', "malformed"),
    "a solution for an answer": (
        '{"question": "What is one and one?", "answer": "One and one make two because so it is."}', "malformed"
    ),
    "the working as the key": (
        '{"question": "What is one and one?", "solution": "First add them up, and you get 2."}', "malformed"
    ),
    "an answer with a reason": ('{"question": "What is one and one?", "answer": "2 (since 1+1=2)"}', "malformed"),
    "an answer and its approximation": ('{"question": "What is one half?", "answer": "1/2 ≈ 0.5"}', "malformed"),
    "a number with a comma and no quotes": ('{"question": "What is one and one?", "answer": 1,234}', "malformed"),
    "an answer after an explanation": ("Question: What is one and one?\nAnswer: 2\nOr perhaps 3.", "malformed"),
    "choices where the parent has none": ('{"question": "What is one and one?", "answer": "A", "choices": ["2", "3"]}', "wrong_type"),
    "quotes that could end anywhere": ('{"question": "Is it "a", "b" or "c", then?", "answer": "2"}', "malformed"),
}  # fmt: skip

CHOICE_RECOVERED: dict[str, tuple[str, str]] = {
    "a letter": (f'{{{C}, "answer": "B"}}', "B"),
    "a small letter": (f'{{{C}, "answer": "b"}}', "B"),
    "a letter in brackets": (f'{{{C}, "answer": "(B)"}}', "B"),
    "a letter in full-width brackets": (f'{{{C}, "answer": "（B）"}}', "B"),
    "a letter with its text": (f'{{{C}, "answer": "B) blue"}}', "B"),
    "the text": (f'{{{C}, "answer": "Blue."}}', "B"),
    "a sentence": (f'{{{C}, "correct_answer": "Answer: B"}}', "B"),
    "an object of choices": (
        '{"question": "Which one is it then?", "choices": {"A": "red", "B": "blue", "C": "green"}, "answer": "B"}', "B"
    ),
    "choices with their labels": (
        '{"question": "Which one is it then?", "options": ["A) red", "B) blue", "C) green"], "answer": "B"}', "B"
    ),
    "choices in chinese marks": (
        '{"question": "Which one is it then?", "选项": ["A、red"，"B、blue"，"C、green"], "答案": "B"}', "B"
    ),
    "choices as objects": (
        '{"question": "Which one is it then?", "choices": [{"label": "A", "text": "red"}, {"label": "B", "text": "blue"}, {"label": "C", "text": "green"}], "answer": "blue"}',
        "B",
    ),
    "choices as one text": (
        '{"question": "Which one is it then?", "choices": "A) red\\nB) blue\\nC) green", "answer": "B"}', "B"
    ),
    "choices twice": (
        '{"question": "Which one is it then?\\nOptions:\\nA) red\\nB) blue\\nC) green", "choices": ["red", "blue", "green"], "answer": "B"}', "B"
    ),
    "choices at the end of the question": (
        '{"question": "Which one is it then?\\nOptions:\\n(A) red\\n(B) blue\\n(C) green", "answer": "(B)"}', "B"
    ),
}  # fmt: skip

CHOICE_REFUSED: dict[str, tuple[str, str]] = {
    "a letter too far": (f'{{{C}, "answer": "D"}}', "malformed"),
    "a number that could count from 0 or 1": (f'{{{C}, "answer": 1}}', "malformed"),
    "a text that is no choice": (f'{{{C}, "answer": "purple"}}', "malformed"),
    "a letter with the text of another": (f'{{{C}, "answer": "A) blue"}}', "malformed"),
    "a letter that is the text of another": (
        '{"question": "Which letter is it then?", "choices": ["B", "A", "C"], "answer": "A"}', "malformed"
    ),
    "two letters": (f'{{{C}, "answer": ["A", "B"]}}', "malformed"),
    "no choices": ('{"question": "Which one is it then?", "answer": "B"}', "malformed"),
    "too few choices": ('{"question": "Which one is it then?", "choices": ["red", "blue"], "answer": "B"}', "wrong_type"),
    "labels out of order": (
        '{"question": "Which one is it then?", "choices": {"B": "red", "A": "blue", "C": "green"}, "answer": "B"}', "malformed"
    ),
    "the same choice twice": (
        '{"question": "Which one is it then?", "choices": ["red", "blue", "red "], "answer": "B"}', "malformed"
    ),
    "an empty choice": ('{"question": "Which one is it then?", "choices": ["red", "", "blue"], "answer": "A"}', "malformed"),
}  # fmt: skip

WRITING_RECOVERED: dict[str, tuple[str, dict[str, Any]]] = {
    "as asked": (
        f'{{{POEM}, "answer": null, "instruction_ids": ["length_constraints:number_words"], "kwargs": [{{"relation": "at least", "num_words": 50}}]}}',
        {"relation": "at least", "num_words": 50},
    ),
    "one object for one instruction": (
        f'{{{POEM}, "instruction_id_list": "length_constraints:number_words", "kwargs": {{"relation": "at least", "num_words": 50, "keywords": null}}}}',
        {"relation": "at least", "num_words": 50},
    ),
    "no arguments where none are needed": (f'{{{POEM}, "instruction_ids": ["punctuation:no_comma"]}}', {}),
    "arguments as a text": (
        f'{{{POEM}, "instruction_ids": ["length_constraints:number_words"], "kwargs": "[{{\\"relation\\": \\"at least\\", \\"num_words\\": 50}}]"}}',
        {"relation": "at least", "num_words": 50},
    ),
    "python's None": (f"{{{POEM}, 'answer': None, 'instruction_ids': ['punctuation:no_comma'], 'kwargs': [None]}}", {}),
}  # fmt: skip

WRITING_REFUSED: dict[str, tuple[str, str]] = {
    "no instructions": (f'{{{POEM}, "answer": null}}', "malformed"),
    "no arguments where they are needed": (f'{{{POEM}, "instruction_ids": ["length_constraints:number_words"]}}', "malformed"),
    "an argument is missing": (
        f'{{{POEM}, "instruction_ids": ["length_constraints:number_words"], "kwargs": [{{"num_words": 50}}]}}', "ungradable"
    ),
    "an instruction that is not known": (f'{{{POEM}, "instruction_ids": ["style:nice"], "kwargs": [{{}}]}}', "ungradable"),
    "a number of more digits than Python reads": (
        f'{{{POEM}, "instruction_ids": ["length_constraints:number_paragraphs"], "kwargs": [{{"num_paragraphs": {"9" * 5000}}}]}}', "malformed"
    ),
    "a number of as many digits, where none belongs": (
        f'{{{POEM}, "instruction_ids": ["punctuation:no_comma"], "kwargs": [{{"x": [{{"y": -{"9" * 5000}}}]}}]}}', "malformed"
    ),
    "a number beyond all floats": (
        f'{{{POEM}, "instruction_ids": ["length_constraints:number_paragraphs"], "kwargs": [{{"num_paragraphs": 1e999}}]}}', "ungradable"
    ),
    "a pattern that counts too far": (
        f'{{{POEM}, "instruction_ids": ["keywords:existence"], "kwargs": [{{"keywords": ["a{{99999999999}}"]}}]}}', "ungradable"
    ),
    "a pattern that counts further than Python reads": (
        f'{{{POEM}, "instruction_ids": ["keywords:existence"], "kwargs": [{{"keywords": ["a{{{"9" * 5000}}}"]}}]}}', "ungradable"
    ),
    "a pattern that is nested too deeply": (
        f'{{{POEM}, "instruction_ids": ["keywords:existence"], "kwargs": [{{"keywords": ["{"(" * 3000 + ")" * 3000}"]}}]}}', "ungradable"
    ),
    "kwargs of another length": (f'{{{POEM}, "instruction_ids": ["punctuation:no_comma"], "kwargs": [{{}}, {{}}]}}', "malformed"),
}  # fmt: skip


def test_there_are_twenty_kinds_and_more() -> None:
    assert len(MATH_RECOVERED) + len(MATH_REFUSED) >= 40


@pytest.mark.parametrize("kind", MATH_RECOVERED)
def test_a_math_item_is_recovered(kind: str) -> None:
    reply, question, answer = MATH_RECOVERED[kind]
    item = parse_reply(reply, MATH, "c")
    assert isinstance(item, Item), item
    assert (item.question, item.answer, item.answer_type, item.id) == (question, answer, "math", "c")


@pytest.mark.parametrize("kind", CHOICE_RECOVERED)
def test_a_choice_is_recovered(kind: str) -> None:
    reply, answer = CHOICE_RECOVERED[kind]
    item = parse_reply(reply, CHOICE, "c")
    assert isinstance(item, Item), item
    assert item.answer == answer and item.choices == ("red", "blue", "green")
    assert item.question == "Which one is it then?"


@pytest.mark.parametrize("kind", WRITING_RECOVERED)
def test_instructions_are_recovered(kind: str) -> None:
    reply, arguments = WRITING_RECOVERED[kind]
    item = parse_reply(reply, WRITING, "c")
    assert isinstance(item, Item), item
    assert item.answer is None and item.kwargs == (arguments,)


@pytest.mark.parametrize(
    ("parent", "reply", "reason"),
    [
        pytest.param(parent, *case, id=f"{parent.answer_type}: {kind}")
        for parent, cases in ((MATH, MATH_REFUSED), (CHOICE, CHOICE_REFUSED), (WRITING, WRITING_REFUSED))
        for kind, case in cases.items()
    ],
)
def test_what_is_not_certain_is_refused(parent: Item, reply: str, reason: str) -> None:
    refused = parse_reply(reply, parent, "c")
    assert isinstance(refused, Unusable), refused
    assert refused.reason == reason and reason in REASONS and refused.detail


@pytest.mark.parametrize("family", FAMILIES)
def test_of_the_simulated_faults_no_key_is_invented(family: str) -> None:
    """A reply that is read at all gives the question and the key that the writer had."""
    for parent in make_items(4, seed=8, families=[family]):
        fields = {
            k: v for k, v in as_fields(parent).items() if k not in ("id", "answer_type", "source", "licence")
        }
        read = [parse_reply(broken(fields), parent, "c") for broken in BROKEN_FORMATS]
        for item in read:
            if isinstance(item, Item):
                assert (item.question, item.answer, item.choices) == (
                    parent.question,
                    parent.answer,
                    parent.choices,
                )
                assert (item.instruction_ids, item.kwargs) == (parent.instruction_ids, parent.kwargs)
        assert sum(isinstance(item, Item) for item in read) >= 6


def test_any_damage_ends_in_an_item_or_a_reason() -> None:
    rng = random.Random(4)
    replies = [
        case[0] for cases in (MATH_RECOVERED, CHOICE_RECOVERED, WRITING_RECOVERED) for case in cases.values()
    ]
    for _ in range(3000):
        reply = rng.choice(replies)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(reply) + 1)
            reply = (
                reply[:at]
                + rng.choice(["", '"', "\\", "{", "}", "[", "]", ",", ":", "\n", "'", "`", "x"])
                + reply[at + rng.randint(0, 3) :]
            )
        for parent in (MATH, CHOICE, WRITING):
            assert isinstance(parse_reply(reply, parent, "c"), Item | Unusable)


@pytest.mark.parametrize(
    "piece",
    [
        '{"a":',
        "[[",
        '{"question": "x',
        "\\",
        "```\n",
        "<think>",
        '"',
        "{a: ",
        "Answer: ",
        "/*",
        "\n" * 3,
        "\t> ",
        "`",
        "~",
    ],
)
def test_a_long_reply_of_one_piece_is_read_in_time(piece: str) -> None:
    assert isinstance(parse_reply(piece * (200_000 // len(piece)), MATH, "c"), Unusable)


@pytest.mark.parametrize(
    "reply",
    [
        f'{{{C}, "answer": "{"(" * 200_000}"}}',
        f'{{"question": "Which is it? {chr(10) * 200_000} end\\nA) a\\nB) b\\nC) c", "choices": ["a", "b", "c"], "answer": "Z"}}',
    ],
    ids=["brackets for an answer", "blank lines before the choices"],
)
def test_a_long_choice_is_read_in_time(reply: str) -> None:
    assert isinstance(parse_reply(reply, CHOICE, "c"), Unusable)


def test_half_of_a_surrogate_pair_is_no_character() -> None:
    """Files are UTF-8, which has none: the filled benchmark could not be written."""
    for half in ("\ud800", "\\ud800"):
        reply = f'{{{POEM}, "instruction_ids": ["startend:end_checker"], "kwargs": [{{"end_phrase": "so{half}"}}]}}'
        item = parse_reply(reply, WRITING, "c")
        assert isinstance(item, Item) and item.kwargs == ({"end_phrase": "so\ufffd"},)


def test_doubled_backslashes_stay_so_whatever_latex_follows() -> None:
    question = r"Add $\begin{pmatrix}1 \\ 2\end{pmatrix}$ and $\,\begin{pmatrix}3\\4\end{pmatrix}$."
    for more in ("", r" Note that $\sqrt{4} = 2$."):
        item = parse_reply(json.dumps({"question": question, "answer": "2"}) + more, MATH, "c")
        assert isinstance(item, Item) and item.question == question


@pytest.mark.parametrize("benchmark", read_sources())
def test_published_items_come_back_as_they_were_written(benchmark: str) -> None:
    folder = os.environ.get("BENCHFILL_ITEMS")
    if not folder:
        pytest.skip("BENCHFILL_ITEMS is not set: no published items to read")
    names = {
        "bbh_3obj": ["bbh_logical_deduction_three_objects", "bbh_tracking_shuffled_objects_three_objects"],
        "mmlu_bio": ["mmlu_biology"],
    }
    source = read_sources()[benchmark]
    paths = [Path(folder) / f"{name}.jsonl" for name in names.get(benchmark, [benchmark])]
    items = check_pool(read_items_of(source, paths), source.defects).items
    not_doubled = []
    for item in items:
        fields = {
            k: v for k, v in as_fields(item).items() if k not in ("id", "answer_type", "source", "licence")
        }
        text = json.dumps(fields, ensure_ascii=False, indent=2)
        for reply in (f"```json\n{text}\n```", f"Here: {text}", str(fields)):
            assert same(parse_reply(reply, item, "c"), item), item.id
        if not same(parse_reply(text.replace("\\\\", "\\"), item, "c"), item):
            not_doubled.append(item.id)
    # "\n\n" as the subject of a question, and commands that only that question defines, cannot be told apart.
    assert len(not_doubled) <= 0.03 * len(items), not_doubled


def same(read: Item | Unusable, item: Item) -> bool:
    """Whether an item came back, apart from blanks at the ends of lines and the dollar signs of its key."""

    def plain(text: str | None) -> str:
        return "\n".join(line.strip() for line in (text or "").strip("$ ").strip().splitlines())

    return isinstance(read, Item) and (
        [
            plain(read.question),
            plain(read.answer),
            [*map(plain, read.choices)],
            read.instruction_ids,
            read.kwargs,
        ]
        == [
            plain(item.question),
            plain(item.answer),
            [*map(plain, item.choices)],
            item.instruction_ids,
            item.kwargs,
        ]
    )
