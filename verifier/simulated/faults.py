"""The faults that the simulated server shows on demand, and which request suffers one."""

from __future__ import annotations

from dataclasses import dataclass

from verifier.simulated.problem import uniform

REASONING_FIELDS = ("none", "inline", "reasoning", "reasoning_content")


@dataclass(frozen=True)
class Faults:
    """What the server does wrong, and how often. The rates are of requests that are in order.

    Attributes
    ----------
    latency
        Seconds before every answer.
    rate_429, rate_500
        Share answered with status 429 (and Retry-After) or 500.
    hang_rate
        Share taken and never answered.
    cut_off_rate
        Share of replies cut off, with finish_reason "length".
    null_content_rate
        Share of replies without content.
    reasoning_field
        Where the thinking of the models that think goes: nowhere, into the content as <think>…</think> (from
        simulated-12 with the end tag alone), or into a field of the message, by its present or its former name.
    slow_start
        Seconds from the start for which everything is answered with status 503.
    context
        Tokens that prompt and reply may have together.
    seed
        Decides, with the number of the request in order of arrival, which request suffers.
    """

    latency: float = 0.0
    rate_429: float = 0.0
    rate_500: float = 0.0
    hang_rate: float = 0.0
    cut_off_rate: float = 0.0
    null_content_rate: float = 0.0
    reasoning_field: str = "none"
    slow_start: float = 0.0
    context: int = 32768
    seed: int = 0

    @property
    def total_rate(self) -> float:
        """The share of requests with any fault."""
        return self.rate_429 + self.rate_500 + self.hang_rate + self.cut_off_rate + self.null_content_rate

    def of_request(self, number: int) -> str:
        """Return the outcome of the request with this number: "429", "500", "hang", "cut_off", "null_content" or "ok".

        A request that is sent again has another number, and may succeed.
        """
        left = uniform("fault", self.seed, number)
        for name, rate in (
            ("429", self.rate_429),
            ("500", self.rate_500),
            ("hang", self.hang_rate),
            ("cut_off", self.cut_off_rate),
            ("null_content", self.null_content_rate),
        ):
            if left < rate:
                return name
            left -= rate
        return "ok"
