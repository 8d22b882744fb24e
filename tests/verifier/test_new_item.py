"""New items' difficulties against brute force, against what must hold, and against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from tests.simulation import FloatArray
from tests.verifier.calibrated import GUESSING, TRIALS, calibrated
from verifier.ability_posterior import Abilities, fit_ability
from verifier.new_item import NewItemDifficulties, new_item_difficulties, new_item_difficulty

EVERYWHERE = (-np.inf, np.inf)


def panel(models: int = 12, sd: float = 0.2, seed: int = 0) -> Abilities:
    return Abilities(np.random.default_rng(seed).normal(size=models), np.full(models, sd), 0.0)


def probability(theta: FloatArray, b: FloatArray, guessing: float) -> FloatArray:
    return guessing + (1 - guessing) / (1 + np.exp(b - theta))


def counts_of(
    rng: np.random.Generator, theta: FloatArray, b: FloatArray, trials: int, guessing: float
) -> np.ndarray:
    return rng.binomial(trials, probability(theta, b[:, None], guessing))


@pytest.mark.parametrize(
    ("correct", "trials", "guessing", "sd"),
    [
        ([1, 0, 1], [1, 1, 1], 0.0, 0.5),
        ([8, 3, 0], [8, 8, 8], 1 / 3, 0.15),
        ([0, 0, 0], [8, 8, 8], 0.25, 0.3),
        ([100, 60, 30], [100, 100, 100], 0.0, 0.3),
        ([2, 0, 1], [4, 0, 3], 0.25, 0.4),
    ],
)
@pytest.mark.parametrize("prior_sd", [1.0, 2.0])
def test_posterior_equals_brute_force(
    correct: list[int], trials: list[int], guessing: float, sd: float, prior_sd: float
) -> None:
    """Sums of binomial probabilities over very fine grids of b and of each ability."""
    abilities = Abilities(np.array([-1.0, 0.3, 1.2]), np.full(3, sd), 0.0)
    b = np.linspace(-14, 14, 2801)
    density = norm.pdf(b, 0, prior_sd)
    for mean, k, n in zip(abilities.mean, correct, trials, strict=True):
        theta = np.linspace(mean - 14 * sd, mean + 14 * sd, 281)
        p = probability(theta[:, None], b, guessing)
        density *= norm.pdf(theta, mean, sd) @ binom.pmf(k, n, p)
    density /= density.sum()
    mean = density @ b
    found = new_item_difficulty(correct, trials, guessing, abilities, prior_sd=prior_sd)
    assert found.b_mean == pytest.approx(mean, abs=1e-4)
    assert found.b_sd == pytest.approx(np.sqrt(density @ (b - mean) ** 2), rel=1e-3)
    below = np.cumsum(density) - density / 2
    for low, high in ((mean - 0.3, mean + 0.2), (mean, np.inf), (-np.inf, mean - 1)):
        expected = np.interp(high, b, below) - np.interp(low, b, below)
        assert found.probability_in((low, high)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("prior_sd", [1.0, 2.0])
def test_without_answers_the_prior_is_left(prior_sd: float) -> None:
    found = new_item_difficulty([0] * 12, 0, 0.25, panel(), prior_sd=prior_sd)
    assert (found.b_mean, found.b_sd) == (pytest.approx(0, abs=1e-9), pytest.approx(prior_sd, rel=1e-4))
    assert found.probability_in((-prior_sd, prior_sd)) == pytest.approx(0.6827, abs=1e-3)
    assert found.probability_in((-np.inf, 0)) == pytest.approx(0.5, abs=1e-9)


def test_intervals_add_up() -> None:
    rng = np.random.default_rng(1)
    found = new_item_difficulties(rng.integers(0, 5, size=(50, 12)), 4, 0.25, panel())
    edges = [-np.inf, -20.0, -1.5, -0.2, -0.2, 0.1234, 2.0, 40.0, np.inf]
    parts = np.array([found.probability_in(pair) for pair in zip(edges[:-1], edges[1:], strict=True)])
    np.testing.assert_allclose(parts.sum(axis=0), 1, atol=1e-12)
    assert (parts >= 0).all() and (parts[[0, 3, -1]] < 1e-9).all()
    np.testing.assert_allclose(found.probability_in(EVERYWHERE), 1, rtol=1e-12)
    # Each item may have its own interval.
    low = found.b_mean - found.b_sd
    each = found.probability_in((low, np.inf))
    one = NewItemDifficulties(found.b_mean[7:8], found.b_sd[7:8], found.nodes, found.density[7:8])
    assert one.probability_in((low[7], np.inf))[0] == each[7]
    for wrong in ((1.0, 0.0), (np.nan, 1.0)):
        with pytest.raises(ValueError, match="from low to high"):
            found.probability_in(wrong)


def test_many_items_at_once_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(2)
    trials = rng.integers(0, 9, size=(15, 12))
    trials[0] = 8  # the grid depends on the largest number of trials
    correct, guessing = rng.binomial(trials, 0.6), rng.choice([0.0, 0.25, 1 / 3], size=15)
    together = new_item_difficulties(correct, trials, guessing, panel())
    for item in range(15):
        alone = new_item_difficulty(correct[item], trials[item], float(guessing[item]), panel())
        assert alone.b_mean == pytest.approx(together.b_mean[item], abs=1e-6)
        assert alone.b_sd == pytest.approx(together.b_sd[item], rel=1e-5)
        assert alone.probability_in((0, 1)) == pytest.approx(together.probability_in((0, 1))[item], abs=1e-3)


def test_mirrored_answers_give_the_mirrored_difficulty() -> None:
    rng, abilities = np.random.default_rng(3), panel()
    correct = rng.integers(0, 5, size=(20, 12))
    straight = new_item_difficulties(correct, 4, 0.0, abilities)
    turned = new_item_difficulties(4 - correct, 4, 0.0, Abilities(-abilities.mean, abilities.sd, 0.0))
    np.testing.assert_allclose(turned.b_mean, -straight.b_mean, atol=1e-9)
    np.testing.assert_allclose(turned.b_sd, straight.b_sd, atol=1e-9)


def test_more_wrong_answers_make_it_harder_and_less_certain_abilities_wider() -> None:
    by_total = new_item_difficulties(np.tril(np.full((13, 12), 4), -1), 4, 0.25, panel())
    assert (np.diff(by_total.b_mean) < 0).all()
    sure, unsure = (new_item_difficulty([2] * 12, 4, 0.25, panel(sd=sd)) for sd in (0.05, 0.6))
    assert unsure.b_sd > 1.05 * sure.b_sd


def test_what_all_abilities_share_with_the_table_is_not_counted() -> None:
    """The gap's edges are items of the table, and move with the scale as the verifiers do."""
    own = panel(sd=0.2)
    with_location = Abilities(own.mean, np.sqrt(own.sd**2 + 0.3**2), 0.3)
    one, other = (new_item_difficulty([3] * 12, 4, 0.0, a) for a in (own, with_location))
    assert other.b_mean == pytest.approx(one.b_mean) and other.b_sd == pytest.approx(one.b_sd)


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_answers_that_could_not_be_are_finite(guessing: float) -> None:
    """Abilities of ± 800 that err on everything, or on nothing."""
    abilities = Abilities(np.array([800.0, -800.0, 0.0]), np.full(3, 0.1), 0.0)
    found = new_item_difficulties([[0, 8, 8], [8, 0, 0], [8, 8, 8], [0, 0, 0]], 8, guessing, abilities)
    for figures in (found.b_mean, found.b_sd, found.density, found.probability_in((0, 1))):
        assert np.isfinite(figures).all()


