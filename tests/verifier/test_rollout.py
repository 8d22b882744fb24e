"""Rollouts of the simulated panel: every trial once, whatever happens to the process, the servers or the answers."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from irt.response_matrix import read_response_matrix
from tests.signals import allow_interrupts
from tests.verifier.simulated.panel_process import log_rows, simulated_panel
from verifier import rollout
from verifier.items import Item, read_items, write_items
from verifier.journal import read_journal
from verifier.simulated.examinees import ABILITIES
from verifier.simulated.families import make_items

ROOT = Path(__file__).resolve().parents[2]
NAMES = list(ABILITIES)
CONCURRENCY = 16
# Choices are graded without an algebra library, which every process of every command would load.
CHOICES, MIXED = ("ordering", "fractions"), ("chain", "divisible", "ordering")

ENTRY = """
[[verifier]]
name = "{name}"
model = "{name}"
base_url = "{url}"
thinking = "none"
max_tokens = {max_tokens}

[verifier.sampling]
temperature = {temperature}
top_p = 1.0
top_k = -1
min_p = 0.0
presence_penalty = 0.0
repetition_penalty = 1.0
"""


def write_panel(
    path: Path,
    url: str,
    *,
    names: list[str] = NAMES[:3],
    deadline: int = 30,
    temperature: float = 1.0,
    max_tokens: int = 4096,
) -> Path:
    entries = [
        ENTRY.format(name=name, url=url, temperature=temperature, max_tokens=max_tokens) for name in names
    ]
    text = f"concurrency = {CONCURRENCY}\ndeadline_seconds = {deadline}\n" + "".join(entries)
    path.write_text(text, encoding="utf-8")
    return path


def write_pool(path: Path, count: int = 8, families: Sequence[str] = CHOICES) -> Path:
    write_items(path, make_items(count, seed=5, families=families))
    return path


def arguments(items: Path, panel: Path, out: Path, trials: int, *more: str) -> list[str]:
    return ["--items", str(items), "--panel", str(panel), "--trials", str(trials), "--out", str(out), *more]


@pytest.fixture
def roll(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Run the command in this process, and return its exit status."""

    def run(*words: Any) -> int:
        monkeypatch.setattr(sys, "argv", ["rollout", *arguments(*words)])
        return rollout.main()

    return run


def rows(out: Path, kind: str) -> list[dict[str, Any]]:
    return [row for _, row in read_journal(out / "rollouts.jsonl") if row["kind"] == kind]


def key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["verifier"], row["item"], row["trial"]


def all_keys(names: list[str], items: Path, trials: int) -> set[tuple[str, str, int]]:
    return set(itertools.product(names, (item.id for item in read_items(items)), range(1, trials + 1)))


def matrix_text(out: Path) -> str:
    return (out / "response_matrix.csv").read_text(encoding="utf-8")


# A run, and what it leaves ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the pool, the panel and the results of one whole run of 12 verifiers x 40 items x 4 trials."""
    folder = tmp_path_factory.mktemp("undisturbed")
    items = write_pool(folder / "pool.jsonl", 40, MIXED)
    with simulated_panel("--request-log", folder / "requests.jsonl") as server:
        panel = write_panel(folder / "panel.toml", server.url, names=NAMES)
        subprocess.run(command(items, panel, folder / "out", 4), check=True, capture_output=True)
    yield folder


def command(*words: Any) -> list[str]:
    return [sys.executable, "-m", "verifier.rollout", *arguments(*words)]


def test_every_trial_is_asked_graded_and_counted_once(undisturbed: Path) -> None:
    out, wanted = undisturbed / "out", all_keys(NAMES, undisturbed / "pool.jsonl", 4)
    answers, verdicts = rows(out, "answer"), rows(out, "verdict")
    assert Counter(map(key, answers)) == dict.fromkeys(wanted, 1)
    assert len(log_rows(undisturbed / "requests.jsonl")) == len(wanted)
    ok = {key(row) for row in answers if row["outcome"] == "ok"}
    assert Counter(map(key, verdicts)) == dict.fromkeys(ok, 1)
    assert len({row["seed"] for row in answers}) == len(wanted)
    assert all(row["served_model"] == row["verifier"] and row["completion_tokens"] > 0 for row in answers)

    right = Counter((row["verifier"], row["item"]) for row in verdicts if row["correct"])
    matrix = read_response_matrix(out / "response_matrix.csv", n_trials=4)
    assert matrix.models == tuple(NAMES)
    assert matrix.items == tuple(item.id for item in read_items(undisturbed / "pool.jsonl"))
    for model, counts in zip(matrix.models, matrix.correct, strict=True):
        assert counts == [right[model, item] for item in matrix.items]
    assert not (out / "trials.csv").exists()


