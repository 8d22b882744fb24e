"""The loop of BenchFill: targets, candidates, screen, waves, decisions, round after round.

A round is planned (round_plan.py), its candidates are written and screened (screening_stage.py), and verified
(verifying_stage.py). What these share, and the two callables by which they reach the world, is in loop_run.py.

Where it stands is read from the rows alone, and everything between two questions is computed from them the same way
each time. So it can be ended anywhere, and goes on with what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from propose.candidate import ACCEPTED, last_decision
from propose.candidate_items import candidate_items
from propose.loop_run import Ending, Run, Stop
from propose.panel_tables import PanelTables, panel_tables
from propose.round_plan import RoundPlan, plan_round
from propose.screening_stage import screen, write_candidates
from propose.settings import Settings
from propose.targets import Gap
from propose.verifying_stage import verify


def run_rounds(run: Run) -> Ending:
    """Go on from where the state stands until the rounds, the targets or a cap are used up; return why it ended."""
    pool = run.calibrated.items
    run.items.update(candidate_items(run.state.candidates.values(), pool))

    @lru_cache
    def tables_of(guessing: float) -> PanelTables:
        return panel_tables(run.calibrated.abilities, run.calibrated.n_trials, guessing)

    try:
        for number in range(len(run.state.rounds) + 1, run.settings.max_rounds + 1):
            state = run.state
            plan = plan_round(
                number,
                run.settings,
                run.calibrated,
                state.candidates,
                state.decisions,
                run.items,
                tables_of,
                run.render,
            )
            if not plan.jobs:
                return Ending("no_target", no_target_text(plan.targets.unresolvable))
            run.say(_opening(number, run.settings, plan))
            write_candidates(run, plan.jobs)
            passed = screen(run, plan.jobs)
            verify(run, plan, passed, tables_of)
            _finish(run, number, plan)
    except Stop as stop:
        return stop.ending
    return Ending("max_rounds", f"all {run.settings.max_rounds} rounds are done")


def no_target_text(unresolvable: Sequence[Gap]) -> str:
    """Return why no gap is a target, and what would help."""
    if not unresolvable:
        return "no gap is left"
    widest = unresolvable[0]
    return (
        f"the panel cannot resolve any gap that is left: in the widest, b {widest.low:.2f} to {widest.high:.2f}, "
        "no answers would put half of an item's probability inside; more trials, or verifiers whose ability is "
        "near it, would help"
    )


def _finish(run: Run, number: int, plan: RoundPlan) -> None:
    """Write the row of a round that is done."""
    last = [last_decision(run.state.decisions[job.id]) for job in plan.jobs]
    accepted = [decision.id for decision in last if decision.decision == ACCEPTED]
    reasons = Counter(decision.reason for decision in last if decision.decision != ACCEPTED)
    row = {
        "round": number,
        "targets": [_gap_fields(gap) for gap in plan.targets.gaps],
        "unresolvable": [_gap_fields(gap) for gap in plan.targets.unresolvable],
        "candidates": len(plan.jobs),
        "reasons": dict(sorted(reasons.items())),
        "accepted": accepted,
        "rollouts": run.state.spent.rollouts,
        "tokens": run.state.spent.tokens,
    }
    run.journals.rounds(row)
    run.state.rounds.append(row)
    run.say(f"  {len(accepted)} of {len(plan.jobs)} accepted; {run.state.spent.rollouts:,} answers so far")


def _gap_fields(gap: Gap) -> Mapping[str, float]:
    return {"low": gap.low, "high": gap.high, "width": gap.width}


def _opening(number: int, settings: Settings, plan: RoundPlan) -> str:
    gaps = ", ".join(f"b {gap.low:.2f} to {gap.high:.2f}" for gap in plan.targets.gaps)
    left = len(plan.targets.unresolvable)
    note = f"; {left} more gaps are too narrow for the panel to resolve" if left else ""
    return f"round {number} of {settings.max_rounds}: {len(plan.jobs)} candidates for {gaps}{note}"
