"""What an item family is: a way to write questions, and to read the answer and the difficulty back from their text.

Difficulty is on the Rasch scale. Each family documents its level, a smooth function of the numbers in the text; a small
term that depends on the text alone, uniform within ±JITTER, is added, so that difficulties are continuous although the
numbers are whole.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

JITTER = 0.3
LOWEST, HIGHEST = -3.5, 3.5  # the difficulties that every family has
TOLERANCE = 0.04
TRIES = 600


@dataclass(frozen=True)
class Reading:
    """What a family reads from a question.

    Attributes
    ----------
    level
        The smooth part of the difficulty.
    answer
        The key as an Item has it: a number in LaTeX, the label of a choice in the order of ``choices``, or None.
    wrong
        Answers that a plausible mistake would give, none of them right.
    working
        Lines of a solution, without the final answer.
    """

    level: float
    answer: str | None
    wrong: tuple[str, ...] = ()
    working: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    instruction_ids: tuple[str, ...] = ()
    kwargs: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)


@dataclass(frozen=True)
class Family:
    """A kind of item.

    Attributes
    ----------
    patterns
        Regular expressions that find a whole question in any text.
    draw
        (level, generator) → a question whose level is near; the numbers, names and wording are drawn.
    read
        match → what the question says, or None where it is not one of this family after all.
    """

    name: str
    answer_type: str
    patterns: tuple[re.Pattern[str], ...]
    draw: Callable[[float, random.Random], str]
    read: Callable[[re.Match[str]], Reading | None]


@dataclass(frozen=True)
class Problem:
    """An item as its text tells it; ``start`` is where in the text that was searched."""

    family: Family
    question: str
    start: int
    difficulty: float
    reading: Reading

    @property
    def guessing(self) -> float:
        """The probability that a blind guess is right."""
        return 1 / len(self.reading.choices) if self.reading.choices else 0.0


def generator(*parts: object) -> random.Random:
    """Return a random generator that the parts determine, the same in every process."""
    return random.Random(_digest(*parts))


def uniform(*parts: object) -> float:
    """Return a number from 0 to below 1 that the parts determine."""
    return _digest(*parts) / 2**64


def _digest(*parts: object) -> int:
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])


def find_in_family(family: Family, text: str) -> Problem | None:
    """Return the first item of one family in a text, or None."""
    found = [match for pattern in family.patterns for match in pattern.finditer(text)]
    for match in sorted(found, key=lambda match: match.start()):
        reading = family.read(match)
        if reading is not None:
            question = match.group()
            jitter = JITTER * (2 * uniform("difficulty", " ".join(question.split())) - 1)
            return Problem(family, question, match.start(), reading.level + jitter, reading)
    return None


def make_problem(family: Family, difficulty: float, rng: random.Random) -> Problem:
    """Draw questions until one is within TOLERANCE of the difficulty; return the nearest of TRIES otherwise.

    The difficulty must be from LOWEST to HIGHEST: no family has questions for levels far outside.
    """
    if not LOWEST <= difficulty <= HIGHEST:
        raise ValueError(f"difficulty {difficulty} is not from {LOWEST} to {HIGHEST}")
    nearest: Problem | None = None
    for _ in range(TRIES):
        question = family.draw(difficulty + rng.uniform(-JITTER, JITTER), rng)
        problem = find_in_family(family, question)
        if problem is None or problem.question != question:
            raise AssertionError(f"{family.name} cannot read its own question: {question!r}")
        if nearest is None or abs(problem.difficulty - difficulty) < abs(nearest.difficulty - difficulty):
            nearest = problem
            if abs(nearest.difficulty - difficulty) <= TOLERANCE:
                break
    assert nearest is not None
    return nearest


# What the families are written with ----------------------------------------------------------------------------


def render(template: str, **values: object) -> str:
    """Fill the ``<name>`` fields of a template."""
    return re.sub(r"<(\w+)>", lambda match: str(values[match[1]]), template)


def pattern_of(template: str, **fields: str) -> re.Pattern[str]:
    """Return the expression that reads a template back; a field not named in ``fields`` is a whole number.

    A field that occurs again must have the same text again. Spaces match any white space.
    """
    parts = re.split(r"<(\w+)>", template)
    expression, seen = "", set[str]()
    for number, part in enumerate(parts):
        if number % 2 == 0:
            expression += re.sub(r"(\\ )+", r"\\s+", re.escape(part))
        elif part in seen:
            expression += f"(?P={part})"
        else:
            seen.add(part)
            field = fields.get(part, r"\d+")
            expression += f"(?P<{part}>{field})"
    return re.compile(expression)


def number_latex(value: Fraction | int) -> str:
    r"""Return a number as a key is written: 12, -3, \frac{7}{12}."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def near_misses(value: Fraction | int, others: Iterable[Fraction | int] = ()) -> tuple[str, ...]:
    """Return the wrong answers of a number: those of the family's own mistakes first, then slips in arithmetic."""
    value = Fraction(value)
    if value.denominator == 1:
        slips = [value + 1, value - 1, value + 10, value - 2, value * 2, value + 2, -value, value + 100]
        digits = str(abs(value.numerator))
        if len(digits) > 1:
            slips.append(Fraction(int(digits[:-2] + digits[-1] + digits[-2])))
    else:
        top, bottom = value.numerator, value.denominator
        slips = [Fraction(top + 1, bottom), Fraction(top, bottom + 1), 1 - value, value * 2, -value]
        slips += [Fraction(top - 1, bottom), value / 2, Fraction(bottom, top)]
    wrong = dict.fromkeys(Fraction(number) for number in [*others, *slips])
    return tuple(number_latex(number) for number in wrong if number != value)
