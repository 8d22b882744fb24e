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


@pytest.mark.parametrize("axis, protocol", [(1, "models"), (0, "items")])
def test_known_answers_and_folds_are_drawn_at_random(axis: int, protocol: str) -> None:
    """Over seeds: every answer is as likely to be known as any other, and every two to be new in the same fold."""
    known, seeds, count = 4, 300, TRIALS.shape[1 - axis]
    left, together = np.zeros(TRIALS.shape), np.zeros((count, count))
    for seed in range(seeds):
        left += TRIALS > 0
        for split in splits(TRIALS, protocol, 4, known, seed):  # type: ignore[arg-type]
            left -= split.hidden
            new = (split.new_models if axis else split.new_items).astype(float)
            together += np.outer(new, new)
    asked = (TRIALS > 0).sum(axis=axis, keepdims=True)
    share = np.where(TRIALS > 0, np.minimum(1, known / np.maximum(asked, 1)), 0)
    assert np.abs(left / seeds - share).max() < 4.5 * np.sqrt(0.25 / seeds)
    # Two of the same fold: of count − 1 others, those that it has besides.
    sizes = np.bincount(np.arange(count) % 4)
    expected = np.sum(sizes * (sizes - 1)) / (count * (count - 1))
    pairs = together[~np.eye(count, dtype=bool)] / seeds
    assert np.abs(pairs - expected).max() < 4.5 * np.sqrt(expected * (1 - expected) / seeds)
