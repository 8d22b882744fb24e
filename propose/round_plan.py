"""What a round asks the rewriter: made from the state at its start alone, so that a resumed round asks the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from irt.arrays import FloatArray
from irt.io import InputError
from propose.calibrated import Calibrated
from propose.candidate import (
    ACCEPTED,
    DROP,
    REJECTED,
    SCREEN,
    VERIFY,
    Brief,
    Candidate,
    Decision,
    Miss,
    RewriterJob,
    candidate_id,
    last_decision,
    seed_of,
)
from propose.panel_tables import PanelTables
from propose.settings import Settings
from propose.targets import Gap, Targets, aims, choose_targets, gaps_of, parents_for, pass_rate
from verifier.items import Item

MOST_MISSES = 6
# Fewer answers say too little about what a candidate's pass rate is.
CLEAREST_SD = 0.5
NEIGHBOURS = 2


@dataclass(frozen=True)
class RoundPlan:
    """The targets of a round, and the jobs that ask for its candidates."""

    targets: Targets
    jobs: tuple[RewriterJob, ...]


def plan_round(
    number: int,
    settings: Settings,
    calibrated: Calibrated,
    candidates: Mapping[str, Candidate],
    decisions: Mapping[str, Mapping[str, Decision]],
    items: Mapping[str, Item],
    tables_of: Callable[[float], PanelTables],
    render: Callable[[Brief], str],
) -> RoundPlan:
    """Return the targets and the jobs of a round; no jobs where there is no target.

    Parameters
    ----------
    decisions
        Of all candidates; those of this round and later ones do not count.
    items
        Of the candidates that are well-formed.
    tables_of
        Gives the panel's tables for a guessing probability.

    Raises
    ------
    InputError
        If a candidate that went to the panel is not well-formed.
    """
    _check_items(decisions, items)
    # By id: replies come in any order.
    earlier = {name: candidates[name] for name in sorted(candidates) if candidates[name].round < number}
    final = {name: last_decision(decisions[name]) for name in earlier if decisions.get(name)}
    accepted = [name for name, decision in final.items() if decision.decision == ACCEPTED]
    pool = list(calibrated.items) + [items[name] for name in accepted]
    b = np.concatenate([calibrated.b_mean, [final[name].figures["b_mean"] for name in accepted]])

    def tables_at(gap: Gap) -> PanelTables:
        return tables_of(min(pool[place].guessing for place in parents_for(gap, b, settings.parents)))

    gaps = gaps_of(calibrated.b_mean, b[len(calibrated.items) :])
    targets = choose_targets(gaps, settings.gaps, tables_at, settings.accept_above)
    guessing = {name: items[name].guessing for name in final if name in items}
    measured = [
        (earlier[name], decision.figures["b_mean"])
        for name, decision in final.items()
        if decision.stage in (DROP, VERIFY)
        and decision.reason not in ("suspect_key", "not_judged")
        and decision.figures["b_sd"] <= CLEAREST_SD
    ]
    jobs = []
    for gap_number, gap in enumerate(targets.gaps, 1):
        for parent_number, place in enumerate(parents_for(gap, b, settings.parents), 1):
            parent = pool[place]
            near = [other for other in parents_for(gap, b, NEIGHBOURS + 1) if other != place][:NEIGHBOURS]
            for child, aim in enumerate(aims(gap, settings.children), 1):
                brief = Brief(
                    benchmark=settings.benchmark,
                    parent=parent,
                    parent_pass_rate=_pass_rate(calibrated, b, place, parent),
                    target_pass_rate=pass_rate(aim, calibrated.abilities, parent.guessing),
                    neighbours=tuple(
                        (pool[other], _pass_rate(calibrated, b, other, pool[other])) for other in near
                    ),
                    misses=_misses(measured, aim, calibrated, guessing),
                )
                name = candidate_id(number, gap_number, parent_number, child)
                jobs.append(_job(name, number, gap_number, gap, aim, brief, settings, render(brief)))
    return RoundPlan(targets, tuple(jobs))


def _check_items(decisions: Mapping[str, Mapping[str, Decision]], items: Mapping[str, Item]) -> None:
    for name, stages in decisions.items():
        passed = SCREEN not in stages or stages[SCREEN].decision != REJECTED
        if passed and name not in items:
            raise InputError(
                f"candidates.jsonl: candidate {name!r} went to the panel, and its reply holds no item; restore it from "
                "a copy, or init a new run"
            )


def _job(
    name: str,
    number: int,
    gap_number: int,
    gap: Gap,
    aim: float,
    brief: Brief,
    settings: Settings,
    prompt: str,
) -> RewriterJob:
    seed = seed_of(settings.benchmark, settings.run, name, 0)
    head = {
        "kind": "candidate",
        "id": name,
        "round": number,
        "gap": gap_number,
        "low": gap.low,
        "high": gap.high,
        "target_b": aim,
        "target_pass_rate": brief.target_pass_rate,
        "parent": brief.parent.id,
        "prompt": prompt,
    }
    return RewriterJob(name, 0, ({"role": "user", "content": prompt},), seed, head)


def _pass_rate(calibrated: Calibrated, b: FloatArray, place: int, item: Item) -> float:
    return pass_rate(float(b[place]), calibrated.abilities, item.guessing)


def _misses(
    measured: Sequence[tuple[Candidate, float]],
    aim: float,
    calibrated: Calibrated,
    guessing: Mapping[str, float],
) -> tuple[Miss, ...]:
    """Return the earlier candidates that were aimed nearest to ``aim``, of equally near ones the latest."""
    nearest = sorted(
        measured, key=lambda one: (round(abs(one[0].target_b - aim), 3), -one[0].round, one[0].id)
    )
    return tuple(
        Miss(made.target_pass_rate, pass_rate(landed, calibrated.abilities, guessing[made.id]))
        for made, landed in nearest[:MOST_MISSES]
    )
