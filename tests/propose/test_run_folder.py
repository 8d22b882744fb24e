from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from propose.candidate import Decision, decision_row
from propose.config import Config, found_path, read_config, stored_path, write_config
from propose.deciding import PanelAnswer
from propose.run_folder import (
    REPOSITORY,
    RunFolder,
    RunState,
    add_candidate_row,
    add_decision,
    add_rollout_row,
    folder_of,
    open_journals,
    read_state,
)
from propose.settings import Settings
from propose.starts import caps_in_force, ending_row, read_starts, start_row
from tests.propose.simulation import run_in_process
from verifier.journal import open_journal

CONFIG = Config(Settings("sim", "one"), 4, {}, {"file": "p"}, {"file": "r"}, {}, "now", True)


def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "sim" / "one")


def test_config_comes_back_and_a_run_is_never_overwritten(tmp_path: Path) -> None:
    here = folder(tmp_path)
    write_config(here, CONFIG)
    assert read_config(here) == CONFIG
    before = here.config.read_bytes()
    with pytest.raises(InputError, match="is there already and is left as it is"):
        write_config(here, replace(CONFIG, n_trials=8))
    assert here.config.read_bytes() == before


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema_version": 1}'])
def test_a_broken_config_is_one_line(tmp_path: Path, text: str) -> None:
    here = folder(tmp_path)
    here.path.mkdir(parents=True)
    with pytest.raises(InputError, match="there is no such run"):
        read_config(here)
    here.config.write_text(text)
    with pytest.raises(InputError, match="config.json: not"):
        read_config(here)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (lambda fields: fields | {"panel": []}, "panel must be an object"),
        (lambda fields: fields | {"schema_version": 0}, "not the config of a run of this version"),
        (
            lambda fields: fields | {"settings": fields["settings"] | {"gaps": 0}},
            "gaps must be a whole number",
        ),
    ],
)
def test_a_config_that_was_edited_is_one_line(tmp_path: Path, text: Callable[[Any], Any], words: str) -> None:
    here = folder(tmp_path)
    write_config(here, CONFIG)
    here.config.write_text(json.dumps(text(json.loads(here.config.read_bytes()))))
    with pytest.raises(InputError, match=words):
        read_config(here)


def test_a_path_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = stored_path(Path("mine.toml"))
    monkeypatch.chdir(REPOSITORY / "verifier")
    theirs = stored_path(Path("panel.toml"))
    assert theirs == "verifier/panel.toml"  # holds in a copy of the repository elsewhere
    monkeypatch.chdir("/")
    assert found_path(mine) == tmp_path / "mine.toml"
    assert found_path(theirs).is_file()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b"])
def test_a_name_that_is_no_folder(name: str) -> None:
    with pytest.raises(InputError, match="a name has letters"):
        folder_of("sim", name)


def test_results_are_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHFILL_RESULTS", str(tmp_path))
    assert folder_of("aime26", "a-1").path == tmp_path / "aime26" / "a-1"


def test_the_state_read_from_the_rows_is_the_state_of_the_run(tmp_path: Path) -> None:
    state, _, rows = run_in_process(Settings("sim", "one", max_rounds=1, children=2))
    here = folder(tmp_path)
    with open_journals(here) as journals:
        for name, kept in rows.items():
            for row in kept:
                getattr(journals, name)(row)
    assert read_state(here) == state
    assert state.spent.rollouts == sum(row["kind"] == "answer" for row in rows["rollouts"])
    with here.decisions.open("a") as handle:
        handle.write('{"id": "torn')
    assert read_state(here) == state


def test_a_second_run_on_the_folder_is_refused(tmp_path: Path) -> None:
    here = folder(tmp_path)
    with open_journals(here):
        with pytest.raises(InputError, match="another process is writing to it"), open_journals(here):
            pass


# Starts and endings -----------------------------------------------------------------------------------------------


def test_the_caps_in_force_are_those_of_the_last_start(tmp_path: Path) -> None:
    path, settings = tmp_path / "starts.jsonl", Settings("sim", "one", max_tokens=7)
    assert read_starts(path) == []
    assert caps_in_force(settings, []) == (None, 7)
    with open_journal(path) as note:
        note(start_row(replace(settings, max_rollouts=50)))
        note(ending_row("max_rollouts", "50 are spent"))
        note(start_row(replace(settings, max_tokens=9)))
    first, second = read_starts(path)
    assert first.ending is not None
    assert (first.max_rollouts, first.ending.reason, first.ending.detail) == (
        50,
        "max_rollouts",
        "50 are spent",
    )
    assert second.ending is None
    assert caps_in_force(settings, [first, second]) == (None, 9)


