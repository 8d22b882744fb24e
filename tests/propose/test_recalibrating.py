"""Recalibration: the figures are those of the definition, the intervals hold the truth, a seed gives the same again."""

from __future__ import annotations

import numpy as np
import pytest

from irt.difficulty import ddm, diagnose, max_gap, normalize
from irt.rasch import fit_rasch
from irt.settings import SamplerSettings
from propose.recalibrating import Counts, Recalibration, recalibrate, spread

QUICK = SamplerSettings(chains=2, tune=150, draws=200, seed=3, cores=1)
THETA = np.linspace(-1.8, 2.2, 12)
GAP = (0.3, 1.7)
TRIALS = 8


def counts(b: np.ndarray, seed: int, guessing: float = 0.0) -> Counts:
    rng = np.random.default_rng(seed)
    p = guessing + (1 - guessing) / (1 + np.exp(b - THETA[:, None]))
    return Counts(rng.binomial(TRIALS, p), np.full(p.shape, TRIALS), np.full(len(b), guessing))


def truth() -> tuple[np.ndarray, np.ndarray]:
    """Return originals with a hole from 0.3 to 1.7, and four items inside it."""
    originals = np.concatenate([np.linspace(-2.5, GAP[0], 20), np.linspace(GAP[1], 2.5, 8)])
    return originals, np.array([0.6, 0.9, 1.1, 1.4])


def no_items() -> Counts:
    return Counts(np.zeros((12, 0), dtype=int), np.zeros((12, 0), dtype=int), np.zeros(0))


@pytest.fixture(scope="module")
def filled() -> Recalibration:
    originals, new = truth()
    answers = counts(originals, 1)
    b_before = fit_rasch(answers.correct, answers.trials, 0.0, settings=QUICK).difficulty.mean
    return recalibrate(answers, counts(new, 2, 0.25), b_before, QUICK)


def test_before_is_of_the_originals_alone_whatever_the_new_items_answers_are(filled: Recalibration) -> None:
    originals, _ = truth()
    answers = counts(originals, 1)
    alone = recalibrate(
        answers,
        no_items(),
        fit_rasch(answers.correct, answers.trials, 0.0, settings=QUICK).difficulty.mean,
        QUICK,
    )
    assert filled.before == alone.before
    assert alone.fit.draws is not None
    draws = alone.fit.draws.b.reshape(-1, 28).astype(float)
    by_hand = [max_gap(normalize(draw)) for draw in draws.tolist()]
    # The fit's draws are shifted to the calibration's scale, in single precision.
    assert filled.before.max_gap.low == pytest.approx(np.quantile(by_hand, 0.05), abs=1e-6)


def test_new_items_in_the_hole_close_it(filled: Recalibration) -> None:
    assert (filled.before.items, filled.after.items) == (28, 32)
    assert filled.after.max_gap.of_estimates < 0.6 * filled.before.max_gap.of_estimates
    inside = filled.fit.difficulty.mean[28:]
    assert (inside > GAP[0] - 0.4).all() and (inside < GAP[1] + 0.4).all()


def test_the_figures_are_those_of_the_difficulties_that_are_written(filled: Recalibration) -> None:
    estimates = diagnose(filled.fit.difficulty.mean.tolist())
    assert filled.after.ddm.of_estimates == estimates.ddm
    assert filled.after.max_gap.of_estimates == estimates.max_gap


def test_an_interval_is_of_the_diagnostic_over_the_draws() -> None:
    draws = np.random.default_rng(5).normal(size=(800, 9))
    found = spread(draws[0], draws)
    by_hand = [max_gap(normalize(draw)) for draw in draws.tolist()]
    assert found.max_gap.low == pytest.approx(np.quantile(by_hand, 0.05), abs=1e-12)
    assert found.max_gap.high == pytest.approx(np.quantile(by_hand, 0.95), abs=1e-12)
    assert found.ddm.median == pytest.approx(np.median([ddm(normalize(draw)) for draw in draws.tolist()]))


