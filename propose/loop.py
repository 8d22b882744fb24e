"""The loop of BenchFill: targets, candidates, screen, waves, decisions, round after round.

It talks to the world through plain callables, so that a simulation can run it in one process:

ask_rewriter(jobs, append)   asks every job and calls ``append(row)`` for each reply as it comes; ``append`` may be
                             called from one thread only. A request that came to nothing is a row with its ``error``.
                             The row is ``job.head`` and the fields of a reply, see propose/candidate.py; a solution is
                             graded against ``job.item`` before its row is written.
ask_panel(jobs, append)      asks every verifier.trials.Job, grades, and appends verifier.trials' answer and verdict
                             rows. Returns why each verifier that was stopped was stopped, by name.

Where it stands is read from the rows alone, and everything between two questions is computed from them the same way
each time. So it can be ended anywhere, and goes on with what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from propose.calibrated import Calibrated
from propose.candidate import (
    ACCEPTED,
    DROP,
    PASSED,
    REJECTED,
    SCREEN,
    VERIFY,
    Brief,
    Candidate,
    Decision,
    RewriterJob,
    decision_row,
    seed_of,
)
from propose.candidate_items import candidate_items, read_item
from propose.deciding import PanelAnswer, decide, strong_verifiers
from propose.near_duplicates import NearDuplicates
from propose.panel_tables import PanelTables, panel_tables
from propose.parsing import Unusable
from propose.prompting import rewrite_prompt
from propose.round_plan import RoundPlan, plan_round
from propose.run_folder import (
    Journals,
    RunState,
    add_candidate_row,
    add_decision,
    add_rollout_row,
)
from propose.screening import screen_item, screen_solutions
from propose.settings import Settings
from propose.targets import Gap
from propose.waves import order_of_verifiers, predictive_probability
from verifier.items import Item
from verifier.journal import Append
from verifier.new_item import new_item_difficulties
from verifier.panel import Verifier
from verifier.prompts import messages
from verifier.trials import Job

AskRewriter = Callable[[Sequence[RewriterJob], Append], None]
AskPanel = Callable[[Sequence[Job], Append], dict[str, str]]

ATTEMPTS = 2  # at a request that came to nothing, each with the client's own retries


@dataclass(frozen=True)
class Ending:
    """Why a run ended.

    Attributes
    ----------
    reason
        ``max_rounds``; ``no_target``: no gap is left that the panel can resolve; ``max_rollouts``, ``max_tokens``: a
        cap; ``rewriter``, ``verifier``: it does not answer.
    detail
        What a reader should know, and what to do about it.
    """

    reason: str
    detail: str

    @property
    def is_failure(self) -> bool:
        """Whether it ended because something does not work."""
        return self.reason in ("rewriter", "verifier")


@dataclass(frozen=True)
class Run:
    """What the loop works with.

    Attributes
    ----------
    verifiers
        In the order of the rows of the matrix.
    rewriter_max_tokens
        The most that one reply of the rewriter may take.
    say
        Takes a line of progress.
    """

    settings: Settings
    calibrated: Calibrated
    state: RunState
    journals: Journals
    verifiers: tuple[Verifier, ...]
    rewriter_max_tokens: int
    ask_rewriter: AskRewriter
    ask_panel: AskPanel
    say: Callable[[str], None]
    render: Callable[[Brief], str] = rewrite_prompt
    items: dict[str, Item] = field(default_factory=dict)


class _Stop(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.ending = Ending(reason, detail)


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
            _write_candidates(run, plan)
            passed = _screen(run, plan)
            _verify(run, plan, passed, tables_of)
            _finish(run, number, plan)
    except _Stop as stop:
        return stop.ending
    return Ending("max_rounds", f"all {run.settings.max_rounds} rounds are done")


def no_target_text(unresolvable: Sequence[Gap]) -> str:
    """Return why no gap is a target, and what would help."""
    if not unresolvable:
        return "no gap is left"
    widest = unresolvable[0]
    return (
        f"the panel cannot resolve any gap that is left: in the widest, b {widest.low:.2f} to {widest.high:.2f}, "
        "hardly any answers would put half of an item's probability inside; more trials, or verifiers whose ability is "
        "near it, would help"
    )


# The rewriter -----------------------------------------------------------------------------------------------------


def _write_candidates(run: Run, plan: RoundPlan) -> None:
    _ask_rewriter(run, plan.jobs, lambda job: job.id in run.state.candidates or job.id in run.state.decisions)


def _ask_rewriter(run: Run, jobs: Sequence[RewriterJob], has: Callable[[RewriterJob], bool]) -> None:
    """Ask what is missing; a request that failed is tried again once, and then given up."""
    error = ""

    def append(row: dict[str, Any]) -> None:
        nonlocal error
        error = row["error"] or error
        run.journals.candidates(row)
        add_candidate_row(run.state, row)

    for _ in range(ATTEMPTS):
        missing = [job for job in jobs if not has(job)]
        rest = missing
        while rest:
            room = _room_for_tokens(run, run.rewriter_max_tokens)
            run.ask_rewriter(rest[:room], append)
            rest = rest[room:]
        if len(missing) > 1 and not any(map(has, missing)):
            raise _Stop("rewriter", f"the rewriter answered none of {len(missing)} requests: {error}")


def _screen(run: Run, plan: RoundPlan) -> list[str]:
    """Decide which candidates the panel will see; return their ids."""
    known = {item.id: item for item in run.calibrated.items} | run.items
    this_round = {job.id for job in plan.jobs}
    index = NearDuplicates(run.calibrated.items)
    for name in sorted(set(run.items) - this_round):
        index.add(run.items[name])
    to_solve: list[tuple[Candidate, Item]] = []
    for job in plan.jobs:
        candidate = run.state.candidates.get(job.id)
        if candidate is None:
            _decide(run, Decision(job.id, job.head["round"], SCREEN, REJECTED, "no_reply"))
            continue
        item = read_item(candidate, known)
        if isinstance(item, Unusable):
            _decide(run, _rejected(candidate, item.reason, item.detail))
            continue
        run.items[candidate.id] = item
        match = index.find(item)
        index.add(item)
        if match is not None:
            _decide(run, _rejected(candidate, "duplicate", str(match)))
        elif (unfit := screen_item(item, run.settings.benchmark)) is not None:
            _decide(run, _rejected(candidate, *unfit))
        else:
            to_solve.append((candidate, item))
    undecided = [pair for pair in to_solve if SCREEN not in run.state.decisions.get(pair[0].id, {})]
    jobs = [
        _solution_job(run, candidate, item, number)
        for candidate, item in undecided
        for number in range(1, run.settings.solutions + 1)
    ]
    _ask_rewriter(run, jobs, lambda job: job.number in run.state.solutions.get(job.id, {}))
    for candidate, item in undecided:
        solutions = run.state.solutions.get(candidate.id, {})
        unsolved = (
            screen_solutions(item, [solutions[number] for number in sorted(solutions)])
            if run.settings.solutions
            else None
        )
        if unsolved is not None:
            _decide(run, _rejected(candidate, *unsolved))
        else:
            _decide(run, Decision(candidate.id, candidate.round, SCREEN, PASSED))
    stages = run.state.decisions
    return [job.id for job in plan.jobs if stages[job.id][SCREEN].decision == PASSED]


def _solution_job(run: Run, candidate: Candidate, item: Item, number: int) -> RewriterJob:
    return RewriterJob(
        id=candidate.id,
        number=number,
        messages=tuple(messages(item)),
        seed=seed_of(run.settings.benchmark, run.settings.run, candidate.id, number),
        head={"kind": "solution", "id": candidate.id, "number": number},
        item=item,
    )


def _rejected(candidate: Candidate, reason: str, detail: str) -> Decision:
    return Decision(candidate.id, candidate.round, SCREEN, REJECTED, reason, detail)


# The panel --------------------------------------------------------------------------------------------------------


def _verify(
    run: Run, plan: RoundPlan, passed: Sequence[str], tables_of: Callable[[float], PanelTables]
) -> None:
    """Let the verifiers answer wave by wave, drop what is not worth going on with, and decide about the rest."""
    gaps = plan.targets.gaps
    first_parent = plan.jobs[0].head["parent"]
    known = {item.id: item for item in run.calibrated.items} | run.items
    order = order_of_verifiers(tables_of(known[first_parent].guessing), gaps)
    size = run.settings.verifiers_a_wave
    waves = [order[start : start + size] for start in range(0, len(order), size)]
    answered: list[int] = []
    for number, wave in enumerate(waves, 1):
        live = _live(run, passed)
        if answered and live:
            _drop(run, live, gaps, answered, tables_of)
            live = _live(run, passed)
        if not live:
            break
        run.say(
            f"  wave {number} of {len(waves)}: {', '.join(run.verifiers[place].name for place in wave)}; "
            f"{len(live)} candidates"
        )
        _ask_wave(run, [run.verifiers[place] for place in wave], [run.items[name] for name in live])
        answered += wave
        for name in live:
            _check_judged(run, run.state.candidates[name], answered)
    for name in _live(run, passed):
        _decide(run, _final_decision(run, run.state.candidates[name], gaps))


def _live(run: Run, passed: Sequence[str]) -> list[str]:
    return [name for name in passed if set(run.state.decisions[name]) == {SCREEN}]


def _counts(run: Run, name: str) -> tuple[Any, Any]:
    names = tuple(verifier.name for verifier in run.verifiers)
    return run.state.counts(name, names, run.calibrated.n_trials)


def _drop(
    run: Run,
    live: Sequence[str],
    gaps: Sequence[Gap],
    answered: Sequence[int],
    tables_of: Callable[[float], PanelTables],
) -> None:
    """Drop candidates whose predicted acceptance, after the verifiers that have answered, is below the threshold.

    Answers of later verifiers may be there, if this is a run that goes on after a kill: they do not count here.
    """
    for guessing in sorted({run.items[name].guessing for name in live}):
        names = [name for name in live if run.items[name].guessing == guessing]
        counts = np.full((len(names), len(run.verifiers)), -1)
        for row, name in enumerate(names):
            counts[row, answered] = _counts(run, name)[0][answered]
        probability = predictive_probability(
            names,
            [run.state.candidates[name].target_b for name in names],
            counts,
            gaps,
            tables_of(guessing),
            run.settings.accept_above,
        )
        # The fewer answers are left to save, the surer it must be.
        threshold = run.settings.drop_below * (1 - len(answered) / len(run.verifiers))
        low = [row for row in range(len(names)) if probability[row] < threshold]
        if not low:
            continue
        correct = np.maximum(counts[low], 0)
        trials = np.where(counts[low] < 0, 0, run.calibrated.n_trials)
        known = new_item_difficulties(correct, trials, guessing, run.calibrated.abilities)
        for place, row in enumerate(low):
            figures = {
                "wave": len(answered),
                "probability": float(probability[row]),
                "b_mean": round(float(known.b_mean[place]), 6),
                "b_sd": round(float(known.b_sd[place]), 6),
            }
            name = names[row]
            _decide(
                run,
                Decision(name, run.state.candidates[name].round, DROP, REJECTED, "unlikely", figures=figures),
            )


def _ask_wave(run: Run, verifiers: Sequence[Verifier], items: Sequence[Item]) -> None:
    """Ask what is missing of these verifiers' answers to these items, as far as the caps allow."""

    def append(row: dict[str, Any]) -> None:
        run.journals.rollouts(row)
        add_rollout_row(run.state, row)

    jobs = [
        Job(verifier, item, trial)
        for verifier in verifiers
        for item in items
        for trial in range(1, run.calibrated.n_trials + 1)
    ]
    longest = max(verifier.max_tokens for verifier in verifiers)
    for _ in range(ATTEMPTS):
        rest = [job for job in jobs if not _is_answered(run, job)]
        while rest:
            room = min(_room_for_tokens(run, longest), _room_for_rollouts(run))
            stopped = run.ask_panel(rest[:room], append)
            if stopped:
                name, reason = next(iter(stopped.items()))
                raise _Stop("verifier", f"{name} was stopped: {reason}")
            rest = rest[room:]


