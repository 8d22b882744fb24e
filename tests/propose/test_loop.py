"""The whole loop in one process, where the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from propose.candidate import (
    ACCEPTED,
    PASSED,
    REASONS,
    REJECTED,
    Decision,
    RewriterJob,
    decision_from_row,
    last_decision,
)
from propose.candidate_items import candidate_items
from propose.run_folder import RunState, add_candidate_row, add_decision, add_rollout_row
from propose.settings import Settings
from propose.targets import gaps_of
from tests.benchfill_simulation import SimulatedRewriter, ask_panel, panel_rows, rewriter_row
from tests.propose.simulation import NAMES, PANEL, calibrated, run_in_process
from verifier.journal import Append
from verifier.simulated.examinees import Answer
from verifier.simulated.families import right_answer, true_difficulty
from verifier.simulated.rewriter import RewriterHabits, rewrite
from verifier.trials import Job

SETTINGS = Settings("sim", "one", gaps=2, max_rounds=3, parents=2, children=4)
MESSY = RewriterHabits(bias=0.5, sd=0.6, wrong_key_rate=0.2, duplicate_rate=0.2, broken_format_rate=0.1)
Log = list[tuple[str, dict[str, Any]]]
Messy = tuple[RunState, Log]


@pytest.fixture(scope="module")
def messy() -> Messy:
    log: Log = []
    state, _, _ = run_in_process(SETTINGS, habits=MESSY, log=log)
    return state, log


def last(state: RunState) -> dict[str, Decision]:
    return {name: last_decision(stages) for name, stages in state.decisions.items()}


def replayed(log: Log) -> RunState:
    """A state that knows these rows alone, as after a kill."""
    state = RunState()
    for name, row in log:
        if name == "candidates":
            add_candidate_row(state, row)
        elif name == "rollouts":
            add_rollout_row(state, row)
        elif name == "decisions":
            add_decision(state, decision_from_row(row))
        else:
            state.rounds.append(row)
    return state


def test_the_gap_is_filled() -> None:
    state, ending, _ = run_in_process(SETTINGS)
    made = calibrated()
    accepted = [one.figures["b_mean"] for one in last(state).values() if one.decision == ACCEPTED]
    before, after = gaps_of(made.b_mean, [])[0].width, gaps_of(made.b_mean, accepted)[0].width
    assert after < 0.45 * before
    assert ending.reason in ("no_target", "max_rounds")


def test_invariants_of_the_rows(messy: Messy) -> None:
    state, log = messy
    rows = {name: [row for kind, row in log if kind == name] for name, _ in log}
    trials = [(row["kind"], row["verifier"], row["item"], row["trial"]) for row in rows["rollouts"]]
    assert len(trials) == len(set(trials))
    stages = [(row["id"], row["stage"]) for row in rows["decisions"]]
    assert len(stages) == len(set(stages))
    assert {row["reason"] for row in rows["decisions"]} <= {"", *REASONS}
    assert set(state.decisions) == set(state.candidates)
    asked = {item for _, _, item, _ in trials}
    passed = {row["id"] for row in rows["decisions"] if (row["stage"], row["decision"]) == ("screen", PASSED)}
    assert asked == passed
    for name, decision in last(state).items():
        assert decision.decision != PASSED
        if decision.stage == "verify":
            assert state.counts(name, NAMES, 4)[1].tolist() == [4] * 12
            assert decision.figures["trials"] == [4] * 12
        if decision.decision == ACCEPTED:
            assert decision.figures["low"] < decision.figures["b_mean"] < decision.figures["high"]
            assert decision.figures["p_in_gap"] >= 0.5
        if decision.stage == "drop":
            assert sum(state.counts(name, NAMES, 4)[1] > 0) == decision.figures["wave"] < 12
    for number, row in enumerate(rows["rounds"], 1):
        mine = {name: one for name, one in last(state).items() if one.round == number}
        assert row["round"] == number
        assert row["candidates"] == len(mine) == len(row["accepted"]) + sum(row["reasons"].values())
        assert row["accepted"] == sorted(name for name, one in mine.items() if one.decision == ACCEPTED)


def test_wrong_keys_and_duplicates_do_not_pass(messy: Messy) -> None:
    state, _ = messy
    pool = calibrated().items
    items = candidate_items(state.candidates.values(), pool)
    accepted = [name for name, one in last(state).items() if one.decision == ACCEPTED]
    assert accepted
    assert all(items[name].answer == right_answer(items[name].question) for name in accepted)
    questions = [item.question for item in pool] + [items[name].question for name in accepted]
    assert len(questions) == len(set(questions))
    reasons = {one.reason for one in last(state).values()}
    assert {"duplicate", "unsolved"} <= reasons


def test_accepted_items_are_where_they_are_said_to_be(messy: Messy) -> None:
    state, _ = messy
    items = candidate_items(state.candidates.values(), calibrated().items)
    accepted = [one for one in last(state).values() if one.decision == ACCEPTED]
    inside = [
        one.figures["low"] - one.figures["b_sd"]
        < true_difficulty(items[one.id].question)
        < one.figures["high"] + one.figures["b_sd"]
        for one in accepted
    ]
    assert np.mean(inside) >= 0.8


def test_misses_are_fed_back_and_correct_the_rewriter() -> None:
    far = RewriterHabits(bias=1.5, sd=0.3)
    settings = Settings("sim", "one", gaps=1, max_rounds=2, parents=2, children=4)
    state, _, rows = run_in_process(settings, habits=far)
    prompts = {row["round"]: row["prompt"] for row in rows["candidates"] if row["kind"] == "candidate"}
    assert "measured" not in prompts[1]
    items = candidate_items(state.candidates.values(), calibrated().items)
    miss = {
        number: np.mean(
            [
                true_difficulty(item.question) - state.candidates[name].target_b
                for name, item in items.items()
                if state.candidates[name].round == number
            ]
        )
        for number in (1, 2)
    }
    assert abs(miss[2]) < 0.5 * abs(miss[1])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03, 0.08, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.999, 1.0])
def test_a_run_that_was_cut_off_goes_on_to_the_same_rows(messy: Messy, share: float) -> None:
    whole, log = messy
    kept = log[: int(share * len(log))]
    if kept and kept[-1][0] == "rollouts" and kept[-1][1]["kind"] == "answer":
        kept = kept[:-1]  # an answer without its verdict is graded by propose.run before the loop
    again: Log = []
    state, _, _ = run_in_process(SETTINGS, habits=MESSY, state=replayed(kept), log=again)
    assert sorted(map(repr, kept + again)) == sorted(map(repr, log))
    assert state.decisions == whole.decisions


def test_never_dropping_costs_more_and_decides_almost_the_same() -> None:
    one_round = Settings("sim", "two", gaps=2, max_rounds=1, children=4)
    careful = Settings("sim", "two", gaps=2, max_rounds=1, children=4, drop_below=0.0)
    habits = RewriterHabits(bias=0.5, sd=1.5)
    dropping, _, _ = run_in_process(one_round, habits=habits)
    full, _, _ = run_in_process(careful, habits=habits)
    assert dropping.spent.rollouts < 0.8 * full.spent.rollouts
    accepted = [{n for n, one in last(s).items() if one.decision == ACCEPTED} for s in (dropping, full)]
    assert accepted[0] <= accepted[1]
    assert len(accepted[1] - accepted[0]) <= 1


@pytest.mark.parametrize("cap", [1, 57])
def test_the_cap_of_rollouts_is_never_passed_and_a_higher_one_goes_on(cap: int) -> None:
    settings = Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2, max_rollouts=cap)
    whole, _, _ = run_in_process(Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2))
    state, ending, _ = run_in_process(settings)
    assert ending.reason == "max_rollouts"
    assert state.spent.rollouts == cap
    state, ending, _ = run_in_process(
        Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2), state=state
    )
    assert state.decisions == whole.decisions
    assert state.spent.rollouts == whole.spent.rollouts


def test_the_cap_of_tokens_is_never_passed() -> None:
    settings = Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2, max_tokens=6000)
    state, ending, _ = run_in_process(settings)
    assert ending.reason == "max_tokens"
    assert state.spent.tokens <= 6000
    assert state.candidates


@pytest.mark.parametrize(("loaded", "fewest"), [(True, 16), (False, 1)])
def test_near_the_cap_of_tokens_no_model_is_loaded_for_a_few_answers(loaded: bool, fewest: int) -> None:
    """Where servers are there already, no answer that fits is left out."""
    verifiers = tuple(replace(one, base_url=None if loaded else one.base_url) for one in PANEL.verifiers)
    calls: list[tuple[str, int]] = []

    def counting(jobs: Sequence[Job], append: Append) -> dict[str, str]:
        calls.append((jobs[0].verifier.name, len(jobs)))
        return ask_panel(jobs, append)

    free = Settings("sim", "one", gaps=1, max_rounds=1, parents=4, children=4, drop_below=0.0)
    whole, _, rows = run_in_process(free)
    written = sum(row["completion_tokens"] for row in rows["candidates"])
    cap = written + int((fewest + 1.5) * 4096)
    state, ending, _ = run_in_process(replace(free, max_tokens=cap), ask_panel=counting, verifiers=verifiers)
    assert ending.reason == "max_tokens"
    assert f"{fewest} at least" in ending.detail
    assert cap - (fewest + 1) * 4096 < state.spent.tokens <= cap
    parts = [
        [size for name, size in calls if name == one] for one in dict.fromkeys(name for name, _ in calls)
    ]
    assert len(parts) > 1
    assert not loaded or all(min(sizes[:-1], default=16) >= 16 and len(sizes) <= 4 for sizes in parts)
    state, _, _ = run_in_process(free, state=state)
    assert state.decisions == whole.decisions
    assert state.spent.rollouts == whole.spent.rollouts


def test_a_dead_rewriter_ends_the_run_and_a_single_failure_only_its_candidate() -> None:
    def dead(jobs: Sequence[RewriterJob], append: Append) -> str:
        for job in jobs[:2]:
            append(rewriter_row(job, Answer("", None)) | {"error": "connection refused"})
        return "connection refused"

    settings = Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2)
    state, ending, _ = run_in_process(settings, ask_rewriter=dead)
    assert (ending.reason, ending.is_failure) == ("rewriter", True)
    assert "connection refused" in ending.detail
    assert not state.decisions
    whole, _, _ = run_in_process(settings)
    state, _, _ = run_in_process(settings, state=state)
    assert state.decisions == whole.decisions

    def flaky(jobs: Sequence[RewriterJob], append: Append) -> None:
        for job in jobs:
            row = rewriter_row(job, rewrite(job.messages[-1]["content"], job.seed, RewriterHabits()))
            append(row | {"error": "too long"} if job.id == "r01-g1-p1-c1" else row)

    state, _, _ = run_in_process(settings, ask_rewriter=flaky)
    assert last(state)["r01-g1-p1-c1"].reason == "no_reply"
    assert "r01-g1-p1-c2" in state.candidates


def test_a_stopped_verifier_ends_the_run() -> None:
    def stopping(jobs: Sequence[Job], append: Append) -> dict[str, str]:
        ask_panel(jobs[:3], append)
        return {jobs[0].verifier.name: "status 401: no key"}

    settings = Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2)
    state, ending, _ = run_in_process(settings, ask_panel=stopping)
    assert ending.reason == "verifier"
    assert "status 401: no key" in ending.detail
    assert state.spent.rollouts == 3


def test_an_answer_that_cannot_be_judged_rejects_its_candidate() -> None:
    def unjudged(jobs: Sequence[Job], append: Append) -> dict[str, str]:
        for job in jobs:
            answered, judged = panel_rows(job)
            append(answered)
            if job.item.id == "r01-g1-p1-c2" and job.trial == 2:
                judged |= {"outcome": "grader_timeout", "correct": None, "answer": None}
            append(judged)
        return {}

    settings = Settings("sim", "one", gaps=1, max_rounds=1, parents=2, children=2)
    state, _, _ = run_in_process(settings, ask_panel=unjudged)
    decision = last(state)["r01-g1-p1-c2"]
    assert (decision.decision, decision.reason) == (REJECTED, "not_judged")
    assert len(state.answers["r01-g1-p1-c2"]) == 4  # one verifier, and no more is spent


def test_no_target_says_what_would_help() -> None:
    state, ending, rows = run_in_process(SETTINGS, benchmark=calibrated(1, (0.0, 0.3), 24))
    assert ending.reason == "no_target"
    assert "more trials" in ending.detail
    assert not rows["candidates"]
    assert not state.rounds


def test_without_solutions_the_panel_alone_finds_wrong_keys() -> None:
    settings = Settings("sim", "one", gaps=1, max_rounds=1, parents=4, children=4, solutions=0)
    state, _, rows = run_in_process(
        settings, ask_rewriter=SimulatedRewriter(RewriterHabits(wrong_key_rate=0.5))
    )
    assert all(row["kind"] == "candidate" for row in rows["candidates"])
    items = candidate_items(state.candidates.values(), calibrated().items)
    accepted = [name for name, one in last(state).items() if one.decision == ACCEPTED]
    assert all(items[name].answer == right_answer(items[name].question) for name in accepted)
