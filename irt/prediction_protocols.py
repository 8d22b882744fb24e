"""Which answers are hidden and have to be predicted: random cells, those of new models, those of new items. NumPy.

M models, N items. A fold's split depends on where there are answers and on the seed, never on what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from irt.arrays import FloatArray, IntArray
from irt.held_out import folds as cell_folds
from irt.streams import Purpose, stream

Protocol = Literal["cells", "models", "items"]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """One fold.

    Attributes
    ----------
    hidden
        (M, N) the answered cells to predict; all other answers are known.
    new_models
        (M,) models that no item may be fitted with: their few known answers serve to place them.
    new_items
        (N,) items that no model may be fitted with, likewise.
    """

    hidden: BoolArray
    new_models: BoolArray
    new_items: BoolArray


def splits(trials: IntArray, protocol: Protocol, folds: int, known: int, seed: int) -> Iterator[Split]:
    """Yield the folds' splits; every model, item or answered cell is in the held-out part of exactly one fold.

    Parameters
    ----------
    trials
        (M, N), 0 = never asked.
    protocol
        "cells": a fold hides its share of all answered cells. "models": it hides all answers of its models but
        ``known`` of each, drawn at random. "items": likewise of its items.
    known
        A model (or item) with no more answers than this has none that is hidden.
    """
    models, items = trials.shape
    if protocol == "cells":
        fold_of = cell_folds(trials, folds, seed)
        for fold in range(folds):
            yield Split(fold_of == fold, np.zeros(models, dtype=bool), np.zeros(items, dtype=bool))
        return
    rng = stream(seed, Purpose.NEW_MODELS_OR_ITEMS)
    asked = trials > 0
    axis = 1 if protocol == "models" else 0
    beyond_known = asked & (_random_ranks(asked, axis, rng) >= known)
    fold_of = rng.permutation(np.arange(trials.shape[1 - axis]) % folds)
    for fold in range(folds):
        new = fold_of == fold
        if protocol == "models":
            yield Split(beyond_known & new[:, None], new, np.zeros(items, dtype=bool))
        else:
            yield Split(beyond_known & new, np.zeros(models, dtype=bool), new)


def _random_ranks(asked: BoolArray, axis: int, rng: np.random.Generator) -> IntArray:
    """Return, along the axis, the answered cells' places in a random order, from 0; the blanks come after them."""
    order: FloatArray = np.where(asked, rng.random(asked.shape), 2.0)
    return np.argsort(np.argsort(order, axis=axis), axis=axis)
