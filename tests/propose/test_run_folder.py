from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from propose.candidate import Decision, decision_from_row, decision_row
from propose.candidate_items import candidate_items
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
    read_state,
)
from propose.run_journals import open_journals
from propose.settings import Settings
from propose.starts import caps_in_force, ending_row, read_starts, start_row
from tests.propose.simulation import calibrated, run_in_process
from verifier.journal import open_journal

ASKED = {"file": "p", "identities": {"v": "1"}}
CONFIG = Config(Settings("sim", "one"), 4, {}, ASKED, ASKED, {}, "now", True)


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
        (lambda fields: fields | {"panel": []}, r"panel cannot be \[\]"),
        (lambda fields: fields | {"panel": {}}, "no file"),
        (lambda fields: fields | {"panel": {"file": "p"}}, "no identities"),
        (lambda fields: fields | {"rewriter": {"file": 1, "identities": {}}}, "file cannot be 1"),
        (
            lambda fields: fields | {"rewriter": {"file": "r", "identities": {"r": None}}},
            "identities cannot be",
        ),
        (lambda fields: fields | {"n_trials": "8"}, "n_trials cannot be '8'"),
        (lambda fields: fields | {"n_trials": True}, "n_trials cannot be True"),
        (lambda fields: fields | {"n_trials": 10**30}, "n_trials cannot be 1000"),
        (lambda fields: fields | {"inputs": {"pool": "x"}}, "inputs cannot be"),
        (lambda fields: fields | {"versions": {"python": 3}}, "versions cannot be"),
        (lambda fields: fields | {"simulated": "no"}, "simulated cannot be 'no'"),
        (lambda fields: fields | {"created": None}, "created cannot be None"),
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


def test_what_a_row_rests_on_is_on_disk_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = folder(tmp_path)
    synced: list[tuple[str | int, ...]] = []

    def note(descriptor: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{descriptor}")).stem
        sizes = (path.stat().st_size for path in (here.candidates, here.decisions, here.rounds))
        synced.append((name, *sizes))
        sync(descriptor)

    sync = os.fsync
    monkeypatch.setattr(os, "fsync", note)
    row = {"x": 1}
    size = len(json.dumps(row)) + 1
    with open_journals(here) as journals:
        journals.candidates(row)
        assert synced == []
        journals.decisions(row)
        assert ("candidates", size, 0, 0) in synced
        journals.rounds(row)
        assert ("decisions", size, size, 0) in synced


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
        "7",
        '{"kind": "stop"}',
        '{"kind": "start", "time": 0, "max_rollouts": 7, "max_tokens": null}',
        '{"kind": "start", "time": "", "max_rollouts": true, "max_tokens": null}',
        '{"kind": "ending", "time": "", "reason": "", "detail": ""}',
        '{"kind": "start", "time": "", "max_rollouts": "7", "max_tokens": null}',
        '{"kind": "start"}',
    ],
)
def test_a_line_that_is_no_start_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "starts.jsonl"
    path.write_text(row + "\n")
    with pytest.raises(InputError, match="starts.jsonl:1: .*; restore it from a copy, or remove the file"):
        read_starts(path)


def test_a_start_ends_once(tmp_path: Path) -> None:
    path = tmp_path / "starts.jsonl"
    rows = [start_row(Settings("sim", "one")), ending_row("x", ""), ending_row("x", "")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="starts.jsonl:3: .*an ending without its start"):
        read_starts(path)


# Rows ---------------------------------------------------------------------------------------------------------------


Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """The rows of a run of two rounds, by journal; a candidate of each round is accepted."""
    _, _, rows = run_in_process(Settings("sim", "one", gaps=1, max_rounds=2, parents=2, children=3))
    assert all(row["accepted"] for row in rows["rounds"])
    return rows


def written(tmp_path: Path, rows: Rows) -> RunFolder:
    here = folder(tmp_path)
    here.path.mkdir(parents=True)
    for name, kept in rows.items():
        text = "".join(json.dumps(row) + "\n" for row in kept)
        (here.path / f"{name}.jsonl").write_text(text)
    return here


@pytest.mark.parametrize("name", ["candidates", "rollouts", "decisions", "rounds"])
@pytest.mark.parametrize("line", ["{", "7", "{}", '{"kind": "unheard"}', '{"kind": []}', '{"x": 1}'])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, rows: Rows, name: str, line: str) -> None:
    here = written(tmp_path, rows)
    path = here.path / f"{name}.jsonl"
    path.write_text(line + "\n" + path.read_text())
    with pytest.raises(InputError, match=f"{name}.jsonl:1: ") as refused:
        read_state(here)
    assert "\n" not in str(refused.value)
    # Removed, any of these but an answer of the panel would break what rests on it.
    assert ("remove" in str(refused.value)) <= (name == "rollouts")


