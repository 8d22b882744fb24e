"""Hard cases of the refinement: nothing diverges, slow ones are extrapolated to the same end, and all settle."""

from __future__ import annotations

import numpy as np
import pytest

from irt.arrays import IntArray
from irt.mirt import MirtFit, MirtSettings, fit_mirt, probability, score_models
from irt.mirt_refine import refine
from irt.mirt_updates import Answers, Gaussian, answers_of, with_one
from tests.refinement import hard_cases, objective, unrefined

# A tenth or less above what was measured: the mean negative log-likelihood of an answer in 1 and 4 dimensions.
MOST_LOSS = {
    "one-item benchmarks, constant items, three answers": {1: 0.432, 4: 0.377},
    "every item a benchmark": {1: 0.514, 4: 0.334},
    "everybody always right": {1: 0.0005, 4: 0.00045},
    "a perfect order": {1: 0.051, 4: 0.051},
    "items all right or all wrong": {1: 0.0031, 4: 0.0031},
    "many trials": {1: 0.55, 4: 0.486},  # by the shares themselves 0.4846
}


@pytest.mark.parametrize("name", hard_cases())
@pytest.mark.parametrize("dims", [1, 4])
def test_nothing_diverges(name: str, dims: int) -> None:
    correct, trials, benchmark_of = hard_cases()[name]
    fit: MirtFit = fit_mirt(
        correct, trials, benchmark_of, MirtSettings(dims=dims, starts=1, max_iterations=200)
    )
    assert np.abs(fit.items.mean).max() < 40 and np.abs(fit.theta).max() < 8
    for side in (fit.abilities, fit.items, fit.prior):
        assert np.linalg.eigvalsh(side.covariance).min() > 0
        assert np.linalg.eigvalsh(side.covariance).max() < 400
    chance = np.clip(fit.probability(), 1e-9, 1 - 1e-9)
    loss = -(correct * np.log(chance) + (trials - correct) * np.log1p(-chance)).sum() / trials.sum()
    assert loss < MOST_LOSS[name][dims]


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("every item a benchmark", 2),
        ("one-item benchmarks, constant items, three answers", 3),
        ("a perfect order", 1),
    ],
)
def test_extrapolation_ends_where_every_step_alone_does(
    name: str, dims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    correct, trials, benchmark_of = hard_cases()[name]
    answers = answers_of(correct, trials)
    begin = unrefined(answers, benchmark_of, dims)
    # At the usual tolerance the single steps have up to 4e-4 to go.
    monkeypatch.setattr("irt.mirt_refine.TOLERANCE", 1e-8)
    *ahead, sooner = refine(answers, *begin, benchmark_of)
    monkeypatch.setattr("irt.mirt_refine.FARTHEST_AHEAD", 1.0)
    *alone, later = refine(answers, *begin, benchmark_of)
    assert sooner.converged and later.converged and sooner.iterations < later.iterations - 10
    assert np.abs(probability(*ahead[:2]) - probability(*alone[:2])).max() < 5e-6


def many_dimensions() -> tuple[Answers, IntArray, MirtFit]:
    """A fit of four dimensions to answers of two, where the learned priors settle slowly."""
    rng = np.random.default_rng(0)
    benchmark_of = np.arange(200) % 3
    theta, means = rng.normal(size=(60, 2)), np.abs(rng.normal(size=(3, 2)))
    a = means[benchmark_of] + 0.5 * rng.normal(size=(200, 2))
    correct = rng.binomial(1, 1 / (1 + np.exp(-(theta @ a.T + rng.normal(size=200)))))
    trials = np.ones_like(correct)
    fit = fit_mirt(correct, trials, benchmark_of, MirtSettings(dims=4, starts=1))
    return answers_of(correct, trials), benchmark_of, fit


def test_a_refinement_that_says_it_has_converged_has(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, benchmark_of, fit = many_dimensions()
    assert fit.converged and 30 < fit.refinement.iterations < 300
    *again, _ = refine(answers, fit.abilities, fit.items, fit.prior, benchmark_of)
    assert np.abs(probability(*again[:2]) - fit.probability()).max() < 1e-3

    # By numerical derivatives, no mean of q would better the bound.
    own = Gaussian(fit.prior.mean[benchmark_of], fit.prior.covariance[benchmark_of])
    for j in (0, 50, 100, 150):
        row, prior = (Gaussian(g.mean[j : j + 1], g.covariance[j : j + 1]) for g in (fit.items, own))
        cells = answers.kappa[:, j], answers.trials[:, j]
        for k in range(5):
            shift = 0.01 * np.eye(5)[k] * np.sqrt(row.covariance[0, k, k])
            up, down = (
                objective(
                    Gaussian(row.mean + move, row.covariance), with_one(fit.abilities), prior, *cells, 5
                )
                for move in (shift, -shift)
            )
            assert abs(up - down) / 0.02 < 0.005

    monkeypatch.setattr("irt.mirt_refine.ITERATIONS", 30)
    assert not refine(answers, *unrefined(answers, benchmark_of, dims=4), benchmark_of)[3].converged


def test_one_benchmark_of_few_answers_an_item_settles_soon_at_the_spread_of_its_loadings() -> None:
    """15 answers say less of a loading than its prior does; item by item that prior would creep ten times as long."""
    rng = np.random.default_rng(0)
    theta, a = rng.normal(size=15), 1.2 + 0.5 * rng.normal(size=800)
    correct = rng.binomial(1, 1 / (1 + np.exp(-(theta[:, None] * a + rng.normal(size=800)))))
    fit = fit_mirt(correct, np.ones_like(correct), np.zeros(800, dtype=int), MirtSettings(dims=1, starts=1))
    assert fit.converged and fit.refinement.iterations < 60
    np.testing.assert_allclose(np.sqrt(np.diag(fit.prior.covariance[0])), [0.5, 1.0], atol=0.1)


def test_scoring_is_cut_off_where_little_is_left_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that are always right creep ahead: the farther, the less their answers change."""
    correct, trials, benchmark_of = hard_cases()["a perfect order"]
    fit = fit_mirt(correct, trials, benchmark_of, MirtSettings(dims=2, starts=1, max_iterations=100))
    always = np.full((5, 60), 1000)
    short = score_models(fit, always, always)
    monkeypatch.setattr("irt.mirt.SCORING_ITERATIONS", 3000)
    far = score_models(fit, always, always)
    sd = np.sqrt(np.diagonal(far.covariance, axis1=1, axis2=2))
    assert 0 < (np.abs(short.mean - far.mean) / sd).max() < 0.001
