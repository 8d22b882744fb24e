"""What a server refuses for good costs its candidate alone, and a server that is gone decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from propose.candidate import Decision, last_decision, seed_of
from propose.loop import Ending
from propose.rewriter import DEFAULT, Rewriter, read_rewriter
from propose.rewriting import RewriterPort
from propose.run_folder import RunState
from propose.settings import Settings
from tests.propose.refusing_server import Served, refusing_server
from tests.propose.served import BENCHMARK, place
from tests.propose.simulation import PANEL, calibrated, run_in_process
from tests.propose.test_loop import Log, replayed
from verifier import client
from verifier.ask_panel import ask_panel
from verifier.asking import seed_of as seed_of_job
from verifier.graders.grader_pool import GraderPool
from verifier.journal import Append
from verifier.trials import Job

SETTINGS = Settings(BENCHMARK, "one", gaps=1, max_rounds=1, parents=2, children=3)
REFUSED_TWO = ("r01-g1-p1-c1", "r01-g1-p1-c2")  # the first jobs of the run: nothing was answered yet
UNSOLVED = "r01-g1-p1-c3"
UNJUDGED = "r01-g1-p2-c1"

# What is refused: two rewritings, the four solutions of another candidate, and one candidate by every verifier.
SEEDS = frozenset(
    [seed_of(BENCHMARK, "one", name, 0) for name in REFUSED_TWO]
    + [seed_of(BENCHMARK, "one", UNSOLVED, number) for number in (1, 2, 3, 4)]
    + [
        seed_of_job(Job(verifier, replace(calibrated().items[0], id=UNJUDGED), trial))
        for verifier in PANEL.verifiers
        for trial in (1, 2, 3, 4)
    ]
)
FATES = {name: "no_reply" for name in (*REFUSED_TWO, UNSOLVED)} | {UNJUDGED: "not_judged"}


@pytest.fixture(scope="module")
def pool() -> Iterator[GraderPool]:
    with GraderPool({item.answer_type for item in calibrated().items}, workers=2) as workers:
        yield workers


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(client, "LONGEST_PAUSE_SECONDS", 0.02)


def rewriter_at(url: str, concurrency: int = 4) -> Rewriter:
    simulated = read_rewriter(DEFAULT.parent / "rewriters" / "simulated.toml")
    return Rewriter(replace(simulated.model, base_url=url), concurrency, 30)


def run_at(
    server: Served, pool: GraderPool, out: Path, state: RunState | None = None, settings: Settings = SETTINGS
) -> tuple[RunState, Ending, Log]:
    """Run with the real ports, as propose.run does; returns the rows in their order, too."""
    state = state or RunState()
    log: Log = []

    def ask(jobs: Sequence[Job], append: Append) -> dict[str, str]:
        here = [replace(job, verifier=replace(job.verifier, base_url=server.url)) for job in jobs]
        answered = {name for answers in state.answers.values() for name, _ in answers}
        return ask_panel(PANEL, here, out, append, pool, answered)

    with RewriterPort(rewriter_at(server.url), pool, answered=bool(state.candidates)) as port:
        _, ending, _ = run_in_process(settings, state=state, log=log, ask_rewriter=port, ask_panel=ask)
    return state, ending, log


def fates(state: RunState) -> dict[str, Decision]:
    return {name: last_decision(stages) for name, stages in sorted(state.decisions.items())}


def test_what_is_refused_for_good_is_rejected_and_the_rest_goes_on(pool: GraderPool, tmp_path: Path) -> None:
    with refusing_server(SEEDS.__contains__) as server:
        state, ending, log = run_at(server, pool, tmp_path)
        assert ending.reason == "max_rounds", ending
        asked = len(server.asked)
        assert run_at(server, pool, tmp_path, state)[1].reason == "max_rounds"
        assert len(server.asked) == asked

        found = fates(state)
        assert {name: found[name].reason for name in FATES} == FATES
        assert all("this is too long" in found[name].detail for name in (*REFUSED_TWO, UNSOLVED))
        assert found["r01-g1-p2-c2"].stage != "screen"

        # Killed before anything about them was decided: a process that finds nothing but refusals to ask.
        for name, reason in FATES.items():
            at = next(
                at
                for at, (kind, row) in enumerate(log)
                if kind == "decisions" and (row["id"], row["reason"]) == (name, reason)
            )
            again, ending, _ = run_at(server, pool, tmp_path, replayed(log[:at]))
            assert ending.reason == "max_rounds", ending
            assert again.decisions == state.decisions
            assert again.spent == state.spent


def test_a_server_that_refuses_everything_ends_the_run_with_nothing_decided(
    pool: GraderPool, tmp_path: Path
) -> None:
    with refusing_server(lambda seed: True) as server:
        state, ending, _ = run_at(server, pool, tmp_path)
    assert (ending.reason, ending.is_failure) == ("rewriter", True)
    assert "status 400: this is too long" in ending.detail
    assert not state.decisions
    of_rewriter = {
        seed_of(BENCHMARK, "one", f"r01-g1-p{parent}-c{child}", number)
        for parent in (1, 2)
        for child in (1, 2, 3)
        for number in range(5)
    }
    with refusing_server(lambda seed: seed not in of_rewriter) as server:
        state, ending, _ = run_at(server, pool, tmp_path)
        assert (ending.reason, ending.is_failure) == ("verifier", True)
        assert "status 400: this is too long" in ending.detail
        assert {stage for stages in state.decisions.values() for stage in stages} == {"screen"}
    with refusing_server(lambda seed: False) as server:
        state, ending, _ = run_at(server, pool, tmp_path, state)
        assert ending.reason == "max_rounds"
        assert fates(state) == fates(run_at(server, pool, tmp_path)[0])


def test_a_server_that_answered_once_and_refuses_a_whole_round_now_is_not_believed(
    pool: GraderPool, tmp_path: Path
) -> None:
    big = replace(SETTINGS, parents=4, children=5)
    with refusing_server(lambda seed: False) as server:
        whole, _, log = run_at(server, pool, tmp_path, settings=big)
    solved_by = next(at for at, (_, row) in enumerate(log) if row.get("kind") == "solution")
    with refusing_server(lambda seed: True) as server:
        state, ending, _ = run_at(server, pool, tmp_path, replayed(log[:solved_by]), big)
    assert ending.reason == "rewriter"
    assert "answered none of" in ending.detail
    assert all(one.reason != "no_reply" for one in fates(state).values())


@pytest.mark.parametrize("answers", [0, 3, 6, 13, 25])
def test_a_server_that_dies_half_way_decides_nothing(answers: int, pool: GraderPool, tmp_path: Path) -> None:
    with refusing_server(lambda seed: False) as server:
        whole, _, _ = run_at(server, pool, tmp_path)
    with refusing_server(lambda seed: False, dies_after=answers) as server:
        state, ending, _ = run_at(server, pool, tmp_path)
    assert (ending.reason, ending.is_failure) == ("rewriter", True)
    assert all(whole.decisions[name] == stages for name, stages in state.decisions.items())
    with refusing_server(lambda seed: False) as server:
        state, ending, _ = run_at(server, pool, tmp_path, state)
        assert len(server.asked) == len(set(server.asked))
    assert ending.reason == "max_rounds"
    assert state.decisions == whole.decisions


def test_the_command_tells_its_ports_who_has_answered(tmp_path: Path) -> None:
    """Killed where only refused questions are left to ask: that others were answered is in the rows alone."""
    with refusing_server(SEEDS.__contains__) as server:
        here = place(tmp_path, server.url)
        small = ("--gaps", "1", "--max-rounds", "1", "--parents", "2", "--children", "3")
        assert here.init("one", small=small).returncode == 0
        ended = here.do("run", BENCHMARK, "one")
        assert ended.returncode == 0, ended.stderr
        folder = here.folder("one")
        decided, rounds = folder.decisions.read_bytes(), folder.rounds.read_bytes()
        for name in (REFUSED_TWO[0], UNJUDGED):
            lines = decided.splitlines(keepends=True)
            cut = max(at for at, line in enumerate(lines) if f'"{name}"'.encode() in line)
            folder.decisions.write_bytes(b"".join(lines[:cut]))
            folder.rounds.write_bytes(b"")
            ended = here.do("run", BENCHMARK, "one")
            assert ended.returncode == 0, ended.stderr
            assert folder.decisions.read_bytes() == decided
            assert folder.rounds.read_bytes() == rounds
