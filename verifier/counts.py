"""From trials to the files that a fit reads, and to a summary. Computed from the journal alone, whoever wrote it."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irt.io import write_csv
from verifier.items import Item
from verifier.trials import OTHER_OUTCOMES, TRIAL_OUTCOMES, Key, Trial

MATRIX, TRIALS, GUESSING = "response_matrix.csv", "trials.csv", "guessing.csv"
# So many empty or cut-off answers are a matter of the settings (max_tokens, thinking, chat template), not of ability.
MANY_EMPTY = 0.2


@dataclass(frozen=True)
class VerifierSummary:
    """How one verifier did.

    Attributes
    ----------
    outcomes
        Trials by outcome; those that are missing in the journal are under ``missing``.
    trials, correct
        Trials that count, and those that are right.
    empty
        Of the trials without an answer, those whose reply was empty.
    completion_tokens, mean_seconds
        Tokens of all answers, as far as the server counts them; mean time of an answer, None without answers.
    retries
        Attempts beyond the first, over all answers.
    """

    verifier: str
    outcomes: dict[str, int]
    trials: int
    correct: int
    empty: int
    completion_tokens: int
    mean_seconds: float | None
    retries: int


def summarise(
    verifiers: Sequence[str], items: Sequence[Item], n_trials: int, trials: Mapping[Key, Trial]
) -> list[VerifierSummary]:
    """Return one summary a verifier, in their order."""
    return [_summary(name, items, n_trials, trials) for name in verifiers]


def _summary(name: str, items: Sequence[Item], n_trials: int, trials: Mapping[Key, Trial]) -> VerifierSummary:
    expected = len(items) * n_trials
    found = [trial for item in items for trial in _cell(name, item, n_trials, trials)]
    counted = Counter(trial.outcome for trial in found)
    answered = [trial for trial in found if trial.answered]
    return VerifierSummary(
        verifier=name,
        outcomes={outcome: counted[outcome] for outcome in (*TRIAL_OUTCOMES, *OTHER_OUTCOMES)}
        | {"missing": expected - len(found)},
        trials=sum(trial.counts for trial in found),
        correct=sum(trial.correct is True for trial in found),
        empty=sum(trial.outcome == "no_answer" and trial.grader is None for trial in found),
        completion_tokens=sum(trial.completion_tokens or 0 for trial in answered),
        mean_seconds=sum(trial.seconds for trial in answered) / len(answered) if answered else None,
        retries=sum(trial.attempts - 1 for trial in answered),
    )


def warnings_of(summaries: Sequence[VerifierSummary], trials: Mapping[Key, Trial]) -> list[str]:
    """Return what a reader must know before using the matrix, a line each."""
    found = []
    for summary in summaries:
        for count, what, look in (
            (summary.outcomes["truncated"], "are cut off", "at max_tokens and thinking"),
            (summary.empty, "are empty", "at thinking and the chat template"),
            (
                summary.outcomes["no_answer"] - summary.empty,
                "have no answer that the grader recognises",
                "at text in rollouts.jsonl",
            ),
        ):
            if count > MANY_EMPTY * summary.trials:
                found.append(
                    f"{summary.verifier}: {count} of {summary.trials} replies {what} and count as wrong; look {look}"
                )
    versions = {trial.grader[:2] for trial in trials.values() if trial.grader}
    for name in sorted({name for name, _ in versions}):
        of_name = sorted(version for grader, version in versions if grader == name)
        if len(of_name) > 1:
            found.append(f"grader {name}: verdicts of versions {', '.join(of_name)} are mixed; use --regrade")
    return found


def write_matrix(
    folder: Path, verifiers: Sequence[str], items: Sequence[Item], n_trials: int, trials: Mapping[Key, Trial]
) -> list[str]:
    """Write response_matrix.csv, trials.csv where cells fell short, and guessing.csv where there are choices.

    A cell without a trial is blank; a verifier or an item without any is left out, as a fit cannot place it. With a
    matrix, files of the other two names that do not apply any more are removed: a fit would otherwise read a trials.csv
    of an earlier state. Without any trial nothing is touched.

    Returns
    -------
    The names of the files written.
    """
    cells = {
        name: [[trial for trial in _cell(name, item, n_trials, trials) if trial.counts] for item in items]
        for name in verifiers
    }
    asked = [place for place in range(len(items)) if any(row[place] for row in cells.values())]
    rows = {name: [row[place] for place in asked] for name, row in cells.items() if any(row)}
    header = ["model", *(items[place].id for place in asked)]
    tables = {
        MATRIX: [[name, *(_correct(cell) for cell in row)] for name, row in rows.items()],
        TRIALS: [[name, *(len(cell) or "" for cell in row)] for name, row in rows.items()],
    }
    if all(len(cell) == n_trials for row in rows.values() for cell in row):
        del tables[TRIALS]
    if not rows:
        return []
    for name, table in tables.items():
        write_csv(folder / name, header, table)
    written = list(tables)
    if any(items[place].choices for place in asked):
        write_csv(
            folder / GUESSING,
            ("item_id", "guessing"),
            ((items[place].id, items[place].guessing) for place in asked),
        )
        written.append(GUESSING)
    for name in {TRIALS, GUESSING} - set(written):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder / name)
    return written


def _cell(name: str, item: Item, n_trials: int, trials: Mapping[Key, Trial]) -> list[Trial]:
    keys = ((name, item.id, number) for number in range(1, n_trials + 1))
    return [trials[key] for key in keys if key in trials]


def _correct(cell: Sequence[Trial]) -> int | str:
    return sum(trial.correct is True for trial in cell) if cell else ""
