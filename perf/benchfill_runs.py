"""Simulated runs of BenchFill against their truth, and what other rules would decide, for perf/benchfill.py."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from irt.arrays import FloatArray
from propose.calibrated import Calibrated
from propose.candidate import ACCEPTED, DROP, PASSED, SCREEN, VERIFY, Brief, Decision, last_decision
from propose.deciding import decide, strong_verifiers
from propose.loop import Run, run_rounds
from propose.outcome import Accepted, accepted_of, counts_of
from propose.prompting import rewrite_prompt
from propose.recalibrating import Counts, recalibrate
from propose.run_folder import RunState, add_rollout_row
from propose.run_journals import Journals
from propose.settings import Settings
from propose.targets import Gap
from tests.benchfill_simulation import (
    DUPLICATE,
    QUICK,
    WRONG_KEY,
    SimulatedRewriter,
    ask_panel,
    calibrate,
    nowhere,
    pool_with_gap,
    verifiers,
)
from verifier.items import Item
from verifier.simulated.families import ABILITIES, true_difficulty
from verifier.simulated.rewriter import RewriterHabits
from verifier.trials import Job

ITEMS = 40
FAMILIES = ("power", "divisible", "sequence", "system", "committee", "draws", "ordering", "fractions")
GAP_WIDTH = 2.0
ROUNDS = 8
HABITS = RewriterHabits(bias=0.5, sd=1.5)
FAULT_RATE = 0.2
BAND = (0.1, 0.9)
CAUGHT_AS = {WRONG_KEY: ("unsolved", "suspect_key"), DUPLICATE: ("duplicate",)}

FILL, FAULTS, RANDOM = "fill", "faults", "random"
CASES = ((FILL, 4), (FILL, 8), (FAULTS, 4), (RANDOM, 4))


class Rule(NamedTuple):
    """What one accept rule did to the candidates of one run: rollouts, kept items, and those that truly landed."""

    rollouts: int
    kept: int
    landed: int


class Result(NamedTuple):
    """One run against the truth.

    ``false`` is (reported, true); ``covered`` and ``widened`` are one a new item; ``caught`` has for each fault made on
    purpose: number, caught as what it is, rejected otherwise.
    """

    max_gap: tuple[float, float]
    rounds: int
    covered: list[bool]
    widened: list[bool]
    false: tuple[float, int]
    caught: dict[str, tuple[int, int, int]]
    same: tuple[int, int]
    lost: int
    rules: dict[str, Rule]


def benchmark(seed: int, n_trials: int) -> Calibrated:
    """Return a calibrated benchmark with a planted gap."""
    middle = random.Random(f"gap {seed}").uniform(-0.8, 0.8)
    gap = (middle - GAP_WIDTH / 2, middle + GAP_WIDTH / 2)
    return calibrate(pool_with_gap(ITEMS, gap, seed=seed, families=FAMILIES), n_trials, seed)


def one_seed(seed: int) -> dict[tuple[str, int], Result]:
    """Run all cases on the benchmark of a seed."""
    calibrated = {n_trials: benchmark(seed, n_trials) for n_trials in {trials for _, trials in CASES}}
    return {(case, trials): one_run(case, calibrated[trials], seed) for case, trials in CASES}


def one_run(case: str, calibrated: Calibrated, seed: int) -> Result:
    """Fill one benchmark and hold what came of it against the truth."""
    rewriter = SimulatedRewriter(HABITS)
    if case == FAULTS:
        rewriter = SimulatedRewriter(HABITS, wrong_key_rate=FAULT_RATE, duplicate_rate=FAULT_RATE)
    rng = random.Random(f"parents {seed}")
    pass_rates = _pass_rates(calibrated)

    def random_parent(brief: Brief) -> str:
        # Of the same type, so that its child is read as what it is.
        fitting = [item for item in calibrated.items if _form(item) == _form(brief.parent)]
        parent = rng.choice(fitting)
        rate = pass_rates[parent.id]
        return rewrite_prompt(
            replace(
                brief, parent=parent, parent_pass_rate=rate, target_pass_rate=rate, neighbours=(), misses=()
            )
        )

    work = Run(
        settings=Settings("simulated", f"seed-{seed}", max_rounds=ROUNDS),
        calibrated=calibrated,
        state=RunState(),
        journals=Journals(nowhere, nowhere, nowhere, nowhere),
        verifiers=verifiers(),
        rewriter_max_tokens=1,
        ask_rewriter=rewriter,
        ask_panel=ask_panel,
        say=lambda line: None,
        render=random_parent if case == RANDOM else rewrite_prompt,
    )
    run_rounds(work)
    truth = {
        name: true_difficulty(item.question) - scale_error(calibrated) for name, item in work.items.items()
    }
    return _held_against(work, truth, rewriter, case == FILL)


def scale_error(calibrated: Calibrated) -> float:
    """Return how far the simulator's scale is above the calibration's, which only the priors place.

    By the abilities: they rest on so many answers that hardly anything pulls them together, as the prior does items.
    """
    return float(np.mean([ABILITIES[model] for model in calibrated.models] - calibrated.abilities.mean))


def _held_against(work: Run, truth: dict[str, float], rewriter: SimulatedRewriter, fit: bool) -> Result:
    state, calibrated = work.state, work.calibrated
    accepted = accepted_of(state, calibrated.items)
    b_true = np.array([truth[one.item.id] for one in accepted])
    max_gap, covered = _recalibrated(calibrated, accepted, b_true) if fit else ((0.0, 0.0), [])
    gaps = {name: _gaps(state, name) for name in state.decisions}
    its_gap = [[Gap(one.figure("low"), one.figure("high"))] for one in accepted]
    rollouts = state.spent.rollouts
    full, same, lost = _full_verification(work)
    landed = {name for name in truth if name in gaps and _inside(truth[name], gaps[name])}
    kept = [one.item.id for one in accepted]
    return Result(
        max_gap=max_gap,
        rounds=len(state.rounds),
        covered=covered,
        widened=[
            _inside(b, gap, one.figure("b_sd")) for b, gap, one in zip(b_true, its_gap, accepted, strict=True)
        ],
        false=(
            sum(1 - one.figure("p_in_gap") for one in accepted),
            sum(not _inside(b, gap) for b, gap in zip(b_true, its_gap, strict=True)),
        ),
        caught={fault: _caught(state, rewriter, fault) for fault in (WRONG_KEY, DUPLICATE)},
        same=same,
        lost=lost,
        rules={
            "early dropping": Rule(rollouts, len(kept), len(landed.intersection(kept))),
            "full verification": Rule(state.spent.rollouts, len(full), len(landed.intersection(full))),
            **_peers(work, landed),
        },
    )


def _recalibrated(
    calibrated: Calibrated, accepted: Sequence[Accepted], b_true: FloatArray
) -> tuple[tuple[float, float], list[bool]]:
    """Return Max Gap before and after, and for each new item whether its 90 % interval holds the truth."""
    originals = Counts(calibrated.correct, calibrated.trials, calibrated.guessing)
    new = counts_of(tuple(accepted), len(calibrated.models))
    found = recalibrate(originals, new, calibrated.b_mean, QUICK)
    assert found.fit.draws is not None
    draws = found.fit.draws.b.reshape(-1, found.after.items)
    n = len(calibrated.items)
    # Relative to the mean ability, by which the truth's scale was moved to the calibration's.
    theta = found.fit.draws.theta.reshape(-1, len(calibrated.models)).mean(axis=1, keepdims=True)
    below = (draws[:, n:] - theta + calibrated.abilities.mean.mean() < b_true).mean(axis=0)
    max_gap = found.before.max_gap.of_estimates, found.after.max_gap.of_estimates
    return max_gap, [bool(abs(rank - 0.5) < 0.45) for rank in below]


def _full_verification(work: Run) -> tuple[list[str], tuple[int, int], int]:
    """Let the panel answer what was dropped too, and decide.

    Return the accepted, (same decisions, decisions), and how many that early dropping lost.
    """
    state, calibrated = work.state, work.calibrated
    names = tuple(verifier.name for verifier in work.verifiers)
    accepted, same, lost = [], 0, 0
    passed = _passed(state)
    strong = {names[place] for place in strong_verifiers(calibrated.abilities.mean)}
    for name in passed:
        stages = state.decisions[name]
        if DROP not in stages:
            same += 1
            if stages[VERIFY].decision == ACCEPTED:
                accepted.append(name)
            continue
        missing = [
            Job(verifier, work.items[name], trial)
            for verifier, trial in product(work.verifiers, range(1, calibrated.n_trials + 1))
            if (verifier.name, trial) not in state.answers.get(name, {})
        ]
        ask_panel(missing, lambda row: add_rollout_row(state, row))
        decision = _decide(work, name, names, strong)
        if decision.decision == ACCEPTED:
            accepted.append(name)
            lost += 1
        else:
            same += 1
    return accepted, (same, len(passed)), lost


def _decide(work: Run, name: str, names: tuple[str, ...], strong: set[str]) -> Decision:
    correct, trials = work.state.counts(name, names, work.calibrated.n_trials)
    answers = [
        answer
        for (verifier, _), answer in sorted(work.state.answers[name].items())
        if verifier in strong and answer is not None
    ]
    return decide(
        work.state.candidates[name],
        _gaps(work.state, name),
        correct,
        trials,
        work.items[name].guessing,
        work.calibrated.abilities,
        answers,
        work.settings.accept_above,
    )


def _peers(work: Run, landed: set[str]) -> dict[str, Rule]:
    """Return what two peers' rules would have kept of the same candidates; kept items are then calibrated by all."""
    state, n_trials = work.state, work.calibrated.n_trials
    passed = _passed(state)
    everybody = len(work.verifiers) * n_trials
    ability = work.calibrated.abilities.mean
    in_band = []
    for name in passed:
        candidate = state.candidates[name]
        taker = int(np.argmin(np.abs(ability - (candidate.low + candidate.high) / 2)))
        answers = state.answers[name]
        model = work.verifiers[taker].name
        rights = [answers[model, trial] for trial in range(1, n_trials + 1)]
        share = sum(bool(answer and answer.correct) for answer in rights) / n_trials
        if BAND[0] <= share <= BAND[1]:
            in_band.append(name)
    return {
        "peer: generator's word": Rule(
            len(passed) * everybody, len(passed), len(landed.intersection(passed))
        ),
        "peer: one test taker": Rule(
            len(passed) * n_trials + len(in_band) * (everybody - n_trials),
            len(in_band),
            len(landed.intersection(in_band)),
        ),
    }


