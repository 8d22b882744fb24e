"""Where a multidimensional fit begins: at what the answers' residuals have in common, or at random."""

from __future__ import annotations

import numpy as np

from irt.arrays import FloatArray
from irt.mirt_updates import Answers, Gaussian
from irt.streams import Purpose, stream

# Spread of the first q(θ) and q(a, d): it only has to be small beside the priors and not zero.
FIRST_VARIANCE = 0.1

# Of the power iteration that finds the leading singular vectors to start from.
POWER_ITERATIONS = 8
EXTRA_VECTORS = 5


def first_posterior(answers: Answers, dims: int, number: int, seed: int) -> tuple[Gaussian, Gaussian]:
    """Return a first q(θ) and q(a, d): start 0 is what the answers' residuals have in common, the others are noise."""
    rng = stream(seed, Purpose.START, number)
    trials = answers.trials
    correct = answers.kappa + trials / 2
    share = (correct.sum(axis=0) + 0.5) / (trials.sum(axis=0) + 1)
    models, items = trials.shape
    theta = rng.normal(size=(models, dims))
    if number == 0:
        residual = (correct - trials * share) / np.sqrt(np.maximum(trials, 1) * share * (1 - share))
        leading = _leading_vectors(residual, dims, rng)
        theta *= 0.01
        theta[:, : leading.shape[1]] += np.sqrt(models) * leading
    theta /= np.sqrt(np.mean(theta**2, axis=0))
    first = np.column_stack([np.zeros((items, dims)), np.log(share / (1 - share))])
    return _narrow(theta), _narrow(first)


def _leading_vectors(residual: FloatArray, dims: int, rng: np.random.Generator) -> FloatArray:
    """Return the leading left singular vectors, (M, dims at most), by power iteration from a random start.

    Halko, Martinsson & Tropp (2011, SIAM Review 53).
    """
    vectors = np.linalg.qr(residual @ rng.normal(size=(residual.shape[1], dims + EXTRA_VECTORS)))[0]
    for _ in range(POWER_ITERATIONS):
        vectors = np.linalg.qr(residual @ (residual.T @ vectors))[0]
    turn = np.linalg.svd(vectors.T @ residual, full_matrices=False)[0]
    return np.asarray((vectors @ turn)[:, :dims])


def _narrow(mean: FloatArray) -> Gaussian:
    return Gaussian(mean, np.tile(FIRST_VARIANCE * np.eye(mean.shape[1]), (len(mean), 1, 1)))
