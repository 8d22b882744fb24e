"""Does BenchFill fill gaps, and at what cost? The loop itself, in one process, against the truth the simulator knows.

A simulated benchmark of 40 items has a gap of 2 in b planted in it; twelve examinees calibrate it, the rewriter writes
items too hard by 0.5 in b, give or take 1.5 (an sd), and the loop does the rest. What is true of an item is its
true difficulty on the scale of the calibration (moved by the mean error of the abilities).

Table 1: Max Gap of the estimates after a run relative to before; accepted items that are truly in a target gap of their
round widened by one posterior sd; the number of false landings that a run reports (sum of 1 - P) beside the true one;
how many 90 % intervals of the joint fit hold the truth of a new item.
Table 2: candidates with a wrong key or that repeat an item, made on purpose, a fifth of all each: how many were caught
as what they are (a wrong key as unsolved or suspect_key, a repetition as duplicate), how many were rejected for another
reason, such as a difficulty out of the gap, and how many were accepted.
Table 3: rollouts for each item that truly lies in a target gap of its round, the full answers with which every accepted
item is calibrated included. Full verification lets the panel answer every candidate that passes the screen; early
dropping is what BenchFill does; "same decisions" compares the two, candidate by candidate. The rules of two peers
decide on the same candidates: keep whatever the generator's own estimate says lands, which is all; and keep what one
test taker, the one nearest to the gap, gets right in 10 % to 90 % of its trials. Random parents: items drawn from the
pool, rewritten at their own pass rate and without feedback, accepted by BenchFill's rule.
Last, each bar with what was measured. It ends with 1 where one is missed.

Examples:
  python perf/benchfill.py              # 20 seeds, a quarter of an hour on 2 cores
  python perf/benchfill.py --seeds 2    # a quick look
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from irt.arrays import FloatArray
from irt.command import run
from irt.settings import available_cpus
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


def _form(item: object) -> tuple[object, ...]:
    return getattr(item, "answer_type"), len(getattr(item, "choices"))  # noqa: B009


def _pass_rates(calibrated: Calibrated) -> dict[str, float]:
    rates: FloatArray = calibrated.correct.sum(axis=0) / calibrated.trials.sum(axis=0)
    return {item.id: float(rate) for item, rate in zip(calibrated.items, rates, strict=True)}


# Tables -----------------------------------------------------------------------------------------------------------


def share(values: Sequence[bool]) -> str:
    """Return a share in per cent with its number."""
    return f"{np.mean(values):6.1%} of {len(values):,}" if values else "none"


def print_filling(found: dict[tuple[str, int], list[Result]]) -> None:
    """Print table 1."""
    print("1. Filling")
    print(
        f"{'trials':>6}{'runs':>6}{'Max Gap before':>16}{'after':>8}{'ratio, median':>15}{'worst':>8}{'rounds':>8}"
        f"{'accepted':>10}{'in widened gap':>20}{'false: reported':>17}{'true':>7}{'in 90 %':>18}"
    )
    for (case, trials), results in found.items():
        if case != FILL:
            continue
        before, after = np.array([result.max_gap for result in results]).T
        reported, true = np.array([result.false for result in results]).sum(axis=0)
        print(
            f"{trials:6}{len(results):6}{np.median(before):16.3f}{np.median(after):8.3f}"
            f"{np.median(after / before):15.2f}{(after / before).max():8.2f}"
            f"{np.mean([result.rounds for result in results]):8.1f}"
            f"{np.mean([len(result.covered) for result in results]):10.1f}"
            f"{share([one for result in results for one in result.widened]):>20}{reported:17.1f}{true:7.0f}"
            f"{share([one for result in results for one in result.covered]):>18}"
        )


def print_faults(results: list[Result]) -> None:
    """Print table 2."""
    print("\n2. Faults made on purpose")
    print(f"{'fault':14}{'made':>7}{'caught as it':>14}{'rejected otherwise':>20}{'accepted':>10}")
    for fault in (WRONG_KEY, DUPLICATE):
        made, caught, otherwise = np.sum([result.caught[fault] for result in results], axis=0)
        print(
            f"{fault:14}{made:7,}{caught / made:14.1%}{otherwise / made:20.1%}{made - caught - otherwise:10,}"
        )


def print_cost(found: dict[tuple[str, int], list[Result]]) -> None:
    """Print table 3."""
    print("\n3. Cost")
    print(
        f"{'rule':26}{'trials':>7}{'rollouts':>11}{'kept':>7}{'truly landed':>14}{'share':>8}{'rollouts a landed':>19}"
        f"{'same decisions':>17}"
    )
    for (case, trials), results in found.items():
        if case == FAULTS:
            continue
        for rule in results[0].rules if case == FILL else ("early dropping",):
            rollouts, kept, landed = np.sum([result.rules[rule] for result in results], axis=0)
            same, decisions = np.sum([result.same for result in results], axis=0)
            name = "random parents" if case == RANDOM else rule
            agreed = f"{same / decisions:17.1%}" if rule == "early dropping" else ""
            print(
                f"{name:26}{trials:7}{rollouts:11,}{kept:7,}{landed:14,}{landed / max(kept, 1):8.1%}"
                f"{rollouts / max(landed, 1):19,.0f}{agreed}"
            )
        if case == FILL:
            early, full = (
                sum(result.rules[rule].rollouts for result in results)
                for rule in ("early dropping", "full verification")
            )
            lost = sum(result.lost for result in results)
            print(f"{'':26}early dropping saves {1 - early / full:.1%} and loses {lost} accepted items")


def print_bars(found: dict[tuple[str, int], list[Result]]) -> bool:
    """Print what is asked for beside what was measured; return whether all is met."""
    rows: list[tuple[str, float, float, float]] = []  # what, measured, at least, at most
    for trials, most in ((4, 0.45), (8, 0.30)):
        results = found[FILL, trials]
        ratio = float(np.median([result.max_gap[1] / result.max_gap[0] for result in results]))
        widened = float(np.mean([one for result in results for one in result.widened]))
        covered = float(np.mean([one for result in results for one in result.covered]))
        reported, true = np.array([result.false for result in results]).T
        # Independent runs: how far their sum may be off by chance.
        z = float((true - reported).sum() / np.sqrt(((true - reported) ** 2).sum()))
        early, full = (
            sum(result.rules[rule].rollouts for result in results)
            for rule in ("early dropping", "full verification")
        )
        same, decisions = np.sum([result.same for result in results], axis=0)
        rows += [
            (f"Max Gap ratio, median, {trials} trials", ratio, 0.0, most),
            (f"accepted in the widened gap, {trials} trials", widened, 0.90, 1.0),
            (f"false landings, true against reported (z), {trials} trials", z, -2.0, 2.0),
            (f"new items in their 90 % interval, {trials} trials", covered, 0.85, 0.95),
            (f"rollouts saved by early dropping, {trials} trials", 1 - early / full, 0.55, 1.0),
            (f"same decisions, {trials} trials", same / decisions, 0.98, 1.0),
        ]
    for fault in (WRONG_KEY, DUPLICATE):
        made, caught, _ = np.sum([result.caught[fault] for result in found[FAULTS, 4]], axis=0)
        rows.append((f"{fault} caught", caught / made, 0.95, 1.0))
    print("\n4. Bars")
    for what, measured, least, most in rows:
        verdict = "ok" if least <= measured <= most else "NO"
        print(f"{what:62}{measured:8.3f}   {least:g} to {most:g}   {verdict}")
    return all(least <= measured <= most for _, measured, least, most in rows)


def main() -> int:
    """Run all cases, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, help="simulated benchmarks a case (%(default)s)")
    args = parser.parse_args()
    if args.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {args.seeds}")
    started = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(available_cpus(), args.seeds), mp_context=context) as pool:
        by_seed = list(pool.map(one_seed, range(args.seeds)))
    found = {case: [results[case] for results in by_seed] for case in CASES}
    print_filling(found)
    print_faults(found[FAULTS, 4])
    print_cost(found)
    met = print_bars(found)
    print(f"\n{time.monotonic() - started:.0f} s")
    return 0 if met else 1


if __name__ == "__main__":
    run(main)
