"""A run like the demo's, killed with SIGKILL at random moments and continued, ends as one that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from propose.candidate import SCREEN, VERIFY
from propose.run_folder import RunFolder, read_state
from scripts.demo_benchfill import BENCHMARK, HABITS, ITEMS, RUN, SEED, SETTINGS, TRIALS, planted, served_at
from tests.benchfill_simulation import write_benchmark
from tests.propose.served import Place
from tests.signals import allow_interrupts
from tests.verifier.simulated.panel_process import log_rows, simulated_panel
from verifier.journal import read_journal
from verifier.simulated.families import make_items

KILLS = 20
CONCURRENCY = 8  # requests that a kill can lose: few, so that the bound on what is asked again says something
# Choices, which are graded by the same workers as mathematics without loading an algebra library at each of the starts.
FAMILIES = ("ordering", "fractions")
JOURNALS = ("candidates", "rollouts", "decisions")
REWRITING, SOLVING, PANEL, DECIDING = "rewriting", "solving", "panel", "deciding"


@dataclass(frozen=True)
class Moment:
    """Where a kill fell."""

    round: int
    stage: str


@dataclass(frozen=True)
class Ended:
    """A run that has come to its end, and how many requests the server had for it, by whether to the rewriter."""

    folder: RunFolder
    requests: Counter[bool]


@dataclass(frozen=True)
class Killed:
    """A run that was killed again and again, and came to its end."""

    ended: Ended
    moments: list[Moment]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "requests.jsonl"


@pytest.fixture(scope="module")
def here(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A benchmark with the demo's gap, and the demo's panel, which answered it, and serves."""
    path = tmp_path_factory.mktemp("demo")
    items = make_items(ITEMS, seed=SEED, families=FAMILIES, difficulties=planted(ITEMS))
    write_benchmark(path / "data", BENCHMARK, items, TRIALS, SEED)
    with simulated_panel(*HABITS, "--request-log", log) as server:
        for file in served_at(server.port, path):
            file.write_text(file.read_text().replace("concurrency = 64", f"concurrency = {CONCURRENCY}"))
        yield Place(path, server.url)


@pytest.fixture(scope="module")
def alone(here: Place, log: Path) -> Ended:
    before = requests(log)
    init(here)
    go_on(here)
    # The same names give the same seeds, so the next run needs the place of this one.
    aside = here.path / "alone"
    folder_of(here).path.rename(aside)
    return Ended(RunFolder(aside), requests(log) - before)


@pytest.fixture(scope="module")
def killed(here: Place, log: Path, alone: Ended) -> Killed:
    before = requests(log)
    init(here)
    sizes = sizes_of(alone.folder)
    rng = random.Random(0)
    # One kill in each twentieth of the run. Each journal counts as much as the others: by bytes alone, nearly all kills
    # would fall among the panel's answers. The last bytes are left out, as it must be alive when it is killed.
    thresholds = [0.98 * (number + rng.random()) / KILLS for number in range(KILLS)]
    moments = [kill_at(here, sizes, threshold) for threshold in thresholds]
    go_on(here)
    return Killed(Ended(folder_of(here), requests(log) - before), moments)


def init(here: Place) -> None:
    files = ("--panel", here.panel, "--rewriter", here.rewriter)
    made = here.do("init", BENCHMARK, RUN, *files, *SETTINGS)
    assert made.returncode == 0, made.stderr


def go_on(here: Place) -> None:
    ended = here.do("run", BENCHMARK, RUN)
    assert ended.returncode == 0, ended.stderr


def folder_of(here: Place) -> RunFolder:
    return RunFolder(here.path / "results" / BENCHMARK / RUN)


def requests(log: Path) -> Counter[bool]:
    return Counter("rewriter" in row["model"] for row in log_rows(log))


def sizes_of(folder: RunFolder) -> dict[str, int]:
    paths = {name: getattr(folder, name) for name in JOURNALS}
    return {name: path.stat().st_size if path.exists() else 0 for name, path in paths.items()}


