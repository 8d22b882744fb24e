"""The first half of a round: the rewriter writes the candidates, and those are found that the panel should see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from propose.candidate import PASSED, REJECTED, SCREEN, Candidate, Decision, RewriterJob, seed_of
from propose.candidate_items import read_item
from propose.loop_run import ATTEMPTS, TOO_MANY_TO_REFUSE, Run, Stop, decide_once, room_for_tokens
from propose.near_duplicates import NearDuplicates
from propose.parsing import Unusable
from propose.run_folder import add_candidate_row
from propose.screening import screen_item, screen_solutions
from verifier.items import Item
from verifier.prompts import messages


def write_candidates(run: Run, jobs: Sequence[RewriterJob]) -> None:
    """Ask the rewriter for the candidates of a round that are not there.

    Raises
    ------
    Stop
        If it does not answer, or a cap is reached.
    """
    _ask(run, jobs, lambda job: job.id in run.state.candidates or job.id in run.state.decisions)


def screen(run: Run, jobs: Sequence[RewriterJob]) -> list[str]:
    """Decide which candidates of a round the panel will see; return their ids, in the order of the jobs.

    Raises
    ------
    Stop
        If the rewriter does not answer, or a cap is reached, before the candidates are solved: none of them is decided.
    """
    to_solve = _well_formed(run, jobs)
    solving = [
        _solution_job(run, candidate, item, number)
        for candidate, item in to_solve
        for number in range(1, run.settings.solutions + 1)
    ]
    _ask(run, solving, lambda job: job.number in run.state.solutions.get(job.id, {}))
    for candidate, item in to_solve:
        decide_once(run, _solved(run, candidate, item))
    stages = run.state.decisions
    return [job.id for job in jobs if stages[job.id][SCREEN].decision == PASSED]


def _ask(run: Run, jobs: Sequence[RewriterJob], has: Callable[[RewriterJob], bool]) -> None:
    """Ask what is missing, and once more what came to nothing; when this returns, every job was asked."""
    error = ""

    def append(row: dict[str, Any]) -> None:
        nonlocal error
        error = row["error"] or error
        run.journals.candidates(row)
        add_candidate_row(run.state, row)

    for _ in range(ATTEMPTS):
        rest = [job for job in jobs if not has(job)]
        while rest:
            room = room_for_tokens(run, run.rewriter_max_tokens)
            stopped = run.ask_rewriter(rest[:room], append)
            if stopped is not None:
                raise Stop("rewriter", f"the rewriter was stopped: {stopped}")
            rest = rest[room:]
    if len(jobs) >= TOO_MANY_TO_REFUSE and not any(map(has, jobs)):
        raise Stop("rewriter", f"the rewriter answered none of {len(jobs)} requests, the last: {error}")


def _well_formed(run: Run, jobs: Sequence[RewriterJob]) -> list[tuple[Candidate, Item]]:
    """Read the candidates, reject those that need no solving, and return the others that are not decided."""
    known = {item.id: item for item in run.calibrated.items} | run.items
    index = NearDuplicates(run.calibrated.items)
    for name in sorted(set(run.items) - {job.id for job in jobs}):
        index.add(run.items[name])
    fit = []
    for job in jobs:
        candidate = run.state.candidates.get(job.id)
        if candidate is None:
            _reject(run, job.id, job.head["round"], "no_reply", _error(run, job.id))
            continue
        item = read_item(candidate, known)
        if isinstance(item, Unusable):
            _reject(run, candidate.id, candidate.round, item.reason, item.detail)
            continue
        run.items[candidate.id] = item
        match = index.find(item)
        index.add(item)
        if match is not None:
            _reject(run, candidate.id, candidate.round, "duplicate", str(match))
        elif (unfit := screen_item(item, run.settings.benchmark)) is not None:
            _reject(run, candidate.id, candidate.round, *unfit)
        elif SCREEN not in run.state.decisions.get(candidate.id, {}):
            fit.append((candidate, item))
    return fit


def _error(run: Run, name: str) -> str:
    """Return why there is no candidate."""
    failed = run.state.failed_candidates.get(name)
    return failed.error or "" if failed else ""


def _solved(run: Run, candidate: Candidate, item: Item) -> Decision:
    """Return the decision on a candidate of which every solution was asked for."""
    if not run.settings.solutions:
        return Decision(candidate.id, candidate.round, SCREEN, PASSED)
    solutions = run.state.solutions.get(candidate.id, {})
    if solutions:
        unsolved = screen_solutions(item, [solutions[number] for number in sorted(solutions)])
    else:
        failed = run.state.failed_solutions[candidate.id].values()
        unsolved = "no_reply", f"none of {len(failed)} solutions could be had: {next(iter(failed)).error}"
    if unsolved is None:
        return Decision(candidate.id, candidate.round, SCREEN, PASSED)
    return Decision(candidate.id, candidate.round, SCREEN, REJECTED, *unsolved)


def _reject(run: Run, name: str, round_: int, reason: str, detail: str) -> None:
    decide_once(run, Decision(name, round_, SCREEN, REJECTED, reason, detail))


def _solution_job(run: Run, candidate: Candidate, item: Item, number: int) -> RewriterJob:
    return RewriterJob(
        id=candidate.id,
        number=number,
        messages=tuple(messages(item)),
        seed=seed_of(run.settings.benchmark, run.settings.run, candidate.id, number),
        head={"kind": "solution", "id": candidate.id, "number": number},
        item=item,
    )
