"""Families of whole numbers: a chain of changes to a stock, powers modulo a number, divisibility, a recurrence."""

from __future__ import annotations

import math
import random
import re

from verifier.simulated.problem import Family, Reading, near_misses, pattern_of, render

# A chain of changes to a stock ---------------------------------------------------------------------------------
# level = -4.8 + 0.55 steps + 0.8 mean log10(start and what comes and goes) + 0.25 multiplications

STOCKS = (
    ("A warehouse", "crates"),
    ("A library", "books"),
    ("A bakery", "loaves"),
    ("A farm shop", "pumpkins"),
    ("A museum", "postcards"),
    ("A school office", "notebooks"),
    ("A harbour", "containers"),
    ("A garden centre", "seedlings"),
    ("A toy maker", "marbles"),
    ("A print shop", "posters"),
)
CHAINS = (
    "<place> starts the week with <start> <thing>. <steps> How many <thing> are there at the end of the week?",
    "<place> counts <start> <thing> in the morning. <steps> How many <thing> does the count show in the evening?",
    "On the first of the month there are <start> <thing>. <steps> How many <thing> are left at the end of the month?",
)
STEPS = {
    "+": (
        "Then <n> more arrive.",
        "A delivery brings another <n>.",
        "Next, <n> are added.",
        "Later <n> come back.",
    ),
    "-": (
        "Then <n> are taken away.",
        "After that, <n> are sold.",
        "Next, <n> break and are thrown out.",
        "Later <n> are given to a neighbour.",
    ),
    "*": (
        "Then the number is multiplied by <n>.",
        "After that, the stock grows to <n> times its size.",
    ),
}
CHAIN_FIELDS = {"place": "[A-Z][a-z ]{3,30}", "thing": "[a-z]{1,20}", "steps": r"[^?]{1,2000}?"}
STEP_PATTERNS = [(sign, pattern_of(phrase)) for sign, phrases in STEPS.items() for phrase in phrases]


def _draw_chain(level: float, rng: random.Random) -> str:
    while True:
        count = rng.randint(1, 12)
        signs = [rng.choice("++--*" if count > 2 else "++--") for _ in range(count)]
        size = (level + 4.8 - 0.55 * count - 0.25 * signs.count("*")) / 0.8
        # Where no chain has this level, the shortest and the longest are as near as one comes.
        if 0.4 <= size <= 3.5 or (size < 0.4 and count == 1) or (size > 3.5 and count == 12):
            break
    size = min(max(size, 0.4), 3.5)
    place, thing = rng.choice(STOCKS)
    value = start = _of_size(size + rng.uniform(0, 0.2), rng)
    sentences = []
    for sign in signs:
        number = rng.randint(2, 9) if sign == "*" else _of_size(size - 0.05, rng)
        if sign == "-" and number >= value:
            sign = "+"
        if sign == "*" and value > 100_000:
            sign, number = "-", _of_size(size, rng)
        value = value + number if sign == "+" else value - number if sign == "-" else value * number
        sentences.append(render(rng.choice(STEPS[sign]), n=number))
    return render(rng.choice(CHAINS), place=place, thing=thing, start=start, steps=" ".join(sentences))


def _of_size(log10: float, rng: random.Random) -> int:
    return max(2, round(10 ** (log10 + rng.uniform(-0.15, 0.15))))


def _read_chain(match: re.Match[str]) -> Reading | None:
    value = int(match["start"])
    sizes, multiplications, working, values = [math.log10(value or 1)], 0, [], []
    sentences = re.split(r"(?<=\.)\s+", match["steps"].strip())
    for sentence in sentences:
        read = next(((sign, m) for sign, p in STEP_PATTERNS if (m := p.fullmatch(sentence))), None)
        if read is None:
            return None
        sign, number = read[0], int(read[1]["n"])
        after = value + number if sign == "+" else value - number if sign == "-" else value * number
        working.append(f"{value} {sign if sign != '*' else '×'} {number} = {after}")
        values.append(value)
        value = after
        multiplications += sign == "*"
        if sign != "*":
            sizes.append(math.log10(number or 1))
    level = -4.8 + 0.55 * len(sentences) + 0.8 * sum(sizes) / len(sizes) + 0.25 * multiplications
    return Reading(level, str(value), near_misses(value, values[-1:]), tuple(working))


