"""What a grader says about one answer."""

from __future__ import annotations

from dataclasses import dataclass

# The first two are trials; the others mean that the answer could not be judged, and say nothing about the model.
OUTCOMES = ("ok", "no_answer", "grader_error", "grader_timeout")


@dataclass(frozen=True)
class Verdict:
    """The judgement of one text.

    Attributes
    ----------
    outcome
        ``ok``: an answer was found and judged. ``no_answer``: none was found, which counts as not correct.
        ``grader_error``, ``grader_timeout``: the text could not be judged; ``correct`` is None.
    correct
        Whether the answer is right; False for ``no_answer``.
    answer
        What was taken from the text as its answer, at most 200 characters; None where there is none.
    grader, version
        Which grader judged, and its version: verdicts of different versions do not belong in one matrix.
    detail
        Why it could not be judged, or which instructions were not followed; None otherwise.
    """

    outcome: str
    correct: bool | None
    answer: str | None
    grader: str
    version: str
    detail: str | None = None
