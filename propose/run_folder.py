"""A run's folder: what is in it, what its rows say, and who may write to it.

All that is known of a run is read from its rows; nothing is kept anywhere else, so it can be killed at any byte. The
journals are opened together and locked: a second run on the same folder refuses.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irt.arrays import IntArray
from irt.io import InputError
from propose.candidate import (
    ACCEPTED,
    VERIFY,
    Candidate,
    Decision,
    Solution,
    candidate_from_row,
    decision_from_row,
    solution_from_row,
)
from propose.deciding import PanelAnswer
from verifier.journal import Append, open_journal, read_journal
from verifier.trials import TRIAL_OUTCOMES

REPOSITORY = Path(__file__).resolve().parents[1]
CHARACTERS_A_TOKEN = 4  # where a server does not count


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
    for what, name in (("benchmark", benchmark), ("run", run)):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise InputError(f"{what} {name!r}: a name has letters, digits, '.', '_' and '-' alone")
    return RunFolder(results_root() / benchmark / run)


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
    failed = row["error"] is not None
    if row["kind"] == "candidate":
        candidate = candidate_from_row(row)
        state.failed_candidates.pop(candidate.id, None)
        (state.failed_candidates if failed else state.candidates)[candidate.id] = candidate
    elif row["kind"] == "solution":
        solution = solution_from_row(row)
        state.failed_solutions.get(solution.id, {}).pop(solution.number, None)
        solutions = state.failed_solutions if failed else state.solutions
        solutions.setdefault(solution.id, {})[solution.number] = solution
    else:
        raise KeyError(f"kind {row['kind']!r}")
    if not failed:
        state.spent.rewriter_tokens += _tokens(row, "reply")


def add_rollout_row(state: RunState, row: Mapping[str, Any]) -> None:
    """Take in a row of rollouts.jsonl."""
    if row["outcome"] == "error":
        return
    answers = state.answers.setdefault(row["item"], {})
    key = row["verifier"], row["trial"]
    if row["kind"] == "answer":
        state.spent.rollouts += 1
        state.spent.panel_tokens += _tokens(row, "text")
        # A text waits for its verdict; without one, or cut off, the answer is wrong.
        answers[key] = None if row["outcome"] == "ok" else PanelAnswer(False, None)
    else:
        judged = row["outcome"] in TRIAL_OUTCOMES
        answers[key] = PanelAnswer(row["correct"] if judged else None, row["answer"])


def add_decision(state: RunState, decision: Decision) -> None:
    """Take in a decision."""
    state.decisions.setdefault(decision.id, {})[decision.stage] = decision


def read_state(folder: RunFolder) -> RunState:
    """Return what the journals of a run say; they may be in use.

    Raises
    ------
    InputError
        With path:line, for a line that is not a row of its journal.
    """
    state = RunState()
    for path, add in (
        (folder.candidates, lambda row: add_candidate_row(state, row)),
        (folder.rollouts, lambda row: add_rollout_row(state, row)),
        (folder.decisions, lambda row: add_decision(state, decision_from_row(row))),
        (folder.rounds, state.rounds.append),
    ):
        if not os.path.exists(path):
            continue
        for number, row in read_journal(path):
            try:
                add(row)
            except (KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{path}:{number}: not a row of this journal ({error}); restore the line from a copy, or remove it"
                ) from error
    return state


@dataclass(frozen=True)
class Journals:
    """The open journals of a run."""

    candidates: Append
    rollouts: Append
    decisions: Append
    rounds: Append


@contextlib.contextmanager
def open_journals(folder: RunFolder) -> Iterator[Journals]:
    """Open and lock a run's journals.

    Raises
    ------
    InputError
        If another process has them.
    """
    with contextlib.ExitStack() as stack:
        paths = (folder.candidates, folder.rollouts, folder.decisions, folder.rounds)
        yield Journals(*(stack.enter_context(open_journal(path)) for path in paths))


def _tokens(row: Mapping[str, Any], text: str) -> int:
    """Return the tokens of a reply: as the server counts, else by its length."""
    counted = row["completion_tokens"]
    if counted is not None:
        return int(counted)
    written = len(row[text]) + len(row["reasoning"] or "")
    return -(-written // CHARACTERS_A_TOKEN)
