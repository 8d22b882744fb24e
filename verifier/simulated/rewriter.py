r"""The simulated rewriter: makes a child of a parent item at a target pass rate, and at set rates makes a mess of it.

What it reads from the prompt (the last user message; capitals do not matter):

    in the prompt                                    what it does
    -----------------------------------------------  ----------------------------------------------------------
    "target pass rate", later the first number with  Aims there: at the difficulty at which the mean pass rate
    a %, on a line that is no feedback               of the twelve examinees is that number.
    a line that begins with "Parent" (after spaces,  Takes the first item after it as the parent, and makes a
    # or *), then the question of an item            child of its family. Without such a line: the first item.
    "aimed" or "target", a number with a %, then on  Feedback on an earlier child. The mean miss (in b) of n
    the same line "measured" or "landed" and         such lines, times n / (n + 1), is taken off what it aims
    another number with a %                          at, so that its bias shrinks.
    no "target pass rate"                            Answers the first item, as a strong examinee.

What it replies: a few words, then one fenced block (three backticks and ``json``) with an object: ``question`` and
``answer``; for multiple choice also ``choices`` (the answer is a letter); for instructions ``instruction_ids`` and
``kwargs``, with the answer null.

The child's difficulty is off by Normal(bias, sd), in units of b. The reply is decided by the prompt and the seed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from irt.io import InputError
from verifier.items import as_fields
from verifier.simulated.examinees import Answer
from verifier.simulated.examinees import answer as solve
from verifier.simulated.families import REWRITER, as_item, difficulty_at, find_all
from verifier.simulated.problem import HIGHEST, LOWEST, Problem, find_in_family, generator, make_problem

PERCENT = r"(\d+(?:\.\d+)?)\s*\\?%"
FEEDBACK = re.compile(rf"(?:aimed|target)[^%\n]*?{PERCENT}[^\n]*?(?:measured|landed)[^%\n]*?{PERCENT}", re.I)
TARGET = re.compile(rf"target\s+pass\s+rate[^0-9%]*{PERCENT}", re.I)
PARENT_HEADING = re.compile(r"^\W*parents?\b", re.I | re.M)


@dataclass(frozen=True)
class RewriterHabits:
    """How the rewriter errs: the bias and sd of its children's difficulty, and the rates of three faults.

    Raises
    ------
    InputError
        If the rates add up to more than 1.
    """

    bias: float = 0.0
    sd: float = 0.5
    wrong_key_rate: float = 0.0
    duplicate_rate: float = 0.0
    broken_format_rate: float = 0.0

    def __post_init__(self) -> None:
        if self.wrong_key_rate + self.duplicate_rate + self.broken_format_rate > 1:
            raise InputError(
                "the rates of wrong keys, duplicates and broken formats must not add up to over 1"
            )


def rewrite(prompt: str, seed: object, habits: RewriterHabits) -> Answer:
    """Return the rewriter's reply to a prompt."""
    feedback = [(float(aim), float(landed)) for aim, landed in FEEDBACK.findall(prompt)]
    target = TARGET.search("\n".join(line for line in prompt.splitlines() if not FEEDBACK.search(line)))
    if target is None:
        return solve(REWRITER, prompt, seed)
    parent = _parent(prompt)
    if parent is None:
        return Answer("This is a simulated rewriter, and there is no simulated item here to rewrite.", None)
    rng = generator("rewriter", prompt, seed)
    difficulty = difficulty_at(float(target[1]) / 100, parent.guessing)
    difficulty += rng.gauss(habits.bias, habits.sd) - _correction(feedback, parent.guessing)
    thinking = f"The target is {target[1]} %. The parent is one of the {parent.family.name} family."
    fault = rng.random()
    if fault < habits.duplicate_rate:
        return Answer(_reply(_duplicate(parent, rng), rng), thinking)
    child = make_problem(parent.family, min(max(difficulty, LOWEST), HIGHEST), rng)
    fields = _fields(child)
    fault -= habits.duplicate_rate
    if fault < habits.wrong_key_rate:
        fields |= _wrong_key(child, rng)
    elif fault < habits.wrong_key_rate + habits.broken_format_rate:
        return Answer(rng.choice(BROKEN_FORMATS)(fields), thinking)
    return Answer(_reply(fields, rng), thinking)


def _parent(prompt: str) -> Problem | None:
    heading = PARENT_HEADING.search(prompt)
    after = find_all(prompt[heading.start() :]) if heading else []
    return next(iter(after or find_all(prompt)), None)


