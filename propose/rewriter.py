"""The rewriter: which model writes new items, how it is sampled, and where it is served. Read from a TOML file.

It is described as a verifier of the panel is, in one table headed [rewriter]; see verifier.panel.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irt.io import InputError, PathLike, open_text
from verifier.panel import Verifier, read_verifier, whole

DEFAULT = Path(__file__).with_name("rewriter.toml")
_LIMITS = {"concurrency": 64, "deadline_seconds": 1800}


@dataclass(frozen=True)
class Rewriter:
    """The model that writes new items.

    Attributes
    ----------
    model
        Everything that shapes its replies, and where it is served.
    concurrency
        Requests that its server has at a time.
    deadline_seconds
        The longest that one request may take, all its attempts together.
    """

    model: Verifier
    concurrency: int
    deadline_seconds: float

    @property
    def name(self) -> str:
        """What it is called."""
        return self.model.name

    @property
    def identity(self) -> str:
        """Twelve hexadecimal digits that change with whatever shapes its replies."""
        return self.model.identity


def read_rewriter(path: PathLike = DEFAULT) -> Rewriter:
    """Read a rewriter.

    Raises
    ------
    InputError
        If the file is not TOML, or has an unknown, missing or impossible value, with the key.
    """
    with open_text(path) as handle:
        text = handle.read()
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{path}: not TOML ({error})") from error
    if unknown := sorted(set(table) - {*_LIMITS, "rewriter"}):
        raise InputError(
            f"{path}: unknown key {unknown[0]!r}; a rewriter's file has {', '.join(_LIMITS)} and [rewriter]"
        )
    if not isinstance(table.get("rewriter"), dict):
        raise InputError(f"{path}: describe the rewriter in one table headed [rewriter]")
    limits = {key: whole(table.get(key, default), f"{path}: {key}") for key, default in _LIMITS.items()}
    return Rewriter(read_verifier(table["rewriter"], f"{path}: rewriter"), **limits)