def test_the_matrix_has_what_a_fit_needs_about_choices(undisturbed: Path) -> None:
    with open(undisturbed / "out" / "guessing.csv", encoding="utf-8") as handle:
        guessing = {row["item_id"]: float(row["guessing"]) for row in csv.DictReader(handle)}
    items = read_items(undisturbed / "pool.jsonl")
    assert guessing == {item.id: item.guessing for item in items}
    assert len(set(guessing.values())) > 1


def test_the_summary_is_that_of_the_journal(undisturbed: Path) -> None:
    summary = json.loads((undisturbed / "out" / "summary.json").read_text(encoding="utf-8"))
    for one in summary["verifiers"]:
        verdicts = [row for row in rows(undisturbed / "out", "verdict") if row["verifier"] == one["verifier"]]
        assert one["correct"] == sum(row["correct"] for row in verdicts)
        assert one["trials"] == sum(one["outcomes"].values()) == 160
    shares = [one["correct"] for one in summary["verifiers"]]
    assert shares[0] < shares[5] < shares[-1]


# Killed and resumed ----------------------------------------------------------------------------------------------


def size_of(journal: Path) -> int:
    return journal.stat().st_size if journal.exists() else 0


def test_twenty_kills_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    """The same rows as the undisturbed run, none asked twice beyond those in flight at a kill, no torn row."""
    out, log = tmp_path / "out", tmp_path / "requests.jsonl"
    whole = (undisturbed / "out" / "rollouts.jsonl").stat().st_size
    moments = sorted(random.Random(3).sample(range(1000, int(whole * 0.97)), 20))
    with simulated_panel("--request-log", log, "--latency", 0.02) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, names=NAMES)
        words = command(undisturbed / "pool.jsonl", panel, out, 4)
        for moment in moments:
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
            while size_of(out / "rollouts.jsonl") < moment:
                assert process.poll() is None
                time.sleep(0.005)
            process.kill()
            process.wait()
        finished = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
        assert finished.returncode == 0, finished.stderr

    def by_key(folder: Path, kind: str, fields: list[str]) -> dict[tuple[str, str, int], list[Any]]:
        found = rows(folder, kind)
        assert len({key(row) for row in found}) == len(found)
        return {key(row): [row[field] for field in fields] for row in found}

    for kind, fields in (
        ("answer", ["outcome", "text", "seed", "completion_tokens", "identity", "prompt"]),
        ("verdict", ["outcome", "correct", "answer", "grader", "grader_version"]),
    ):
        assert by_key(out, kind, fields) == by_key(undisturbed / "out", kind, fields)
    assert matrix_text(out) == matrix_text(undisturbed / "out")

    asked = Counter((row["model"], row["seed"]) for row in log_rows(log))
    assert len(asked) == 12 * 40 * 4
    assert sum(asked.values()) - len(asked) <= 20 * CONCURRENCY


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_quietly_and_leaves_no_process(
    undisturbed: Path, tmp_path: Path, number: int
) -> None:
    with simulated_panel("--latency", 0.05) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, names=NAMES)
        process = subprocess.Popen(
            command(undisturbed / "pool.jsonl", panel, tmp_path / "out", 4),
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=allow_interrupts,
        )
        while size_of(tmp_path / "out" / "rollouts.jsonl") < 50_000:
            assert process.poll() is None
            time.sleep(0.01)
        workers = children_of(process.pid)
        assert workers
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in errors
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, 0)
            pytest.fail("a grader lives on")


