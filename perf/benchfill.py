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
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from irt.command import run
from irt.settings import available_cpus
from perf.bars import Bar, print_bars
from perf.benchfill_runs import CASES, DUPLICATE, FAULTS, FILL, RANDOM, WRONG_KEY, Result, one_seed


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


def print_verdict(found: dict[tuple[str, int], list[Result]]) -> bool:
    """Print what is asked for beside what was measured; return whether all is met."""
    bars: list[Bar] = []
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
        bars += [
            Bar(f"Max Gap ratio, median, {trials} trials", ratio, 0.0, most),
            Bar(f"accepted in the widened gap, {trials} trials", widened, 0.90, 1.0),
            Bar(f"false landings, true against reported (z), {trials} trials", z, -2.0, 2.0),
            Bar(f"new items in their 90 % interval, {trials} trials", covered, 0.85, 0.95),
            Bar(f"rollouts saved by early dropping, {trials} trials", 1 - early / full, 0.55, 1.0),
            Bar(f"same decisions, {trials} trials", same / decisions, 0.98, 1.0),
        ]
    for fault in (WRONG_KEY, DUPLICATE):
        made, caught, _ = np.sum([result.caught[fault] for result in found[FAULTS, 4]], axis=0)
        bars.append(Bar(f"{fault} caught", caught / made, 0.95, 1.0))
    print("\n4. Bars")
    return print_bars(bars)


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
    met = print_verdict(found)
    print(f"\n{time.monotonic() - started:.0f} s")
    return 0 if met else 1


if __name__ == "__main__":
    run(main)