# Powers modulo a number ----------------------------------------------------------------------------------------
# level = -5.2 + 0.9 log10(exponent) + 1.6 log10(modulus) + 0.4 log10(base)

POWERS = (
    "What is the remainder when $<base>^{<exponent>}$ is divided by $<modulus>$?",
    "Find the remainder of $<base>^{<exponent>}$ on division by $<modulus>$.",
    "Let $N = <base>^{<exponent>}$. Which remainder does $N$ leave when it is divided by $<modulus>$?",
    "Today the number $<base>^{<exponent>}$ is split into groups of $<modulus>$. How many are left over?",
)


def _draw_power(level: float, rng: random.Random) -> str:
    while True:
        base = round(10 ** rng.uniform(0.3, 2.9))
        modulus = round(10 ** rng.uniform(0.48, 3.2))
        log10 = (level + 5.2 - 1.6 * math.log10(modulus) - 0.4 * math.log10(base)) / 0.9
        if 0.25 <= log10 <= 6 and base % modulus > 1:
            exponent = round(10**log10)
            return render(rng.choice(POWERS), base=base, exponent=exponent, modulus=modulus)


def _read_power(match: re.Match[str]) -> Reading | None:
    base, exponent, modulus = int(match["base"]), int(match["exponent"]), int(match["modulus"])
    if modulus < 2 or base < 2 or exponent < 1:
        return None
    value = pow(base, exponent, modulus)
    level = -5.2 + 0.9 * math.log10(exponent) + 1.6 * math.log10(modulus) + 0.4 * math.log10(base)
    mistakes = [pow(base, exponent + step, modulus) for step in (-1, 1, 2)] + [base * exponent % modulus]
    working = (
        rf"{base} \equiv {base % modulus} \pmod{{{modulus}}}",
        rf"{base}^2 \equiv {base * base % modulus} \pmod{{{modulus}}}",
        f"Squaring repeatedly along the binary digits of {exponent} gives the rest.",
    )
    return Reading(level, str(value), near_misses(value, mistakes), working)


# Divisibility --------------------------------------------------------------------------------------------------
# level = -5 + 0.75 log10(top) + 1.2 (a second divisor) + 1.0 (one that is forbidden) + 0.5 log10(lcm)

DIVISORS = (
    "How many integers from $<low>$ to $<top>$ are divisible by <rule>?",
    "Count the integers $n$ with $<low> \\leq n \\leq <top>$ that are divisible by <rule>.",
    "Tickets are numbered from $<low>$ to $<top>$, and a ticket wins if its number is divisible by <rule>. "
    "How many tickets win?",
    "Lamps are numbered from $<low>$ to $<top>$. Those whose number is divisible by <rule> are lit. "
    "How many lamps are lit?",
)
RULE = r"\$\d+\$(?:\s+or\s+\$\d+\$)?(?:\s+but\s+not\s+by\s+\$\d+\$)?"