def children_of(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def test_a_finished_run_asks_nothing_more(
    undisturbed: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    """The server is gone by now, so any request would fail."""
    before = (undisturbed / "out" / "rollouts.jsonl").read_bytes()
    assert roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", undisturbed / "out", 4) == 0
    assert (undisturbed / "out" / "rollouts.jsonl").read_bytes() == before
    assert "Wrote response_matrix.csv, guessing.csv, summary.json" in capsys.readouterr().out


def test_answers_without_a_verdict_are_graded_and_not_asked_again(
    undisturbed: Path, tmp_path: Path, roll: Any
) -> None:
    lines = (undisturbed / "out" / "rollouts.jsonl").read_text(encoding="utf-8").split("\n")
    out = tmp_path / "out"
    out.mkdir()
    kept = [line for number, line in enumerate(lines) if '"kind": "verdict"' not in line or number % 3]
    (out / "rollouts.jsonl").write_text("\n".join(kept), encoding="utf-8")
    assert len(kept) < len(lines)
    assert roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", out, 4) == 0
    assert matrix_text(out) == matrix_text(undisturbed / "out")


# Faults of the servers -------------------------------------------------------------------------------------------


def test_passing_faults_lose_nothing(undisturbed: Path, tmp_path: Path, roll: Any) -> None:
    log, items = tmp_path / "requests.jsonl", tmp_path / "pool.jsonl"
    write_items(items, read_items(undisturbed / "pool.jsonl")[:12])
    with simulated_panel("--rate-429", 0.05, "--rate-500", 0.05, "--request-log", log) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, names=NAMES)
        assert roll(items, panel, tmp_path / "out", 4) == 0
    whole = read_response_matrix(undisturbed / "out" / "response_matrix.csv", n_trials=4)
    matrix = read_response_matrix(tmp_path / "out" / "response_matrix.csv", n_trials=4)
    assert matrix.correct == [row[:12] for row in whole.correct]
    assert len(log_rows(log)) > 12 * 12 * 4
    assert max(row["attempts"] for row in rows(tmp_path / "out", "answer")) > 1


def test_a_hanging_request_is_no_trial_until_it_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    """Errors never count as wrong: the cell has fewer trials, trials.csv says so, and the next run fills it."""
    items, out = write_pool(tmp_path / "pool.jsonl"), tmp_path / "out"
    with simulated_panel("--hang-rate", 0.2) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, deadline=1)
        assert roll(items, panel, out, 4) == rollout.EXIT_INCOMPLETE
        errors = [row for row in rows(out, "answer") if row["outcome"] == "error"]
        assert 5 <= len(errors) <= 40
        assert {row["error"] for row in errors} == {"no answer within 1 s"}
        assert {row["text"] for row in errors} == {""}
        assert not {key(row) for row in errors} & {key(row) for row in rows(out, "verdict")}
        matrix = read_response_matrix(out / "response_matrix.csv", trials_path=out / "trials.csv")
        assert sum(map(sum, matrix.trials)) == 3 * 8 * 4 - len(errors)
        told = capsys.readouterr().err
        assert f"{len(errors)} answers are missing" in told
        assert "requests came to nothing, mostly: no answer within 1 s" in told
    with simulated_panel() as server:
        write_panel(panel, server.url)
        assert roll(items, panel, out, 4) == 0
    assert not (out / "trials.csv").exists()
    answered = [key(row) for row in rows(out, "answer") if row["outcome"] != "error"]
    assert Counter(answered) == dict.fromkeys(all_keys(NAMES[:3], items, 4), 1)


def test_a_refused_request_stops_the_model_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    """inspect_ai#2634: 'maximum context length' was graded as the model's answer."""
    items = write_pool(tmp_path / "pool.jsonl")
    log = tmp_path / "requests.jsonl"
    with simulated_panel("--context", 4097, "--request-log", log) as small, simulated_panel() as server:
        panel = write_panel(tmp_path / "panel.toml", server.url)
        text = panel.read_text(encoding="utf-8").replace(server.url, small.url, 1)
        panel.write_text(text, encoding="utf-8")
        assert roll(items, panel, tmp_path / "out", 2) == rollout.EXIT_INCOMPLETE
    assert len(log_rows(log)) <= CONCURRENCY
    assert f"{NAMES[0]}: stopped: status 400: " in capsys.readouterr().err
    errors = [row for row in rows(tmp_path / "out", "answer") if row["verifier"] == NAMES[0]]
    assert {(row["outcome"], row["text"]) for row in errors} == {("error", "")}
    assert [line.split(",")[0] for line in matrix_text(tmp_path / "out").splitlines()] == [
        "model",
        *NAMES[1:3],
    ]