VERIFIED = {"stage": "verify"}


@pytest.mark.parametrize(
    ("name", "of", "changes", "words"),
    [
        ("candidates", {"kind": "candidate"}, {"reply": None}, "reply cannot be None"),
        ("candidates", {"kind": "candidate"}, {"id": 1}, "id cannot be 1"),
        ("candidates", {"kind": "candidate"}, {"round": "1"}, "round cannot be '1'"),
        ("candidates", {"kind": "candidate"}, {"round": True}, "round cannot be True"),
        ("candidates", {"kind": "candidate"}, {"low": float("nan")}, "low cannot be nan"),
        ("candidates", {"kind": "candidate"}, {"target_b": 10**400}, "target_b cannot be 1000"),
        ("candidates", {"kind": "candidate"}, {"parent": ["q"]}, "parent cannot be"),
        ("candidates", {"kind": "candidate"}, {"reasoning": {}}, "reasoning cannot be"),
        ("candidates", {"kind": "candidate"}, {"completion_tokens": "9"}, "completion_tokens cannot be '9'"),
        ("candidates", {"kind": "candidate"}, {"prompt": ...}, "no prompt"),
        ("candidates", {"kind": "candidate"}, {"error": ...}, "no error"),
        ("candidates", {"kind": "solution"}, {"number": "1"}, "number cannot be '1'"),
        ("candidates", {"kind": "solution"}, {"correct": 1}, "correct cannot be 1"),
        ("candidates", {"kind": "solution"}, {"outcome": "fine"}, "outcome cannot be 'fine'"),
        ("rollouts", {"kind": "answer"}, {"reasoning": 5}, "reasoning cannot be 5"),
        ("rollouts", {"kind": "answer"}, {"trial": "1"}, "trial cannot be '1'"),
        ("rollouts", {"kind": "verdict"}, {"answer": 5}, "answer cannot be 5"),
        ("decisions", VERIFIED, {"figures": {}}, "no gap"),
        ("decisions", VERIFIED, {"figures": None}, "figures cannot be None"),
        ("decisions", VERIFIED, {"figures.b_mean": "0"}, "b_mean cannot be '0'"),
        ("decisions", VERIFIED, {"figures.p_in_gap": float("inf")}, "p_in_gap cannot be inf"),
        ("decisions", VERIFIED, {"figures.correct": ["4"]}, "correct cannot be"),
        ("decisions", {}, {"stage": "taste"}, "stage 'taste' cannot decide"),
        ("decisions", {}, {"decision": "accepted"}, "stage 'screen' cannot decide 'accepted'"),
        ("decisions", VERIFIED, {"decision": "rejected", "reason": "ugly"}, "cannot have the reason 'ugly'"),
        ("decisions", VERIFIED, {"decision": "rejected", "reason": ""}, "cannot have the reason ''"),
        ("rounds", {}, {"round": 2}, "round 2, where 1 is expected"),
        ("rounds", {}, {"accepted": 3}, "accepted cannot be 3"),
        ("rounds", {}, {"targets": [{"low": 0}]}, "no high"),
        ("rounds", {}, {"tokens": ...}, "no tokens"),
    ],
)
def test_a_value_of_another_type_is_named(
    tmp_path: Path, rows: Rows, name: str, of: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    """``...`` takes a value out; a name with a point is of a figure."""
    changed = {journal: [json.loads(json.dumps(row)) for row in kept] for journal, kept in rows.items()}
    line, row = next((line, row) for line, row in enumerate(changed[name], 1) if of.items() <= row.items())
    for place, value in changes.items():
        *inside, last = place.split(".")
        values = row[inside[0]] if inside else row
        values[last] = value
        if value is ...:
            del values[last]
    here = written(tmp_path, changed)
    with pytest.raises(InputError, match=f"{name}.jsonl:{line}: .*{words}") as refused:
        read_state(here)
    assert "\n" not in str(refused.value)


def without(rows: Rows, name: str, lost: Callable[[dict[str, Any]], bool]) -> Rows:
    kept = [row for row in rows[name] if not lost(row)]
    assert len(kept) < len(rows[name])
    return rows | {name: kept}


def accepted(rows: Rows, number: int) -> str:
    name: str = rows["rounds"][number - 1]["accepted"][0]
    return name


def is_written(row: dict[str, Any], name: str) -> bool:
    return row["kind"] == "candidate" and row["id"] == name


def test_a_candidate_whose_row_is_lost_is_named_by_what_rests_on_it(tmp_path: Path, rows: Rows) -> None:
    name = accepted(rows, 1)
    lost = without(rows, "candidates", lambda row: is_written(row, name))
    screened = [row for row in rows["decisions"] if row["id"] != name or row["stage"] == "screen"]
    others = [row for row in rows["rollouts"] if row["item"] != name]
    only: Rows = {"rounds": [], "decisions": [], "rollouts": []}
    unsolved = [row for row in lost["candidates"] if row["id"] != name]
    for number, (kept, path) in enumerate(
        (
            (lost, "decisions"),
            (lost | {"rounds": [], "decisions": screened, "rollouts": others}, "decisions"),
            (lost | {"rounds": [], "decisions": [], "candidates": unsolved}, "rollouts"),
            (lost | only, "candidates"),
        )
    ):
        words = (
            f"{path}.jsonl: a row is about candidate '{name}', and .*candidates.jsonl has none with its text"
        )
        with pytest.raises(InputError, match=f"{words}; restore it from a copy, or init a new run"):
            read_state(written(tmp_path / str(number), kept))
    # What nothing rests on is asked for again.
    state = read_state(written(tmp_path / "asked", lost | only | {"candidates": unsolved}))
    assert name not in {*state.candidates, *state.failed_candidates, *state.decisions}


def test_a_failed_request_is_a_row_for_no_reply_alone(tmp_path: Path, rows: Rows) -> None:
    name = accepted(rows, 1)
    head = next(row for row in rows["candidates"] if is_written(row, name))
    failed = rows | {"candidates": [head | {"reply": "", "error": "HTTP 500"}], "rollouts": [], "rounds": []}
    rejected = decision_row(Decision(name, 1, "screen", "rejected", "no_reply"))
    assert read_state(written(tmp_path / "a", failed | {"decisions": [rejected]})).decisions[name]
    passed = decision_row(Decision(name, 1, "screen", "passed"))
    with pytest.raises(InputError, match=f"decisions.jsonl: a row is about candidate '{name}'"):
        read_state(written(tmp_path / "b", failed | {"decisions": [passed]}))


def test_a_round_whose_decisions_are_lost_is_named(tmp_path: Path, rows: Rows) -> None:
    name = accepted(rows, 2)
    lost = without(rows, "decisions", lambda row: row["id"] == name and row["stage"] == "verify")
    with pytest.raises(
        InputError, match=f"rounds.jsonl: round 2 accepted '{name}', and .*decisions.jsonl does"
    ):
        read_state(written(tmp_path, lost))


def test_the_order_of_the_candidates_rows_does_not_matter(tmp_path: Path, rows: Rows) -> None:
    state = read_state(written(tmp_path / "a", rows))
    turned = read_state(written(tmp_path / "b", rows | {"candidates": rows["candidates"][::-1]}))
    assert turned == state
    pool = calibrated().items
    items = candidate_items(state.candidates.values(), pool)
    # A child of a candidate can be read once its parent is.
    assert {one.parent for one in state.candidates.values()} & set(items)
    assert candidate_items(turned.candidates.values(), pool) == items


@pytest.mark.parametrize("parent", ["nobody", "r02-g1-p1-c1"])
def test_a_parent_that_is_not_there_is_named(rows: Rows, parent: str) -> None:
    state = RunState()
    name = next(row["id"] for row in rows["candidates"] if row.get("round") == 2)
    for row in rows["candidates"]:
        add_candidate_row(state, row | ({"parent": parent} if is_written(row, name) else {}))
    with pytest.raises(
        InputError, match=f"candidate '{name}' was made from '{parent}', which is neither in the"
    ):
        candidate_items(state.candidates.values(), calibrated().items)


def test_a_candidate_that_went_to_the_panel_must_hold_an_item(rows: Rows) -> None:
    name = accepted(rows, 1)
    spoiled = [row | ({"reply": "no item"} if is_written(row, name) else {}) for row in rows["candidates"]]
    state = RunState()
    for row in spoiled:
        # Its children fail to find it first.
        if row["kind"] == "candidate" and row["parent"] != name:
            add_candidate_row(state, row)
    for row in rows["decisions"]:
        if row["id"] in state.candidates:
            add_decision(state, decision_from_row(row))
    with pytest.raises(
        InputError, match=f"candidate '{name}' went to the panel, and its reply holds no item"
    ):
        run_in_process(Settings("sim", "one", gaps=1, max_rounds=2, parents=2, children=3), state=state)


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
    figures = {"wave": 3, "probability": 0.01, "b_mean": 1, "b_sd": 0.5}
    decision = Decision("c", 2, "drop", "rejected", "unlikely", "", figures)
    here = folder(tmp_path)
    with open_journals(here) as journals:
        journals.candidates(asked("candidate", None))
        journals.decisions(decision_row(decision))
    assert read_state(here).decisions == {"c": {"drop": decision}}
    assert json.loads(here.decisions.read_text())["figures"] == figures
