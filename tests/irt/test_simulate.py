"""The simulated log follows the model that it says it follows."""

from __future__ import annotations

import math

import pytest

from irt.simulate import probability_correct, simulate_log


def test_probability_is_the_logistic_curve_above_the_guessing_floor() -> None:
    assert probability_correct(1.0, -0.5) == pytest.approx(1 / (1 + math.exp(-1.5)))
    assert probability_correct(0.0, 0.0, guessing=0.25) == pytest.approx(0.625)
    assert probability_correct(-1e6, 1e6, guessing=0.25) == 0.25
    assert probability_correct(1e6, -1e6) == 1


def test_every_trial_is_there_once_and_the_seed_decides_all() -> None:
    log = simulate_log(models=3, items=5, trials=4, seed=7)
    assert log == simulate_log(models=3, items=5, trials=4, seed=7)
    assert log != simulate_log(models=3, items=5, trials=4, seed=8)
    keys = {row[:3] for row in log.rows}
    assert keys == {(m, i, t) for m in log.abilities for i in log.difficulties for t in (1, 2, 3, 4)}
    assert len(log.rows) == len(keys)


def test_no_difficulty_lies_in_the_planted_gap() -> None:
    low, high = -0.2, 0.9
    difficulties = simulate_log(models=1, items=400, trials=1, seed=7, gap=(low, high)).difficulties.values()
    assert not any(low < b < high for b in difficulties)
    # The rest of the normal distribution is still there, on both sides: Φ(−0.2) / (Φ(−0.2) + 1 − Φ(0.9)) = 0.696.
    assert sum(b <= low for b in difficulties) / 400 == pytest.approx(0.696, abs=0.07)


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_answers_are_right_as_often_as_the_model_says(guessing: float) -> None:
    trials = 2000
    log = simulate_log(models=2, items=3, trials=trials, seed=7, guessing=guessing)
    for model, theta in log.abilities.items():
        for item, b in log.difficulties.items():
            right = sum(row[3] for row in log.rows if row[:2] == (model, item))
            assert right / trials == pytest.approx(probability_correct(theta, b, guessing), abs=0.045)