def test_a_server_on_which_nothing_works_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    items = write_pool(tmp_path / "pool.jsonl", 40)
    with simulated_panel("--hang-rate", 1) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, deadline=1)
        assert roll(items, panel, tmp_path / "out", 4) == rollout.EXIT_INCOMPLETE
    assert "20 requests in a row came to nothing, the last: no answer within 1 s" in capsys.readouterr().err
    assert len(rows(tmp_path / "out", "answer")) <= 3 * (20 + CONCURRENCY)
    assert not (tmp_path / "out" / "response_matrix.csv").exists()


def test_a_wrong_model_name_stops_before_the_first_request(tmp_path: Path, roll: Any) -> None:
    items, log = write_pool(tmp_path / "pool.jsonl"), tmp_path / "requests.jsonl"
    with simulated_panel("--request-log", log) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, names=[*NAMES[:3], "gpt-5"])
        with pytest.raises(InputError, match=r"gpt-5: http\S+ does not serve 'gpt-5'; it has simulated-01, "):
            roll(items, panel, tmp_path / "out", 2)
    assert not log.exists() or not log_rows(log)


def test_too_short_a_context_stops_before_the_first_request(tmp_path: Path, roll: Any) -> None:
    items = write_pool(tmp_path / "pool.jsonl")
    with simulated_panel("--context", 2048) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url)
        with pytest.raises(
            InputError, match="max_tokens 4096 leaves no room for the question in the 2048 tokens"
        ):
            roll(items, panel, tmp_path / "out", 2)


def test_a_dead_server_is_one_line(tmp_path: Path) -> None:
    items = write_pool(tmp_path / "pool.jsonl")
    panel = write_panel(tmp_path / "panel.toml", "http://127.0.0.1:9/v1")
    ended = subprocess.run(
        command(items, panel, tmp_path / "out", 2), capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "http://127.0.0.1:9/v1: nothing answers there" in ended.stderr


# Answers that are none ---------------------------------------------------------------------------------------------


def test_cut_off_and_empty_answers_count_as_wrong_and_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    items, out = write_pool(tmp_path / "pool.jsonl"), tmp_path / "out"
    with simulated_panel("--cut-off-rate", 0.3, "--null-content-rate", 0.3) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url)
        assert roll(items, panel, out, 4) == 0
    outcomes = Counter(row["outcome"] for row in rows(out, "answer"))
    assert outcomes["truncated"] > 10
    assert outcomes["no_answer"] > 10
    assert len(rows(out, "verdict")) == outcomes["ok"]
    matrix = read_response_matrix(out / "response_matrix.csv", n_trials=4)
    assert sum(map(sum, matrix.correct)) == sum(row["correct"] for row in rows(out, "verdict"))
    warnings = capsys.readouterr().err
    assert "replies are cut off" in warnings
    assert "replies are empty" in warnings


@pytest.mark.parametrize("field", ["inline", "reasoning", "reasoning_content"])
def test_thinking_is_kept_and_not_graded(undisturbed: Path, tmp_path: Path, field: str, roll: Any) -> None:
    """Wherever a server puts the thinking, the same answers get the same verdicts."""
    items = tmp_path / "pool.jsonl"
    write_items(items, read_items(undisturbed / "pool.jsonl")[:6])
    with simulated_panel("--reasoning-field", field) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, names=NAMES)
        assert roll(items, panel, tmp_path / "out", 2) == 0
    thought = [
        row for row in rows(tmp_path / "out", "answer") if row["reasoning"] or "</think>" in row["text"]
    ]
    assert thought
    before = {key(row): row["correct"] for row in rows(undisturbed / "out", "verdict")}
    assert all(row["correct"] == before[key(row)] for row in rows(tmp_path / "out", "verdict"))


