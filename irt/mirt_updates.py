"""The closed-form updates of multidimensional item response theory by variational Bayes.

logit P(model i answers item j correctly) = a_j·θ_i + d_j; counts are binomial; θ_i ~ Normal(0, I); the items of
benchmark b share a prior, (a_j, d_j) ~ Normal(mean_b, covariance_b), which is learned. With x = (θ, 1) and β = (a, d)
the logit is z = x·β.

Pólya–Gamma augmentation (Polson, Scott & Windle 2013, JASA 108) makes the likelihood conditionally Gaussian: under
q(θ) q(β) the best q of the auxiliary variable has mean w = n·tanh(c/2)/(2c) with c² = E[z²], and every other update is
a weighted least-squares problem. Each update is exact coordinate ascent, so the lower bound on the log evidence never
falls.

M models, N items, D dimensions, p = D + 1, B benchmarks, and K = p(p + 1)/2 products of two coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from irt.arrays import FloatArray, IntArray

# The learned covariance of a benchmark's items leans on as much as this many items with these standard deviations, and
# its mean is about zero with those: little beside a benchmark's own items, enough for one item or items that everybody
# answers alike.
PRIOR_ITEMS = 2.0
PRIOR_SD_LOADING = 0.3
PRIOR_SD_INTERCEPT = 1.0
MEAN_SD_LOADING = 3.0
MEAN_SD_INTERCEPT = 5.0

# Cells that are worked on at a time: they stay in the processor's cache.
BLOCK_CELLS = 40_000

# tanh(c/2)/(2c) is 1/4 − c²/48 near zero: below this the quotient is replaced by its value here.
SMALLEST_C = 1e-4


@dataclass(frozen=True)
class Answers:
    """The cells: κ = correct − trials/2 and the number of trials, (M, N) each; both 0 where never asked."""

    kappa: FloatArray
    trials: FloatArray

    def blocks(self) -> Iterator[slice]:
        """Yield runs of neighbouring items."""
        models, items = self.trials.shape
        width = max(1, BLOCK_CELLS // models)
        return (slice(start, start + width) for start in range(0, items, width))


@dataclass(frozen=True)
class Gaussian:
    """Independent Gaussians: ``mean`` (L, p) and ``covariance`` (L, p, p)."""

    mean: FloatArray
    covariance: FloatArray

    def second_moment(self) -> FloatArray:
        """Return E[v vᵀ], (L, p, p)."""
        return self.covariance + self.mean[:, :, None] * self.mean[:, None, :]


def answers_of(correct: FloatArray | IntArray, trials: FloatArray | IntArray) -> Answers:
    """Return the cells of (M, N) counts of correct answers and of trials; 0 trials = never asked."""
    asked = np.asarray(trials, dtype=float)
    return Answers(np.asarray(correct, dtype=float) - asked / 2, asked)


def with_one(abilities: Gaussian) -> Gaussian:
    """Return the Gaussians of x = (θ, 1), whose last coordinate is known."""
    count, dims = abilities.mean.shape
    covariance = np.zeros((count, dims + 1, dims + 1))
    covariance[:, :dims, :dims] = abilities.covariance
    return Gaussian(np.column_stack([abilities.mean, np.ones(count)]), covariance)


def products(second_moment: FloatArray) -> FloatArray:
    """Return the upper triangles of (L, p, p) symmetric matrices, (L, K)."""
    rows, columns = np.triu_indices(second_moment.shape[1])
    return second_moment[:, rows, columns]


def symmetric(triangles: FloatArray, size: int) -> FloatArray:
    """Return the (L, p, p) symmetric matrices with these upper triangles (L, K)."""
    rows, columns = np.triu_indices(size)
    matrices = np.empty((len(triangles), size, size))
    matrices[:, rows, columns] = triangles
    matrices[:, columns, rows] = triangles
    return matrices


def item_products(items: Gaussian) -> FloatArray:
    """Return E[ββᵀ] as (N, K), such that ``products(E[xxᵀ]) @ item_products.T`` is E[z²], (M, N)."""
    size = items.mean.shape[1]
    rows, columns = np.triu_indices(size)
    return products(items.second_moment()) * np.where(rows == columns, 1.0, 2.0)


def expected_weights(half: FloatArray, trials: FloatArray) -> FloatArray:
    """Return the weights w = n·tanh(c/2)/(2c), of the shape of ``half`` = c/2 and of the trials n."""
    # In place: fresh memory for each step would cost more time than the arithmetic.
    weights = np.tanh(half)
    weights /= half
    weights *= trials
    weights /= 4
    return weights


def log_two_cosh(half: FloatArray) -> FloatArray:
    """Return log 2cosh of positive numbers, without overflow."""
    small = np.exp(-2 * half)
    return np.log1p(small, out=small) + half


def _half_width(x_products: FloatArray, of_items: FloatArray) -> FloatArray:
    """Return c/2 of every model and item, (M, L), with c² = E[z²] from the products of both."""
    quarter = x_products @ (of_items / 4).T
    np.maximum(quarter, (SMALLEST_C / 2) ** 2, out=quarter)
    return np.asarray(np.sqrt(quarter, out=quarter))


def update_abilities(
    answers: Answers, items: Gaussian, abilities: Gaussian, prior_precision: FloatArray
) -> tuple[Gaussian, float]:
    """Return q(θ) given q(a, d), and the expected log-likelihood's bound before the update.

    ``prior_precision`` (D, D) is that of θ, the identity unless the dimensions have been made oblique.
    """
    x = with_one(abilities)
    x_products, of_items = products(x.second_moment()), item_products(items)
    dims = abilities.mean.shape[1]
    second = items.second_moment()
    loading_products, with_intercept = products(second[:, :dims, :dims]), second[:, :dims, dims]
    precision = np.zeros((len(abilities.mean), loading_products.shape[1]))
    linear = np.zeros_like(abilities.mean)
    bound = 0.0
    for block in answers.blocks():
        kappa, trials = answers.kappa[:, block], answers.trials[:, block]
        half = _half_width(x_products, of_items[block])
        weights = expected_weights(half, trials)
        bound += float(np.vdot(kappa, x.mean @ items.mean[block].T) - np.vdot(trials, log_two_cosh(half)))
        precision += weights @ loading_products[block]
        linear += kappa @ items.mean[block, :dims] - weights @ with_intercept[block]
    covariance = np.linalg.inv(symmetric(precision, dims) + prior_precision)
    return Gaussian(np.einsum("ikl,il->ik", covariance, linear), covariance), bound


def update_items(
    answers: Answers, items: Gaussian, abilities: Gaussian, prior: Gaussian, benchmark_of: IntArray
) -> Gaussian:
    """Return q(a, d) given q(θ) and the prior of each benchmark, (B, p) and (B, p, p)."""
    x = with_one(abilities)
    size = x.mean.shape[1]
    x_products, of_items = products(x.second_moment()), item_products(items)
    prior_precision = np.linalg.inv(prior.covariance)
    prior_linear = np.einsum("bkl,bl->bk", prior_precision, prior.mean)
    precision = np.empty((len(items.mean), x_products.shape[1]))
    linear = np.empty_like(items.mean)
    for block in answers.blocks():
        weights = expected_weights(_half_width(x_products, of_items[block]), answers.trials[:, block])
        precision[block] = weights.T @ x_products
        linear[block] = answers.kappa[:, block].T @ x.mean
    covariance = np.linalg.inv(symmetric(precision, size) + prior_precision[benchmark_of])
    mean = np.einsum("jkl,jl->jk", covariance, linear + prior_linear[benchmark_of])
    return Gaussian(mean, covariance)


def update_prior(items: Gaussian, prior: Gaussian, benchmark_of: IntArray) -> Gaussian:
    """Return each benchmark's prior given q(a, d): the mode of its mean given the covariance, then the reverse."""
    size = items.mean.shape[1]
    benchmarks = len(prior.mean)
    count = np.bincount(benchmark_of, minlength=benchmarks)[:, None, None]
    total = _sums(items.mean, benchmark_of, benchmarks)
    # (n Σ⁻¹ + S⁻¹)⁻¹ Σ⁻¹ Σ_j m_j, without an inverse of Σ.
    shrink = count * np.eye(size) + prior.covariance @ np.linalg.inv(weak_mean_covariance(size))
    mean = np.linalg.solve(shrink, total[:, :, None])[:, :, 0]
    scatter = _scatter(items, mean, benchmark_of) + PRIOR_ITEMS * weak_covariance(size)
    return Gaussian(mean, scatter / (count + PRIOR_ITEMS))