def test_the_intervals_hold_the_diagnostics_of_truths_drawn_from_the_prior() -> None:
    held = []
    for seed in range(3):
        b = np.random.default_rng(seed).normal(size=40)
        found = recalibrate(counts(b[:32], 10 + seed), counts(b[32:], 20 + seed), b[:32], QUICK)
        for spread_found, true in (
            (found.before, diagnose(b[:32].tolist())),
            (found.after, diagnose(b.tolist())),
        ):
            held.append(spread_found.ddm.low < true.ddm < spread_found.ddm.high)
            held.append(spread_found.max_gap.low < true.max_gap < spread_found.max_gap.high)
    assert np.mean(held) > 0.7  # 90 % of 12, less two standard errors


def test_the_figure_of_even_estimates_lies_below_its_interval_and_that_of_a_real_gap_above() -> None:
    """The module says so; a reader of the interval must not take it for the error of the estimate."""
    noise = np.random.default_rng(6).normal(0, 0.3, size=(400, 30))
    even = np.linspace(-2.5, 2.5, 30)
    found = spread(even, even + noise).max_gap
    assert found.of_estimates < found.low < found.median
    holed = np.concatenate([np.linspace(-2.5, -1, 15), np.linspace(1, 2.5, 15)])
    found = spread(holed, holed + noise).max_gap
    assert found.of_estimates > found.high > found.median


def test_new_items_on_one_side_move_no_original() -> None:
    """The priors alone place the zero of a joint fit: before, eighteen hard items moved all originals by 0.35."""
    originals = np.linspace(-2.0, 2.0, 20)
    answers, new = counts(originals, 1), counts(np.full(18, 1.8), 2)
    b_before = fit_rasch(answers.correct, answers.trials, 0.0, settings=QUICK).difficulty.mean + 0.4
    found = recalibrate(answers, new, b_before, QUICK)
    b = found.fit.difficulty.mean
    assert abs(found.shift - 0.4) > 0.15  # what it would have been without
    assert b[:20].mean() == pytest.approx(b_before.mean(), abs=1e-9)
    assert np.abs(b[:20] - b_before).max() < 0.2
    assert b[20:].mean() == pytest.approx(1.8 + 0.4, abs=0.35)
    # Estimates, draws and abilities moved alike: no probability is another.
    assert found.fit.draws is not None
    assert found.fit.draws.b.mean(axis=(0, 1))[:20] == pytest.approx(b[:20], abs=0.05)
    assert found.fit.draws.theta.mean(axis=(0, 1)) == pytest.approx(found.fit.ability.mean, abs=1e-4)
    assert found.fit.ability.mean == pytest.approx(THETA + 0.4, abs=0.6)
    unshifted = spread(b - found.shift, found.fit.draws.b.reshape(-1, 38) - found.shift)
    assert found.after.max_gap.of_estimates == pytest.approx(unshifted.max_gap.of_estimates, abs=1e-9)
    assert found.after.ddm.low == pytest.approx(unshifted.ddm.low, abs=1e-5)


def test_the_same_seed_gives_the_same_figures_and_no_new_item_changes_nothing() -> None:
    answers = counts(truth()[0][::4], 7)
    runs = [recalibrate(answers, no_items(), np.arange(7.0), QUICK) for _ in range(2)]
    assert runs[0].after == runs[1].after
    assert runs[0].after.ddm.low == runs[0].before.ddm.low
    assert runs[0].before.ddm.of_estimates == diagnose(range(7)).ddm


def test_counts_can_be_parted_and_joined_again() -> None:
    answers = counts(np.linspace(-1, 1, 7), 3)
    again = answers.part(slice(5)).and_then(answers.part(slice(5, None)))
    assert answers.part(slice(5)).correct.shape == (12, 5)
    for name in ("correct", "trials", "guessing"):
        assert (getattr(again, name) == getattr(answers, name)).all()
