"""Show where a run of BenchFill stands; also while it runs, as only its journals are read.

Input   the run's folder in BENCHFILL_RESULTS (propose/results), and the benchmark's calibration in BENCHFILL_DATA.
Output  why the last start ended, or when it last wrote; rounds; gaps before and now, and which of them the panel
        cannot resolve; candidates by state and reason; what was spent, and what an accepted item costs; how many of the
        accepted are expected to lie outside their gap (the sum of 1 − P); the caps in force, and what is left.

Examples:
  python -m propose.status aime25 first
  python -m propose.status aime25 first --json
"""

from __future__ import annotations

import argparse
import datetime
from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from irt.arrays import FloatArray
from irt.command import CommandParser, packages_of, print_json, printable, run
from irt.difficulty import Gap, normalize, widest_gaps
from propose.calibrated import Calibrated
from propose.candidate import PASSED, REASONS, REJECTED, last_decision
from propose.config import Config, read_config
from propose.run import read_inputs
from propose.run_folder import RunFolder, RunState, folder_of, read_state
from propose.starts import Start, caps_in_force, read_starts

SHOWN_GAPS = 3


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.status"
    parser.add_argument("benchmark", help="its name")
    parser.add_argument("run", help="the run's name")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def main() -> int:
    """Read and print."""
    arguments = parse_arguments()
    folder = folder_of(arguments.benchmark, arguments.run)
    config = read_config(folder)
    calibrated = read_inputs(folder, config)
    found = status(folder, config, calibrated)
    if arguments.json:
        print_json(found)
    else:
        print_status(found)
    return 0


def status(folder: RunFolder, config: Config, calibrated: Calibrated) -> dict[str, Any]:
    """Return all figures.

    ``last_start`` is None before the first, its ``ending`` None while it runs or if it was killed. The cost of an
    accepted item is None where none is accepted, a cap None where there is none. Gaps are on the scale of the originals
    (z: 0 is the easiest, 1 the hardest) with their edges in b, too.
    """
    settings, state, starts = config.settings, read_state(folder), read_starts(folder.starts)
    originals = calibrated.b_mean
    max_rollouts, max_tokens = caps_in_force(settings, starts)
    last = {name: last_decision(stages) for name, stages in state.decisions.items()}
    undecided = [name for name in state.candidates if name not in last]
    verifying = [name for name, one in last.items() if one.decision == PASSED]
    reasons = Counter(one.reason for one in last.values() if one.decision == REJECTED)
    b_new = [one.figures["b_mean"] for one in state.accepted]
    b = np.clip(b_new, originals.min(), originals.max())
    spent, made = state.spent, len(b_new)
    return {
        "benchmark": settings.benchmark,
        "run": settings.run,
        "simulated": config.simulated,
        "starts": len(starts),
        "last_start": _start_fields(starts[-1]) if starts else None,
        "last_row": _last_row(folder),
        "rounds": {"done": len(state.rounds), "of": settings.max_rounds},
        "gaps_before": _gaps(originals, originals),
        "gaps_now": _gaps(np.concatenate([originals, b]), originals),
        "unresolvable": _unresolvable(config, state, calibrated),
        "candidates": {
            "written": len(state.candidates),
            "to screen": len(undecided),
            "with the panel": len(verifying),
            "accepted": made,
            "rejected": sum(reasons.values()),
        },
        "reasons": {reason: reasons[reason] for reason in REASONS if reasons[reason]},
        "rollouts": spent.rollouts,
        "tokens": {"panel": spent.panel_tokens, "rewriter": spent.rewriter_tokens},
        "per_accepted_item": {
            "rollouts": round(spent.rollouts / made, 1) if made else None,
            "tokens": round(spent.tokens / made) if made else None,
        },
        "expected_false_landings": round(state.expected_false_landings, 3),
        "caps": {"rollouts": max_rollouts, "tokens": max_tokens},
        "left": {
            "rounds": settings.max_rounds - len(state.rounds),
            "rollouts": None if max_rollouts is None else max(0, max_rollouts - spent.rollouts),
            "tokens": None if max_tokens is None else max(0, max_tokens - spent.tokens),
        },
    }


