"""Simulated counts with known truth, for the tests of the fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SimulatedCounts:
    """Truth and answers of M simulated models on N simulated items."""

    theta: FloatArray  # (M,)
    b: FloatArray  # (N,)
    guessing: FloatArray  # (N,)
    correct: FloatArray  # (M, N)
    trials: FloatArray  # (M, N)


def simulate_counts(
    models: int, items: int, trials: int, *, guessing: float = 0.0, blanks: float = 0.0, seed: int = 0
) -> SimulatedCounts:
    """Draw abilities, difficulties and answers from the model; a share of the cells is never asked."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=models), rng.normal(size=items)
    asked = np.where(rng.random((models, items)) < blanks, 0, trials)
    g = np.full(items, guessing)
    p = g + (1 - g) / (1 + np.exp(b - theta[:, None]))
    return SimulatedCounts(theta, b, g, rng.binomial(asked, p).astype(float), asked.astype(float))
