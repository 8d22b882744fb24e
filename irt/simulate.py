"""Responses whose truth is known, for the demo and the tests. Standard library only, Python 3.9+.

Everything here is simulated, and every id says so.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class SimulatedLog:
    """A simulated response log and the truth behind it.

    Attributes
    ----------
    abilities, difficulties
        The true value of every model and of every item, in the order of their ids.
    rows
        (model, item_id, trial, correct), as in a response log.
    """

    abilities: dict[str, float]
    difficulties: dict[str, float]
    rows: list[tuple[str, str, int, int]]


def probability_correct(ability: float, difficulty: float, guessing: float = 0.0) -> float:
    """Return g + (1 − g)·σ(θ − b), the probability of a correct answer; 0.5 where θ = b and g = 0."""
    # tanh does not overflow where exp does.
    return guessing + (1 - guessing) * 0.5 * (1 + math.tanh((ability - difficulty) / 2))


def simulate_log(
    models: int,
    items: int,
    trials: int,
    seed: int,
    guessing: float = 0.0,
    gap: Optional[tuple[float, float]] = None,
) -> SimulatedLog:
    """Draw abilities and difficulties from Normal(0, 1), then every answer from the Rasch model.

    Parameters
    ----------
    gap
        (low, high): no item's difficulty lies between them. Difficulties are drawn again until none does.
    """
    generator = random.Random(seed)
    low, high = gap or (0.0, 0.0)

    def difficulty() -> float:
        while low < (value := generator.gauss(0, 1)) < high:
            pass
        return value

    abilities = {f"simulated-model-{m:02d}": generator.gauss(0, 1) for m in range(1, models + 1)}
    difficulties = {f"simulated-item-{i:03d}": difficulty() for i in range(1, items + 1)}
    rows = [
        (model, item, trial, int(generator.random() < probability_correct(theta, b, guessing)))
        for model, theta in abilities.items()
        for item, b in difficulties.items()
        for trial in range(1, trials + 1)
    ]
    return SimulatedLog(abilities, difficulties, rows)
