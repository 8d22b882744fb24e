"""Every answer is predicted as often as the protocol says, and what is hidden does not depend on the answers."""

from __future__ import annotations

import numpy as np
import pytest

from irt.prediction_protocols import splits

rng = np.random.default_rng(5)
TRIALS = np.where(rng.random((23, 41)) < 0.3, 0, rng.integers(1, 4, (23, 41)))
TRIALS[3] = 0
TRIALS[4, 3:] = 0


def test_cells_are_each_hidden_once_in_folds_of_equal_size() -> None:
    found = list(splits(TRIALS, "cells", 7, 20, 0))
    assert len(found) == 7
    assert np.array_equal(sum(split.hidden.astype(int) for split in found), TRIALS > 0)
    sizes = [split.hidden.sum() for split in found]
    assert max(sizes) - min(sizes) <= 1
    assert not any(split.new_models.any() or split.new_items.any() for split in found)


@pytest.mark.parametrize("axis, protocol", [(1, "models"), (0, "items")])
def test_new_ones_keep_as_many_known_answers_as_asked_for(axis: int, protocol: str) -> None:
    known = 5
    asked = TRIALS > 0
    hidden = np.zeros(TRIALS.shape, dtype=int)
    new = np.zeros(TRIALS.shape[1 - axis], dtype=int)
    for split in splits(TRIALS, protocol, 4, known, 1):  # type: ignore[arg-type]
        hidden += split.hidden
        ours, other = (split.new_models, split.new_items) if axis else (split.new_items, split.new_models)
        new += ours
        assert not other.any()
        assert not np.any(split.hidden.any(axis=axis) & ~ours)
    assert np.all(new == 1) and hidden.max() == 1 and not np.any(hidden.astype(bool) & ~asked)
    left = (asked & (hidden == 0)).sum(axis=axis)
    assert np.array_equal(left, np.minimum(asked.sum(axis=axis), known))


@pytest.mark.parametrize("protocol", ["cells", "models", "items"])
def test_the_seed_alone_decides(protocol: str) -> None:
    once, again, other = (
        [split.hidden for split in splits(TRIALS, protocol, 3, 4, seed)]  # type: ignore[arg-type]
        for seed in (0, 0, 1)
    )
    assert np.array_equal(once, again) and not np.array_equal(once, other)
