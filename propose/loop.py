"""The loop of BenchFill: targets, candidates, screen, waves, decisions, round after round.

It talks to the world through plain callables, so that a simulation can run it in one process:

ask_rewriter(jobs, append)   asks every job and calls ``append(row)`` for each reply as it comes; ``append`` may be
                             called from one thread only. A request that came to nothing is a row with its ``error``.
                             The row is ``job.head`` and the fields of a reply, see propose/candidate.py; a solution is
                             graded against ``job.item`` before its row is written.
ask_panel(jobs, append)      asks every verifier.trials.Job, grades, and appends verifier.trials' answer and verdict
                             rows. Returns why each verifier that was stopped was stopped, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from propose.candidate import RewriterJob
from verifier.journal import Append
from verifier.trials import Job

AskRewriter = Callable[[Sequence[RewriterJob], Append], None]
AskPanel = Callable[[Sequence[Job], Append], dict[str, str]]
