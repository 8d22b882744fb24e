"""Families of algebra and counting: two linear equations, committees, draws without replacement."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction

from verifier.simulated.problem import Family, Reading, near_misses, number_latex, pattern_of, render

# Two linear equations ------------------------------------------------------------------------------------------
# level = -4.9 + 2.6 mean log10(the four coefficients) + 0.3 log10(denominator of the answer)

SYSTEMS = (
    "The real numbers $x$ and $y$ satisfy $<a>x <s> <b>y = <e>$ and $<c>x <t> <d>y = <f>$. "
    "What is the value of $<u>x + <v>y$?",
    "Two lines have the equations $<a>x <s> <b>y = <e>$ and $<c>x <t> <d>y = <f>$. They meet at $(x, y)$. "
    "Find $<u>x + <v>y$.",
    "Suppose that $<a>x <s> <b>y = <e>$ while $<c>x <t> <d>y = <f>$. Determine $<u>x + <v>y$.",
)
SYSTEM_FIELDS = {"s": "[+-]", "t": "[+-]", "e": r"-?\d+", "f": r"-?\d+"}


def _draw_system(level: float, rng: random.Random) -> str:
    whole = rng.random() < 0.5
    # An answer that is not whole has a denominator near the size of the determinant.
    size = min(max((level + 4.9) / (2.6 if whole else 3.2), 0.32), 3.4)
    while True:
        a, b, c, d = (max(2, round(10 ** (size + rng.uniform(-0.25, 0.25)))) for _ in range(4))
        s, t = rng.choice((1, -1)), rng.choice((1, -1))
        if a * t * d != c * s * b:
            break
    if whole:
        x, y = rng.randint(-12, 12), rng.randint(-12, 12)
        e, f = a * x + s * b * y, c * x + t * d * y
    else:
        e, f = (rng.randint(-9 * a, 9 * a) for _ in range(2))
    values = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f}
    values |= {"u": rng.randint(2, 9), "v": rng.randint(2, 9)}
    return render(rng.choice(SYSTEMS), s="+" if s > 0 else "-", t="+" if t > 0 else "-", **values)


def _read_system(match: re.Match[str]) -> Reading | None:
    a, b, c, d, e, f, u, v = (int(match[name]) for name in "abcdefuv")
    if not a * b * c * d:
        return None
    level = 2.6 * sum(math.log10(number) for number in (a, b, c, d)) / 4 - 4.9
    b, d = (b if match["s"] == "+" else -b), (d if match["t"] == "+" else -d)
    determinant = a * d - b * c
    if determinant == 0:
        return None
    x, y = Fraction(e * d - b * f, determinant), Fraction(a * f - c * e, determinant)
    value = u * x + v * y
    working = (
        f"The determinant of the system is {determinant}.",
        f"x = {number_latex(x)}",
        f"y = {number_latex(y)}",
    )
    mistakes = [u * x - v * y, v * x + u * y, x + y]
    level += 0.3 * math.log10(value.denominator)
    return Reading(level, number_latex(value), near_misses(value, mistakes), working)


# Committees ----------------------------------------------------------------------------------------------------
# level = -4.9 + 0.75 log10(all committees) + 0.35 (terms of the sum)

GROUPS = (
    ("A club", "women", "men"),
    ("A council", "teachers", "parents"),
    ("An orchestra", "violinists", "cellists"),
    ("A laboratory", "chemists", "physicists"),
    ("A village", "farmers", "fishers"),
    ("A newspaper", "reporters", "editors"),
    ("A hospital", "nurses", "doctors"),
    ("A company", "engineers", "designers"),
)
COMMITTEES = (
    "<group> has $<w>$ <these> and $<m>$ <those>. In how many ways can a committee of $<k>$ be chosen from them with "
    "<rule> $<j>$ <these>?",
    "<group> sends a delegation of $<k>$ people, chosen from $<w>$ <these> and $<m>$ <those>. How many delegations "
    "have <rule> $<j>$ <these>?",
)
COMMITTEE_FIELDS = {
    "group": "An? [a-z]+",
    "these": "[a-z]+",
    "those": "[a-z]+",
    "rule": "exactly|at least|at most",
}


def _draw_committee(level: float, rng: random.Random) -> str:
    def draw() -> tuple[int, int, int, str, int]:
        w, m = round(10 ** rng.uniform(0.3, 1.5)), round(10 ** rng.uniform(0.3, 1.5))
        k = rng.randint(2, max(2, min(9, w + m - 1)))
        lowest, highest = max(0, k - m), min(w, k)
        return w, m, k, rng.choice(("exactly", "at least", "at most")), rng.randint(lowest, highest)

    def distance(drawn: tuple[int, int, int, str, int]) -> float:
        return abs(_committee_level(*drawn) - level)

    w, m, k, rule, j = min((draw() for _ in range(40)), key=distance)
    group, these, those = rng.choice(GROUPS)
    return render(
        rng.choice(COMMITTEES), group=group, w=w, these=these, m=m, those=those, k=k, rule=rule, j=j
    )


def _committee_terms(w: int, m: int, k: int, rule: str, j: int) -> range:
    lowest, highest = max(0, k - m), min(w, k)
    return {
        "exactly": range(max(j, lowest), min(j, highest) + 1),
        "at least": range(max(j, lowest), highest + 1),
        "at most": range(lowest, min(j, highest) + 1),
    }[rule]


def _committee_level(w: int, m: int, k: int, rule: str, j: int) -> float:
    return -4.9 + 0.75 * math.log10(math.comb(w + m, k)) + 0.35 * len(_committee_terms(w, m, k, rule, j))


def _read_committee(match: re.Match[str]) -> Reading | None:
    w, m, k, j = (int(match[name]) for name in "wmkj")
    rule = match["rule"]
    if not 1 <= k <= w + m:
        return None
    ways = {i: math.comb(w, i) * math.comb(m, k - i) for i in _committee_terms(w, m, k, rule, j)}
    value = sum(ways.values())
    these, those = match["these"], match["those"]
    working = tuple(f"{i} {these} and {k - i} {those}: {number} ways" for i, number in ways.items())
    mistakes = [math.comb(w + m, k) - value, math.comb(w + m, k), *ways.values()]
    if j <= k:
        mistakes.append(math.comb(w, j) * math.comb(w + m - j, k - j))
    return Reading(_committee_level(w, m, k, rule, j), str(value), near_misses(value, mistakes), working)


# Draws without replacement -------------------------------------------------------------------------------------
# level = -6.1 + 2.2 log10(marbles) + 0.45 drawn + 0.35 log10(denominator of the answer)

COLOURS = ("red", "green", "blue", "white", "black", "yellow", "purple", "orange")
DRAWS = (
    "A bag holds $<r>$ <colour> and $<o>$ <other> marbles. From it $<k>$ marbles are drawn at random without "
    "replacement. What is the probability that exactly $<j>$ of them are <colour>?",
    "There are $<r>$ <colour> and $<o>$ <other> cards in a box, and $<k>$ cards are taken out at random. Find the "
    "probability that exactly $<j>$ of these cards are <colour>.",
)


def _draw_draws(level: float, rng: random.Random) -> str:
    def draw() -> tuple[int, int, int, int]:
        r, o = round(10 ** rng.uniform(0.3, 1.7)), round(10 ** rng.uniform(0.3, 1.7))
        k = rng.randint(2, max(2, min(8, r + o - 1)))
        return r, o, k, rng.randint(max(0, k - o), min(r, k))

    def distance(drawn: tuple[int, int, int, int]) -> float:
        return abs(_draws_level(*drawn) - level)

    r, o, k, j = min((draw() for _ in range(40)), key=distance)
    colour, other = rng.sample(COLOURS, 2)
    return render(rng.choice(DRAWS), r=r, colour=colour, o=o, other=other, k=k, j=j)


def _draws_answer(r: int, o: int, k: int, j: int) -> Fraction:
    return Fraction(math.comb(r, j) * math.comb(o, k - j), math.comb(r + o, k))


def _draws_level(r: int, o: int, k: int, j: int) -> float:
    denominator = _draws_answer(r, o, k, j).denominator
    return -6.1 + 2.2 * math.log10(r + o) + 0.45 * k + 0.35 * math.log10(denominator)


def _read_draws(match: re.Match[str]) -> Reading | None:
    r, o, k, j = (int(match[name]) for name in "rokj")
    if not (1 <= k <= r + o and max(0, k - o) <= j <= min(r, k)):
        return None
    value = _draws_answer(r, o, k, j)
    working = (
        f"All draws: {math.comb(r + o, k)}",
        f"Draws with {j} {match['colour']}: {math.comb(r, j)} × {math.comb(o, k - j)}",
    )
    # As if each were put back, and without the number of orders.
    share = Fraction(r, r + o)
    mistakes = [math.comb(k, j) * share**j * (1 - share) ** (k - j), share**j * (1 - share) ** (k - j)]
    return Reading(
        _draws_level(r, o, k, j), number_latex(value), near_misses(value, [*mistakes, share]), working
    )


ALGEBRA_FAMILIES = (
    Family(
        "system", "math", tuple(pattern_of(t, **SYSTEM_FIELDS) for t in SYSTEMS), _draw_system, _read_system
    ),
    Family(
        "committee",
        "math",
        tuple(pattern_of(t, **COMMITTEE_FIELDS) for t in COMMITTEES),
        _draw_committee,
        _read_committee,
    ),
    Family(
        "draws",
        "math",
        tuple(pattern_of(t, colour="[a-z]+", other="[a-z]+") for t in DRAWS),
        _draw_draws,
        _read_draws,
    ),
)
