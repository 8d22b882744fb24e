"""A run killed with SIGKILL at random moments ends as one that was left alone."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from propose.run_folder import RunFolder, read_state
from tests.propose.served import BENCHMARK, Place, place
from tests.verifier.simulated.panel_process import simulated_panel
from verifier.journal import read_journal

KILLS = 20
SETTINGS = ("--gaps", "1", "--max-rounds", "2", "--parents", "2", "--children", "3", "--solutions", "2")
HABITS = (
    "--rewriter-bias",
    "0.6",
    "--wrong-key-rate",
    "0.1",
    "--broken-format-rate",
    "0.1",
    "--duplicate-rate",
    "0.1",
)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows without what differs from run to run: when, how long, and how often asked."""
    volatile = ("time", "seconds", "attempts")
    return [
        {name: value for name, value in row.items() if name not in volatile} for _, row in read_journal(path)
    ]


def in_any_order(kept: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


@pytest.fixture(scope="module")
def panel() -> Iterator[str]:
    with simulated_panel("--latency", "0.02", *HABITS) as server:
        yield server.url


def test_twenty_kills_change_nothing(panel: str, tmp_path: Path) -> None:
    alone, killed = place(tmp_path / "alone", panel), place(tmp_path / "killed", panel)
    for here in (alone, killed):
        assert here.init("one", small=SETTINGS).returncode == 0
    ended = alone.do("run", BENCHMARK, "one")
    assert ended.returncode == 0, ended.stderr

    rng = random.Random(11)
    kills = 0
    for _ in range(KILLS * 3):
        if kills == KILLS:
            break
        kills += kill_at_random(killed, rng)
    assert kills >= KILLS
    ended = killed.do("run", BENCHMARK, "one")
    assert ended.returncode == 0, ended.stderr
    compare(alone.folder("one"), killed.folder("one"))


def kill_at_random(here: Place, rng: random.Random) -> bool:
    """Start the run, wait until it has written somewhat more, or some moments, and kill it; whether it was alive."""
    folder = here.folder("one")
    before, more = size(folder), rng.randrange(1, 6000)
    process = here.start("run", BENCHMARK, "one")
    deadline = time.monotonic() + 30
    while size(folder) < before + more and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.003)
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


def size(folder: RunFolder) -> int:
    return sum(path.stat().st_size for path in folder.path.glob("*.jsonl"))


def compare(alone: RunFolder, killed: RunFolder) -> None:
    trials = [(row["kind"], row["verifier"], row["item"], row["trial"]) for row in rows(killed.rollouts)]
    assert len(trials) == len(set(trials))
    stages = [(row["id"], row["stage"]) for row in rows(killed.decisions)]
    assert len(stages) == len(set(stages))
    for name in ("rollouts", "decisions", "candidates"):
        assert in_any_order(rows(getattr(killed, name))) == in_any_order(rows(getattr(alone, name))), name
    assert rows(killed.rounds) == rows(alone.rounds)
    assert read_state(killed).decisions == read_state(alone).decisions