def _correction(feedback: list[tuple[float, float]], guessing: float) -> float:
    """Return how much too hard the earlier children were, shrunk as one is little evidence."""

    def difficulty(percent: float) -> float:
        return difficulty_at(min(max(percent / 100, guessing + 0.02), 0.98), guessing)

    misses = [difficulty(landed) - difficulty(aim) for aim, landed in feedback]
    return sum(misses) / (len(misses) + 1)  # the mean, times n / (n + 1)


def _fields(problem: Problem) -> dict[str, Any]:
    fields = as_fields(as_item(problem, "child"))
    return {
        key: value for key, value in fields.items() if key not in ("id", "answer_type", "source", "licence")
    }


def _reply(fields: dict[str, Any], rng: random.Random) -> str:
    opening = rng.choice(
        (
            "Here is the new item.",
            "I changed the parent as asked:",
            "**New item**",
            "This one should fit the target.",
        )
    )
    return f"{opening}\n\n```json\n{json.dumps(fields, ensure_ascii=False, indent=2)}\n```"


# Faults --------------------------------------------------------------------------------------------------------


def _duplicate(parent: Problem, rng: random.Random) -> dict[str, Any]:
    """Return the parent again: as it is, respaced, with its choices in another order, or with one number changed."""
    fields = _fields(parent)
    kind = rng.choice(("same", "respaced", "changed"))
    if kind == "respaced":
        fields["question"] = fields["question"].replace(". ", ".  ") + " "
    elif kind == "changed" and parent.reading.choices:
        order = rng.sample(range(len(parent.reading.choices)), len(parent.reading.choices))
        fields["choices"] = [parent.reading.choices[i] for i in order]
        fields["answer"] = "ABCD"[order.index("ABCD".index(parent.reading.answer or "A"))]
    elif kind == "changed":
        numbers = list(re.finditer(r"(?<![\d_])\d+", parent.question))
        for number in rng.sample(numbers, len(numbers)):
            text = f"{parent.question[: number.start()]}{int(number[0]) + 1}{parent.question[number.end() :]}"
            twin = find_in_family(parent.family, text)
            if twin is not None and twin.question == text:
                return _fields(twin)
    return fields


def _wrong_key(problem: Problem, rng: random.Random) -> dict[str, Any]:
    """Return the fields of a key that does not fit the question."""
    if problem.family.answer_type != "instructions":
        return {"answer": rng.choice(problem.reading.wrong)}
    # The checkers are told something else than the question says, so that what follows the question fails.
    wrong = {"instruction_ids": ["keywords:existence"], "kwargs": [{"keywords": ["counterfactual"]}]}
    fields = _fields(problem)
    return {key: fields[key] + value for key, value in wrong.items()}


def _fenced(text: str) -> str:
    return f"Here is the new item.\n\n```json\n{text}\n```"


def _dumped(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in names}


def _unescaped(fields: dict[str, Any]) -> str:
    """Return the object with the backslashes of LaTeX and the line breaks as they are."""
    text = _dumped(fields | {"question": f"{fields['question']}\n"})
    return text.replace("\\\\", "\\").replace("\\n", "\n")


# Some of these can be mended by a patient reader, and some hold no item at all.
BROKEN_FORMATS: tuple[Callable[[dict[str, Any]], str], ...] = (
    lambda fields: "I'm sorry, but I cannot write an item that meets this target.",
    lambda fields: f"Question: {fields['question']}\nAnswer: {fields['answer']}",  # no JSON
    lambda fields: f"Here it is.\n\n```json\n{_dumped(fields)[:-20]}",  # cut off, the fence open
    lambda fields: _fenced(_dumped(fields)[:-2] + ",\n}"),  # a comma too many
    lambda fields: _fenced(str(fields)),  # Python, not JSON
    lambda fields: _fenced(_dumped(_without(fields, "answer", "instruction_ids"))),  # no key
    lambda fields: _fenced(_dumped(fields | {"question": ""})),
    lambda fields: _fenced(_dumped(fields | {"answer": {"value": fields["answer"]}})),
    lambda fields: _fenced(_dumped({"problem": fields["question"], "solution": fields["answer"]})),
    lambda fields: _fenced(_unescaped(fields)),
    lambda fields: _fenced(_dumped(fields)) + "\n\nOr:\n\n" + _fenced(_dumped(fields | {"question": "?"})),
    lambda fields: _fenced("// the new item\n" + _dumped(fields)),  # a comment
    lambda fields: _dumped(fields),  # no fence
)
