"""A run's folder: what is in it, and what its rows say.

All that is known of a run is read from its rows; nothing is kept anywhere else, so it can be killed at any byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irt.arrays import IntArray
from irt.io import InputError
from propose.candidate import (
    ACCEPTED,
    SCREEN,
    VERIFY,
    Candidate,
    Decision,
    Solution,
    candidate_from_row,
    decision_from_row,
    solution_from_row,
)
from propose.deciding import PanelAnswer
from propose.json_values import check_values
from verifier.journal import read_journal
from verifier.trials import TRIAL_OUTCOMES, checked_rows

REPOSITORY = Path(__file__).resolve().parents[1]
CHARACTERS_A_TOKEN = 4  # where a server does not count
# What helps where a row is lost or spoiled. Without it the rest of the run would not mean what it says.
RESTORE = "restore it from a copy, or init a new run"
# What a row of rounds.jsonl holds.
ROUND: dict[str, Any] = {
    "round": int,
    "targets": list[Mapping[str, float]],
    "unresolvable": list[Mapping[str, float]],
    "candidates": int,
    "reasons": Mapping[str, int],
    "accepted": list[str],
    "rollouts": int,
    "tokens": int,
}


@dataclass(frozen=True)
class RunFolder:
    """The files of a run."""

    path: Path

    @property
    def config(self) -> Path:
        """Settings, inputs and who is asked; written once."""
        return self.path / "config.json"

    @property
    def candidates(self) -> Path:
        """What the rewriter was asked and wrote."""
        return self.path / "candidates.jsonl"

    @property
    def rollouts(self) -> Path:
        """What the panel answered, and the verdicts."""
        return self.path / "rollouts.jsonl"

    @property
    def decisions(self) -> Path:
        """What was decided, and why."""
        return self.path / "decisions.jsonl"

    @property
    def rounds(self) -> Path:
        """One row a finished round."""
        return self.path / "rounds.jsonl"

    @property
    def starts(self) -> Path:
        """Each start and its ending, see propose/starts.py."""
        return self.path / "starts.jsonl"


def data_root() -> Path:
    """Return where benchmarks are: the environment's BENCHFILL_DATA, or the repository's data."""
    return Path(os.environ.get("BENCHFILL_DATA") or REPOSITORY / "data")


def results_root() -> Path:
    """Return where runs are: the environment's BENCHFILL_RESULTS, or the repository's propose/results."""
    return Path(os.environ.get("BENCHFILL_RESULTS") or REPOSITORY / "propose" / "results")


def folder_of(benchmark: str, run: str) -> RunFolder:
    """Return the folder of a run.

    Raises
    ------
    InputError
        For a name that is not one of a folder.
    """
    check_name("benchmark", benchmark)
    check_name("run", run)
    return RunFolder(results_root() / benchmark / run)


def check_name(what: str, name: str) -> None:
    """Hold a name to what can be one of a file and of a folder.

    Raises
    ------
    InputError
        If it cannot; ``what`` begins the message.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(
            f"{what} {name!r}: a name has letters, digits, '.', '_' and '-' alone, and begins with one of the first two"
        )


@dataclass
class Spent:
    """What has been paid for: answers of the panel, and tokens that it and the rewriter wrote."""

    rollouts: int = 0
    panel_tokens: int = 0
    rewriter_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens written."""
        return self.panel_tokens + self.rewriter_tokens


@dataclass(frozen=True)
class RunState:
    """What the rows of a run say, kept up to date as they are written.

    Attributes
    ----------
    candidates
        With a reply, by id; a failed request leaves no candidate here.
    solutions
        With a reply, by candidate, then number.
    failed_candidates, failed_solutions
        The same of requests that came to nothing and were not answered later: what was asked, and the error.
    decisions
        By candidate, then stage.
    answers
        By candidate, then (verifier, trial), of every answer that is there; None until it has a verdict.
    rounds
        The rows of the finished rounds.
    """

    candidates: dict[str, Candidate] = field(default_factory=dict)
    solutions: dict[str, dict[int, Solution]] = field(default_factory=dict)
    failed_candidates: dict[str, Candidate] = field(default_factory=dict)
    failed_solutions: dict[str, dict[int, Solution]] = field(default_factory=dict)
    decisions: dict[str, dict[str, Decision]] = field(default_factory=dict)
    answers: dict[str, dict[tuple[str, int], PanelAnswer | None]] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)

    @property
    def accepted(self) -> list[Decision]:
        """The decisions that accepted a candidate, in the order of the candidates' first decisions."""
        verified = (stages.get(VERIFY) for stages in self.decisions.values())
        return [decision for decision in verified if decision is not None and decision.decision == ACCEPTED]

    @property
    def expected_false_landings(self) -> float:
        """How many of the accepted are expected to lie outside their gap: the sum of 1 − P(in gap)."""
        return float(sum(1 - decision.figures["p_in_gap"] for decision in self.accepted))

    def counts(self, name: str, verifiers: tuple[str, ...], n_trials: int) -> tuple[IntArray, IntArray]:
        """Return a candidate's right answers and its trials by verifier, (M,) each."""
        answers = self.answers.get(name, {})
        correct, trials = np.zeros((2, len(verifiers)), dtype=int)
        for place, verifier in enumerate(verifiers):
            for trial in range(1, n_trials + 1):
                answer = answers.get((verifier, trial))
                if answer is not None and answer.correct is not None:
                    trials[place] += 1
                    correct[place] += answer.correct
        return correct, trials


