"""What the stages of the loop share: the run that they work on, its caps, and how they end it.

The loop talks to the world through plain callables, so that a simulation can run it in one process:

ask_rewriter(jobs, append)   asks every job and calls ``append(row)`` for each reply as it comes; ``append`` may be
                             called from one thread only. A request that came to nothing is a row with its ``error``.
                             The row is ``job.head`` and the fields of a reply, see propose/candidate.py; a solution is
                             graded against ``job.item`` before its row is written. Returns why the rewriter was
                             stopped; None if every job was asked.
ask_panel(jobs, append)      asks every verifier.trials.Job, grades, and appends verifier.trials' answer and verdict
                             rows. Returns why each verifier that was stopped was stopped, by name.

A request that fails is tried again once. What then has no answer is given up, and so is its candidate: it was refused,
or came to nothing twice, while its server answered others. Where a port says that it stopped, the run ends and nothing
is decided, for nothing is known of what was not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from propose.calibrated import Calibrated
from propose.candidate import Brief, Decision, RewriterJob, decision_row
from propose.prompting import rewrite_prompt
from propose.run_folder import RunState, add_decision
from propose.run_journals import Journals
from propose.settings import Settings
from verifier.items import Item
from verifier.journal import Append
from verifier.panel import Verifier
from verifier.trials import Job

AskRewriter = Callable[[Sequence[RewriterJob], Append], str | None]
AskPanel = Callable[[Sequence[Job], Append], dict[str, str]]

ATTEMPTS = 2  # at a request that came to nothing, each with the client's own retries
# So many questions are not all refused for what they are: their server is not as it was.
TOO_MANY_TO_REFUSE = 20


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


class Stop(Exception):
    """Ends the run from within a stage; the state stays as its rows have it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.ending = Ending(reason, detail)


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
    items
        Of the candidates that are well-formed, by id.
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


def decide_once(run: Run, decision: Decision) -> None:
    """Write a decision, unless there is one of that stage already."""
    if decision.stage not in run.state.decisions.get(decision.id, {}):
        run.journals.decisions(decision_row(decision))
        add_decision(run.state, decision)


def room_for_rollouts(run: Run) -> int:
    """Return how many answers of the panel the cap still lets.

    Raises
    ------
    Stop
        If none.
    """
    cap, spent = run.settings.max_rollouts, run.state.spent.rollouts
    if cap is None:
        return 10**9
    if spent >= cap:
        raise Stop("max_rollouts", f"{spent:,} of at most {cap:,} answers of the panel are spent")
    return cap - spent


def room_for_tokens(run: Run, longest: int, fewest: int = 1) -> int:
    """Return how many answers of at most ``longest`` tokens are sure to stay under the cap.

    Raises
    ------
    Stop
        If they are less than ``fewest``.
    """
    cap, spent = run.settings.max_tokens, run.state.spent.tokens
    if cap is None:
        return 10**9
    if spent + fewest * longest > cap:
        raise Stop(
            "max_tokens",
            f"{spent:,} of at most {cap:,} tokens are spent, and the next answers ({fewest} at least) may take "
            f"{fewest * longest:,}",
        )
    return (cap - spent) // longest