# Another question, another test taker, more trials -----------------------------------------------------------------


def test_only_what_is_new_is_asked(tmp_path: Path, roll: Any) -> None:
    """pytorch/ao#3073: a cache that knew a model by its name alone returned the results of another checkpoint."""
    items, out, log = write_pool(tmp_path / "pool.jsonl"), tmp_path / "out", tmp_path / "requests.jsonl"
    with simulated_panel("--request-log", log) as server:

        def asked(**changes: Any) -> int:
            before = len(log_rows(log)) if log.exists() else 0
            trials = changes.pop("trials", 2)
            assert roll(items, write_panel(tmp_path / "panel.toml", server.url, **changes), out, trials) == 0
            return len(log_rows(log)) - before

        assert asked() == 3 * 8 * 2
        assert asked() == 0
        assert asked(trials=3) == 3 * 8
        assert asked(trials=1) == 0
        assert asked(names=NAMES[:4]) == 8 * 2
        assert asked(temperature=0.7) == 3 * 8 * 2
        matrix = read_response_matrix(out / "response_matrix.csv", n_trials=2)
        assert max(map(max, matrix.correct)) <= 2
        assert asked() == 0  # the answers at the first temperature are still there
        seeds = Counter(row["seed"] for row in rows(out, "answer"))
        assert max(seeds.values()) == 2  # once a temperature
        changed = read_items(items)
        write_items(
            items, [Item(**{**vars(changed[0]), "question": f"{changed[0].question} "}), *changed[1:]]
        )
        assert asked() == 3 * 2


def test_two_runs_on_one_folder_are_not_mixed(undisturbed: Path, roll: Any) -> None:
    from verifier.journal import open_journal

    with (
        open_journal(undisturbed / "out" / "rollouts.jsonl"),
        pytest.raises(InputError, match="another process is writing to it"),
    ):
        roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", undisturbed / "out", 4)


def test_failures_among_answers_do_not_stop_a_verifier(tmp_path: Path, roll: Any) -> None:
    """Only failures one after the other do: a busy server that drops a quarter of its requests still answers."""
    items, out = write_pool(tmp_path / "pool.jsonl", 1), tmp_path / "out"
    with simulated_panel("--hang-rate", 0.25) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, deadline=1)
        panel.write_text(panel.read_text().replace(f"concurrency = {CONCURRENCY}", "concurrency = 60"))
        roll(items, panel, out, 120)
    outcomes = Counter((row["verifier"], row["outcome"] == "error") for row in rows(out, "answer"))
    assert all(outcomes[name, True] > 20 for name in NAMES[:3])
    assert sum(outcomes.values()) == 3 * 120


def test_one_question_that_is_refused_does_not_stop_a_verifier_that_answers(
    tmp_path: Path, roll: Any
) -> None:
    """The question is too long for the context, and comes before the first answer; it is asked again by each run."""
    items, out = tmp_path / "pool.jsonl", tmp_path / "out"
    others = make_items(40, seed=5, families=("divisible",))
    write_items(items, [Item("long", "x " * 40_000, "1", "math"), *others])
    with simulated_panel("--context", 8000) as server:
        panel = write_panel(tmp_path / "panel.toml", server.url)
        statuses = [roll(items, panel, out, 1) for _ in range(2)]
    assert statuses == [rollout.EXIT_INCOMPLETE] * 2
    matrix = read_response_matrix(out / "response_matrix.csv", n_trials=1)
    assert matrix.items == tuple(item.id for item in others)
    assert matrix.trials == [[1] * 40] * 3


