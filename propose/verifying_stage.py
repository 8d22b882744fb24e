"""The second half of a round: the panel answers the candidates wave by wave, and each is decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from propose.candidate import DROP, REJECTED, SCREEN, VERIFY, Candidate, Decision
from propose.deciding import PanelAnswer, decide, strong_verifiers
from propose.loop_run import (
    ATTEMPTS,
    TOO_MANY_TO_REFUSE,
    Run,
    Stop,
    decide_once,
    room_for_rollouts,
    room_for_tokens,
)
from propose.panel_tables import CANDIDATE_PRIOR_SD, PanelTables
from propose.round_plan import RoundPlan
from propose.run_folder import add_rollout_row
from propose.targets import Gap
from propose.waves import order_of_verifiers, predictive_probability
from verifier.items import Item
from verifier.new_item import new_item_difficulties
from verifier.panel import Verifier
from verifier.trials import Job

# Near the cap of tokens a wave is asked in parts. Where models are loaded for each, so few answers are not worth it.
FEWEST_AT_ONCE = 16
MOST_PARTS = 4


def verify(
    run: Run, plan: RoundPlan, passed: Sequence[str], tables_of: Callable[[float], PanelTables]
) -> None:
    """Let the verifiers answer wave by wave, drop what is not worth going on with, and decide about the rest.

    Raises
    ------
    Stop
        If a verifier does not answer, or a cap is reached: whoever is not decided by then is left as it is.
    """
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
        title = f"  wave {number} of {len(waves)}: {', '.join(run.verifiers[place].name for place in wave)}"
        _ask_wave(run, title, [run.verifiers[place] for place in wave], [run.items[name] for name in live])
        answered += wave
        for name in live:
            _check_judged(run, run.state.candidates[name], answered)
    for name in _live(run, passed):
        decide_once(run, _final_decision(run, run.state.candidates[name], gaps))


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
        known = new_item_difficulties(
            correct, trials, guessing, run.calibrated.abilities, prior_sd=CANDIDATE_PRIOR_SD
        )
        for place, row in enumerate(low):
            figures = {
                "wave": len(answered),
                "probability": float(probability[row]),
                "b_mean": round(float(known.b_mean[place]), 6),
                "b_sd": round(float(known.b_sd[place]), 6),
            }
            name = names[row]
            decide_once(
                run,
                Decision(name, run.state.candidates[name].round, DROP, REJECTED, "unlikely", figures=figures),
            )


def _ask_wave(run: Run, title: str, verifiers: Sequence[Verifier], items: Sequence[Item]) -> None:
    """Ask what is missing of these verifiers' answers to these items, as far as the caps allow.

    When this returns, every question was asked. A cap of tokens is hard: only as many are asked at a time as would stay
    under it if each took all that it may. Answers take less, so what is left is asked afterwards. Where models must be
    loaded again for each part, it must be worth it, see ``_fewest_at_once``, or the cap counts as reached.
    """
    errors: dict[str, str] = {}

    def append(row: dict[str, Any]) -> None:
        if row["outcome"] == "error":
            errors[row["verifier"]] = row["error"]
        run.journals.rollouts(row)
        add_rollout_row(run.state, row)

    jobs = [
        Job(verifier, item, trial)
        for verifier in verifiers
        for item in items
        for trial in range(1, run.calibrated.n_trials + 1)
    ]
    longest = max(verifier.max_tokens for verifier in verifiers)
    loaded = any(verifier.base_url is None for verifier in verifiers)
    if not all(_is_answered(run, job) for job in jobs):
        run.say(f"{title}; {len(items)} candidates")
    for _ in range(ATTEMPTS):
        rest = [job for job in jobs if not _is_answered(run, job)]
        while rest:
            room = min(
                room_for_tokens(run, longest, _fewest_at_once(len(rest)) if loaded else 1),
                room_for_rollouts(run),
            )
            stopped = run.ask_panel(rest[:room], append)
            if stopped:
                name, reason = next(iter(stopped.items()))
                raise Stop("verifier", f"{name} was stopped: {reason}")
            rest = rest[room:]
    for verifier in verifiers:
        its = [job for job in jobs if job.verifier == verifier]
        if len(its) >= TOO_MANY_TO_REFUSE and not any(_is_answered(run, job) for job in its):
            raise Stop(
                "verifier",
                f"{verifier.name} answered none of {len(its)} questions, the last: {errors[verifier.name]}",
            )


def _fewest_at_once(left: int) -> int:
    """Return how many of the questions that are left must be asked together, for models to be loaded for them."""
    return min(left, max(FEWEST_AT_ONCE, -(-left // MOST_PARTS)))


def _is_answered(run: Run, job: Job) -> bool:
    return (job.verifier.name, job.trial) in run.state.answers.get(job.item.id, {})


def _check_judged(run: Run, candidate: Candidate, answered: Sequence[int]) -> None:
    """Give up a candidate with an answer that could not be had or judged: its counts will never be full."""
    _, trials = _counts(run, candidate.id)
    short = [place for place in answered if trials[place] < run.calibrated.n_trials]
    if short:
        missing = sum(run.calibrated.n_trials - int(trials[place]) for place in short)
        detail = f"{missing} answers of {', '.join(run.verifiers[place].name for place in short)}"
        decide_once(run, Decision(candidate.id, candidate.round, VERIFY, REJECTED, "not_judged", detail))


def _final_decision(run: Run, candidate: Candidate, gaps: Sequence[Gap]) -> Decision:
    correct, trials = _counts(run, candidate.id)
    abilities = run.calibrated.abilities
    names = {run.verifiers[place].name for place in strong_verifiers(abilities.mean)}
    answers = sorted(run.state.answers[candidate.id].items())
    strong = [answer for (name, _), answer in answers if name in names and isinstance(answer, PanelAnswer)]
    guessing = run.items[candidate.id].guessing
    return decide(candidate, gaps, correct, trials, guessing, abilities, strong, run.settings.accept_above)
