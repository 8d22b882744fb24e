"""Which candidates the panel is asked about: those in the benchmark's form, whose key the rewriter finds again.

The rule for the key: of the rewriter's independent solutions, at least one gives the key, and no other answer is given
more often. For instructions, which have no key, at least one reply follows all of them: so they can be followed, and
the program reads them as the solver does.

Simulated with four solutions by a solver that is right 97 % of the time on items at b = 0, 73 % at 2.5 and 57 % at
3.2: items with a right key pass in 99 to 100 %, 98 to 99 % and 93 to 94 %, and with a wrong one in 0 %, 2 to 3 % and
7 %. A rule that wants half of the solutions keeps only 80 % of the hardest mathematics items with a right key, because
a solver that errs errs in many ways. With two solutions 21 % of the hardest choices with a wrong key pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from propose.candidate import Solution
from propose.prompting import family_of
from verifier.items import Item
from verifier.pools.pool_check import check_pool

_FIGURE = re.compile(
    r"\b(?:figure|diagram|picture|graph|image)s? (?:below|above|shown)\b"
    r"|\bshown (?:below|above|in the (?:figure|diagram))\b",
    re.IGNORECASE,
)
_DRAWN = re.compile(r"\\begin\{|\[asy\]|```")
_SETTING = re.compile(r"[\s$]|\\[,;:! ]|\\(?:left|right)(?![A-Za-z])")
SHOWN = 60


def screen_item(item: Item, benchmark: str) -> tuple[str, str] | None:
    """Return why an item is not of the form that its benchmark wants, as reason and detail; None if it is."""
    broken = check_pool([item]).broken
    if broken:
        return (
            "ungradable" if "grade" in broken[0].what else "malformed"
        ), f"{broken[0].what}: {broken[0].value}"
    if (figure := _FIGURE.search(item.question)) and not _DRAWN.search(item.question):
        return "malformed", f"it needs a figure: {figure[0]!r}"
    whole = family_of(benchmark).whole_numbers
    if whole is not None and not _is_whole(item.answer or "", *whole):
        return (
            "wrong_type",
            f"the answer must be a whole number from {whole[0]} to {whole[1]}, found {item.answer!r}",
        )
    return None


def screen_solutions(item: Item, solutions: Sequence[Solution]) -> tuple[str, str] | None:
    """Return why the solutions do not confirm the item's key, as reason and detail; None if they do.

    A solution without an answer, cut off, or with an error has no vote.
    """
    votes = Counter(_vote(solution) for solution in solutions if solution.correct is not None)
    right = votes.pop(True, 0)
    none = votes.pop(None, 0)
    asked = len(solutions)
    if item.answer_type == "instructions":
        return None if right else ("unsolved", f"none of {asked} replies follows all of the instructions")
    if not right and not votes:
        unjudged = sum(solution.outcome.startswith("grader_") for solution in solutions)
        if unjudged:
            return "ungradable", f"{unjudged} of {asked} solutions could not be judged"
        return "unsolved", f"none of {asked} solutions has an answer"
    other, most = next(iter(sorted(votes.items(), key=lambda pair: (-pair[1], str(pair[0])))), ("", 0))
    if right and right >= most:
        return None
    without = f", {none} without an answer" if none else ""
    return (
        "unsolved",
        f"{right} of {asked} solutions give the key, {most} give {str(other)[:SHOWN]!r}{without}",
    )


def _vote(solution: Solution) -> bool | str | None:
    """Return True for the key, the text of another answer, or None for no answer."""
    if solution.correct:
        return True
    return _SETTING.sub("", solution.answer).replace("dfrac", "frac") if solution.answer else None


def _is_whole(text: str, lowest: int, highest: int) -> bool:
    return re.fullmatch(r"\d{1,6}", text) is not None and lowest <= int(text) <= highest