def _is_answered(run: Run, job: Job) -> bool:
    return (job.verifier.name, job.trial) in run.state.answers.get(job.item.id, {})


def _check_judged(run: Run, candidate: Candidate, answered: Sequence[int]) -> None:
    """Give up a candidate with an answer that could not be had or judged: its counts will never be full."""
    _, trials = _counts(run, candidate.id)
    short = [place for place in answered if trials[place] < run.calibrated.n_trials]
    if short:
        missing = sum(run.calibrated.n_trials - int(trials[place]) for place in short)
        detail = f"{missing} answers of {', '.join(run.verifiers[place].name for place in short)}"
        _decide(run, Decision(candidate.id, candidate.round, VERIFY, REJECTED, "not_judged", detail))


def _final_decision(run: Run, candidate: Candidate, gaps: Sequence[Gap]) -> Decision:
    correct, trials = _counts(run, candidate.id)
    abilities = run.calibrated.abilities
    names = {run.verifiers[place].name for place in strong_verifiers(abilities.mean)}
    answers = sorted(run.state.answers[candidate.id].items())
    strong = [answer for (name, _), answer in answers if name in names and isinstance(answer, PanelAnswer)]
    guessing = run.items[candidate.id].guessing
    return decide(candidate, gaps, correct, trials, guessing, abilities, strong, run.settings.accept_above)


