"""What the simulated examinees answer: right with the probability of the model, in the many forms that models write.

A reply is decided by (model, item, seed) alone, so the same request gets the same reply, on any server.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction

from irt.simulate import probability_correct
from verifier.simulated.families import ABILITIES, REWRITER, ability, find, problem_of
from verifier.simulated.families_writing import compose
from verifier.simulated.problem import Problem, generator

# Of the wrong replies, those without any answer.
NO_ANSWER_SHARE = 0.04
# The stronger third thinks before it answers, as does the rewriter.
REASONING_MODELS = frozenset([*sorted(ABILITIES)[8:], REWRITER])

OPENINGS = (
    "Let me work through this step by step.",
    "We go through it in order.",
    "To solve this, take the facts one at a time.",
    "**Solution.**",
    "First, write down what is given.",
    "### Step 1: what is known",
)
WRONG_OPENINGS = ("From here it follows directly that", "Working this out quickly,", "Putting this together,")
NO_ANSWERS = (
    "I am not able to work this out.",
    "This would need more steps than I can do here. I will stop at this point.",
    "I'm sorry, but I can't help with that.",
)
NOT_SIMULATED = "This is a simulated examinee. It can only answer simulated items, and there is none here."

# Final lines of a mathematical answer; the first is what the prompt asks for, and what most models write.
MATH_FINALS = (
    r"The final answer is $\boxed{<x>}$.",
    r"\[\boxed{<x>}\]",
    r"**Answer:** $\boxed{<x>}$",
    r"$\boxed{<x>}$",
    r"So the result is $<x>$.\n\n\boxed{<x>}",
    r"Therefore, the answer is \boxed{<x>}. I checked it once more.",
    r"**Final Answer**: $<x>$",
    r"The final answer is $<x>$.",
    r"**Answer:** <x>",
)
CHOICE_FINALS = (
    "ANSWER: <x>",
    "**ANSWER: <x>**",
    "ANSWER: <x>) <text>",
    "Answer: (<x>)",
    "The answer is <x>.",
    "**Answer: <x>**",
    "ANSWER: <x>.",
)
# The weight of each of the above: models mostly do as they are told.
WEIGHTS = (8, 3, 2, 3, 2, 2, 1, 1, 1)


@dataclass(frozen=True)
class Answer:
    """A reply: the text, and the thinking before it (None for a model that does not think)."""

    text: str
    thinking: str | None


def answer(model: str, prompt: str, seed: object) -> Answer:
    """Return what a model answers to the first simulated item in the prompt."""
    problem = find(prompt)
    if problem is None:
        return Answer(NOT_SIMULATED, None)
    right, rng = _decide(model, problem, seed)
    if not right and rng.random() < NO_ANSWER_SHARE:
        return Answer(rng.choice(NO_ANSWERS), _thinking(model, problem, rng))
    if problem.family.answer_type == "instructions":
        broken = None if right else rng.randrange(len(problem.reading.instruction_ids))
        text = compose(problem.reading, rng, broken=broken)
    elif problem.family.answer_type == "choice":
        text = _choice_answer(problem, prompt, right, rng)
    else:
        text = _math_answer(problem, right, rng)
    return Answer(text, _thinking(model, problem, rng))


def is_right(model: str, question: str, seed: object) -> bool:
    """Return whether ``answer`` gives the right answer, without writing it: for simulations of many answers.

    Raises
    ------
    InputError
        If the question is not a simulated item.
    """
    return _decide(model, problem_of(question), seed)[0]


def _decide(model: str, problem: Problem, seed: object) -> tuple[bool, random.Random]:
    rng = generator("examinee", model, problem.question, seed)
    return rng.random() < probability_correct(ability(model), problem.difficulty, problem.guessing), rng


def _math_answer(problem: Problem, right: bool, rng: random.Random) -> str:
    reading = problem.reading
    assert reading.answer is not None
    value = reading.answer if right else rng.choice(reading.wrong[:10])
    final = rng.choices(MATH_FINALS, WEIGHTS)[0]
    # A comma inside plain text could be read as the end of the number, so the loose forms stay plain.
    written = _written(value, rng) if r"\boxed" in final else value
    return _reply(problem, right, final.replace("<x>", written).replace(r"\n", "\n"), rng)


def _written(value: str, rng: random.Random) -> str:
    """Return a number in one of the forms that models use for it."""
    fraction = re.fullmatch(r"(-?)\\frac\{(\d+)\}\{(\d+)\}", value)
    if fraction:
        sign, top, bottom = fraction.groups()
        forms = [value, value, value.replace("frac", "dfrac"), f"{sign}{top}/{bottom}"]
        exact = Fraction(int(top), int(bottom)) * 10**6
        if exact.denominator == 1:
            forms.append(f"{sign}{int(top) / int(bottom):.6f}".rstrip("0"))
        return rng.choice(forms)
    sign, digits = ("-", value[1:]) if value.startswith("-") else ("", value)
    if len(digits) > 3 and rng.random() < 0.2:
        return sign + f"{int(digits):,}".replace(",", rng.choice((",", "{,}", r"\,")))
    return value


def _choice_answer(problem: Problem, prompt: str, right: bool, rng: random.Random) -> str:
    choices = problem.reading.choices
    key = problem.reading.answer
    assert key is not None
    text = choices["ABCD".index(key if right else rng.choice(problem.reading.wrong))]
    # The prompt may list the choices in another order than the question.
    listed = re.findall(r"^\s*\(?([A-Z])[).:]\s+(.+?)\s*$", prompt, re.M)
    labels = {choice: label for label, choice in listed} or dict(zip(choices, "ABCD", strict=False))
    label = labels.get(text, "ABCD"[choices.index(text)])
    final = rng.choices(CHOICE_FINALS, WEIGHTS[: len(CHOICE_FINALS)])[0]
    return _reply(problem, right, final.replace("<x>", label).replace("<text>", text), rng)


def _reply(problem: Problem, right: bool, final: str, rng: random.Random) -> str:
    working = problem.reading.working[:12]
    if not right:
        # A wrong answer comes from a solution that goes wrong before its end.
        working = (*working[: rng.randint(0, max(0, len(working) - 1))], rng.choice(WRONG_OPENINGS))
    lines = [f"{number}. {line}" for number, line in enumerate(working, 1)]
    return "\n".join([rng.choice(OPENINGS), "", *lines, "", final])


def _thinking(model: str, problem: Problem, rng: random.Random) -> str | None:
    if model not in REASONING_MODELS:
        return None
    thoughts = ["The user asks for the solution.", *problem.reading.working[:4]]
    if problem.reading.wrong and rng.random() < 0.5:
        # A first thought that is given up: what stands in the thinking is not the answer.
        guess = rng.choice(problem.reading.wrong)
        thoughts.append(
            rf"At first sight it might be \boxed{{{guess}}}, but that needs checking. Wait, let me redo it."
        )
    return "\n".join([*thoughts, "Now I can write the reply."])