@pytest.mark.parametrize(
    ("correct", "trials", "message"),
    [
        ([[1, 2], [2.5, 0]], 4, r"answers at \(1, 0\): 2.5 right of 4; both must be whole numbers"),
        ([[1, 2], [2, 5]], 4, r"answers at \(1, 1\): 5 right of 4;"),
        ([[1, 2], [2, 3]], [4, 2], r"answers at \(1, 1\): 3 right of 2;"),
        ([[1, -1], [2, 0]], 4, r"answers at \(0, 1\): -1 right of 4;"),
        ([[1, np.nan], [2, 0]], 4, r"answers at \(0, 1\): nan right of 4;"),
        ([[1, 2], [2, 0]], 4.5, r"answers at \(0, 0\): 1 right of 4.5;"),
        ([[1, 2], [2, 0]], np.inf, r"answers at \(0, 0\): 1 right of inf;"),
    ],
)
def test_impossible_counts_are_refused_with_their_place(
    correct: list[list[float]], trials: float | list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        new_item_difficulties(correct, trials, 0.0, panel(models=2))


@pytest.mark.parametrize(("trials", "guessing"), [(1, 1 / 3), (4, 0.0)])
def test_stated_probabilities_come_true(trials: int, guessing: float) -> None:
    """16 panels × 400 items whose abilities are as uncertain as stated: coverage, and a reliability table.

    The items of a panel share its errors, so standard errors are those of whole panels.
    """
    rng = np.random.default_rng(4)
    inside, stated, covered = [], [], []
    for number in range(16):
        abilities = panel(sd=0.2, seed=number)
        theta, b = abilities.mean + abilities.sd * rng.normal(size=12), rng.normal(size=400)
        found = new_item_difficulties(counts_of(rng, theta, b, trials, guessing), trials, guessing, abilities)
        covered.append(np.abs(found.probability_in((-np.inf, b)) - 0.5) < 0.45)
        cells = [(low, low + 0.8) for low in np.arange(-2.4, 2.4, 0.8)]
        stated.append(np.array([found.probability_in(cell) for cell in cells]))
        inside.append(np.array([(low < b) & (b < high) for low, high in cells]))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.015)
    p, hit = np.array(stated), np.array(inside)
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
        chosen = (low <= p) & (p < high)
        excess = np.where(chosen, hit - p, 0).sum(axis=(1, 2))
        if chosen.sum() < 100:
            continue  # one answer a verifier is never that sure
        error = np.sqrt((excess**2).sum()) / chosen.sum()
        assert abs(excess.sum()) / chosen.sum() < 3.5 * error


