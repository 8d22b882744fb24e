"""Show where a run of BenchFill stands; also while it runs, as only its journals are read.

Input   the run's folder in BENCHFILL_RESULTS (propose/results), and the benchmark's calibration in BENCHFILL_DATA.
Output  rounds, gaps before and now, candidates by state and reason, what was spent, what an accepted item costs, how
        many of the accepted are expected to lie outside their gap (the sum of 1 − P), and what is left.

Examples:
  python -m propose.status aime25 first
  python -m propose.status aime25 first --json
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

import numpy as np

from irt.arrays import FloatArray
from irt.command import CommandParser, run
from irt.difficulty import Gap, normalize, widest_gaps
from propose.candidate import ACCEPTED, DROP, PASSED, REASONS, REJECTED, SCREEN, VERIFY, Decision
from propose.run import read_inputs
from propose.run_folder import Config, RunState, folder_of, read_config, read_state

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
    found = status(config, read_state(folder), calibrated.b_mean)
    if arguments.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print_status(found)
    return 0


def status(config: Config, state: RunState, originals: FloatArray) -> dict[str, Any]:
    """Return all figures; ``cost`` per accepted item is None where none is accepted.

    Gaps are on the scale of the originals (z: 0 is the easiest, 1 the hardest) with their edges in b, too.
    """
    settings = config.settings
    last = {name: _last(stages) for name, stages in state.decisions.items()}
    accepted = [one for _, one in sorted(last.items()) if one.decision == ACCEPTED]
    undecided = [name for name in state.candidates if name not in last]
    verifying = [name for name, one in last.items() if one.decision == PASSED]
    reasons = Counter(one.reason for one in last.values() if one.decision == REJECTED)
    b = np.clip([one.figures["b_mean"] for one in accepted], originals.min(), originals.max())
    spent, made = state.spent, len(accepted)
    return {
        "benchmark": settings.benchmark,
        "run": settings.run,
        "simulated": config.simulated,
        "rounds": {"done": len(state.rounds), "of": settings.max_rounds},
        "gaps_before": _gaps(originals, originals),
        "gaps_now": _gaps(np.concatenate([originals, b]), originals),
        "unresolvable": state.rounds[-1]["unresolvable"] if state.rounds else [],
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
        "expected_false_landings": round(sum(1 - one.figures["p_in_gap"] for one in accepted), 3),
        "left": {
            "rounds": settings.max_rounds - len(state.rounds),
            "rollouts": settings.max_rollouts and max(0, settings.max_rollouts - spent.rollouts),
            "tokens": settings.max_tokens and max(0, settings.max_tokens - spent.tokens),
        },
    }


def print_status(found: dict[str, Any]) -> None:
    """Print the figures for people."""
    simulated = " (simulated)" if found["simulated"] else ""
    print(f"{found['benchmark']}, run {found['run']}{simulated}")
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
    left = found["left"]
    caps = [
        f"{left[name]:,} {what}"
        for name, what in (("rollouts", "answers"), ("tokens", "tokens"))
        if left[name] is not None
    ]
    print("Left: " + ", ".join([f"{left['rounds']} rounds", *caps]))


def _last(stages: dict[str, Decision]) -> Decision:
    return next(stages[stage] for stage in (VERIFY, DROP, SCREEN) if stage in stages)


def _gaps(b: FloatArray, originals: FloatArray) -> list[dict[str, float]]:
    low, span = float(originals.min()), float(np.ptp(originals))

    def fields(gap: Gap) -> dict[str, float]:
        return {"width": gap.width, "low": low + span * gap.lower, "high": low + span * gap.upper}

    return [fields(gap) for gap in widest_gaps(normalize(b.tolist()), SHOWN_GAPS)]


if __name__ == "__main__":
    run(main)