def _scatter(items: Gaussian, mean: FloatArray, benchmark_of: IntArray) -> FloatArray:
    """Return the sum over each benchmark's items of E[(β − mean)(β − mean)ᵀ], (B, p, p)."""
    apart = items.mean - mean[benchmark_of]
    return _sums(items.covariance + apart[:, :, None] * apart[:, None, :], benchmark_of, len(mean))


def _sums(values: FloatArray, benchmark_of: IntArray, benchmarks: int) -> FloatArray:
    """Return the sums (B, …) over the items of each benchmark of values (N, …)."""
    return np.stack([values[benchmark_of == number].sum(axis=0) for number in range(benchmarks)])


def weak_mean_covariance(size: int) -> FloatArray:
    """Return the (p, p) covariance, around 0, of the benchmarks' means before anything was seen."""
    return np.diag([MEAN_SD_LOADING**2] * (size - 1) + [MEAN_SD_INTERCEPT**2])


def weak_covariance(size: int) -> FloatArray:
    """Return the (p, p) covariance that the learned priors lean on; any rotation of θ leaves it as it is."""
    return np.diag([PRIOR_SD_LOADING**2] * (size - 1) + [PRIOR_SD_INTERCEPT**2])


def restandardise(
    abilities: Gaussian, items: Gaussian, prior: Gaussian
) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Return the same model with abilities of mean 0 and covariance I over the models, averaged under q.

    θ → R⁻¹(θ − m), a → Ra, d → d + a·m with m and R² the mean and covariance: no logit changes, and of all such
    maps this one brings q(θ) nearest to its prior. Without it the scale creeps there over hundreds of iterations
    (parameter expansion: Liu, Rubin & Wu 1998, Biometrika 85).
    """
    dims = abilities.mean.shape[1]
    mean = abilities.mean.mean(axis=0)
    # The symmetric root: that of Cholesky would also turn the axes, and otherwise on other axes.
    values, vectors = np.linalg.eigh(abilities.second_moment().mean(axis=0) - np.outer(mean, mean))
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    forward = np.eye(dims + 1)
    forward[:dims, :dims] = root
    forward[dims, :dims] = mean
    moved = Gaussian((abilities.mean - mean) @ inverse, inverse @ abilities.covariance @ inverse)
    return moved, transformed(items, forward), transformed(prior, forward)


def better_scaled(
    abilities: Gaussian, items: Gaussian, prior: Gaussian, benchmark_of: IntArray
) -> tuple[tuple[Gaussian, Gaussian, Gaussian], float]:
    """Return the model restandardised, or as it is if that has a smaller divergence, and its divergence.

    The weak prior on the priors is not the same after such a map, and may have preferred them as they were. What the
    items lose to their priors is: a map of both leaves a Kullback–Leibler divergence as it was.
    """
    of_items = item_divergence(items, prior, benchmark_of)
    loss = of_items + ability_divergence(abilities) + prior_loss(prior)
    moved = restandardise(abilities, items, prior)
    moved_loss = of_items + ability_divergence(moved[0]) + prior_loss(moved[2])
    return (moved, moved_loss) if moved_loss < loss else ((abilities, items, prior), loss)


def transformed(gaussians: Gaussian, matrix: FloatArray) -> Gaussian:
    """Return the Gaussians of ``matrix`` times each vector."""
    return Gaussian(gaussians.mean @ matrix.T, matrix @ gaussians.covariance @ matrix.T)


def divergences(abilities: Gaussian, items: Gaussian, prior: Gaussian, benchmark_of: IntArray) -> float:
    """Return what the evidence bound loses to the priors: KL(q(θ)), KL(q(a, d)) and the weak prior's −log density.

    Constants that no update changes are left out.
    """
    return ability_divergence(abilities) + item_divergence(items, prior, benchmark_of) + prior_loss(prior)


def ability_divergence(abilities: Gaussian) -> float:
    """Return KL(q(θ)) from Normal(0, I)."""
    loss = np.trace(abilities.second_moment().sum(axis=0)) - abilities.mean.size
    return float(loss - np.linalg.slogdet(abilities.covariance)[1].sum()) / 2


def item_divergence(items: Gaussian, prior: Gaussian, benchmark_of: IntArray) -> float:
    """Return KL(q(a, d)) from the priors of the benchmarks."""
    log_det = np.linalg.slogdet(prior.covariance)[1]
    loss = np.vdot(np.linalg.inv(prior.covariance), _scatter(items, prior.mean, benchmark_of))
    loss += np.vdot(np.bincount(benchmark_of, minlength=len(log_det)), log_det)
    return float(loss - np.linalg.slogdet(items.covariance)[1].sum() - items.mean.size) / 2


def prior_loss(prior: Gaussian) -> float:
    """Return −log of the weak prior's density of the priors, up to a constant."""
    size = prior.mean.shape[1]
    leaning = np.sum(np.linalg.inv(prior.covariance) * weak_covariance(size))
    loss = PRIOR_ITEMS * (leaning + np.linalg.slogdet(prior.covariance)[1].sum())
    return float(loss + np.sum(prior.mean**2 / np.diag(weak_mean_covariance(size)))) / 2