def progress(folder: RunFolder, ends: dict[str, int]) -> float:
    """How far it is, from 0 to 1: the mean, over the journals, of the share that is written."""
    return sum(size / ends[name] for name, size in sizes_of(folder).items()) / len(ends)


def kill_at(here: Place, ends: dict[str, int], threshold: float) -> Moment:
    """Go on until this much is written, one row at least, and kill the whole process group; return where that was."""
    folder, errors = folder_of(here), here.path / "errors.txt"
    wanted = max(threshold, progress(folder, ends) + 1e-9)
    with open(errors, "w", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            here.command("run", BENCHMARK, RUN),
            cwd=here.path,
            env=here.environment(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=allow_interrupts,
        )
    try:
        deadline = time.monotonic() + 60
        while progress(folder, ends) < wanted and process.poll() is None:
            assert time.monotonic() < deadline, errors.read_text()
            time.sleep(0.001)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, f"it came to its end first: {errors.read_text()}"
    return moment_of(folder)


def moment_of(folder: RunFolder) -> Moment:
    """Tell from the rows what the run was doing."""
    state = read_state(folder)
    number = len(state.rounds) + 1
    names = [name for name, candidate in state.candidates.items() if candidate.round == number]
    stages = {name: set(state.decisions.get(name, ())) for name in names}
    answers = {
        name: state.answers[name] for name in names if name in state.answers and stages[name] == {SCREEN}
    }
    if any(VERIFY in stages[name] for name in names):
        return Moment(number, DECIDING)
    if any(name in state.answers for name in names):
        waiting = any(None in of_one.values() for of_one in answers.values())
        complete = len({len(of_one) for of_one in answers.values()}) <= 1
        wave_is_over = (
            complete and not waiting and all(len(of_one) % TRIALS == 0 for of_one in answers.values())
        )
        return Moment(number, DECIDING if wave_is_over else PANEL)
    return Moment(number, SOLVING if any(name in state.solutions for name in names) else REWRITING)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows without what differs from run to run: when, how long, and how often asked."""
    volatile = ("time", "seconds", "attempts")
    return [
        {name: value for name, value in row.items() if name not in volatile} for _, row in read_journal(path)
    ]


def in_any_order(kept: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


def test_the_kills_fell_in_every_stage_and_in_many_rounds(alone: Ended, killed: Killed) -> None:
    assert len(killed.moments) == KILLS
    assert {moment.stage for moment in killed.moments} == {REWRITING, SOLVING, PANEL, DECIDING}
    assert len({moment.round for moment in killed.moments}) >= 3
    assert len(rows(alone.folder.rounds)) >= 3


def test_everything_is_there_once(killed: Killed) -> None:
    folder = killed.ended.folder
    for path, key in (
        (folder.candidates, ("kind", "id", "number")),
        (folder.rollouts, ("kind", "verifier", "item", "trial")),
        (folder.decisions, ("id", "stage")),
        (folder.rounds, ("round",)),
    ):
        keys = [tuple(row.get(name) for name in key) for row in rows(path)]
        assert keys
        assert len(keys) == len(set(keys)), path


def test_twenty_kills_change_nothing(alone: Ended, killed: Killed) -> None:
    one, other = alone.folder, killed.ended.folder
    assert any(row["accepted"] for row in rows(one.rounds))
    for name in JOURNALS:
        assert in_any_order(rows(getattr(other, name))) == in_any_order(rows(getattr(one, name))), name
    assert rows(other.rounds) == rows(one.rounds)
    assert read_state(other).decisions == read_state(one).decisions


def test_only_what_was_in_flight_is_asked_again(alone: Ended, killed: Killed) -> None:
    answers = sum(row["kind"] == "answer" for row in rows(alone.folder.rollouts))
    assert alone.requests == {True: len(rows(alone.folder.candidates)), False: answers}
    for to_rewriter in (True, False):
        again = killed.ended.requests[to_rewriter] - alone.requests[to_rewriter]
        assert 0 <= again <= KILLS * CONCURRENCY
