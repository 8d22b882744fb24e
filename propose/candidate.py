"""A candidate's life in rows: what the rewriter was asked and wrote, its solutions, and what was decided and why.

candidates.jsonl   kind "candidate": id, round, gap, low, high, target_b, target_pass_rate, parent, prompt, reply,
                   reasoning, finish_reason, prompt_tokens, completion_tokens, seconds, attempts, seed, served_model,
                   error, time
                   kind "solution": id, number, outcome, correct, answer, and the reply's fields as above
decisions.jsonl    id, round, stage, decision, reason, detail, figures; at most one row for a candidate and stage
rollouts.jsonl     the rows of verifier.trials; the item is the candidate's id

Of several rows for one thing the last one counts: a reply after an error. A row with an error has an empty reply.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, get_type_hints

from propose.json_values import check_values
from verifier.items import Item
from verifier.trials import OTHER_OUTCOMES, TRIAL_OUTCOMES

# The stages, in their order, and what each can decide.
SCREEN, DROP, VERIFY = "screen", "drop", "verify"
PASSED, REJECTED, ACCEPTED = "passed", "rejected", "accepted"
STAGES = {SCREEN: (PASSED, REJECTED), DROP: (REJECTED,), VERIFY: (ACCEPTED, REJECTED)}

# Why a candidate went no further, in the order in which it can happen; "" with PASSED and ACCEPTED.
REASONS: dict[str, str] = {
    # screen
    "no_reply": "the rewriter's request failed",
    "truncated": "the reply was cut off at max_tokens",
    "malformed": "no item could be read from the reply",
    "wrong_type": "the item is of another kind than its parent",
    "ungradable": "no grader could judge answers to the item",
    "duplicate": "too near to an item of the benchmark or to an earlier candidate",
    "unsolved": "the rewriter's own solutions do not agree with its key",
    # drop
    "unlikely": "too improbable, after some verifiers, to meet the rule once all have answered",
    # verify
    "not_judged": "some answers could not be had or judged, so that the counts are not full",
    "suspect_key": "strong verifiers agree on another answer than the key",
    "too_easy": "easier than the gap that it was made for",
    "too_hard": "harder than the gap that it was made for",
    "uncertain": "in a gap, but with less than half of its probability",
}

# What the figures of a stage are; there are none where the counts are not full.
FIGURES: dict[str, dict[str, Any]] = {
    SCREEN: {},
    DROP: {"wave": int, "probability": float, "b_mean": float, "b_sd": float},
    VERIFY: {
        "gap": int | None,
        "low": float,
        "high": float,
        "b_mean": float,
        "b_sd": float,
        "p_in_gap": float,
        "correct": list[int],
        "trials": list[int],
    },
}


@dataclass(frozen=True)
class Miss:
    """What became of an earlier candidate: the panel's pass rate it was aimed at, and the one measured; 0 to 1."""

    aimed: float
    measured: float


@dataclass(frozen=True)
class Brief:
    """All that a rewriting prompt is made from; ``prompting.rewrite_prompt(brief)`` renders it.

    Attributes
    ----------
    benchmark
        Its name, which chooses the prompt file.
    parent, parent_pass_rate
        The item to rewrite, and the share of the panel's answers to it that are right (0 to 1), as estimated.
    target_pass_rate
        The share that the child should have, 0 to 1.
    neighbours
        Other items near the gap, with their pass rates.
    misses
        What became of earlier candidates, the most telling first.
    """

    benchmark: str
    parent: Item
    parent_pass_rate: float
    target_pass_rate: float
    neighbours: tuple[tuple[Item, float], ...] = ()
    misses: tuple[Miss, ...] = ()


@dataclass(frozen=True)
class RewriterJob:
    """One question to the rewriter.

    Attributes
    ----------
    id
        Of the candidate.
    number
        0: the rewriting itself. 1, 2, …: an independent solution of the candidate.
    messages
        The chat messages to send.
    seed
        31 bits.
    head
        What its row holds before the reply: kind, id, and the fields of a candidate or the number of a solution.
    item
        For a solution: the candidate, against whose key the reply is graded. None for a rewriting.
    """

    id: str
    number: int
    messages: tuple[Mapping[str, str], ...]
    seed: int
    head: Mapping[str, Any]
    item: Item | None = None


@dataclass(frozen=True, kw_only=True)
class RewriterReply:
    """What the rewriter wrote to one question, as served.

    Attributes
    ----------
    reply
        Its text; empty with an ``error``.
    prompt_tokens, completion_tokens
        As the server counts; None where it does not.
    seconds, attempts
        What the last attempt took, and how many there were.
    error
        Why the request came to nothing; None for a reply.
    """

    reply: str
    seed: int
    reasoning: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    served_model: str | None = None
    error: str | None = None
    time: str = ""


