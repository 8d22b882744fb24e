"""How right and how fast the mathematics grader is, beside math-verify alone and beside plain string match.

All three judge the labelled pairs of tests/verifier/graders/labelled_pairs.tsv: a key, a reply, and by hand whether the
reply is right. math-verify alone is its own parse and verify with their defaults, on the whole reply; string match is
the last box equal to the key. Each runs in a process of its own, on one core; a judge that fails, or is stopped after a
few seconds, has said "not correct". The rate is over the ordinary pairs, without the hostile ones, once everything is
imported.

Examples:
  python perf/graders.py                     # all pairs
  python perf/graders.py --category units    # one category
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import run
from irt.io import open_text

PAIRS = Path(__file__).resolve().parents[1] / "tests" / "verifier" / "graders" / "labelled_pairs.tsv"
HOSTILE = "hostile"
SECONDS = 5.0
MEMORY_BYTES = 4 * 2**30

Judge = Callable[[str, str], bool]


@dataclass(frozen=True)
class Pair:
    """A key, a reply, and whether the reply is right; why the grader fails on it, where it is known to."""

    category: str
    gold: str
    text: str
    correct: bool
    reason: str


@dataclass(frozen=True)
class Judged:
    """The verdicts of one judge, pair by pair; None where it was stopped."""

    verdicts: list[bool | None]
    seconds: list[float]


def read_pairs(path: Path = PAIRS) -> list[Pair]:
    """Read the labelled pairs; the sign ⏎ stands for a new line in a reply."""
    with open_text(path) as handle:
        rows = [line.rstrip("\n").split("\t") for line in handle][1:]
    return [
        Pair(category, gold, text.replace("⏎", "\n"), label == "1", reason)
        for category, gold, text, label, reason in rows
    ]


def ours(gold: str, text: str) -> bool:
    """Judge by our grader."""
    from verifier.graders.math_grader import grade_math

    return grade_math(gold, text).correct is True


def math_verify(gold: str, text: str) -> bool:
    """Judge by math-verify alone, with its own search for the answer."""
    from math_verify import parse, verify

    key = parse(gold if "$" in gold or gold.isalnum() else f"${gold}$", parsing_timeout=None)
    return verify(key, parse(text, parsing_timeout=None), timeout_seconds=None)


def string_match(gold: str, text: str) -> bool:
    """Judge by the spelling of the last box."""
    boxes = re.findall(r"\\boxed\{(.*)\}", text)
    return bool(boxes) and boxes[-1].strip() == gold.strip().strip("$")


JUDGES: dict[str, Judge] = {"ours": ours, "math-verify alone": math_verify, "string match": string_match}


def judge_all(name: str, pairs: list[Pair]) -> Judged:
    """Judge every pair in another process, which is killed and replaced where one takes longer than SECONDS."""
    verdicts: list[bool | None] = []
    seconds: list[float] = []
    while len(verdicts) < len(pairs):
        here, there = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.Process(target=_work, args=(name, pairs, len(verdicts), there), daemon=True)
        worker.start()
        there.close()
        while len(verdicts) < len(pairs):
            try:
                reply = here.recv() if here.poll(SECONDS + (60 if not verdicts else 0)) else None
            except EOFError:
                reply = None
            if reply is None:
                verdicts.append(None)
                seconds.append(SECONDS)
                break
            verdicts.append(reply[0])
            seconds.append(reply[1])
        worker.kill()
        worker.join()
    return Judged(verdicts, seconds)


def _work(name: str, pairs: list[Pair], start: int, replies: Connection) -> None:
    import logging
    import resource

    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    judge = JUDGES[name]
    if start == 0:
        judge("15", r"\boxed{\sum_{k=1}^{5} k}")  # imports the algebra library
        judge(r"\sqrt{2}", r"\boxed{\frac{2}{\sqrt 2}}")
    for pair in pairs[start:]:
        begun = time.perf_counter()
        verdict = judge(pair.gold, pair.text)
        replies.send((verdict, time.perf_counter() - begun))


def main() -> int:
    """Judge, print one table, then what ours gets wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    categories = sorted({pair.category for pair in read_pairs()})
    parser.add_argument("--category", choices=categories, metavar="NAME", help=", ".join(categories))
    args = parser.parse_args()
    pairs = [pair for pair in read_pairs() if args.category in (None, pair.category)]
    right = sum(pair.correct for pair in pairs)
    print(
        f"{len(pairs)} labelled pairs, {right} right and {len(pairs) - right} wrong, Python {platform.python_version()}"
    )
    print(f"{'judge':20}{'accuracy':>9}{'false +':>9}{'false -':>9}{'stopped':>9}{'answers/s':>11}")
    missed: list[Pair] = []
    for name in JUDGES:
        judged = judge_all(name, pairs)
        wrong = [
            pair
            for pair, verdict in zip(pairs, judged.verdicts, strict=True)
            if bool(verdict) != pair.correct
        ]
        ordinary = [
            seconds for pair, seconds in zip(pairs, judged.seconds, strict=True) if pair.category != HOSTILE
        ]
        rate = len(ordinary) / sum(ordinary) if ordinary else float("nan")
        print(
            f"{name:20}{1 - len(wrong) / len(pairs):9.1%}{sum(not pair.correct for pair in wrong):9}"
            f"{sum(pair.correct for pair in wrong):9}{judged.verdicts.count(None):9}{rate:11,.0f}",
            flush=True,
        )
        if name == "ours":
            missed = wrong
    print(f"\nWhat ours gets wrong: {len(missed)}")
    for pair in missed:
        kind = "false -" if pair.correct else "false +"
        print(
            f"{kind}  {pair.category}: key {pair.gold}, reply {pair.text!r}: {pair.reason or 'no reason known'}"
        )
    return 0


if __name__ == "__main__":
    run(main)