def test_too_many_connections_for_the_system_are_named_before_the_first_question(tmp_path: Path) -> None:
    items = write_pool(tmp_path / "pool.jsonl")
    with simulated_panel() as server:
        panel = write_panel(tmp_path / "panel.toml", server.url)
        words = shlex.join(command(items, panel, tmp_path / "out", 2))
        limited = ["sh", "-c", f"ulimit -n 100; exec {words}"]
        ended = subprocess.run(limited, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert ended.returncode == 2
    assert "16 connections at a time need 216 open files, and the system allows 100" in ended.stderr


# Grading again -----------------------------------------------------------------------------------------------------


def test_a_changed_key_is_refused_until_everything_is_graded_again(
    undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "rollouts.jsonl").write_bytes((undisturbed / "out" / "rollouts.jsonl").read_bytes())
    first, *others = read_items(undisturbed / "pool.jsonl")
    items = tmp_path / "pool.jsonl"
    write_items(items, [Item(**{**vars(first), "answer": "123456"}), *others])
    panel = undisturbed / "panel.toml"
    with pytest.raises(
        InputError, match=rf"item {first.id}: .* another key \({first.answer}; now 123456\).*--regrade"
    ):
        roll(items, panel, out, 4)
    were_right = sum(row["correct"] for row in rows(out, "verdict") if row["item"] == first.id)
    assert were_right > 5

    capsys.readouterr()
    assert roll(items, panel, out, 4, "--regrade") == 0
    changes = [line for line in capsys.readouterr().out.splitlines() if " -> " in line]
    assert len(changes) == were_right
    assert all(f" {first.id} trial " in line and "ok, right -> ok, wrong" in line for line in changes)
    matrix = read_response_matrix(out / "response_matrix.csv", n_trials=4)
    before = read_response_matrix(undisturbed / "out" / "response_matrix.csv", n_trials=4)
    assert [row[0] for row in matrix.correct] == [0] * 12
    assert [row[1:] for row in matrix.correct] == [row[1:] for row in before.correct]
    assert roll(items, panel, out, 4) == 0


def test_verdicts_of_another_grader_version_are_not_mixed(
    undisturbed: Path, tmp_path: Path, roll: Any
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    text = (undisturbed / "out" / "rollouts.jsonl").read_text(encoding="utf-8")
    (out / "rollouts.jsonl").write_text(
        text.replace('"grader_version": "', '"grader_version": "0.'), encoding="utf-8"
    )
    with pytest.raises(InputError, match="graded with another grader .*--regrade"):
        roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", out, 4)
    assert roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", out, 4, "--regrade") == 0
    assert matrix_text(out) == matrix_text(undisturbed / "out")


def test_answers_that_could_not_be_judged_are_tried_again(
    undisturbed: Path, tmp_path: Path, roll: Any
) -> None:
    """A time limit that a busy machine overran must not cost the trial for ever."""
    out = tmp_path / "out"
    out.mkdir()
    lines = (undisturbed / "out" / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        row = json.loads(line)
        if row["kind"] == "verdict" and number % 50 == 1:
            lines[number] = json.dumps(row | {"outcome": "grader_timeout", "correct": None, "answer": None})
    (out / "rollouts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", out, 4) == 0
    assert matrix_text(out) == matrix_text(undisturbed / "out")


def test_changed_instructions_are_another_key(tmp_path: Path, roll: Any) -> None:
    items, out = tmp_path / "pool.jsonl", tmp_path / "out"
    pool = make_items(4, seed=2, families=("writing",))
    write_items(items, pool)
    with simulated_panel() as server:
        panel = write_panel(tmp_path / "panel.toml", server.url)
        assert roll(items, panel, out, 1) == 0
    assert roll(items, panel, out, 1) == 0
    changed = {**vars(pool[0]), "instruction_ids": ("punctuation:no_comma",), "kwargs": ({},)}
    write_items(items, [Item(**changed), *pool[1:]])
    with pytest.raises(InputError, match=f"item {pool[0].id}: .* another key"):
        roll(items, panel, out, 1)


def test_grading_again_with_another_panel_touches_nothing(
    undisturbed: Path, tmp_path: Path, roll: Any
) -> None:
    before = matrix_text(undisturbed / "out")
    panel = write_panel(tmp_path / "panel.toml", "http://127.0.0.1:9/v1", temperature=0.1)
    with pytest.raises(InputError, match="has no answers of this panel to these items"):
        roll(undisturbed / "pool.jsonl", panel, undisturbed / "out", 4, "--regrade")
    assert matrix_text(undisturbed / "out") == before


def test_json_is_all_that_json_prints(
    undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], roll: Any
) -> None:
    pool, panel = undisturbed / "pool.jsonl", undisturbed / "panel.toml"
    assert roll(pool, panel, undisturbed / "out", 4, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((undisturbed / "out" / "summary.json").read_text(encoding="utf-8"))


# Mistakes ----------------------------------------------------------------------------------------------------------


def test_a_file_is_no_folder_for_the_output(undisturbed: Path, tmp_path: Path, roll: Any) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file is a file; name a folder for --out"):
        roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", tmp_path / "file", 4)


def test_another_kind_of_journal_is_not_read(undisturbed: Path, tmp_path: Path, roll: Any) -> None:
    (tmp_path / "rollouts.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"rollouts\.jsonl:1: .*is this a rollout journal"):
        roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", tmp_path, 4)
    assert (tmp_path / "rollouts.jsonl").read_text(encoding="utf-8") == '{"id": 1}\n'


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcome": "weird"}, "outcome cannot be 'weird'; it is one of ok, no_answer"),
        ({"trial": "1"}, "trial cannot be '1'"),
        ({"trial": True}, "trial cannot be True"),
        ({"verifier": ["a"]}, "verifier cannot be ['a']"),
        ({"seconds": None}, "seconds cannot be None"),
        ({"text": None}, "text cannot be None"),
        ({"completion_tokens": "7"}, "completion_tokens cannot be '7'"),
        ({"attempts": "1"}, "attempts cannot be '1'"),
        ({"kind": "answers"}, "kind 'answers' is not known"),
        ({"kind": ["answer"]}, "kind ['answer'] is not known"),
        ({"reasoning": 5}, "reasoning cannot be 5"),
    ],
)
def test_a_row_edited_by_hand_is_named_and_never_counted(
    undisturbed: Path, tmp_path: Path, roll: Any, change: dict[str, Any], words: str
) -> None:
    lines = (undisturbed / "out" / "rollouts.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:4]
    row = next(json.loads(line) for line in lines if '"kind": "answer"' in line)
    (tmp_path / "rollouts.jsonl").write_text(lines[0] + json.dumps(row | change) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'rollouts.jsonl'}:2: {words}")):
        roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", tmp_path, 4)


@pytest.mark.parametrize("correct", ["yes", 1, None])
def test_a_verdict_that_says_neither_right_nor_wrong_is_not_wrong(
    undisturbed: Path, tmp_path: Path, roll: Any, correct: Any
) -> None:
    lines = (undisturbed / "out" / "rollouts.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    verdict = next(json.loads(line) for line in lines if '"kind": "verdict"' in line)
    (tmp_path / "rollouts.jsonl").write_text(
        json.dumps(verdict | {"correct": correct}) + "\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"rollouts\.jsonl:1: .*correct"):
        roll(undisturbed / "pool.jsonl", undisturbed / "panel.toml", tmp_path, 4)


def test_a_full_disk_is_one_line_and_nothing_is_lost(undisturbed: Path, tmp_path: Path) -> None:
    with simulated_panel() as server:
        panel = write_panel(tmp_path / "panel.toml", server.url, names=NAMES)
        words = command(undisturbed / "pool.jsonl", panel, tmp_path / "out", 4)
        limited = ["sh", "-c", f"ulimit -f 600; exec {shlex.join(words)}"]  # blocks of 512 bytes
        ended = subprocess.run(limited, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
        assert ended.returncode == 2
        assert "Traceback" not in ended.stderr
        assert "rollouts.jsonl: cannot be written (File too large)" in ended.stderr
        assert subprocess.run(words, capture_output=True, cwd=ROOT, check=False).returncode == 0
    assert matrix_text(tmp_path / "out") == matrix_text(undisturbed / "out")


def test_an_item_that_no_grader_knows_stops_before_the_first_request(tmp_path: Path, roll: Any) -> None:
    item = Item("i1", "Write.", None, "instructions", instruction_ids=("no:such",), kwargs=({},))
    write_items(tmp_path / "pool.jsonl", [item])
    panel = write_panel(tmp_path / "panel.toml", "http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match="i1"):
        roll(tmp_path / "pool.jsonl", panel, tmp_path / "out", 4)
    assert not (tmp_path / "out").exists()
