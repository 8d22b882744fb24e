"""The refined posteriors are as wide as they are wrong, and stationary where they should be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from irt.arrays import FloatArray
from irt.mirt import MirtSettings, fit_mirt, probability
from irt.mirt_refine import (
    FARTHEST_AHEAD,
    NODES,
    TOLERANCE,
    WIDEST,
    Step,
    chance_at_means,
    extrapolated,
    refine,
    settled,
    step_abilities,
    step_items,
    stretch,
)
from irt.mirt_updates import (
    PRIOR_ITEMS,
    Gaussian,
    answers_of,
    better_scaled,
    transformed,
    update_prior,
    weak_covariance,
    weak_mean_covariance,
    with_one,
)
from irt.rotation import procrustes, rotate_items
from tests.refinement import objective, planted, unrefined


@pytest.mark.parametrize("models", [100, 30])
def test_standard_deviations_match_the_errors(models: int) -> None:
    theta, beta, benchmark_of, chance = planted(models, 1000)
    rng = np.random.default_rng(4)
    hidden = rng.random(chance.shape) < 0.1
    correct = (rng.random(chance.shape) < chance).astype(int)
    fit = fit_mirt(np.where(hidden, 0, correct), np.where(hidden, 0, 1), benchmark_of, MirtSettings(starts=1))
    turn = procrustes(fit.theta, theta)
    abilities, items = transformed(fit.abilities, turn.T), rotate_items(fit.items, turn)
    for found, truth in ((abilities, theta), (items, beta)):
        z = (found.mean - truth) / np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2))
        assert 0.85 < np.sqrt(np.mean(z**2)) < 1.2
        # Somewhat below 95 %, as MirtFit says.
        assert 0.88 < np.mean(np.abs(z) < 1.96) < 0.98
    # How items differ within a benchmark. Of 30 models the Pólya–Gamma bound alone finds 0.16 for a loading.
    for covariance in rotate_items(fit.prior, turn).covariance:
        np.testing.assert_allclose(np.sqrt(np.diag(covariance)), [0.5, 0.5, 1.0], atol=0.13)
    predicted, known = (
        -np.log(np.where(correct == 1, values, 1 - values))[hidden].mean()
        for values in (fit.probability(), chance)
    )
    # With the Pólya–Gamma bound alone as much for 100 models, and 0.046 for 30.
    assert predicted < known + {100: 0.018, 30: 0.046}[models]


def newton(
    rows: Gaussian, at: int, other: Gaussian, prior: tuple[FloatArray, FloatArray], cells: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean, precision, slope and Σ w E[xxᵀ] after one step of one row, cell by cell.

    ``prior`` is (mean, precision) of the coordinates that move, the first ones; ``cells`` (2, K) are correct answers
    and trials.
    """
    mean, free = rows.mean[at], len(prior[0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    data, slope = np.zeros((free, free)), np.zeros(free)
    widths, shares, seconds = [], [], []
    for k, (right, asked) in enumerate(cells.T):
        second = other.covariance[k] + np.outer(other.mean[k], other.mean[k])
        z = mean @ other.mean[k]
        width = np.sum((rows.covariance[at] + np.outer(mean, mean)) * second) - z**2
        chance = 1 / (1 + np.exp(-(z + nodes * np.sqrt(width))))
        r = right - asked * (weights @ chance) / weights.sum()
        w = asked * (weights @ (chance * (1 - chance))) / weights.sum()
        data += w * second[:free, :free]
        slope += (r * other.mean[k] - w * other.covariance[k] @ mean)[:free]
        widths.append(width)
        shares.append(w * width)
        seconds.append(second[:free, :free])
    precision = prior[1] + data
    change = np.linalg.solve(precision, slope + prior[1] @ (prior[0] - mean[:free]))
    change *= min(1, 1.5 / np.sqrt(max(change @ second @ change for second in seconds)))
    share = min(0.5, 2 / (1 + np.dot(shares, widths) / np.sum(shares)))
    damped = (1 - share) * np.linalg.inv(rows.covariance[at, :free, :free]) + share * precision
    return mean[:free] + change, damped, slope - data @ change, data


@pytest.mark.parametrize("block_cells", [1, 29, 100_000])
def test_a_step_is_newtons_of_every_cell(block_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With blanks, correlated posteriors, and rows that the steps' limit and the damping hold back, in any blocks."""
    monkeypatch.setattr("irt.mirt_refine.BLOCK_CELLS", block_cells)
    _, _, benchmark_of, chance = planted(6, 9)
    rng = np.random.default_rng(11)
    trials = rng.integers(0, 4, size=chance.shape)
    correct = rng.binomial(trials, chance)
    root = 0.5 * (np.eye(3) + 0.3 * rng.normal(size=(15, 3, 3)))
    covariance = root @ root.transpose(0, 2, 1)
    covariance[0] *= 40  # so wide that less than half of the way is right
    items = Gaussian(rng.normal(size=(9, 3)), covariance[:9])
    items.mean[1] += 6  # so far away that the step would be long
    abilities = Gaussian(rng.normal(size=(6, 2)), covariance[9:, :2, :2])
    abilities.mean[2] -= 5
    prior = Gaussian(rng.normal(size=(2, 3)), 2 * covariance[2:4])
    answers = answers_of(correct, trials)
    own_precision = np.array([[2.0, 0.4], [0.4, 1.0]])
    cells, x = np.stack([correct, trials]).astype(float), with_one(abilities)
    precisions = np.linalg.inv(prior.covariance)
    lengths = []
    for step, rows, before in (
        (
            step_abilities(answers, items, abilities, own_precision),
            [newton(x, i, items, (np.zeros(2), own_precision), cells[:, i]) for i in range(6)],
            abilities.mean,
        ),
        (
            step_items(answers, items, abilities, prior, benchmark_of),
            [
                newton(items, j, x, (prior.mean[b], precisions[b]), cells[:, :, j])
                for j, b in enumerate(benchmark_of)
            ],
            items.mean,
        ),
    ):
        mean, precision, slope, data = (np.stack(values) for values in zip(*rows, strict=True))
        np.testing.assert_allclose(step.gaussians.mean, mean, atol=1e-9)
        np.testing.assert_allclose(np.linalg.inv(step.gaussians.covariance), precision, rtol=2e-3, atol=1e-9)
        np.testing.assert_allclose(step.slope, slope, atol=1e-9)
        np.testing.assert_allclose(step.data_precision, data, rtol=2e-3, atol=1e-9)
        moved = [change @ p @ change for change, p in zip(mean - before, precision, strict=True)]
        assert step.length == pytest.approx(np.sqrt(np.mean(moved) / mean.shape[1]))
        lengths.append(step.length)
    assert min(lengths) > 0.1


@pytest.mark.parametrize("side", ["models", "items"])
def test_the_steps_end_at_the_best_gaussian(side: str) -> None:
    _, _, benchmark_of, chance = planted(12, 15)
    rng = np.random.default_rng(5)
    trials = rng.integers(0, 4, size=chance.shape)
    answers = answers_of(rng.binomial(trials, chance), trials)
    abilities, items, prior = unrefined(answers, benchmark_of)
    for _ in range(100):
        if side == "models":
            abilities = step_abilities(answers, items, abilities, 2 * np.eye(2)).gaussians
        else:
            items = step_items(answers, items, abilities, prior, benchmark_of).gaussians
    if side == "models":
        rows, other, free = with_one(abilities), items, 2
        own_prior = Gaussian(np.zeros((1, 2)), np.eye(2)[None] / 2)
        cells = answers.kappa[3], answers.trials[3]
    else:
        rows, other, free = items, with_one(abilities), 3
        own_prior = Gaussian(prior.mean[:1], prior.covariance[:1])
        cells = answers.kappa[:, 3], answers.trials[:, 3]

    def value(shift: FloatArray, stretched: FloatArray) -> float:
        return objective(
            Gaussian(rows.mean[3:4] + shift, stretched @ rows.covariance[3:4] @ stretched.T),
            other,
            own_prior,
            *cells,
            free,
        )

    size = rows.mean.shape[1]
    best = value(np.zeros(size), np.eye(size))
    for k in range(free):
        for sign in (-0.03, 0.03):
            assert value(sign * np.eye(size)[k], np.eye(size)) < best
            assert (
                value(np.zeros(size), np.eye(size) + sign * np.outer(np.eye(size)[k], np.eye(size)[k])) < best
            )


def test_steps_from_far_away_do_not_overshoot() -> None:
    """At logits of ±40 the curvature is nothing, and a full Newton step would go to thousands."""
    _, _, benchmark_of, chance = planted(30, 20)
    trials = np.full(chance.shape, 50)
    answers = answers_of(np.random.default_rng(6).binomial(trials, chance), trials)
    abilities, near, prior = unrefined(answers, benchmark_of)
    far = Gaussian(np.full_like(near.mean, -40.0), 1e-4 * near.covariance)
    for _ in range(150):
        near, far = (
            step_items(answers, start, abilities, prior, benchmark_of).gaussians for start in (near, far)
        )
        assert np.abs(far.mean).max() < 45
    np.testing.assert_allclose(far.mean, near.mean, atol=1e-6)
    np.testing.assert_allclose(far.covariance, near.covariance, atol=1e-6)


@pytest.mark.parametrize(("models", "times"), [(12, 30), (200, 30), (200, 100)])
def test_wide_posteriors_settle(models: int, times: float) -> None:
    """Where everybody is right, w grows with the posterior's width and narrows it: undamped, the two take turns.

    With 200 models they still do so when the precision goes half of the way.
    """
    _, _, benchmark_of, chance = planted(models, 15)
    correct = np.random.default_rng(5).binomial(1, chance)
    correct[:, 0], correct[:, 1] = 1, 0
    answers = answers_of(correct, np.ones(chance.shape))
    abilities, items, prior = unrefined(answers, benchmark_of)
    wide = Gaussian(prior.mean, times * prior.covariance)
    for _ in range(250):
        step = step_items(answers, items, abilities, wide, benchmark_of)
        items = step.gaussians
    assert step.length < 1e-6


def test_moving_a_benchmark_as_one_leads_to_the_same_place_sooner() -> None:
    _, _, benchmark_of, chance = planted(30, 60)
    benchmark_of[7] = 2  # alone
    answers = answers_of(np.random.default_rng(7).binomial(1, chance), np.ones(chance.shape))
    start = unrefined(answers, benchmark_of)
    narrow = Gaussian(start[2].mean, 0.02 * start[2].covariance)

    def run(iterations: int, together: bool) -> tuple[Gaussian, Gaussian, Gaussian]:
        abilities, items, prior = *start[:2], narrow
        for _ in range(iterations):
            step = step_items(answers, items, abilities, prior, benchmark_of)
            items, prior = stretch(step, prior, benchmark_of) if together else (step.gaussians, prior)
            prior = update_prior(items, prior, benchmark_of)
            (abilities, items, prior), _ = better_scaled(abilities, items, prior, benchmark_of)
            abilities = step_abilities(answers, items, abilities, np.eye(2)).gaussians
        return abilities, items, prior

    def spread(prior: Gaussian) -> FloatArray:
        return np.linalg.slogdet(prior.covariance)[1]

    final = run(250, together=True)
    creeping, soon = run(250, together=False), run(30, together=True)
    np.testing.assert_allclose(probability(*creeping[:2]), probability(*final[:2]), atol=1e-3)
    np.testing.assert_allclose(spread(creeping[2]), spread(final[2]), atol=0.05)
    early = run(30, together=False)
    assert (
        np.abs(spread(soon[2]) - spread(final[2])).max()
        < np.abs(spread(early[2]) - spread(final[2])).max() / 3
    )


@pytest.mark.parametrize("size", [0.1, 1e5])
def test_a_benchmark_moves_as_one_by_a_newton_step(size: float) -> None:
    """β → mean + A(β − mean) + c: no divergence from the prior changes; (A, c) is the step, held back if too long."""
    rng = np.random.default_rng(12)
    benchmark_of = np.array([1, 0, 1, 1, 0, 1, 1, 0])
    root = 0.6 * (np.eye(3) + 0.3 * rng.normal(size=(18, 3, 3)))
    square = root @ root.transpose(0, 2, 1)
    items = Gaussian(rng.normal(size=(8, 3)), 0.02 * square[:8])
    prior = Gaussian(rng.normal(size=(2, 3)), 2 * square[16:])
    step = Step(items, 1.0, size * rng.normal(size=(8, 3)), 300 * square[8:16])
    moved, moved_prior = stretch(step, prior, benchmark_of)

    def divergence(row: Gaussian, at: int, own_prior: Gaussian) -> float:
        mean, covariance = own_prior.mean[benchmark_of[at]], own_prior.covariance[benchmark_of[at]]
        precision, away = np.linalg.inv(covariance), row.mean[at] - mean
        log_det = np.linalg.slogdet(precision @ row.covariance[at])[1]
        return float(np.trace(precision @ row.covariance[at]) + away @ precision @ away - log_det)

    for at in range(8):
        assert divergence(moved, at, moved_prior) == pytest.approx(divergence(items, at, prior))

    # The benchmark of five items, of which A − I and c, side by side, can be told.
    own = np.flatnonzero(benchmark_of == 1)
    mean, covariance = prior.mean[1], prior.covariance[1]
    away = np.column_stack([items.mean[own] - mean, np.ones(5)])
    change = np.linalg.lstsq(away, moved.mean[own] - items.mean[own])[0].T
    stretched = np.eye(3) + change[:, :3]
    np.testing.assert_allclose(moved_prior.mean[1] - mean, change[:, 3])
    np.testing.assert_allclose(moved_prior.covariance[1], stretched @ covariance @ stretched.T)
    scale = np.linalg.cholesky(covariance)
    length = np.linalg.norm(np.linalg.solve(scale, np.column_stack([change[:, :3] @ scale, change[:, 3]])))
    if size > 1:
        assert length == pytest.approx(WIDEST)
        return
    assert length < 0.99 * WIDEST
    weak, weak_mean = weak_covariance(3), weak_mean_covariance(3)

    def bound(matrix: FloatArray) -> float:
        """Return what the answers and the weak prior say, the divergence from the prior being what it was."""
        a, shifted = np.eye(3) + matrix[:, :3], mean + matrix[:, 3]
        spread = a @ covariance @ a.T
        value = -shifted @ np.linalg.solve(weak_mean, shifted) / 2
        value -= PRIOR_ITEMS / 2 * (np.trace(weak @ np.linalg.inv(spread)) + np.linalg.slogdet(spread)[1])
        for j, from_mean in zip(own, away, strict=True):
            value += step.slope[j] @ matrix @ from_mean
            value -= np.trace(step.data_precision[j] @ a @ items.covariance[j] @ a.T) / 2
        return float(value)

    curved = PRIOR_ITEMS * np.linalg.inv(covariance) @ change[:, :3] @ weak
    curved = np.column_stack([curved, np.linalg.solve(weak_mean, change[:, 3])])
    for j, from_mean in zip(own, away, strict=True):
        second = np.outer(from_mean, from_mean)
        second[:3, :3] += items.covariance[j]
        curved += step.data_precision[j] @ change @ second
    for k, m in product(range(3), range(4)):
        unit = np.zeros((3, 4))
        unit[k, m] = 1e-5
        assert (bound(unit) - bound(-unit)) / 2e-5 == pytest.approx(curved[k, m], rel=1e-5, abs=1e-4)


def test_it_has_settled_when_chances_move_less_than_the_tolerance() -> None:
    abilities = Gaussian(np.array([[1.0, -2.0]]), np.eye(2)[None])
    items = Gaussian(np.array([[0.5, 1.0, 0.3], [1.0, 0.2, -0.4]]), np.tile(np.eye(3), (2, 1, 1)))
    chance = chance_at_means(abilities, items)
    np.testing.assert_allclose(chance, 1 / (1 + np.exp([[1.2, -0.2]])))
    assert settled(chance, chance + [[0, 1.3 * TOLERANCE]])
    assert not settled(chance, chance - [[1.5 * TOLERANCE, 0]])


def test_refinement_is_the_same_on_any_axes() -> None:
    _, _, benchmark_of, chance = planted(30, 60)
    answers = answers_of(np.random.default_rng(8).binomial(1, chance), np.ones(chance.shape))
    abilities, items, prior = unrefined(answers, benchmark_of)
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    straight = refine(answers, abilities, items, prior, benchmark_of)
    turned = refine(
        answers,
        transformed(abilities, turn.T),
        rotate_items(items, turn),
        rotate_items(prior, turn),
        benchmark_of,
    )
    assert np.abs(probability(*turned[:2]) - probability(*straight[:2])).max() < 1e-10


def test_steps_that_shrink_alike_are_extrapolated_to_their_end() -> None:
    end, start = np.array([1.0, -2.0]), np.array([0.3, 0.4])
    for share in (0.5, 0.85):
        first, second, third = (end + share**n * start for n in range(3))
        np.testing.assert_allclose(extrapolated(first, second, third), end, atol=1e-12)
    first, second, third = (
        end + (-0.5) ** n * start for n in range(3)
    )  # turning back: no shorter than they were
    np.testing.assert_allclose(extrapolated(first, second, third), third)
    np.testing.assert_allclose(extrapolated(end, end, end), end)
    line = extrapolated(*(n * start for n in range(3)))  # no end in sight
    np.testing.assert_allclose(line, 2 * FARTHEST_AHEAD * start)