def _draw_divisible(level: float, rng: random.Random) -> str:
    while True:
        a, b, c = (rng.randint(2, 40) for _ in range(3))
        kind = rng.randint(1, 3)
        used = (a, b, c)[:kind]
        if len(set(used)) < kind or any(x % y == 0 for x in used for y in used if x is not y):
            continue
        log10 = (level + 5 - (0, 1.2, 2.2)[kind - 1] - 0.5 * math.log10(math.lcm(*used))) / 0.75
        if math.log10(3 * max(used)) <= log10 <= 7:
            top = round(10**log10)
            low = rng.randint(1, max(1, top // 3))
            rule = f"${a}$" + (f" or ${b}$" if kind > 1 else "") + (f" but not by ${c}$" if kind > 2 else "")
            return render(rng.choice(DIVISORS), low=low, top=top, rule=rule)


def _read_divisible(match: re.Match[str]) -> Reading | None:
    low, top = int(match["low"]), int(match["top"])
    allowed, _, forbidden = match["rule"].partition("but not by")
    divisors = [int(number) for number in re.findall(r"\d+", allowed)]
    banned = [int(number) for number in re.findall(r"\d+", forbidden)]
    if min(divisors + banned) < 1 or low > top:
        return None

    def multiples(*numbers: int) -> int:
        return top // math.lcm(*numbers) - (low - 1) // math.lcm(*numbers)

    def either(*also: int) -> int:
        if len(divisors) == 1:
            return multiples(*divisors, *also)
        first, second = divisors
        return multiples(first, *also) + multiples(second, *also) - multiples(first, second, *also)

    value = either() - (either(*banned) if banned else 0)
    level = (
        -5
        + 0.75 * math.log10(top)
        + 1.2 * (len(divisors) > 1)
        + 1.0 * bool(banned)
        + 0.5 * math.log10(math.lcm(*divisors, *banned))
    )
    working = [f"Multiples of {n} from {low} to {top}: {multiples(n)}" for n in divisors + banned]
    if len(divisors) > 1:
        working.append(
            f"Counted twice: the multiples of {math.lcm(*divisors)}, {multiples(*divisors)} of them."
        )
    mistakes = [either(), sum(multiples(n) for n in divisors)]
    return Reading(level, str(value), near_misses(value, mistakes), tuple(working))


# A recurrence --------------------------------------------------------------------------------------------------
# level = -4.9 + 0.45 (n - 2) + 0.6 log10(p q) + 0.4 log10(larger start)

RECURRENCES = (
    r"A sequence has $a_1 = <first>$, $a_2 = <second>$ and $a_n = <p>a_{n-1} <sign> <q>a_{n-2} + <r>$ for every "
    r"$n \geq 3$. Find $a_{<n>}$.",
    r"Define $a_1 = <first>$, $a_2 = <second>$, and for $n \geq 3$ let $a_n = <p>a_{n-1} <sign> <q>a_{n-2} + <r>$. "
    r"What is $a_{<n>}$?",
    r"Numbers are written in a row, $a_1 = <first>$ and $a_2 = <second>$ before all others. From the third on, "
    r"$a_n = <p>a_{n-1} <sign> <q>a_{n-2} + <r>$. Which number is $a_{<n>}$?",
)


def _draw_sequence(level: float, rng: random.Random) -> str:
    while True:
        n = rng.randint(3, 18)
        p, q = rng.randint(2, 15), rng.randint(2, 15)
        log10 = (level + 4.9 - 0.45 * (n - 2) - 0.6 * math.log10(p * q)) / 0.4
        if 0.3 <= log10 <= 3 or (n == 18 and log10 > 3) or (n == 3 and log10 < 0.3):
            break
    larger = round(10 ** min(max(log10, 0.3), 3))
    smaller = rng.randint(1, larger)
    first, second = rng.sample((larger, smaller), 2)
    values = {"first": first, "second": second, "p": p, "q": q, "r": rng.randint(1, 99), "n": n}
    return render(rng.choice(RECURRENCES), sign=rng.choice("+-"), **values)


def _read_sequence(match: re.Match[str]) -> Reading | None:
    first, second, p, q, r, n = (int(match[name]) for name in ("first", "second", "p", "q", "r", "n"))
    if not 3 <= n <= 60 or not p * q * max(first, second):
        return None
    sign = 1 if match["sign"] == "+" else -1
    terms = [first, second]
    while len(terms) <= n:
        terms.append(p * terms[-1] + sign * q * terms[-2] + r)
    value = terms[n - 1]
    level = -4.9 + 0.45 * (n - 2) + 0.6 * math.log10(p * q) + 0.4 * math.log10(max(first, second))
    working = tuple(f"a_{{{k}}} = {terms[k - 1]}" for k in range(3, n))
    mistakes = [terms[n - 2], terms[n], value - r]
    return Reading(level, str(value), near_misses(value, mistakes), working)


NUMBER_FAMILIES = (
    Family("chain", "math", tuple(pattern_of(t, **CHAIN_FIELDS) for t in CHAINS), _draw_chain, _read_chain),
    Family("power", "math", tuple(map(pattern_of, POWERS)), _draw_power, _read_power),
    Family(
        "divisible",
        "math",
        tuple(pattern_of(t, rule=RULE) for t in DIVISORS),
        _draw_divisible,
        _read_divisible,
    ),
    Family(
        "sequence",
        "math",
        tuple(pattern_of(t, sign="[+-]") for t in RECURRENCES),
        _draw_sequence,
        _read_sequence,
    ),
)