def add_candidate_row(state: RunState, row: Mapping[str, Any]) -> None:
    """Take in a row of candidates.jsonl."""
    check_values(row, {"kind": str, "error": str | None})
    written: Candidate | Solution
    if row["kind"] == "candidate":
        written = candidate_from_row(row)
        state.failed_candidates.pop(written.id, None)
        candidates = state.candidates if written.error is None else state.failed_candidates
        candidates[written.id] = written
    elif row["kind"] == "solution":
        written = solution_from_row(row)
        state.failed_solutions.get(written.id, {}).pop(written.number, None)
        solutions = state.solutions if written.error is None else state.failed_solutions
        solutions.setdefault(written.id, {})[written.number] = written
    else:
        raise TypeError(f"kind cannot be {row['kind']!r}")
    if written.error is None:
        state.spent.rewriter_tokens += _tokens(written.completion_tokens, written.reply, written.reasoning)


def add_rollout_row(state: RunState, row: Mapping[str, Any]) -> None:
    """Take in a row of rollouts.jsonl."""
    if row["outcome"] == "error":
        return
    answers = state.answers.setdefault(row["item"], {})
    key = row["verifier"], row["trial"]
    if row["kind"] == "answer":
        state.spent.rollouts += 1
        state.spent.panel_tokens += _tokens(row["completion_tokens"], row["text"], row["reasoning"])
        # A text waits for its verdict; without one, or cut off, the answer is wrong.
        answers[key] = None if row["outcome"] == "ok" else PanelAnswer(False, None)
    else:
        judged = row["outcome"] in TRIAL_OUTCOMES
        answers[key] = PanelAnswer(row["correct"] if judged else None, row["answer"])


def add_decision(state: RunState, decision: Decision) -> None:
    """Take in a decision."""
    state.decisions.setdefault(decision.id, {})[decision.stage] = decision


def add_round(state: RunState, row: dict[str, Any]) -> None:
    """Take in the row of a finished round."""
    check_values(row, ROUND)
    for gap in (*row["targets"], *row["unresolvable"]):
        check_values(gap, {"low": float, "high": float, "width": float})
    expected = len(state.rounds) + 1
    if row["round"] != expected:
        raise TypeError(f"round {row['round']}, where {expected} is expected")
    state.rounds.append(row)


def read_state(folder: RunFolder) -> RunState:
    """Return what the journals of a run say; they may be in use.

    Raises
    ------
    InputError
        With path:line, for a line that is not a row of its journal; with the candidate, where a row is about one whose
        own row is not there.
    """
    state = RunState()
    # What rests on a row is read before it: a run that goes on meanwhile may have written both in between.
    _read(folder.rounds, lambda row: add_round(state, row))
    _read(folder.decisions, lambda row: add_decision(state, decision_from_row(row)))
    for row in checked_rows(folder.rollouts):
        add_rollout_row(state, row)
    _read(folder.candidates, lambda row: add_candidate_row(state, row))
    _check_references(folder, state)
    return state


def _read(path: Path, add: Callable[[dict[str, Any]], None]) -> None:
    if not os.path.exists(path):
        return
    for number, row in read_journal(path, RESTORE):
        try:
            add(row)
        except TypeError as error:
            raise InputError(f"{path}:{number}: not a row of this journal ({error}); {RESTORE}") from error


def _check_references(folder: RunFolder, state: RunState) -> None:
    """Hold every row to the rows that it rests on.

    A candidate whose row is lost cannot be asked for again: what was decided, solved and answered is about the text
    that the rewriter wrote then.
    """
    decided = {
        name: folder.decisions
        for name, stages in state.decisions.items()
        if name not in state.failed_candidates or not _is_without_reply(stages)
    }
    answered = dict.fromkeys(state.answers, folder.rollouts)
    solved = dict.fromkeys([*state.solutions, *state.failed_solutions], folder.candidates)
    for name, path in (solved | answered | decided).items():
        if name not in state.candidates:
            raise InputError(
                f"{path}: a row is about candidate {name!r}, and {folder.candidates} has none with its text; {RESTORE}"
            )
    accepted = {decision.id for decision in state.accepted}
    for row in state.rounds:
        if lost := [name for name in row["accepted"] if name not in accepted]:
            raise InputError(
                f"{folder.rounds}: round {row['round']} accepted {lost[0]!r}, and {folder.decisions} does not say so; "
                f"{RESTORE}"
            )


def _is_without_reply(stages: Mapping[str, Decision]) -> bool:
    return set(stages) == {SCREEN} and stages[SCREEN].reason == "no_reply"


def _tokens(counted: int | None, text: str, reasoning: str | None) -> int:
    """Return the tokens of a reply: as the server counts, else by its length."""
    if counted is not None:
        return counted
    return -(-(len(text) + len(reasoning or "")) // CHARACTERS_A_TOKEN)
