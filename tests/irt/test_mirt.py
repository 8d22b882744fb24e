"""The multidimensional fit against simulated truth, its invariants, and the data that break naive fits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from irt.arrays import FloatArray, IntArray
from irt.mirt import MirtFit, MirtSettings, fit_mirt, probability, score_items, score_models
from irt.mirt_data import read_benchmarks
from irt.mirt_stability import correlations
from irt.mirt_updates import answers_of, expected_weights, log_two_cosh
from irt.rotation import canonical, procrustes, rotate
from tests.planted_abilities import on_first, on_second, plant, write_matrices


@dataclass(frozen=True)
class Simulated:
    theta: FloatArray
    a: FloatArray
    d: FloatArray
    chance: FloatArray
    correct: IntArray
    trials: IntArray
    benchmark_of: IntArray


def simulate(
    models: int = 60, items: int = 300, dims: int = 2, trials: int = 1, blanks: float = 0.0, seed: int = 1
) -> Simulated:
    """Two benchmarks whose items load on different mixtures of the dimensions."""
    rng = np.random.default_rng(seed)
    benchmark_of = np.arange(items) % 2
    theta = rng.normal(size=(models, dims))
    means = np.array([[1.5, 0.2, 0.4, 0.1], [0.3, 1.4, 0.1, 0.5]])[:, :dims]
    a = means[benchmark_of] + 0.5 * rng.normal(size=(items, dims))
    d = np.array([0.8, -0.5])[benchmark_of] + rng.normal(size=items)
    chance = 1 / (1 + np.exp(-(theta @ a.T + d)))
    asked = np.where(rng.random(chance.shape) < blanks, 0, trials)
    return Simulated(theta, a, d, chance, rng.binomial(asked, chance), asked, benchmark_of)


def fit(data: Simulated, **settings: int) -> MirtFit:
    chosen = MirtSettings(**{"dims": data.theta.shape[1], "starts": 1} | settings)
    return fit_mirt(data.correct, data.trials, data.benchmark_of, chosen)


def log_loss(chance: FloatArray, data: Simulated, cells: npt.NDArray[np.bool_]) -> float:
    return -float(np.log(np.where(data.correct == 1, chance, 1 - chance))[cells].mean())


def test_abilities_are_recovered_up_to_rotation_and_hidden_answers_predicted_like_the_truth() -> None:
    data = simulate(models=100, items=1000)
    hidden = np.random.default_rng(7).random(data.trials.shape) < 0.1
    seen = fit_mirt(
        np.where(hidden, 0, data.correct), np.where(hidden, 0, 1), data.benchmark_of, MirtSettings(starts=1)
    )
    turned = seen.theta @ procrustes(seen.theta, data.theta)
    for k in range(2):
        assert np.corrcoef(turned[:, k], data.theta[:, k])[0, 1] > 0.98
    turned_a = seen.a @ procrustes(seen.a, data.a)
    assert min(np.corrcoef(turned_a[:, k], data.a[:, k])[0, 1] for k in range(2)) > 0.7
    assert log_loss(seen.probability(), data, hidden) < log_loss(data.chance, data, hidden) + 0.02


def test_loadings_are_recovered_as_well_as_their_standard_deviations_say() -> None:
    """Over all items, and within a benchmark, where the means of the benchmarks are no help."""
    data = simulate(models=200, items=400, seed=2)
    found = fit(data)
    found = rotate(found, procrustes(found.theta, data.theta))
    assert correlations(found.theta, data.theta).min() > 0.97
    assert correlations(found.a, data.a).min() > 0.95
    for number in (0, 1):
        own = data.benchmark_of == number
        assert correlations(found.a[own], data.a[own]).min() > 0.86
        assert correlations(found.d[own, None], data.d[own, None])[0] > 0.97
    sd = np.sqrt(np.diagonal(found.items.covariance, axis1=1, axis2=2))
    error = found.items.mean - np.column_stack([data.a, data.d])
    np.testing.assert_allclose(np.sqrt(np.mean((error / sd) ** 2, axis=0)), 1.1, atol=0.15)
    for k in range(2):
        assert np.polyfit(found.a[:, k], data.a[:, k], 1)[0] == pytest.approx(1, abs=0.08)


def test_the_order_of_models_items_and_files_makes_no_difference(tmp_path: Path) -> None:
    """With the same number of dimensions; the start's noise is drawn in their order, so it is the optimum that is same.

    Blanks and a benchmark that some models did not answer included.
    """
    mixed = np.concatenate([on_first(15, 1.5), on_second(15, 1.5)])
    data = plant({"one": on_first(25, 1.5), "mixed": mixed, "two": on_second(20, 1.5)}, models=50).data
    data.trials[np.random.default_rng(1).random(data.trials.shape) < 0.2] = 0
    data.trials[:12, 55:] = 0
    data.correct[data.trials == 0] = 0
    fits, all_data = [], []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        names = write_matrices(folder, data)
        if number:
            names = names[::-1]
            for at, name in enumerate(names):
                table = [line.split(",") for line in (folder / name).read_text().splitlines()]
                rng = np.random.default_rng(at)
                columns = [0, *(1 + rng.permutation(len(table[0]) - 1))]
                rows = [0, *(1 + rng.permutation(len(table) - 1))]
                mixed_up = [",".join(table[row][column] for column in columns) for row in rows]
                (folder / name).write_text("\n".join(mixed_up) + "\n")
        read = read_benchmarks([folder / name for name in names], n_trials=1, common_models=False)
        all_data.append(read)
        fits.append(
            canonical(fit_mirt(read.correct, read.trials, read.benchmark_of, MirtSettings(starts=1)))[0]
        )
    first, second = all_data
    assert first.models != second.models and first.items != second.items
    rows = [second.models.index(model) for model in first.models]
    columns = [second.items.index(item) for item in first.items]
    straight, other = fits
    np.testing.assert_allclose(other.theta[rows], straight.theta, atol=1e-4)
    np.testing.assert_allclose(other.items.mean[columns], straight.items.mean, atol=1e-4)
    np.testing.assert_allclose(other.prior.mean[::-1], straight.prior.mean, atol=1e-4)
    np.testing.assert_allclose(other.probability()[np.ix_(rows, columns)], straight.probability(), atol=1e-5)


def test_many_trials_pin_everything_down() -> None:
    data = simulate(models=150, items=120, trials=400)
    found = fit(data)
    np.testing.assert_allclose(found.probability(), data.chance, atol=0.03)
    # The axes of the fit are standardised over these models, the truth's nearly so.
    np.testing.assert_allclose(found.theta.mean(axis=0), 0, atol=1e-9)
    second = found.theta.T @ found.theta / 150 + found.abilities.covariance.mean(axis=0)
    np.testing.assert_allclose(second, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_evidence_bound_never_falls(dims: int) -> None:
    elbo = fit(simulate(blanks=0.3, trials=3), dims=dims).elbo
    assert len(elbo) > 5 and np.diff(elbo).min() > -1e-7 * abs(elbo[-1])


def test_the_bound_is_below_the_evidence_of_one_model_and_item() -> None:
    """log σ(z)^k (1 − σ(z))^(n−k) ≥ κ·z − n·log 2cosh(c/2) − w(z² − c²)/2, with equality at z = ±c."""
    z, k, n = np.linspace(-6, 6, 25), 2.0, 5.0
    answers = answers_of(np.array([[k]]), np.array([[n]]))
    exact = k * z - n * np.log1p(np.exp(z))
    for c in (1e-9, 0.5, 3.0):
        half = np.array([[c / 2]])
        weight, log_cosh = expected_weights(half, answers.trials), log_two_cosh(half)
        bound = answers.kappa[0, 0] * z - n * log_cosh[0, 0] - weight[0, 0] * (z**2 - c**2) / 2
        assert (bound <= exact + 1e-12).all()
        at = answers.kappa[0, 0] * c - n * log_cosh[0, 0]
        assert at == pytest.approx(k * c - n * np.log1p(np.exp(c)), abs=1e-7)


def test_predictions_integrate_the_uncertainty() -> None:
    """Against draws from the posterior: σ at the means alone would be off by far more."""
    found = fit(simulate(models=12, items=20))
    rng = np.random.default_rng(0)
    theta = np.stack(
        [
            rng.multivariate_normal(m, v, 20_000)
            for m, v in zip(found.theta, found.abilities.covariance, strict=True)
        ]
    )
    beta = np.stack(
        [
            rng.multivariate_normal(m, v, 20_000)
            for m, v in zip(found.items.mean, found.items.covariance, strict=True)
        ]
    )
    drawn = np.einsum("isk,jsk->ijs", theta, beta[:, :, :2]) + beta[None, :, :, 2]
    exact = (1 / (1 + np.exp(-drawn))).mean(axis=2)
    plugged = 1 / (1 + np.exp(-(found.theta @ found.a.T + found.d)))
    assert np.abs(found.probability() - exact).max() < 0.01 < np.abs(plugged - exact).max()


def test_the_same_seed_gives_the_same_fit_and_the_best_start_is_kept() -> None:
    data = simulate(models=30, items=60)
    first, again = fit(data, starts=3, seed=5), fit(data, starts=3, seed=5)
    np.testing.assert_array_equal(first.items.mean, again.items.mean)
    assert first.elbo[-1] == first.starts.elbo.max() == first.starts.elbo[0]
    assert first.starts.difference[0] == 0 and first.starts.difference.max() < 0.02
    assert not np.array_equal(first.items.mean, fit(data, starts=3, seed=6).items.mean)


def test_cells_that_were_never_asked_carry_no_weight() -> None:
    """A model without any answer changes nothing for the others but the average that the scale is fixed by."""
    data = simulate(models=30, items=40, trials=2)
    none = np.zeros((1, 40), dtype=int)
    found = fit(data)
    with_blank = fit_mirt(
        np.vstack([data.correct, none]),
        np.vstack([data.trials, none]),
        data.benchmark_of,
        MirtSettings(starts=1),
    )
    np.testing.assert_allclose(with_blank.probability()[:30], found.probability(), atol=0.02)
    np.testing.assert_allclose(with_blank.theta[30], 0, atol=0.2)


@pytest.mark.parametrize(("models", "items"), [(400, 12), (6, 500)])
def test_more_models_than_items_and_the_reverse(models: int, items: int) -> None:
    data = simulate(models=models, items=items)
    found = fit(data)
    assert np.isfinite(found.items.mean).all() and np.isfinite(found.theta).all()
    everyone = np.ones(data.trials.shape, dtype=bool)
    assert log_loss(found.probability(), data, everyone) < 0.6


def test_one_item_benchmarks_constant_items_and_a_model_with_three_answers() -> None:
    data = simulate(models=40, items=60)
    correct, trials, benchmark_of = data.correct.copy(), data.trials.copy(), data.benchmark_of.copy()
    benchmark_of[0] = 2  # alone in its benchmark
    benchmark_of[1] = 3  # alone, and everybody is right
    correct[:, 1], correct[:, 2], correct[:, 3] = 1, 1, 0
    trials[5, 3:], correct[5, 3:] = 0, 0
    found = fit_mirt(correct, trials, benchmark_of, MirtSettings(dims=2, starts=2))
    assert found.converged and np.abs(found.items.mean).max() < 30
    chance = found.probability()
    assert chance[:, [1, 2]].min() > 0.5 and chance[:, 3].max() < 0.5
    spread = np.linalg.det(found.abilities.covariance)
    assert spread.argmax() == 5


def test_other_models_are_scored_on_frozen_items() -> None:
    data = simulate(models=120, items=400)
    known = fit_mirt(data.correct[:80], data.trials[:80], data.benchmark_of, MirtSettings(starts=1))
    scored = score_models(known, data.correct[80:], data.trials[80:])
    chance = probability(scored, known.items)
    assert np.sqrt(np.mean((chance - data.chance[80:]) ** 2)) < 0.1
    again = score_models(known, data.correct[:80], data.trials[:80])
    np.testing.assert_allclose(again.mean, known.theta, atol=0.05)
    nothing = score_models(known, np.zeros((1, 400)), np.zeros((1, 400)))
    np.testing.assert_allclose(nothing.mean, 0)
    np.testing.assert_allclose(nothing.covariance[0], np.eye(2))


def test_other_items_are_scored_on_frozen_models() -> None:
    data = simulate(models=120, items=400)
    known = fit_mirt(
        data.correct[:, :300], data.trials[:, :300], data.benchmark_of[:300], MirtSettings(starts=1)
    )
    scored = score_items(known, data.correct[:, 300:], data.trials[:, 300:], data.benchmark_of[300:])
    chance = probability(known.abilities, scored)
    assert np.sqrt(np.mean((chance - data.chance[:, 300:]) ** 2)) < 0.1
    unanswered = score_items(known, np.zeros((120, 2)), np.zeros((120, 2)), np.array([0, 1]))
    np.testing.assert_allclose(unanswered.mean, known.prior.mean)
