"""The fit against the truth, against the literal model, and against the symmetries of the model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from arviz_stats.base import array_stats

from irt.rasch import RaschFit, difficulties_given, fit_rasch
from irt.settings import SamplerSettings
from tests.simulation import SimulatedCounts, simulate_counts

QUICK = SamplerSettings(chains=2, tune=300, draws=500, seed=1)


def fit(data: SimulatedCounts, **options: object) -> RaschFit:
    return fit_rasch(data.correct, data.trials, data.guessing, settings=QUICK, **options)  # type: ignore[arg-type]


def z_scores(one: RaschFit, other: RaschFit) -> Iterator[np.ndarray]:
    """Differences of posterior means in combined Monte Carlo standard errors, of abilities and difficulties."""
    assert one.draws is not None and other.draws is not None
    for a, b in ((one.draws.theta, other.draws.theta), (one.draws.b, other.draws.b)):
        errors = [array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean") for draws in (a, b)]
        yield (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.hypot(*errors)


@pytest.mark.parametrize(
    ("models", "items", "trials", "guessing", "blanks"),
    [
        pytest.param(6, 25, 2, 0.0, 0.0, id="few models"),
        pytest.param(25, 6, 2, 0.25, 0.3, id="more models than items, guessing, blanks"),
        pytest.param(10, 30, 100, 0.0, 0.0, id="very narrow posteriors"),
    ],
)
def test_marginal_and_joint_draw_from_one_posterior(
    models: int, items: int, trials: int, guessing: float, blanks: float
) -> None:
    data = simulate_counts(models, items, trials, guessing=guessing, blanks=blanks, seed=2)
    marginal, joint = fit(data, keep_draws=True), fit(data, keep_draws=True, method="joint")
    for z in z_scores(marginal, joint):
        assert np.abs(z).max() < 4.5
    for mine, theirs in ((marginal.ability, joint.ability), (marginal.difficulty, joint.difficulty)):
        np.testing.assert_allclose(mine.sd, theirs.sd, rtol=0.25)
    assert marginal.divergences == 0


def test_narrow_posteriors_find_the_truth() -> None:
    data = simulate_counts(12, 200, 200, seed=3)
    result = fit(data)
    # The mean of all abilities and difficulties is known only as well as their priors allow.
    shift = (result.difficulty.mean - data.b).mean()
    np.testing.assert_allclose(result.difficulty.mean - shift, data.b, atol=0.35)
    np.testing.assert_allclose(result.ability.mean - shift, data.theta, atol=0.15)


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_nine_in_ten_intervals_hold_the_truth(guessing: float) -> None:
    """Truths drawn from the prior must lie in 90 % intervals 90 % of the time; 3 standard errors are 2.6 points."""
    data = simulate_counts(40, 1200, 2, guessing=guessing, seed=4)
    result = fit(data, keep_draws=True)
    assert result.draws is not None
    low, high = np.quantile(result.draws.b, [0.05, 0.95], axis=(0, 1))
    assert 0.87 < np.mean((low < data.b) & (data.b < high)) < 0.93


def test_items_with_equal_answers_get_equal_difficulties() -> None:
    """With Monte Carlo noise between them they would open gaps that are not there."""
    data = simulate_counts(8, 100, 2, seed=5)
    result = fit(data)
    totals = data.correct.sum(axis=0)
    for total in set(totals):
        assert np.ptp(result.difficulty.mean[totals == total]) < 1e-9
    by_total = [result.difficulty.mean[totals == total][0] for total in sorted(set(totals))]
    assert (np.diff(by_total) < 0).all()


def test_constant_items_are_finite_and_extreme() -> None:
    data = simulate_counts(8, 40, 3, seed=6)
    data.correct[:, 0], data.correct[:, 1] = 3, 0
    difficulty = fit(data).difficulty
    assert difficulty.mean.argmin() == 0 and difficulty.mean.argmax() == 1
    assert np.isfinite(difficulty.mean).all() and (difficulty.sd < 1.1).all()


def test_mirrored_data_give_the_mirrored_fit() -> None:
    """Right for wrong and models for items: theta and −b change places. The sampled side is the same one."""
    data = simulate_counts(6, 30, 4, blanks=0.1, seed=7)
    straight = fit(data)
    mirrored = fit_rasch((data.trials - data.correct).T, data.trials.T, np.zeros(6), settings=QUICK)
    np.testing.assert_allclose(mirrored.difficulty.mean, straight.ability.mean, atol=0.1)
    np.testing.assert_allclose(mirrored.ability.mean, straight.difficulty.mean, atol=0.1)


def test_blanks_are_not_wrong_answers() -> None:
    data = simulate_counts(10, 60, 4, blanks=0.5, seed=8)
    result = fit(data)
    assert np.corrcoef(result.ability.mean, data.theta)[0, 1] > 0.9
    wrong = fit_rasch(data.correct, np.full_like(data.trials, 4), data.guessing, settings=QUICK)
    assert result.ability.mean.mean() > wrong.ability.mean.mean() + 0.5


def test_shuffled_answers_show_no_ability() -> None:
    """A negative control: with the models of each item shuffled, abilities must shrink together."""
    data = simulate_counts(12, 300, 4, seed=9)
    shuffled = np.random.default_rng(0).permuted(data.correct, axis=0)
    control = fit_rasch(shuffled, data.trials, data.guessing, settings=QUICK)
    assert np.ptp(control.ability.mean) < 0.2 * np.ptp(fit(data).ability.mean)


def test_the_same_seed_gives_the_same_figures_and_another_does_not() -> None:
    data = simulate_counts(5, 12, 2, seed=10)
    one, again = fit(data, keep_draws=True), fit(data, keep_draws=True)
    assert one.draws is not None and again.draws is not None
    np.testing.assert_array_equal(one.draws.theta, again.draws.theta)
    np.testing.assert_array_equal(one.draws.b, again.draws.b)
    other = fit_rasch(
        data.correct,
        data.trials,
        data.guessing,
        settings=SamplerSettings(chains=2, tune=300, draws=500, seed=2),
    )
    assert not np.array_equal(one.ability.mean, other.ability.mean)


def test_many_guessing_probabilities_at_once() -> None:
    data = simulate_counts(6, 30, 3, seed=11)
    guessing = np.linspace(0, 0.5, 30)
    marginal = fit_rasch(data.correct, data.trials, guessing, settings=QUICK, keep_draws=True)
    joint = fit_rasch(data.correct, data.trials, guessing, settings=QUICK, keep_draws=True, method="joint")
    for z in z_scores(marginal, joint):
        assert np.abs(z).max() < 4.5


def test_difficulties_given_the_abilities_are_those_of_the_fit_or_of_another_prior() -> None:
    """With the fit's own prior they are the fit's; a wide prior lets the item that nobody solved go further out."""
    data = simulate_counts(models=8, items=30, trials=4, seed=5)
    correct = data.correct.copy()
    correct[:, 0] = 0
    fit = fit_rasch(correct, data.trials, data.guessing, settings=QUICK, keep_draws=True)
    assert fit.draws is not None
    theta = fit.draws.theta
    asked = correct[:, :5], data.trials[:, :5], data.guessing[:5]
    same, draws = difficulties_given(theta, *asked, prior_sd=1.0, settings=QUICK)
    np.testing.assert_allclose(same.mean, fit.difficulty.mean[:5], atol=1e-4)
    np.testing.assert_allclose(same.sd, fit.difficulty.sd[:5], rtol=1e-3)
    assert draws.shape == (*theta.shape[:2], 5)
    # An item's place moves with the abilities, draw by draw.
    assert np.corrcoef(draws[..., 1].ravel(), theta.mean(axis=-1).ravel())[0, 1] > 0.2
    wide, _ = difficulties_given(theta, *asked, prior_sd=2.0, settings=QUICK)
    assert wide.mean[0] > same.mean[0] + 0.5
    assert (wide.sd > same.sd).all()