def test_a_wide_prior_places_items_far_out_where_they_are() -> None:
    """Items around b = 1.2, four answers a verifier: Normal(0, 1) places them too near to 0 by a third of an sd."""
    covered: dict[float, list[np.ndarray]] = {1.0: [], 2.0: []}
    error: dict[float, list[FloatArray]] = {1.0: [], 2.0: []}
    for number in range(40):
        rng, abilities = np.random.default_rng([8, number]), panel(sd=0.2, seed=number)
        theta, b = abilities.mean + abilities.sd * rng.normal(size=12), rng.normal(1.2, 0.4, 100)
        counts = counts_of(rng, theta, b, 4, 0.0)
        for prior_sd, held in covered.items():
            found = new_item_difficulties(counts, 4, 0.0, abilities, prior_sd=prior_sd)
            held.append(np.abs(found.probability_in((-np.inf, b)) - 0.5) < 0.45)
            error[prior_sd].append((found.b_mean - b) / found.b_sd)
    assert np.mean(covered[2.0]) == pytest.approx(0.9, abs=0.02)
    assert abs(np.mean(error[2.0])) < 0.15
    assert np.mean(error[1.0]) < -0.3


def test_the_whole_chain_finds_the_truth() -> None:
    """Simulated answers, fit_irt's table, abilities of its own panel and of 12 others, 200 new items for each."""
    data, _, table = calibrated()
    trials, guessing = TRIALS, GUESSING
    shift = (data.b - table.mean).mean()
    rng = np.random.default_rng(6)
    covered, off_centre, correlation = [], [], []
    for number in range(13):
        theta = rng.normal(size=12) if number else data.theta
        asked = data.trials.astype(int)
        correct = (
            rng.binomial(asked, probability(theta[:, None], data.b, guessing)) if number else data.correct
        )
        abilities = fit_ability(correct, data.trials, data.guessing, table, own_table=number == 0)
        b = np.concatenate([rng.normal(size=200), rng.normal(1.2, 0.3, 100), rng.normal(-1.2, 0.3, 100)])
        found = new_item_difficulties(counts_of(rng, theta, b, trials, guessing), trials, guessing, abilities)
        held = np.abs(found.probability_in((-np.inf, b - shift)) - 0.5) < 0.45
        covered.append(held[:200].mean())
        off_centre.append(held[200:].mean())
        correlation.append(np.corrcoef(found.b_mean[:200], b[:200])[0, 1])
    assert 0.87 < np.mean(covered) < 0.93
    assert 0.85 < np.mean(off_centre) < 0.95
    assert np.mean(correlation) > 0.75


def test_recovery_and_a_shuffled_control() -> None:
    """True difficulties of sd 1.5, wider than the prior; with shuffled answers nothing is left to find."""
    rng, abilities = np.random.default_rng(7), panel()
    theta, b = abilities.mean + abilities.sd * rng.normal(size=12), 1.5 * rng.normal(size=400)
    counts = counts_of(rng, theta, b, 4, 0.25)
    found = new_item_difficulties(counts, 4, 0.25, abilities)
    assert np.corrcoef(found.b_mean, b)[0, 1] > 0.85
    control = new_item_difficulties(rng.permuted(counts, axis=0), 4, 0.25, abilities)
    assert abs(np.corrcoef(control.b_mean, b)[0, 1]) < 0.2
    assert control.b_mean.std() < 0.5 * found.b_mean.std()