@pytest.mark.parametrize(
    "row",
    [
        '{"kind": "ending", "time": "", "reason": "", "detail": ""}',
        '{"kind": "start", "time": "", "max_rollouts": "7", "max_tokens": null}',
        '{"kind": "start"}',
    ],
)
def test_a_line_that_is_no_start_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "starts.jsonl"
    path.write_text(row + "\n")
    with pytest.raises(InputError, match="starts.jsonl:1: not a row of this journal"):
        read_starts(path)


# Rows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["candidates", "rollouts", "decisions"])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, name: str) -> None:
    here = folder(tmp_path)
    here.path.mkdir(parents=True)
    path = here.path / f"{name}.jsonl"
    path.write_text('{"kind": "unheard"}\n')
    with pytest.raises(InputError, match=f"{name}.jsonl:1: not a row of this journal"):
        read_state(here)


def asked(kind: str, error: str | None, **more: Any) -> dict[str, Any]:
    head = {
        "id": "c",
        "kind": kind,
        "prompt": "write",
        "parent": "q",
        "round": 1,
        "gap": 1,
        "low": 0.0,
        "high": 1.0,
    }
    reply = {"target_b": 0.5, "target_pass_rate": 0.4, "seed": 1, "reply": "abcd", "reasoning": None}
    return head | reply | {"completion_tokens": 5, "error": error} | more


def test_a_request_that_failed_is_kept_until_it_is_answered_and_costs_nothing() -> None:
    state = RunState()
    add_candidate_row(state, asked("candidate", "HTTP 500"))
    solution = {"number": 2, "outcome": "error", "correct": None, "answer": None}
    add_candidate_row(state, asked("solution", "timed out", **solution))
    assert (state.candidates, state.solutions, state.spent.tokens) == ({}, {}, 0)
    assert state.failed_candidates["c"].error == "HTTP 500"
    assert state.failed_candidates["c"].prompt == "write"
    assert state.failed_solutions["c"][2].error == "timed out"
    add_candidate_row(state, asked("candidate", None))
    add_candidate_row(state, asked("solution", None, **solution | {"outcome": "ok", "correct": True}))
    assert (state.failed_candidates, state.failed_solutions) == ({}, {"c": {}})
    assert state.candidates["c"].reply == "abcd"
    assert state.spent.tokens == 10


def test_the_expected_false_landings_are_those_of_the_accepted_alone() -> None:
    state = RunState()
    for name, decision, p in (("a", "accepted", 0.75), ("b", "rejected", 0.25), ("c", "accepted", 0.5)):
        add_decision(state, Decision(name, 1, "screen", "passed"))
        add_decision(state, Decision(name, 1, "verify", decision, figures={"p_in_gap": p}))
    add_decision(state, Decision("d", 1, "screen", "rejected", "malformed"))
    assert [one.id for one in state.accepted] == ["a", "c"]
    assert state.expected_false_landings == 0.75


def rollout(kind: str, outcome: str, **more: Any) -> dict[str, Any]:
    head = {"kind": kind, "verifier": "v", "item": "c", "trial": 1, "outcome": outcome}
    return head | {"text": "abcdefgh", "reasoning": None, "completion_tokens": None} | more


def test_what_an_answer_counts_as() -> None:
    state = RunState()
    add_rollout_row(state, rollout("answer", "error"))
    assert state.answers == {}
    assert state.spent.rollouts == 0
    add_rollout_row(state, rollout("answer", "truncated"))
    assert state.answers["c"]["v", 1] == PanelAnswer(False, None)
    add_rollout_row(state, rollout("answer", "ok"))
    assert state.answers["c"]["v", 1] is None
    assert state.counts("c", ("v",), 1)[1].tolist() == [0]
    add_rollout_row(state, rollout("verdict", "ok", correct=True, answer="7"))
    correct, trials = state.counts("c", ("u", "v"), 2)
    assert (correct.tolist(), trials.tolist()) == ([0, 1], [0, 1])
    add_rollout_row(state, rollout("verdict", "grader_timeout", correct=None, answer=None))
    assert state.counts("c", ("v",), 1)[1].tolist() == [0]
    assert (state.spent.rollouts, state.spent.panel_tokens) == (2, 4)  # by length, where nobody counts


def test_a_decision_is_a_row_and_back(tmp_path: Path) -> None:
    decision = Decision("c", 2, "drop", "rejected", "unlikely", "", {"wave": 3})
    here = folder(tmp_path)
    with open_journals(here) as journals:
        journals.decisions(decision_row(decision))
    assert read_state(here).decisions == {"c": {"drop": decision}}
    assert json.loads(here.decisions.read_text())["figures"] == {"wave": 3}
