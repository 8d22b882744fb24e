"""Simulated answers, a crude posterior to start from, and an evidence bound, for tests of the refinement."""

from __future__ import annotations

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.mirt_updates import Answers, Gaussian, update_items


def planted(models: int, items: int) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Abilities of mean 0 and covariance I, items (a_1, a_2, d) of two benchmarks, and P(correct)."""
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(models, 2))
    theta -= theta.mean(axis=0)
    theta = theta @ np.linalg.inv(np.linalg.cholesky(np.cov(theta.T, bias=True))).T
    benchmark_of = np.arange(items) % 2
    means = np.array([[1.5, 0.2, 0.5], [0.3, 1.2, -0.5]])
    beta = means[benchmark_of] + rng.normal(size=(items, 3)) * [0.5, 0.5, 1.0]
    chance = 1 / (1 + np.exp(-(theta @ beta[:, :2].T + beta[:, 2])))
    return theta, beta, benchmark_of, chance


def unrefined(answers: Answers, benchmark_of: IntArray, dims: int = 2) -> tuple[Gaussian, Gaussian, Gaussian]:
    """A posterior before refinement: crude, but of the right shapes."""
    rng = np.random.default_rng(0)
    models, items = answers.trials.shape
    abilities = Gaussian(rng.normal(size=(models, dims)), np.tile(0.2 * np.eye(dims), (models, 1, 1)))
    benchmarks = int(benchmark_of.max()) + 1
    prior = Gaussian(np.zeros((benchmarks, dims + 1)), np.tile(np.eye(dims + 1), (benchmarks, 1, 1)))
    first = Gaussian(np.zeros((items, dims + 1)), np.tile(0.2 * np.eye(dims + 1), (items, 1, 1)))
    return abilities, update_items(answers, first, abilities, prior, benchmark_of), prior


def objective(
    row: Gaussian, other: Gaussian, prior: Gaussian, kappa: FloatArray, trials: FloatArray, free: int
) -> float:
    """Evidence bound of one row by 61 nodes: E log p(answers) − KL(q ‖ prior), z Gaussian with its moments under q."""
    mean = other.mean @ row.mean[0]
    square = np.einsum("kpq,pq->k", other.second_moment(), row.second_moment()[0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    z = mean[:, None] + nodes * np.sqrt(square - mean**2)[:, None]
    expected = np.logaddexp(z / 2, -z / 2) @ (weights / weights.sum())
    precision = np.linalg.inv(prior.covariance[0])
    covariance, away = row.covariance[0, :free, :free], row.mean[0, :free] - prior.mean[0]
    divergence = np.trace(precision @ covariance) + away @ precision @ away - np.linalg.slogdet(covariance)[1]
    return float(kappa @ mean - trials @ expected - divergence / 2)


def hard_cases() -> dict[str, tuple[IntArray, IntArray, IntArray]]:
    _, _, two, chance = planted(30, 60)
    correct = (np.random.default_rng(9).random(chance.shape) < chance).astype(int)
    ones = np.ones_like(correct)
    broken, blank = correct.copy(), ones.copy()
    broken[:, 1], broken[:, 2], broken[:, 5:15] = 1, 0, 1
    blank[5, 3:] = 0  # a model with three answers
    alone = two.copy()
    alone[:3] = [2, 3, 4]
    ladder = (np.arange(30)[:, None] > np.arange(60) / 2).astype(int)
    flat = np.broadcast_to(np.arange(60) % 2, ones.shape)
    return {
        "one-item benchmarks, constant items, three answers": (broken * blank, blank, alone),
        "every item a benchmark": (correct, ones, np.arange(60)),
        "everybody always right": (ones, ones, two),
        "a perfect order": (ladder, ones, two),
        "items all right or all wrong": (flat, ones, two // 2),
        "many trials": (np.random.default_rng(9).binomial(100_000, chance), 100_000 * ones, two),
    }
