"""What is asked for beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Bar(NamedTuple):
    """What is asked for beside what was measured."""

    what: str
    measured: float
    least: float
    most: float

    def met(self) -> bool:
        return self.least <= self.measured <= self.most


def print_bars(bars: Sequence[Bar]) -> bool:
    """Print the bars, a line each; return whether all are met."""
    for bar in bars:
        asked = f"{bar.least:g} to {bar.most:g}"
        if bar.most == math.inf:
            asked = f"at least {bar.least:g}"
        elif bar.least == -math.inf:
            asked = f"at most {bar.most:g}"
        print(f"{bar.what:72}{bar.measured:10.4g}   {asked:14} {'ok' if bar.met() else 'NO'}")
    return all(bar.met() for bar in bars)
