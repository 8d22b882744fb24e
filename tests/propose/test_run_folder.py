from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from propose.candidate import Decision, decision_row
from propose.deciding import PanelAnswer
from propose.run_folder import (
    Config,
    RunFolder,
    RunState,
    add_rollout_row,
    folder_of,
    open_journals,
    read_config,
    read_state,
    write_config,
)
from propose.settings import Settings
from tests.propose.simulation import run_in_process

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


@pytest.mark.parametrize("name", ["candidates", "rollouts", "decisions"])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, name: str) -> None:
    here = folder(tmp_path)
    here.path.mkdir(parents=True)
    path = here.path / f"{name}.jsonl"
    path.write_text('{"kind": "unheard"}\n')
    with pytest.raises(InputError, match=f"{name}.jsonl:1: not a row of this journal"):
        read_state(here)


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
