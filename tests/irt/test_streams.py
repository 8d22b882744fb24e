"""No two purposes share random numbers."""

from __future__ import annotations

import numpy as np

from irt.intervals import resampled_counts
from irt.streams import Purpose, stream


def test_every_purpose_and_number_has_its_own_numbers() -> None:
    drawn = [tuple(np.random.default_rng(seed).random(3)) for seed in range(3)]
    for seed in range(3):
        for purpose in Purpose:
            drawn += [tuple(stream(seed, purpose, number).random(3)) for number in range(4)]
    assert len(set(drawn)) == len(drawn)
    assert 0 not in list(Purpose)


def test_the_same_seed_repeats() -> None:
    once, again = (stream(7, Purpose.START, 2).random(3) for _ in range(2))
    assert np.array_equal(once, again)
    assert np.array_equal(resampled_counts(9, 4), resampled_counts(9, 4))
    assert not np.array_equal(resampled_counts(9, 4), resampled_counts(9, 5))
