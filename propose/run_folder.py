"""A run's folder: what is in it, what its rows say, and who may write to it.

All that is known of a run is read from its rows; nothing is kept anywhere else, so it can be killed at any byte. The
journals are opened together and locked: a second run on the same folder refuses.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irt.arrays import IntArray
from irt.io import InputError, atomic_writer
from propose.candidate import (
    Candidate,
    Decision,
    Solution,
    candidate_from_row,
    decision_from_row,
    solution_from_row,
)
from propose.deciding import PanelAnswer
from propose.settings import Settings, settings_from_fields
from verifier.journal import Append, open_journal, read_journal
from verifier.trials import TRIAL_OUTCOMES

SCHEMA_VERSION = 1
_REPOSITORY = Path(__file__).resolve().parents[1]
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


def data_root() -> Path:
    """Return where benchmarks are: the environment's BENCHFILL_DATA, or the repository's data."""
    return Path(os.environ.get("BENCHFILL_DATA") or _REPOSITORY / "data")


def folder_of(benchmark: str, run: str) -> RunFolder:
    """Return the folder of a run under BENCHFILL_RESULTS, or the repository's propose/results.

    Raises
    ------
    InputError
        For a name that is not one of a folder.
    """
    for what, name in (("benchmark", benchmark), ("run", run)):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise InputError(f"{what} {name!r}: a name has letters, digits, '.', '_' and '-' alone")
    root = Path(os.environ.get("BENCHFILL_RESULTS") or _REPOSITORY / "propose" / "results")
    return RunFolder(root / benchmark / run)


@dataclass(frozen=True)
class Config:
    """What a run was made with.

    Attributes
    ----------
    n_trials
        Answers of a verifier to a candidate, as many as the calibration had.
    inputs
        Of the benchmark's files, by what they are: ``file`` (name) and ``sha256``.
    panel, rewriter
        ``file`` (path as given), and ``identities`` by name, in the order of the file.
    simulated
        Whether the answers come from the simulated panel.
    """

    settings: Settings
    n_trials: int
    inputs: Mapping[str, Mapping[str, str]]
    panel: Mapping[str, Any]
    rewriter: Mapping[str, Any]
    versions: Mapping[str, str]
    created: str
    simulated: bool


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
        By candidate, then number.
    decisions
        By candidate, then stage.
    answers
        By candidate, then (verifier, trial), of every answer that is there; None until it has a verdict.
    rounds
        The rows of the finished rounds.
    """

    candidates: dict[str, Candidate] = field(default_factory=dict)
    solutions: dict[str, dict[int, Solution]] = field(default_factory=dict)
    decisions: dict[str, dict[str, Decision]] = field(default_factory=dict)
    answers: dict[str, dict[tuple[str, int], PanelAnswer | None]] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)

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
    if row["error"] is not None:
        return
    state.spent.rewriter_tokens += _tokens(row, "reply")
    if row["kind"] == "candidate":
        candidate = candidate_from_row(row)
        state.candidates[candidate.id] = candidate
    elif row["kind"] == "solution":
        solution = solution_from_row(row)
        state.solutions.setdefault(solution.id, {})[solution.number] = solution
    else:
        raise KeyError(f"kind {row['kind']!r}")


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


def write_config(folder: RunFolder, config: Config) -> None:
    """Write config.json of a new run.

    Raises
    ------
    InputError
        If the run is there already.
    """
    if folder.config.exists():  # a folder without it is what a kill in the middle of init leaves
        raise InputError(
            f"{folder.path}: this run is there already and is left as it is; choose another RUN name"
        )
    with atomic_writer(folder.config) as handle:
        fields = vars(config) | {"settings": config.settings.as_fields()}
        json.dump({"schema_version": SCHEMA_VERSION, **fields}, handle, indent=2, ensure_ascii=False)
        handle.write("\n")


def read_config(folder: RunFolder) -> Config:
    """Return what a run was made with.

    Raises
    ------
    InputError
        If there is no such run, or its config.json is not one.
    """
    path = folder.config
    if not path.is_file():
        raise InputError(f"{path}: there is no such run; make it with `bash run_experiment.sh init`")
    try:
        fields = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); restore it from a copy, or init a new run") from error
    wanted = {*Config.__dataclass_fields__, "schema_version"}
    if not isinstance(fields, dict) or set(fields) != wanted or fields["schema_version"] != SCHEMA_VERSION:
        raise InputError(f"{path}: not the config of a run of this version; init a new run")
    del fields["schema_version"]
    return Config(**fields | {"settings": settings_from_fields(fields["settings"], str(path))})


def _tokens(row: Mapping[str, Any], text: str) -> int:
    """Return the tokens of a reply: as the server counts, else by its length."""
    counted = row["completion_tokens"]
    if counted is not None:
        return int(counted)
    written = len(row[text]) + len(row["reasoning"] or "")
    return -(-written // CHARACTERS_A_TOKEN)
