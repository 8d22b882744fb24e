"""Whether a request that failed says something about itself alone, or about the model that it was sent to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from verifier.client import ModelStopped, RequestFailed

# A refusal with these statuses is about one question (too long, filtered), if the model answers others.
OF_ONE_REQUEST = (400, 413, 422)
# A server on which nothing works any more is left alone after this many requests given up one after the other.
FAILURES_IN_A_ROW = 20


@dataclass
class Standing:
    """How one call's requests to one model have gone, and whether more of them make sense.

    Attributes
    ----------
    heard
        Whether it has ever answered, also before this call. Until then a refusal may be about every question.
    stopped
        Why it is asked no more, in the server's own words; None while it is.
    reasons
        Why requests came to nothing, and how many.
    """

    heard: bool = False
    stopped: str | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    _answered: bool = False  # in this call
    _in_a_row: int = 0
    _refusal: str | None = None  # the last one of a model that was never heard
    _failed: set[str] = field(default_factory=set)  # items that met a server in trouble

    def note_answer(self) -> None:
        """Take in that a request was answered."""
        self.heard = self._answered = True
        self._in_a_row = 0

    def note_failure(self, item: str, failure: RequestFailed) -> None:
        """Take in that a request about an item came to nothing."""
        self.reasons[str(failure)] += 1
        refused = failure.status in OF_ONE_REQUEST
        if refused and self.heard:
            return  # about this question alone
        self._in_a_row += 1
        if refused:
            self._refusal = str(failure)
        elif failure.status is not None or not self.heard:  # without a status: it only took too long
            self._failed.add(item)
        if isinstance(failure, ModelStopped) and not refused:
            self.stopped = self.stopped or str(failure)
        elif self._in_a_row >= FAILURES_IN_A_ROW:
            self.stopped = (
                self.stopped or f"{self._in_a_row} requests in a row came to nothing, the last: {failure}"
            )

    def end(self) -> str | None:
        """Return why the model was stopped, now that the last request has ended; None if it was not.

        A model that has never answered and refuses is stopped for that. So is one that gave no answer in this call
        and server errors on several items: few requests are no proof that these items are the reason.
        """
        if self.stopped is None and not self.heard and self._refusal is not None:
            self.stopped = self._refusal
        if self.stopped is None and not self._answered and len(self._failed) > 1:
            [(reason, _)] = self.reasons.most_common(1)
            self.stopped = f"none of {self.reasons.total()} requests was answered, mostly: {reason}"
        return self.stopped


def first_of(group: ExceptionGroup) -> Exception:
    """Return the first of the exceptions that ended many tasks: all may have met the same full disk."""
    error = group.exceptions[0]
    return first_of(error) if isinstance(error, ExceptionGroup) else error
