"""The journals of a run, open to be written to by one process alone.

They are synced in the order in which they rest on each other: else a power cut could leave a decision about a candidate
whose own row is lost.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from propose.run_folder import RunFolder
from verifier.journal import Append, open_journal


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
        candidates, rollouts, decisions, rounds = (stack.enter_context(open_journal(path)) for path in paths)
        yield Journals(
            candidates,
            rollouts,  # of candidates that a decision let pass
            _after(decisions, folder.candidates, folder.rollouts),
            _after(rounds, folder.decisions),
        )


def _after(append: Append, *rests_on: Path) -> Append:
    """Return an ``append`` that first has on disk what its rows rest on."""

    def append_after(row: dict[str, Any]) -> None:
        for path in rests_on:
            with open(path, "rb") as handle:
                os.fsync(handle.fileno())
        append(row)

    return append_after