def _passed(state: RunState) -> list[str]:
    return [name for name, stages in state.decisions.items() if stages[SCREEN].decision == PASSED]


def _gaps(state: RunState, name: str) -> list[Gap]:
    """Return the targets of a candidate's round."""
    number = next(iter(state.decisions[name].values())).round
    return [Gap(gap["low"], gap["high"]) for gap in state.rounds[number - 1]["targets"]]


def _inside(b: float, gaps: Sequence[Gap], margin: float = 0.0) -> bool:
    return any(gap.low - margin < b < gap.high + margin for gap in gaps)


def _caught(state: RunState, rewriter: SimulatedRewriter, fault: str) -> tuple[int, int, int]:
    names = [name for name, kind in rewriter.faults.items() if kind == fault and name in state.decisions]
    last = [last_decision(state.decisions[name]) for name in names]
    caught = sum(decision.reason in CAUGHT_AS[fault] for decision in last)
    return len(names), caught, sum(decision.decision != ACCEPTED for decision in last) - caught


def _form(item: Item) -> tuple[str, int]:
    return item.answer_type, len(item.choices)


def _pass_rates(calibrated: Calibrated) -> dict[str, float]:
    rates: FloatArray = calibrated.correct.sum(axis=0) / calibrated.trials.sum(axis=0)
    return {item.id: float(rate) for item, rate in zip(calibrated.items, rates, strict=True)}
