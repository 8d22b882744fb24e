"""Independent random numbers from one seed, each purpose with its own.

NumPy gives the same numbers for the seeds 5 and [5, 0], and so do two draws from the same seed: what decides the folds
would also decide the starts.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What random numbers are for; none is 0, which NumPy takes for no number where it is last."""

    START = 1
    HIDDEN_CELLS = 2
    SHUFFLED_ANSWERS = 3
    NEW_MODELS_OR_ITEMS = 4
    RESAMPLED_MODELS = 5
    SUBSETS = 6


def stream(seed: int, purpose: Purpose, *numbers: int) -> np.random.Generator:
    """Return the generator of a purpose; ``numbers`` (of starts, folds …) tell apart those of one purpose."""
    return np.random.default_rng([seed, purpose, *numbers])
