"""Families of multiple choice: who comes first, of three; the largest or smallest of four fractions.

The choices stand in the question itself, and an item lists them in that order.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from fractions import Fraction

from verifier.simulated.problem import Family, Reading, pattern_of, render

# Ordering ------------------------------------------------------------------------------------------------------
# level = -6 + 0.75 people + 0.25 clues that are told backwards

NAMES = (
    "Anna Ben Carla Dan Elif Farid Greta Hana Ivo Jana Karl Lena Mats Nora Omar Petra Quentin Rosa Sven Tara Ugo "
    "Vera Wim Xenia Yusuf Zoe Aiko Bruno Clara Dario Emre Fiona Goran Helga Iris Jonas Kemal Lucia Milan Nina"
).split()


@dataclass(frozen=True)
class Contest:
    """A way to order people: the opening, both directions of a clue, and the question for each end."""

    opening: str
    before: str
    after: str
    questions: tuple[str, str]


CONTESTS = (
    Contest(
        "ran a race without ties", "finished before", "finished after", ("finished first", "finished last")
    ),
    Contest("compare their ages", "is older than", "is younger than", ("is the oldest", "is the youngest")),
    Contest(
        "stand in a row by height", "is taller than", "is shorter than", ("is the tallest", "is the shortest")
    ),
    Contest(
        "live in one house, each on a floor of their own",
        "lives above",
        "lives below",
        ("lives highest up", "lives lowest down"),
    ),
    Contest(
        "wrote the same test, with different marks",
        "scored more than",
        "scored less than",
        ("has the best mark", "has the worst mark"),
    ),
)
ORDERING = "<people> <opening>. <clues> Among <x>, <y> and <z>, who <ask>?"
ORDERING_FIELDS = {
    "people": r"[A-Z][a-z]{1,9}(?:, [A-Z][a-z]{1,9}){1,14} and [A-Z][a-z]{1,9}",
    "opening": "|".join(re.escape(contest.opening) for contest in CONTESTS),
    "clues": r"[^?]{1,2000}?",
    "x": "[A-Z][a-z]+",
    "y": "[A-Z][a-z]+",
    "z": "[A-Z][a-z]+",
    "ask": "|".join(ask for contest in CONTESTS for ask in contest.questions),
}


def _draw_ordering(level: float, rng: random.Random) -> str:
    fitting = [
        (count, backwards)
        for count in range(3, 13)
        for backwards in range(count)
        if abs(-6 + 0.75 * count + 0.25 * backwards - level) <= 0.2
    ]
    count, backwards = rng.choice(fitting or [(3, 0) if level < 0 else (12, 11)])
    contest = rng.choice(CONTESTS)
    order = rng.sample(NAMES, count)
    clues = []
    told_backwards = set(rng.sample(range(count - 1), backwards))
    for number, (first, second) in enumerate(zip(order, order[1:], strict=False)):
        if number in told_backwards:
            clues.append(f"{second} {contest.after} {first}.")
        else:
            clues.append(f"{first} {contest.before} {second}.")
    rng.shuffle(clues)
    people = sorted(order)
    x, y, z = rng.sample(order, 3)
    return render(
        ORDERING,
        people=f"{', '.join(people[:-1])} and {people[-1]}",
        opening=contest.opening,
        clues=" ".join(clues),
        x=x,
        y=y,
        z=z,
        ask=rng.choice(contest.questions),
    )


def _read_ordering(match: re.Match[str]) -> Reading | None:
    contest = next(contest for contest in CONTESTS if contest.opening == match["opening"])
    people = re.findall(r"[A-Z][a-z]+", match["people"])
    options = (match["x"], match["y"], match["z"])
    later: dict[str, set[str]] = {name: set() for name in people}
    backwards = 0
    for clue in re.split(r"(?<=\.)\s+", match["clues"].strip()):
        read = re.fullmatch(rf"([A-Z][a-z]+) ({contest.before}|{contest.after}) ([A-Z][a-z]+)\.", clue)
        if read is None or {read[1], read[3]} - set(people):
            return None
        first, second = (read[1], read[3]) if read[2] == contest.before else (read[3], read[1])
        backwards += read[2] == contest.after
        later[first].add(second)
    if set(options) - set(people) or match["ask"] not in contest.questions:
        return None
    # Everyone who is known to come later; a clue can be reached through at most all the others.
    for _ in people:
        for name in people:
            later[name] = later[name].union(*(later[other] for other in later[name]))
    wanted_first = match["ask"] == contest.questions[0]
    right = [
        label
        for label, name in zip("ABC", options, strict=True)
        if all(
            (other in later[name]) if wanted_first else (name in later[other])
            for other in set(options) - {name}
        )
    ]
    if len(right) != 1 or any(name in later[name] for name in people):
        return None
    order = sorted(people, key=lambda name: -len(later[name]))
    working = ("Putting the clues together gives this order:", " > ".join(order))
    level = -6 + 0.75 * len(people) + 0.25 * backwards
    return Reading(level, right[0], tuple(x for x in "ABC" if x != right[0]), working, choices=options)


# Fractions -----------------------------------------------------------------------------------------------------
# level = -4.7 + 1.05 (-log10 of the gap between the extreme fraction and the next, relative) + 0.9 mean
# log10(denominator)

FRACTION = r"\$\\frac\{\d+\}\{\d+\}\$"
FRACTIONS = (
    "Which of these fractions is the <end>: <p>, <q>, <r> or <s>?",
    "Four lengths in metres are <p>, <q>, <r> and <s>. Which of them is the <end>?",
    "Of the numbers <p>, <q>, <r> and <s>, which is the <end>?",
)
FRACTION_FIELDS = {"p": FRACTION, "q": FRACTION, "r": FRACTION, "s": FRACTION, "end": "largest|smallest"}


def _draw_fractions(level: float, rng: random.Random) -> str:
    def draw() -> list[tuple[int, int]]:
        size, middle = rng.uniform(0.5, 3.1), rng.uniform(0.15, 3.0)
        spread = 10 ** rng.uniform(-6, -0.1)
        pairs = []
        for _ in range(4):
            bottom = max(2, round(10 ** (size + rng.uniform(-0.2, 0.2))))
            pairs.append((max(1, round(bottom * middle * (1 + rng.uniform(-spread, spread)))), bottom))
        return pairs

    def distance(drawn: tuple[list[tuple[int, int]], str]) -> float:
        value = _fractions_level(*drawn)
        return math.inf if value is None else abs(value - level)

    while True:
        drawn = min(((draw(), rng.choice(("largest", "smallest"))) for _ in range(16)), key=distance)
        if distance(drawn) < math.inf:
            break
    texts = (rf"$\frac{{{top}}}{{{bottom}}}$" for top, bottom in drawn[0])
    return render(rng.choice(FRACTIONS), end=drawn[1], **dict(zip("pqrs", texts, strict=True)))


def _fractions_level(pairs: list[tuple[int, int]], end: str) -> float | None:
    """Return the level, or None where two of the fractions are equal."""
    if any(a * d == b * c for i, (a, b) in enumerate(pairs) for c, d in pairs[:i]):
        return None
    by_value = sorted(pairs, key=lambda pair: pair[0] / pair[1], reverse=end == "largest")
    (a, b), (c, d) = by_value[:2]
    gap = abs(a * d - b * c) / (a * d)
    return -4.7 - 1.05 * math.log10(gap) + 0.9 * sum(math.log10(bottom) for _, bottom in pairs) / 4


def _read_fractions(match: re.Match[str]) -> Reading | None:
    choices = tuple(match[name] for name in "pqrs")
    pairs = [(int(a), int(b)) for a, b in (re.findall(r"\d+", choice) for choice in choices)]
    if not all(a * b for a, b in pairs):
        return None
    level = _fractions_level(pairs, match["end"])
    if level is None:
        return None
    chosen = (max if match["end"] == "largest" else min)(range(4), key=lambda i: Fraction(*pairs[i]))
    answer = "ABCD"[chosen]
    working = tuple(f"{a}/{b} ≈ {a / b:.7f}" for a, b in pairs)
    return Reading(level, answer, tuple(x for x in "ABCD" if x != answer), working, choices=choices)


CHOICE_FAMILIES = (
    Family("ordering", "choice", (pattern_of(ORDERING, **ORDERING_FIELDS),), _draw_ordering, _read_ordering),
    Family(
        "fractions",
        "choice",
        tuple(pattern_of(t, **FRACTION_FIELDS) for t in FRACTIONS),
        _draw_fractions,
        _read_fractions,
    ),
)
