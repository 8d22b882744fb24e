"""The rows of a rollout journal, and what they say of each trial.

There are two kinds of rows. An ``answer`` is written the moment a reply is there, as it was served; a ``verdict``
follows when it has been graded. So an answer is never paid for twice because a grader failed, and grading can be
repeated. Of several rows for one trial the last one counts: an answer after an error, a verdict after an earlier one.

answer   kind, verifier, identity, item, prompt, trial, outcome, text, reasoning, finish_reason, prompt_tokens,
         completion_tokens, seconds, attempts, seed, served_model, error, time
verdict  kind, verifier, identity, item, prompt, trial, outcome, correct, answer, key, grader, grader_version, detail
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

from irt.io import InputError, PathLike
from verifier.graders.verdict import Verdict
from verifier.items import Item
from verifier.journal import read_journal
from verifier.panel import Verifier
from verifier.prompts import prompt_hash
from verifier.reply import Reply

TRIAL_OUTCOMES = ("ok", "no_answer", "truncated")  # these count; the others say nothing about the model
OTHER_OUTCOMES = ("error", "grader_error", "grader_timeout", "ungraded")

_HEAD: dict[str, tuple[tuple[type, ...], tuple[str, ...]]] = {
    "verifier": ((str,), ()),
    "identity": ((str,), ()),
    "item": ((str,), ()),
    "prompt": ((str,), ()),
    "trial": ((int,), ()),
}
# What a row must have to be counted: the types of each column, and its values where they are few.
COLUMNS = {
    "answer": _HEAD
    | {
        "outcome": ((str,), (*TRIAL_OUTCOMES, "error")),
        "text": ((str,), ()),
        "reasoning": ((str, NoneType), ()),
        "completion_tokens": ((int, NoneType), ()),
        "seconds": ((int, float), ()),
        "attempts": ((int,), ()),
    },
    "verdict": _HEAD
    | {
        "outcome": ((str,), ("ok", "no_answer", "grader_error", "grader_timeout")),
        "correct": ((bool, NoneType), ()),
        "answer": ((str, NoneType), ()),
        "key": ((str, NoneType), ()),
        "grader": ((str,), ()),
        "grader_version": ((str,), ()),
    },
}

Key = tuple[str, str, int]  # verifier, item, trial


@dataclass(frozen=True, slots=True)
class Trial:
    """What the journal says of one trial.

    Attributes
    ----------
    outcome
        One of ``TRIAL_OUTCOMES`` or ``OTHER_OUTCOMES``.
    correct
        False for ``no_answer`` and ``truncated``; None where the outcome is not a trial.
    grader
        Name, version and ``Item.key`` that the verdict rests on; None where nothing was graded.
    completion_tokens, seconds, attempts
        Of the answer; tokens are None where the server does not count.
    """

    outcome: str
    correct: bool | None
    grader: tuple[str, str, str | None] | None
    completion_tokens: int | None
    seconds: float
    attempts: int

    @property
    def counts(self) -> bool:
        """Whether this is a trial of the model, right or wrong."""
        return self.outcome in TRIAL_OUTCOMES

    @property
    def answered(self) -> bool:
        """Whether there is a reply, so that the model need not be asked again."""
        return self.outcome != "error"


@dataclass(frozen=True)
class Job:
    """One question to one verifier."""

    verifier: Verifier
    item: Item
    trial: int

    @property
    def key(self) -> Key:
        """Which trial of the matrix this is."""
        return (self.verifier.name, self.item.id, self.trial)


def answer_row(job: Job, seed: int, reply: Reply, *, attempts: int, seconds: float) -> dict[str, Any]:
    """Return the row of a reply that came with the last of some attempts, which took some seconds."""
    return _head("answer", job) | {
        "outcome": reply.outcome,
        "text": reply.text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "seconds": round(seconds, 4),
        "attempts": attempts,
        "seed": seed,
        "served_model": reply.served_model,
        "error": None,
        "time": _now(),
    }


def error_row(job: Job, seed: int, reason: str, attempts: int) -> dict[str, Any]:
    """Return the row of a request that came to nothing. What went wrong has its own field and is never a text."""
    empty = Reply("error", "", None, None, None, None, None)
    return answer_row(job, seed, empty, attempts=attempts, seconds=0.0) | {"error": reason}


def verdict_row(job: Job, verdict: Verdict) -> dict[str, Any]:
    """Return the row of a verdict."""
    return _head("verdict", job) | {
        "outcome": verdict.outcome,
        "correct": verdict.correct,
        "answer": verdict.answer,
        "key": job.item.key,
        "grader": verdict.grader,
        "grader_version": verdict.version,
        "detail": verdict.detail,
    }


def jobs_of(verifiers: Iterable[Verifier], items: Iterable[Item], n_trials: int) -> Iterator[Job]:
    """Yield every job, in the order in which they are asked: the trials of one prompt one after the other.

    A server that caches prompts then reads each prompt once.
    """
    items = list(items)
    for verifier in verifiers:
        for item in items:
            for trial in range(1, n_trials + 1):
                yield Job(verifier, item, trial)


def read_trials(path: PathLike, verifiers: Iterable[Verifier], items: Iterable[Item]) -> dict[Key, Trial]:
    """Return what a journal says of the trials of these verifiers and items; empty if there is no journal.

    Rows of a verifier with another identity (sampling, revision, thinking), or of an item with another wording, are not
    trials of these and are left out.

    Raises
    ------
    InputError
        With path:line, for a line that is not a row.
    """
    trials: dict[Key, Trial] = {}
    for row in _rows(path, verifiers, items):
        key = (row["verifier"], row["item"], row["trial"])
        if row["kind"] == "answer":
            outcome = "ungraded" if row["outcome"] == "ok" else row["outcome"]
            trials[key] = Trial(
                outcome=outcome,
                correct=False if outcome in TRIAL_OUTCOMES else None,
                grader=None,
                completion_tokens=row["completion_tokens"],
                seconds=row["seconds"],
                attempts=row["attempts"],
            )
        elif key in trials:
            grader = (row["grader"], row["grader_version"], row["key"])
            trials[key] = replace(trials[key], outcome=row["outcome"], correct=row["correct"], grader=grader)
    return trials


def read_texts(path: PathLike, jobs: Mapping[Key, Job]) -> Iterator[tuple[Job, str]]:
    """Yield the texts of these jobs that can be graded, as served."""
    verifiers = {job.verifier.name: job.verifier for job in jobs.values()}.values()
    items = {job.item.id: job.item for job in jobs.values()}.values()
    for row in _rows(path, verifiers, items):
        job = jobs.get((row["verifier"], row["item"], row["trial"]))
        if job is not None and row["kind"] == "answer" and row["outcome"] == "ok":
            yield job, row["text"]


def checked_rows(path: PathLike) -> Iterator[dict[str, Any]]:
    """Yield the rows of a journal; none if there is no journal.

    Raises
    ------
    InputError
        With path:line, for a line that is not a row.
    """
    if not os.path.exists(path):
        return
    for number, row in read_journal(path):
        _check_row(row, f"{path}:{number}")
        yield row


def _rows(path: PathLike, verifiers: Iterable[Verifier], items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    identities = {verifier.name: verifier.identity for verifier in verifiers}
    prompts = {item.id: prompt_hash(item) for item in items}
    for row in checked_rows(path):
        if (identities.get(row["verifier"]), prompts.get(row["item"])) == (row["identity"], row["prompt"]):
            yield row


def _check_row(row: dict[str, Any], where: str) -> None:
    """Hold a row to its columns: one that was edited by hand must not become a count."""
    if row.get("kind") not in tuple(COLUMNS):  # which compares, as a list has no hash
        raise InputError(f"{where}: kind {row.get('kind')!r} is not known; is this a rollout journal?")
    for name, (kinds, values) in COLUMNS[row["kind"]].items():
        if name not in row:
            raise InputError(f"{where}: the row has no {name}; is this a rollout journal?")
        value = row[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InputError(
                f"{where}: {name} cannot be {value!r}; restore the row from a copy, or remove it"
            )
        if values and value not in values:
            raise InputError(
                f"{where}: {name} cannot be {value!r}; it is one of {', '.join(map(str, values))}"
            )
    if row["kind"] == "verdict" and (row["correct"] is None) == (row["outcome"] in TRIAL_OUTCOMES):
        raise InputError(f"{where}: outcome {row['outcome']!r} does not go with correct {row['correct']!r}")


def _head(kind: str, job: Job) -> dict[str, Any]:
    return {
        "kind": kind,
        "verifier": job.verifier.name,
        "identity": job.verifier.identity,
        "item": job.item.id,
        "prompt": prompt_hash(job.item),
        "trial": job.trial,
    }


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
