"""A calibrated simulated benchmark, and the loop in this process: no server, the truth known."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from propose.calibrated import Calibrated
from propose.loop import Ending, Run, run_rounds
from propose.run_folder import RunState
from propose.run_journals import Journals
from propose.settings import Settings
from tests.benchfill_simulation import SimulatedRewriter, ask_panel
from verifier.ability_posterior import Abilities, Calibration, fit_ability
from verifier.journal import Append
from verifier.panel import Verifier, read_panel
from verifier.simulated.examinees import is_right
from verifier.simulated.families import ABILITIES, make_items, true_difficulty
from verifier.simulated.rewriter import RewriterHabits

ROOT = Path(__file__).resolve().parents[2]
PANEL = read_panel(ROOT / "verifier" / "panels" / "simulated.toml")
NAMES = tuple(ABILITIES)
FAMILIES = ("chain", "power", "divisible", "sequence", "system", "draws")


def true_abilities(sd: float = 0.15) -> Abilities:
    """What a good calibration knows of the simulated panel."""
    return Abilities(np.array(list(ABILITIES.values())), np.full(len(ABILITIES), sd), 0.0)


def spread(count: int, gap: tuple[float, float], reach: float = 2.4) -> list[float]:
    """Difficulties spread evenly from −reach to reach, none in the gap."""
    width = 2 * reach - (gap[1] - gap[0])
    places = [-reach + width * (number + 0.5) / count for number in range(count)]
    return [place if place < gap[0] else place + gap[1] - gap[0] for place in places]


@cache
def calibrated(n_trials: int = 4, gap: tuple[float, float] = (-0.2, 1.4), count: int = 24) -> Calibrated:
    """A benchmark whose calibration table is as exact as a fit of many trials would make it."""
    items = make_items(count, seed=3, families=FAMILIES, difficulties=spread(count, gap))
    counts = np.array(
        [
            [sum(is_right(name, item.question, trial) for trial in range(n_trials)) for item in items]
            for name in NAMES
        ]
    )
    b = np.array([true_difficulty(item.question) for item in items])
    table = Calibration(b, np.full(count, 0.3))
    trials, guessing = np.full(counts.shape, n_trials), np.zeros(count)
    abilities = fit_ability(counts, trials, guessing, table)
    return Calibrated(
        tuple(items), table.mean, table.sd, NAMES, counts, trials, guessing, abilities, n_trials
    )


def run_in_process(
    settings: Settings,
    *,
    habits: RewriterHabits | None = None,
    state: RunState | None = None,
    benchmark: Calibrated | None = None,
    verifiers: tuple[Verifier, ...] = PANEL.verifiers,
    log: list[tuple[str, dict[str, Any]]] | None = None,
    **ports: Any,
) -> tuple[RunState, Ending, dict[str, list[dict[str, Any]]]]:
    """Run the loop; returns the state, why it ended, and the rows of each journal. ``log`` gets all, in their order."""
    rows: dict[str, list[dict[str, Any]]] = {"candidates": [], "rollouts": [], "decisions": [], "rounds": []}
    state = state or RunState()

    def keep(name: str) -> Append:
        def append(row: dict[str, Any]) -> None:
            rows[name].append(row)
            if log is not None:
                log.append((name, row))

        return append

    loop = Run(
        settings=settings,
        calibrated=benchmark or calibrated(),
        state=state,
        journals=Journals(**{name: keep(name) for name in rows}),
        verifiers=verifiers,
        rewriter_max_tokens=4096,
        ask_rewriter=ports.get("ask_rewriter") or SimulatedRewriter(habits or RewriterHabits(bias=0.3)),
        ask_panel=ports.get("ask_panel") or ask_panel,
        say=lambda line: None,
    )
    return state, run_rounds(loop), rows
