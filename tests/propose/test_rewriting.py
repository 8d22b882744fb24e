"""The rewriter is asked once a job, whatever the server does, and each reply is a row with all that is known of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from propose.candidate import Brief, Candidate, RewriterJob, candidate_from_row, seed_of, solution_from_row
from propose.parsing import parse_reply
from propose.prompting import rewrite_prompt
from propose.rewriter import DEFAULT, Rewriter, read_rewriter
from propose.rewriting import RewriterPort
from propose.screening import screen_solutions
from tests.verifier.simulated.panel_process import log_rows, simulated_panel
from verifier import client, serving
from verifier.graders.grader_pool import GraderPool
from verifier.items import Item
from verifier.journal import open_journal
from verifier.prompts import messages
from verifier.simulated.families import make_items, problem_of

FAKE_VLLM = Path(__file__).resolve().parents[1] / "verifier" / "fake_vllm.py"
PARENTS = make_items(6, seed=3, families=["chain", "fractions", "power"], difficulties=[0.0] * 6)


@pytest.fixture(scope="module")
def pool() -> Iterator[GraderPool]:
    with GraderPool(("math", "choice"), workers=2) as workers:
        yield workers


def rewriter(url: str | None, *, deadline: float = 30, concurrency: int = 8, **changes: Any) -> Rewriter:
    simulated = read_rewriter(DEFAULT.parent / "rewriters" / "simulated.toml")
    return Rewriter(replace(simulated.model, base_url=url, **changes), concurrency, deadline)


def writing_jobs(count: int) -> list[RewriterJob]:
    jobs = []
    for number in range(count):
        parent = PARENTS[number % len(PARENTS)]
        prompt = rewrite_prompt(Brief("demo", parent, 0.6, 0.4))
        head = {
            "kind": "candidate", "id": f"c{number}", "round": 1, "gap": 1, "low": 0.1, "high": 0.6, "target_b": 0.4,
            "target_pass_rate": 0.4, "parent": parent.id, "prompt": prompt,
        }  # fmt: skip
        jobs.append(
            RewriterJob(f"c{number}", 0, ({"role": "user", "content": prompt},), seed_of("run", number), head)
        )
    return jobs


def solution_jobs(items: Sequence[Item], solutions: int) -> list[RewriterJob]:
    return [
        RewriterJob(
            item.id, number, tuple(messages(item)), seed_of(item.id, number),
            {"kind": "solution", "id": item.id, "number": number}, item,
        )
        for item in items for number in range(1, solutions + 1)
    ]  # fmt: skip


def ask(who: Rewriter, workers: GraderPool, jobs: Sequence[RewriterJob]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with RewriterPort(who, workers) as port:
        port(jobs, rows.append)
    return rows


def test_each_job_is_one_row_with_all_that_is_known(pool: GraderPool) -> None:
    jobs = writing_jobs(20)
    with simulated_panel() as server:
        rows = ask(rewriter(server.url), pool, jobs)
        again = ask(rewriter(server.url), pool, jobs[::-1])
    assert Counter(row["id"] for row in rows) == Counter(job.id for job in jobs)
    parents = {parent.id: parent for parent in PARENTS}
    for row in rows:
        assert set(row) == set(Candidate.__dataclass_fields__) | {"kind"}
        candidate = candidate_from_row(row)
        assert candidate.error is None and candidate.completion_tokens and candidate.prompt_tokens
        assert candidate.finish_reason == "stop" and candidate.served_model == "simulated-rewriter"
        item = parse_reply(candidate.reply, parents[candidate.parent], candidate.id)
        assert isinstance(item, Item) and problem_of(item.question).question == item.question
    # The same question with the same seed is the same question, in whatever order they are asked.
    assert {row["id"]: row["reply"] for row in rows} == {row["id"]: row["reply"] for row in again}


@pytest.mark.parametrize("field", ["inline", "reasoning_content"])
def test_solutions_are_graded_against_the_key(pool: GraderPool, field: str) -> None:
    wrong = [
        replace(item, id=f"wrong {item.id}", answer=problem_of(item.question).reading.wrong[0])
        for item in PARENTS
    ]
    items = {item.id: item for item in (*PARENTS, *wrong)}
    with simulated_panel("--reasoning-field", field) as server:
        rows = ask(rewriter(server.url), pool, solution_jobs(list(items.values()), 4))
    assert len(rows) == 4 * len(items)
    solutions = [solution_from_row(row) for row in rows]
    for name, item in items.items():
        mine = [solution for solution in solutions if solution.id == name]
        assert sorted(solution.number for solution in mine) == [1, 2, 3, 4]
        assert (screen_solutions(item, mine) is None) == (not name.startswith("wrong")), name


def test_passing_trouble_costs_no_job(pool: GraderPool, tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    faults = ("--rate-429", 0.15, "--rate-500", 0.15, "--seed", 3, "--request-log", log)
    jobs = writing_jobs(10)
    with simulated_panel(*faults) as server:
        rows = ask(rewriter(server.url, concurrency=10), pool, jobs)
    assert Counter(row["id"] for row in rows) == Counter(job.id for job in jobs)
    assert not [row for row in rows if row["error"]] and any(row["attempts"] > 1 for row in rows)
    assert Counter(row["seed"] for row in log_rows(log) if row["outcome"] == "ok") == Counter(
        job.seed for job in jobs
    )


def test_a_reply_that_was_cut_off_or_is_empty_has_no_verdict_and_no_error(pool: GraderPool) -> None:
    jobs = solution_jobs(PARENTS[:2], 2)
    with simulated_panel("--cut-off-rate", 1) as server:
        rows = ask(rewriter(server.url), pool, jobs)
    assert {(row["outcome"], row["correct"], row["error"]) for row in rows} == {("truncated", False, None)}
    with simulated_panel("--null-content-rate", 1) as server:
        rows = ask(rewriter(server.url), pool, [*jobs, *writing_jobs(1)])
    assert {row.get("outcome") for row in rows} == {"no_answer", None}
    assert {row["error"] for row in rows} == {None}


def test_requests_that_hang_end_at_their_deadline_and_then_no_more_are_sent(pool: GraderPool) -> None:
    jobs = [*writing_jobs(40), *solution_jobs(PARENTS, 2)]
    rows: list[dict[str, Any]] = []
    with (
        simulated_panel("--hang-rate", 1) as server,
        RewriterPort(rewriter(server.url, deadline=1, concurrency=25), pool) as port,
    ):
        stopped = port(jobs, rows.append)
    assert stopped == "20 requests in a row came to nothing, the last: no answer within 1 s"
    assert 20 <= len(rows) <= 45 and all("no answer within 1 s" in row["error"] for row in rows)
    assert all(row["reply"] == "" and row["attempts"] == 1 for row in rows)


def test_a_question_that_is_refused_stops_nothing_once_others_were_answered(pool: GraderPool) -> None:
    jobs = writing_jobs(6)
    long = ({"role": "user", "content": "too long " * 20_000},)
    jobs[3] = replace(jobs[3], messages=long)
    with simulated_panel() as server:
        rows = ask(rewriter(server.url, concurrency=1), pool, jobs)
    assert [row["id"] for row in rows if row["error"]] == ["c3"] and len(rows) == 6
    assert "maximum context length" in next(row["error"] for row in rows if row["error"])


def test_a_rewriter_that_is_not_there_is_told_before_the_first_question(pool: GraderPool) -> None:
    with simulated_panel() as server:
        with pytest.raises(InputError, match="does not serve 'MiniMax'"):
            ask(rewriter(server.url, model="MiniMax"), pool, writing_jobs(2))
        gone = rewriter(server.url)
    with pytest.raises(InputError, match="nothing answers there"):
        ask(gone, pool, writing_jobs(2))
    assert ask(gone, pool, []) == []  # nothing to ask, nobody needed


def test_a_refusal_before_the_first_answer_stops_only_a_rewriter_that_answers_nothing(
    pool: GraderPool,
) -> None:
    jobs = writing_jobs(3)
    long = ({"role": "user", "content": "too long " * 20_000},)
    jobs[0] = replace(jobs[0], messages=long)
    rows: list[dict[str, Any]] = []
    with simulated_panel() as server:
        with RewriterPort(rewriter(server.url, concurrency=1), pool) as port:
            assert "maximum context length" in (port(jobs[:1], rows.append) or "")
            assert port(jobs, rows.append) is None
            assert port(jobs[:1], rows.append) is None  # it has been heard
        with RewriterPort(rewriter(server.url), pool, answered=True) as port:
            assert port(jobs[:1], rows.append) is None
    assert [row["id"] for row in rows if not row["error"]] == ["c1", "c2"]


def test_server_errors_on_several_items_are_an_outage_and_on_one_are_not(
    pool: GraderPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(client, "LONGEST_PAUSE_SECONDS", 0.02)
    with (
        simulated_panel("--rate-500", 1) as server,
        RewriterPort(rewriter(server.url), pool, answered=True) as port,
    ):
        assert port(solution_jobs(PARENTS[:1], 4), lambda row: None) is None
        stopped = port(solution_jobs(PARENTS[:2], 2), lambda row: None)
    assert stopped is not None and stopped.startswith("none of 4 requests was answered, mostly: status 500")


def test_a_full_disk_is_one_error_that_names_the_journal(pool: GraderPool) -> None:
    with (
        simulated_panel() as server,
        pytest.raises(InputError, match=r"^/dev/full: cannot be written \(No space left"),
        open_journal("/dev/full") as append,
        RewriterPort(rewriter(server.url), pool) as port,
    ):
        port([*writing_jobs(20), *solution_jobs(PARENTS, 4)], append)


def test_too_many_connections_for_the_system_are_named_before_the_first_question() -> None:
    program = (
        "from propose.rewriter import *; from propose.rewriting import RewriterPort; from dataclasses import replace\n"
        "who = replace(read_rewriter(), concurrency=64)\n"
        "RewriterPort(who, None)([None], print)"
    )
    limited = ["sh", "-c", f"ulimit -n 100; exec {shlex.join([sys.executable, '-c', program])}"]
    ended = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    assert (
        "InputError: 64 connections at a time need 264 open files, and the system allows 100" in ended.stderr
    )


def test_the_system_prompt_is_sent(pool: GraderPool) -> None:
    with simulated_panel("--context", 2000) as server:
        rows = ask(
            rewriter(server.url, max_tokens=500, system_prompt="word " * 2000),
            pool,
            solution_jobs(PARENTS[:1], 1),
        )
    assert "maximum context length is 2000" in rows[0]["error"]  # the system prompt alone is longer
    assert rows[0]["outcome"] == "error" and rows[0]["correct"] is None


# Served here -----------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with four free GPUs and a vllm command; returns the log of what was started."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (
        ("nvidia-smi", 'printf "0, 4\\n1, 4\\n2, 17\\n3, 0\\n"'),
        ("vllm", f'exec "{sys.executable}" "{FAKE_VLLM}" "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_VLLM_LOG", str(tmp_path / "started"))
    monkeypatch.setenv("FAKE_VLLM", "serve")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(serving, "STOP_SECONDS", 1.0)
    return tmp_path / "started"


def lives(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_server_is_started_at_the_first_question_and_released(
    machine: Path, pool: GraderPool, tmp_path: Path
) -> None:
    who = rewriter(None, gpus=4, revision="c" * 40, serve_arguments=("--trust-remote-code",))
    rows: list[dict[str, Any]] = []
    with RewriterPort(who, pool, tmp_path / "logs") as port:
        assert not machine.exists()
        port(writing_jobs(3), rows.append)
        port(solution_jobs(PARENTS[:1], 1), rows.append)
        started = machine.read_text(encoding="utf-8").splitlines()
        assert len(started) == 1 and "0,1,2,3" in started[0] and "--tensor-parallel-size 4" in started[0]
        port.release()
        pids = [int(word) for line in started for word in line.split()[:3]]
        assert not [pid for pid in pids if lives(pid)]
        port(writing_jobs(1), rows.append)
    started = machine.read_text(encoding="utf-8").splitlines()
    assert len(started) == 2 and len(rows) == 5 and not [row for row in rows if row["error"]]
    assert not [word for line in started for word in line.split()[:3] if lives(int(word))]


def test_a_machine_without_enough_gpus_is_told_before_anything_starts(
    machine: Path, pool: GraderPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    who = rewriter(None, gpus=4, revision="c" * 40)
    with pytest.raises(InputError, match="needs 4 GPUs"):
        ask(who, pool, writing_jobs(1))
    assert not machine.exists()
