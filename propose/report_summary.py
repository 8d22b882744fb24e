"""What the report says first: how far the run is, what became of its candidates, and what it did to the benchmark."""

from __future__ import annotations

from collections import Counter
from html import escape

import numpy as np

from irt.difficulty import diagnose
from propose.candidate import ACCEPTED, PASSED, REASONS, REJECTED, last_decision
from propose.outcome import Outcome
from propose.recalibrating import Figure, Recalibration
from propose.report_table import table

FINISHED = ("max_rounds", "no_target")  # endings after which a run has nothing left to do
CAPS = ("max_rollouts", "max_tokens")


def summary(outcome: Outcome, found: Recalibration | None) -> str:
    """Return the first paragraphs, as HTML."""
    accepted, expected = len(outcome.accepted), outcome.state.expected_false_landings
    ddm, max_gap = zip(*diagnostics_of(outcome, found), strict=True)
    changes = ", and ".join(
        f"{what} went from <b>{before.of_estimates:.4f}</b> to <b>{after.of_estimates:.4f}</b>"
        for what, (before, after) in (
            ("the widest gap in difficulty (Max Gap)", max_gap),
            ("the distance from evenly spread items (DDM)", ddm),
        )
    )
    parts = [f"{_made(outcome)} <b>{accepted:,} {_were(accepted)} accepted</b>."]
    if accepted:
        parts.append(
            f"{changes[0].upper()}{changes[1:]}. Of the accepted items, <b>{expected:.1f}</b> are expected to lie "
            "outside the gap that they were accepted for."
        )
    else:
        parts.append("The filled benchmark is the original one.")
    worse = worse_ddm(outcome, ddm[0].of_estimates, ddm[1].of_estimates)
    return "\n".join(
        f"<p>{text}</p>" for text in (" ".join(parts), escape(worse), escape(how_it_stands(outcome))) if text
    )


def diagnostics_of(
    outcome: Outcome, found: Recalibration | None
) -> tuple[tuple[Figure, Figure], tuple[Figure, Figure]]:
    """Return DDM and Max Gap before, and after; without a recalibration they have no median and interval (NaN)."""
    if found is not None:
        return (found.before.ddm, found.before.max_gap), (found.after.ddm, found.after.max_gap)
    unknown = float("nan")
    b = outcome.calibrated.b_mean.tolist()
    before, after = diagnose(b), diagnose(b + outcome.b_accepted.tolist())

    def figure(value: float) -> Figure:
        return Figure(value, unknown, unknown, unknown)

    return (figure(before.ddm), figure(before.max_gap)), (figure(after.ddm), figure(after.max_gap))


def worse_ddm(outcome: Outcome, before: float, after: float) -> str:
    """Return a sentence on a fill that made DDM larger, and how that can be; empty where it did not."""
    if not outcome.accepted or round(after, 4) <= round(before, 4):
        return ""
    originals = np.sort(outcome.calibrated.b_mean)
    inside = np.clip(outcome.b_accepted, originals[0], originals[-1])
    gaps = np.clip(np.searchsorted(originals, inside), 1, len(originals) - 1)
    crowded = int(np.bincount(gaps).argmax())
    most = int((gaps == crowded).sum())
    crowd = (
        f" {most} of the {len(inside)} accepted lie in one gap, b {originals[crowded - 1]:.2f} to "
        f"{originals[crowded]:.2f}, which is now denser than the rest."
        if most > 1
        else ""
    )
    return (
        f"DDM got worse, {before:.4f} to {after:.4f}: a fill closes gaps, while DDM asks for items that are evenly "
        f"spread over the whole range.{crowd}"
    )


def how_it_stands(outcome: Outcome) -> str:
    """Return whether the run is finished, and if not, why it goes no further now."""
    last = outcome.starts[-1] if outcome.starts else None
    if last is not None and last.ending is not None:
        ending = last.ending
        if ending.reason in FINISHED:
            return f"The run is finished: {ending.detail}."
        if ending.reason in CAPS:
            return f"The run is unfinished, and was ended by a cap: {ending.detail}."
        return f"The run is unfinished, and ended {ending.time}: {ending.detail}."
    if len(outcome.state.rounds) >= outcome.config.settings.max_rounds:
        return "The run is finished: all its rounds are done."
    return "The run is unfinished: it is running, or was killed."


def candidates(outcome: Outcome) -> str:
    """Return a table of what became of all candidates, and which are still with the panel, as HTML."""
    state = outcome.state
    last = {name: last_decision(stages) for name, stages in state.decisions.items()}
    with_panel = sorted(name for name, one in last.items() if one.decision == PASSED)
    rejected = Counter((one.stage, one.reason) for one in last.values() if one.decision == REJECTED)
    every = _all_rounds(outcome)
    rows = [
        ("verify", "accepted", "in a gap, with enough of its probability", len(outcome.accepted)),
        *(
            (stage, reason.replace("_", " "), REASONS[reason], rejected[stage, reason])
            for reason in REASONS
            for stage in ("screen", "drop", "verify")
        ),
        ("", "with the panel", "not all verifiers have answered yet", len(with_panel)),
        ("", "to screen", "written or asked for, and not screened yet", len(every.keys() - last.keys())),
    ]
    shown = [[*words, f"{count:,}"] for *words, count in rows if count or words[1] == ACCEPTED]
    names = ", ".join(f"<code>{escape(name)}</code>" for name in with_panel)
    return (
        "<h2>Candidates</h2>"
        + table(
            ["stage", "what became of it", "what that means", "candidates"],
            [*shown, ["", "all", "", f"{len(every):,}"]],
            text=3,
        )
        + (f"<p>Still with the panel: {names}.</p>" if names else "")
    )


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return "1 thing" or "2 things", whose plural may be another."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def _made(outcome: Outcome) -> str:
    rounds = len(outcome.state.rounds)
    every = _all_rounds(outcome)
    under_way = sum(number > rounds for number in every.values())
    made = f"{counted(len(every), 'candidate')} {_were(len(every))} made"
    finished = f"in {counted(rounds, 'finished round')}"
    if not under_way:
        return f"{made} {finished}."
    if not rounds:
        return f"{made} in round 1, which is not finished."
    return f"{made}: {len(every) - under_way:,} {finished}, {under_way:,} in round {rounds + 1}, which is not finished."


def _all_rounds(outcome: Outcome) -> dict[str, int]:
    """Return the round of every candidate, those without a reply too."""
    state = outcome.state
    made = {name: one.round for name, one in (state.failed_candidates | state.candidates).items()}
    return {name: next(iter(stages.values())).round for name, stages in state.decisions.items()} | made


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