# Caps and rows ----------------------------------------------------------------------------------------------------


def _room_for_rollouts(run: Run) -> int:
    cap, spent = run.settings.max_rollouts, run.state.spent.rollouts
    if cap is None:
        return 10**9
    if spent >= cap:
        raise _Stop("max_rollouts", f"{spent:,} of at most {cap:,} answers of the panel are spent")
    return cap - spent


def _room_for_tokens(run: Run, longest: int) -> int:
    """Return how many answers of at most ``longest`` tokens are sure to stay under the cap."""
    cap, spent = run.settings.max_tokens, run.state.spent.tokens
    if cap is None:
        return 10**9
    if spent + longest > cap:
        raise _Stop(
            "max_tokens",
            f"{spent:,} of at most {cap:,} tokens are spent, and one more answer may take {longest:,}",
        )
    return (cap - spent) // longest


def _decide(run: Run, decision: Decision) -> None:
    """Write a decision, unless it is there already."""
    if decision.stage not in run.state.decisions.get(decision.id, {}):
        run.journals.decisions(decision_row(decision))
        add_decision(run.state, decision)


def _finish(run: Run, number: int, plan: RoundPlan) -> None:
    """Write the row of a round that is done."""
    last = [list(run.state.decisions[job.id].values())[-1] for job in plan.jobs]
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
