"""What a run has come to: its rows beside the benchmark that it fills, and the items that it accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.io import InputError
from propose.calibrated import Calibrated
from propose.candidate import Candidate, Decision
from propose.candidate_items import candidate_items
from propose.config import Config, read_config
from propose.run import read_inputs
from propose.run_folder import RunFolder, RunState, read_state
from propose.starts import Start, read_starts
from verifier.items import Item

if TYPE_CHECKING:
    from propose.recalibrating import Counts


@dataclass(frozen=True)
class Accepted:
    """An accepted item, with the id of its parent, what it was made as, and the decision on it."""

    item: Item
    candidate: Candidate
    decision: Decision

    def figure(self, name: str) -> Any:
        """Return a figure of the decision."""
        return self.decision.figures[name]


@dataclass(frozen=True)
class Outcome:
    """A run, finished or not. ``accepted`` is in the order of the decisions, ``starts`` that of time."""

    folder: RunFolder
    config: Config
    state: RunState
    starts: list[Start]
    calibrated: Calibrated
    accepted: tuple[Accepted, ...]

    @property
    def name(self) -> str:
        """The benchmark and the run."""
        return f"{self.config.settings.benchmark}, run {self.config.settings.run}"

    @property
    def b_accepted(self) -> FloatArray:
        """Posterior mean difficulties of the accepted items, as decided on."""
        return np.array([one.figure("b_mean") for one in self.accepted], dtype=float)


def read_outcome(path: Path) -> Outcome:
    """Read a run's folder, and the benchmark that it was made for.

    Raises
    ------
    InputError
        If there is no such run, a row cannot be read, or the benchmark's files are no longer those of the run.
    """
    folder = RunFolder(path)
    config = read_config(folder)
    calibrated = read_inputs(folder, config)
    state = read_state(folder)
    starts = read_starts(folder.starts)
    return Outcome(folder, config, state, starts, calibrated, accepted_of(state, calibrated.items))


def accepted_of(state: RunState, originals: tuple[Item, ...]) -> tuple[Accepted, ...]:
    """Return the accepted items, read again from the rewriter's replies.

    Raises
    ------
    InputError
        If the text of an accepted candidate holds no item: its row was changed.
    """
    items = candidate_items(state.candidates.values(), originals)
    found = []
    for decision in state.accepted:
        name = decision.id
        if name not in items:
            raise InputError(f"candidate {name}: was accepted, but candidates.jsonl holds no item of it")
        candidate = state.candidates[name]
        found.append(Accepted(replace(items[name], parent_id=candidate.parent), candidate, decision))
    return tuple(found)


def counts_of(accepted: tuple[Accepted, ...], models: int) -> Counts:
    """Return the full counts of accepted items."""
    from propose.recalibrating import Counts  # with PyMC, for which no reader of a run should wait

    def counts(name: str) -> IntArray:
        return np.array([one.figure(name) for one in accepted], dtype=int).reshape(-1, models).T

    return Counts(counts("correct"), counts("trials"), np.array([one.item.guessing for one in accepted]))