def print_status(found: dict[str, Any]) -> None:
    """Print the figures for people."""
    simulated = " (simulated)" if found["simulated"] else ""
    print(f"{found['benchmark']}, run {found['run']}{simulated}")
    print(printable(_start_line(found)))
    print(f"Rounds: {found['rounds']['done']} of {found['rounds']['of']}")
    for title, name in (("before", "gaps_before"), ("now", "gaps_now")):
        gaps = ", ".join(
            f"{gap['width']:.3f} (b {gap['low']:.2f} to {gap['high']:.2f})" for gap in found[name]
        )
        print(f"Widest gaps {title}: {gaps}")
    if found["unresolvable"]:
        shown = found["unresolvable"][:SHOWN_GAPS]
        gaps = ", ".join(f"b {gap['low']:.2f} to {gap['high']:.2f}" for gap in shown)
        more = len(found["unresolvable"]) - len(shown)
        gaps += f" and {more} narrower ones" if more else ""
        print(
            f"Too narrow for the panel to resolve: {gaps}; more trials or verifiers nearer to them would help"
        )
    print("Candidates: " + ", ".join(f"{count} {state}" for state, count in found["candidates"].items()))
    for reason, count in found["reasons"].items():
        print(f"  {count:5} {reason:11} {REASONS[reason]}")
    tokens = found["tokens"]
    print(
        f"Spent: {found['rollouts']:,} answers of the panel, {tokens['panel']:,} tokens by it and "
        f"{tokens['rewriter']:,} by the rewriter"
    )
    cost = found["per_accepted_item"]
    if cost["rollouts"] is not None:
        print(f"An accepted item: {cost['rollouts']:,} answers, {cost['tokens']:,} tokens")
        print(
            f"Of {found['candidates']['accepted']} accepted, {found['expected_false_landings']:.1f} are expected to "
            "lie outside their gap"
        )
    left, cap = found["left"], found["caps"]
    caps = [
        f"{left[name]:,} of at most {cap[name]:,} {what}"
        for name, what in (("rollouts", "answers"), ("tokens", "tokens"))
        if cap[name] is not None
    ] or ["no cap of answers or tokens"]
    print("Left: " + ", ".join([f"{left['rounds']} round{'s' if left['rounds'] != 1 else ''}", *caps]))


def _start_line(found: dict[str, Any]) -> str:
    start = found["last_start"]
    if start is None:
        return "Not started yet"
    if start["ending"] is None:
        return (
            f"Started {start['time']}, and has not ended: it is running, or was killed; last row written "
            f"{found['last_row']}"
        )
    return f"Ended {start['ending']['time']}: {start['ending']['detail']}"


def _start_fields(start: Start) -> dict[str, Any]:
    return vars(start) | {"ending": start.ending and vars(start.ending)}


def _last_row(folder: RunFolder) -> str | None:
    """Return when a journal was last written to; None if there is none."""
    written = [path.stat().st_mtime for path in folder.path.glob("*.jsonl")]
    if not written:
        return None
    return datetime.datetime.fromtimestamp(max(written), datetime.UTC).isoformat(timespec="seconds")


def _unresolvable(config: Config, state: RunState, calibrated: Calibrated) -> list[dict[str, float]]:
    """Return the gaps that the next round would be aimed at, if the panel could resolve them, widest first."""
    with packages_of("requirements_verifier.txt"):
        from propose.candidate_items import candidate_items
        from propose.panel_tables import PanelTables, panel_tables
        from propose.round_plan import plan_round

    @cache
    def tables_of(guessing: float) -> PanelTables:
        return panel_tables(calibrated.abilities, calibrated.n_trials, guessing)

    plan = plan_round(
        len(state.rounds) + 1,
        config.settings,
        calibrated,
        state.candidates,
        state.decisions,
        candidate_items(state.candidates.values(), calibrated.items),
        tables_of,
        lambda brief: "",
    )
    return [{"width": gap.width, "low": gap.low, "high": gap.high} for gap in plan.targets.unresolvable]


def _gaps(b: FloatArray, originals: FloatArray) -> list[dict[str, float]]:
    low, span = float(originals.min()), float(np.ptp(originals))

    def fields(gap: Gap) -> dict[str, float]:
        return {"width": gap.width, "low": low + span * gap.lower, "high": low + span * gap.upper}

    return [fields(gap) for gap in widest_gaps(normalize(b.tolist()), SHOWN_GAPS)]


if __name__ == "__main__":
    run(main)