@dataclass(frozen=True)
class Candidate(RewriterReply):
    """What was asked for, and what the rewriter wrote.

    Attributes
    ----------
    gap
        Which of the round's targets it is made for, from 1.
    low, high
        The edges of that gap, in b.
    target_b, target_pass_rate
        What it is aimed at.
    """

    id: str
    round: int
    gap: int
    low: float
    high: float
    target_b: float
    target_pass_rate: float
    parent: str
    prompt: str


@dataclass(frozen=True)
class Solution(RewriterReply):
    """One independent solution by the rewriter, and the grader's verdict on it against the candidate's key.

    ``outcome`` is one of verifier.trials' outcomes; ``correct`` None where the reply could not be judged; ``answer``
    what the grader took from it.
    """

    id: str
    number: int
    outcome: str
    correct: bool | None
    answer: str | None


@dataclass(frozen=True)
class Decision:
    """What was decided about a candidate at one stage.

    Attributes
    ----------
    stage, decision, reason
        From the constants above; ``reason`` is a key of ``REASONS``, or empty.
    detail
        What a reader should know beside the reason: the id that it duplicates, what is malformed; may be empty.
    figures
        screen: none. drop: wave (verifiers that had answered), probability, b_mean, b_sd. verify: gap (from 1; None if
        b_mean is in none), low, high, b_mean, b_sd, p_in_gap, correct, trials.
    """

    id: str
    round: int
    stage: str
    decision: str
    reason: str = ""
    detail: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


def last_decision(stages: Mapping[str, Decision]) -> Decision:
    """Return what a candidate has come to: of its decisions by stage, at least one, that of the last stage."""
    return next(stages[stage] for stage in (VERIFY, DROP, SCREEN) if stage in stages)


# Every id that ``candidate_id`` can return.
CANDIDATE_ID = re.compile(r"r\d{2,}-g\d+-p\d+-c\d+", re.ASCII)


def candidate_id(round_: int, gap: int, parent: int, child: int) -> str:
    """Return the id of a candidate; all numbers are from 1."""
    return f"r{round_:02}-g{gap}-p{parent}-c{child}"


def seed_of(*parts: object) -> int:
    """Return 31 bits of a hash: of the run's name, the candidate's id and the number of the question."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def candidate_from_row(row: Mapping[str, Any]) -> Candidate:
    """Return the candidate of a row of kind "candidate".

    Raises
    ------
    TypeError
        If a value is missing, or of another type.
    """
    return Candidate(**_checked(Candidate, row))


def solution_from_row(row: Mapping[str, Any]) -> Solution:
    """Return the solution of a row of kind "solution".

    Raises
    ------
    TypeError
        If a value is missing, of another type, or no outcome.
    """
    solution = Solution(**_checked(Solution, row))
    if solution.outcome not in (*TRIAL_OUTCOMES, *OTHER_OUTCOMES):
        raise TypeError(f"outcome cannot be {solution.outcome!r}")
    return solution


def decision_from_row(row: Mapping[str, Any]) -> Decision:
    """Return the decision of a row.

    Raises
    ------
    TypeError
        If a value is missing, of another type, or none that the stage can have.
    """
    decision = Decision(**_checked(Decision, row))
    if decision.decision not in STAGES.get(decision.stage, ()):
        raise TypeError(f"stage {decision.stage!r} cannot decide {decision.decision!r}")
    if decision.reason not in (REASONS if decision.decision == REJECTED else ("",)):
        raise TypeError(f"{decision.decision!r} cannot have the reason {decision.reason!r}")
    if decision.reason != "not_judged":
        check_values(decision.figures, FIGURES[decision.stage])
    return decision


def decision_row(decision: Decision) -> dict[str, Any]:
    """Return the row of a decision."""
    return {one.name: getattr(decision, one.name) for one in fields(Decision)} | {
        "figures": dict(decision.figures)
    }


def _checked(kind: type, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row has of the fields of a dataclass, held to their types."""
    needed, optional = _fields_of(kind)
    known = needed | {name: hint for name, hint in optional.items() if name in row}
    check_values(row, known)
    return {name: row[name] for name in known}


@cache
def _fields_of(kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the type hints of the fields without a default, and of those with one, by name."""
    hints = get_type_hints(kind)
    with_default = {
        one.name for one in fields(kind) if (one.default, one.default_factory) != (MISSING, MISSING)
    }
    needed = {one.name: hints[one.name] for one in fields(kind) if one.name not in with_default}
    return needed, {name: hints[name] for name in with_default}
