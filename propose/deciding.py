"""The decision on a candidate that the whole panel has answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from irt.arrays import FloatArray, IntArray
from propose.candidate import ACCEPTED, REJECTED, VERIFY, Candidate, Decision
from propose.panel_tables import CANDIDATE_PRIOR_SD
from propose.targets import Gap
from verifier.ability_posterior import Abilities
from verifier.new_item import new_item_difficulty

STRONG_SHARE = 1 / 3  # of the panel
FEWEST_AGREEING = 3


@dataclass(frozen=True)
class PanelAnswer:
    """One trial of a candidate: ``correct`` is None where it could not be judged, ``answer`` what was taken from it."""

    correct: bool | None
    answer: str | None


def decide(
    candidate: Candidate,
    gaps: Sequence[Gap],
    correct: IntArray,
    trials: IntArray,
    guessing: float,
    abilities: Abilities,
    strong: Sequence[PanelAnswer],
    accept_above: float,
) -> Decision:
    """Return the decision on a candidate from its (M,) full counts.

    Parameters
    ----------
    gaps
        The targets of its round: it may land in any of them, whichever it was made for.
    strong
        The answers of the strongest verifiers, see ``strong_verifiers``.
    """
    posterior = new_item_difficulty(correct, trials, guessing, abilities, prior_sd=CANDIDATE_PRIOR_SD)
    landed = [number for number, gap in enumerate(gaps, 1) if gap.low < posterior.b_mean < gap.high]
    gap = gaps[landed[0] - 1] if landed else Gap(candidate.low, candidate.high)
    p_in_gap = posterior.probability_in((gap.low, gap.high))
    figures = {
        "gap": landed[0] if landed else None,
        "low": gap.low,
        "high": gap.high,
        "b_mean": round(posterior.b_mean, 6),
        "b_sd": round(posterior.b_sd, 6),
        "p_in_gap": round(p_in_gap, 6),
        "correct": [int(count) for count in correct],
        "trials": [int(count) for count in trials],
    }
    rival = suspect_key(strong)
    detail = ""
    if rival is not None:
        reason, detail = "suspect_key", f"they answer {rival!r}"
    elif not landed:
        reason = "too_easy" if posterior.b_mean <= gap.low else "too_hard"
    else:
        reason = "" if p_in_gap >= accept_above else "uncertain"
    return Decision(
        candidate.id, candidate.round, VERIFY, REJECTED if reason else ACCEPTED, reason, detail, figures
    )


def strong_verifiers(abilities: FloatArray) -> list[int]:
    """Return the strongest third of the panel, at least two."""
    count = max(2, round(len(abilities) * STRONG_SHARE))
    return sorted(int(place) for place in np.argsort(-abilities, kind="stable")[:count])


def suspect_key(answers: Sequence[PanelAnswer]) -> str | None:
    """Return the answer that strong verifiers agree on against the key, or None.

    They agree if one wrong answer comes at least three times, is at least a quarter of all their answers, and at least
    twice as frequent as the key. A hard item with a right key has its wrong answers scattered.
    """
    wrong = [answer.answer for answer in answers if answer.correct is False and answer.answer]
    right = sum(answer.correct is True for answer in answers)
    if not wrong:
        return None
    spelled = {_value(answer): answer for answer in reversed(wrong)}
    value, count = Counter(map(_value, wrong)).most_common(1)[0]
    needed = max(FEWEST_AGREEING, len(answers) / 4, 2 * right)
    return spelled[value] if count >= needed else None


def _value(answer: str) -> str:
    """Return an answer in one spelling: without signs of layout, a number as a fraction."""
    text = re.sub(r"\\[,!; ]|\{,\}|[\s$]|\\left|\\right", "", answer).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"\\[dt]?frac\{?(-?\d+)\}?\{?(\d+)\}?", r"\1/\2", text)
    # Fraction("1e999999999") would be computed for ever.
    if not re.fullmatch(r"-?\d{1,50}(?:\.\d{1,50}|/\d{1,50})?", text):
        return text
    try:
        return str(Fraction(text))
    except ZeroDivisionError:
        return text
