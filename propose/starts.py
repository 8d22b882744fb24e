"""Each start of a run and how it ended: rows of starts.jsonl.

kind "start"    time, max_rollouts, max_tokens: the caps in force from then on; null: none
kind "ending"   time, reason, detail: as propose.loop_run.Ending has them; or ``interrupted``; or ``error``, its message

A start without an ending is running, or was killed.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irt.io import InputError
from propose.json_values import check_values
from propose.settings import Settings
from verifier.journal import read_journal

INTERRUPTED, ERROR = "interrupted", "error"
_KINDS: dict[str, dict[str, Any]] = {
    "start": {"time": str, "max_rollouts": int | None, "max_tokens": int | None},
    "ending": {"time": str, "reason": str, "detail": str},
}
_REMEDY = (
    "restore it from a copy, or remove the file: a run goes on without it, and only its starts are forgotten"
)


@dataclass(frozen=True)
class Ending:
    """When and why a start ended."""

    time: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Start:
    """A start, with its caps; ``ending`` is None while it runs, and after a kill."""

    time: str
    max_rollouts: int | None
    max_tokens: int | None
    ending: Ending | None = None


def start_row(settings: Settings) -> dict[str, Any]:
    """Return the row of a start with the caps of these settings."""
    caps = {"max_rollouts": settings.max_rollouts, "max_tokens": settings.max_tokens}
    return {"kind": "start", "time": _now(), **caps}


def ending_row(reason: str, detail: str) -> dict[str, Any]:
    """Return the row of an ending."""
    return {"kind": "ending", "time": _now(), "reason": reason, "detail": detail}


def read_starts(path: Path) -> list[Start]:
    """Return the starts of a run, the first one first; none if it was never started.

    Raises
    ------
    InputError
        With path:line, for a line that is not a row of this journal.
    """
    starts: list[Start] = []
    if not os.path.exists(path):
        return starts
    for number, row in read_journal(path, _REMEDY):
        try:
            check_values(row, {"kind": str} | _KINDS.get(str(row.get("kind")), {}))
            if row["kind"] == "start":
                starts.append(Start(row["time"], row["max_rollouts"], row["max_tokens"]))
            elif row["kind"] != "ending":
                raise TypeError(f"kind cannot be {row['kind']!r}")
            elif not starts or starts[-1].ending is not None:
                raise TypeError("an ending without its start")
            else:
                starts[-1] = replace(starts[-1], ending=Ending(row["time"], row["reason"], row["detail"]))
        except TypeError as error:
            raise InputError(f"{path}:{number}: not a row of this journal ({error}); {_REMEDY}") from error
    return starts


def caps_in_force(settings: Settings, starts: list[Start]) -> tuple[int | None, int | None]:
    """Return the caps of the panel's answers and of all tokens: those of the last start, before one the settings'."""
    last = starts[-1] if starts else settings
    return last.max_rollouts, last.max_tokens


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
