"""Sharpens a multidimensional fit: the same Gaussian posteriors, with the curvature of the likelihood itself.

The Pólya–Gamma bound of irt/mirt_updates.py is a parabola below log σ whose curvature is too large where it matters:
posteriors become too narrow, and the learned priors of loadings with them. Here each q(θ_i) and each q(a_j, d_j) takes
Newton steps on the expected log-likelihood (Opper & Archambeau 2009, Neural Computation 21): with z = x·β taken as
Gaussian with its exact mean and variance under q,

    r = E[correct − trials·σ(z)],   w = trials·E[σ(z)(1 − σ(z))],
    precision = prior + Σ w E[xxᵀ],   gradient = Σ (r E[x] − w Cov[x] E[β]) + prior.

No step moves a logit by more than ``FARTHEST``: over so short a way the curvature of log σ changes by so little that
a Newton step hardly overshoots (Bach 2010, Electronic Journal of Statistics 4, proposition 1).

M models, N items, D dimensions, p = D + 1, B benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.mirt_updates import (
    BLOCK_CELLS,
    PRIOR_ITEMS,
    Answers,
    Gaussian,
    better_scaled,
    item_products,
    products,
    symmetric,
    update_prior,
    weak_covariance,
    weak_mean_covariance,
    with_one,
)

# Gauss–Hermite nodes of r and w.
NODES = 11
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(NODES)
_WEIGHTS /= _WEIGHTS.sum()

# In logits, root mean square under q.
FARTHEST = 1.5

# A fit that has not settled by then is slow, and its steps are extrapolated, to this many times their length at most.
PATIENCE = 30
FARTHEST_AHEAD = 10.0

# It is done when an iteration moves the probabilities, at the means of q, by less than this, root mean square. Where
# the learned priors of many dimensions are still settling, steps shrink by a few percent an iteration: the
# way that is left is some fifty of the last one.
ITERATIONS = 600
TOLERANCE = 2e-6

# With one side frozen there is nothing to wait for, and the steps shrink fast.
SCORING_ITERATIONS = 200
SCORING_TOLERANCE = 1e-7

# Of a benchmark's joint step, in standard deviations of its prior: less than 1, so that I + the step has an inverse.
WIDEST = 0.5


@dataclass(frozen=True)
class Step:
    """A Newton step of L Gaussians in k coordinates.

    Attributes
    ----------
    gaussians
        After the step.
    length
        Root mean square of the coordinates' steps in posterior standard deviations, whatever the axes.
    slope
        (L, k) gradient of the expected log-likelihood after the step, by the curvature before it.
    data_precision
        (L, k, k) Σ w E[xxᵀ], before the step.
    """

    gaussians: Gaussian
    length: float
    slope: FloatArray
    data_precision: FloatArray


@dataclass(frozen=True)
class Refinement:
    """Whether a refinement met ``TOLERANCE``, and how many iterations it took."""

    converged: bool
    iterations: int


def refine(
    answers: Answers, abilities: Gaussian, items: Gaussian, prior: Gaussian, benchmark_of: IntArray
) -> tuple[Gaussian, Gaussian, Gaussian, Refinement]:
    """Return q(θ), q(a, d) and the priors of the items, sharpened together, and whether that has converged.

    They begin as a fit of irt/mirt_updates.py left them.
    """
    identity = np.eye(abilities.mean.shape[1])
    predicted = chance_at_means(abilities, items)
    path: list[FloatArray] = []
    converged, iterations = False, 0
    while not converged and iterations < ITERATIONS:
        if len(path) == 3 and iterations >= PATIENCE:
            abilities = Gaussian(extrapolated(*path), abilities.covariance)
            path = [abilities.mean]
        step = step_items(answers, items, abilities, prior, benchmark_of)
        items, prior = stretch(step, prior, benchmark_of)
        prior = update_prior(items, prior, benchmark_of)
        (abilities, items, prior), _ = better_scaled(abilities, items, prior, benchmark_of)
        abilities = step_abilities(answers, items, abilities, identity).gaussians
        before, predicted = predicted, chance_at_means(abilities, items)
        converged = settled(before, predicted)
        path = [*path[-2:], abilities.mean]
        iterations += 1
    return abilities, items, prior, Refinement(converged, iterations)


def extrapolated(first: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray:
    """Return where three successive values (of any shape) are heading, no nearer than the third.

    Squared extrapolation, scheme S3 of Varadhan & Roland (2008, Scandinavian Journal of Statistics 35): where abilities
    and items wait for each other, every step is a little shorter than the last, and this saves most of them. Its fixed
    points are those of the steps.
    """
    change = second - first
    bend = third - second - change
    length, bent = float(np.linalg.norm(change)), float(np.linalg.norm(bend))
    times = min(max(length / max(bent, np.finfo(float).tiny), 1.0), FARTHEST_AHEAD)
    return first + 2 * times * change + times**2 * bend


def chance_at_means(abilities: Gaussian, items: Gaussian) -> FloatArray:
    """Return σ(E[θ]·E[a] + E[d]), (M, N): cheap, and alike on any axes and scale."""
    return np.asarray((1 + np.tanh(with_one(abilities).mean @ items.mean.T / 2)) / 2)


def settled(before: FloatArray, after: FloatArray) -> bool:
    """Return whether the probabilities, (M, N), have moved by less than ``TOLERANCE``, root mean square.

    Single cells can go on moving: those of items that nearly all models answer alike take turns around their place.
    """
    return bool(np.sqrt(np.mean((after - before) ** 2)) < TOLERANCE)


def step_abilities(
    answers: Answers, items: Gaussian, abilities: Gaussian, prior_precision: FloatArray
) -> Step:
    """Return a step of q(θ) given q(a, d)."""
    dims = abilities.mean.shape[1]
    at_zero = Gaussian(
        np.zeros_like(abilities.mean), np.broadcast_to(prior_precision, abilities.covariance.shape)
    )
    return _step(answers.kappa, answers.trials, with_one(abilities), items, at_zero, dims)


def step_items(
    answers: Answers, items: Gaussian, abilities: Gaussian, prior: Gaussian, benchmark_of: IntArray
) -> Step:
    """Return a step of q(a, d) given q(θ) and the prior of each benchmark."""
    own = Gaussian(prior.mean[benchmark_of], np.linalg.inv(prior.covariance)[benchmark_of])
    return _step(answers.kappa.T, answers.trials.T, items, with_one(abilities), own, items.mean.shape[1])


def _step(
    kappa: FloatArray, trials: FloatArray, unknown: Gaussian, known: Gaussian, prior: Gaussian, free: int
) -> Step:
    """Return the Newton step of the first ``free`` coordinates of ``unknown``.

    ``unknown`` (L, p) are rows and ``known`` (K, p) columns of ``kappa`` and ``trials`` (L, K); logits are products of
    the two. ``prior`` has means and, in place of covariances, precisions.
    """
    data_precision, slope, variance = _sums(kappa, trials, unknown, known, free)
    before = unknown.mean[:, :free]
    gradient = slope + np.einsum("lkm,lm->lk", prior.covariance, prior.mean - before)
    change = np.einsum("lkm,lm->lk", np.linalg.inv(prior.covariance + data_precision), gradient)
    change *= (FARTHEST / np.maximum(_reach(change, known), FARTHEST))[:, None]
    # A wide posterior's w depends on its own width, and its mean on both. Where all answers are alike, P ~ exp(z), and
    # they would take turns for ever: on one axis, linearised, they settle for shares below 2/(1 + Var z).
    share = np.minimum(0.5, 2 / (1 + variance))[:, None, None]
    old_precision = np.linalg.inv(unknown.covariance[:, :free, :free])
    precision = (1 - share) * old_precision + share * (prior.covariance + data_precision)
    length = np.sqrt(np.mean(np.einsum("lk,lkm,lm->l", change, precision, change)) / free)
    slope -= np.einsum("lkm,lm->lk", data_precision, change)
    return Step(Gaussian(before + change, np.linalg.inv(precision)), float(length), slope, data_precision)


def _sums(
    kappa: FloatArray, trials: FloatArray, unknown: Gaussian, known: Gaussian, free: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what the answers say of each row of ``unknown``, as in ``_step``.

    Σ w E[xxᵀ] (L, free, free); the gradient of the expected log-likelihood (L, free); and the variance of the row's
    logits, (L,), averaged with weights w Var z, where the width of q matters.
    """
    size = unknown.mean.shape[1]
    of_unknown, of_known = products(unknown.second_moment()), item_products(known)
    known_second, known_covariance = products(known.second_moment()), products(known.covariance)
    data_precision = np.empty((len(unknown.mean), free, free))
    slope = np.empty((len(unknown.mean), free))
    variance = np.empty(len(slope))
    for rows in _blocks(len(slope), len(known.mean)):
        mean = unknown.mean[rows] @ known.mean.T
        square = np.maximum(of_unknown[rows] @ of_known.T - mean**2, 0)
        residual, weight = _expectations(mean, np.sqrt(square), kappa[rows], trials[rows])
        data_precision[rows] = symmetric(weight @ known_second, size)[:, :free, :free]
        spread = symmetric(weight @ known_covariance, size)
        away = residual @ known.mean - np.einsum("lkm,lm->lk", spread, unknown.mean[rows])
        slope[rows] = away[:, :free]
        weight *= square
        of_variance = np.maximum(weight.sum(axis=1), np.finfo(float).tiny)  # 0 if never asked
        variance[rows] = np.vecdot(weight, square) / of_variance
    return data_precision, slope, variance


def _reach(change: FloatArray, known: Gaussian) -> FloatArray:
    """Return by how much a change (L, free) of each row moves its logits at most, (L,), root mean square under q."""
    padded = np.zeros((len(change), known.mean.shape[1]))
    padded[:, : change.shape[1]] = change
    outer, of_known = products(padded[:, :, None] * padded[:, None, :]), item_products(known)
    square = np.empty(len(change))
    for rows in _blocks(len(change), len(known.mean)):
        square[rows] = (outer[rows] @ of_known.T).max(axis=1)
    return np.asarray(np.sqrt(np.maximum(square, 0)))


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield runs of neighbouring rows."""
    width = max(1, BLOCK_CELLS // columns)
    return (slice(start, start + width) for start in range(0, rows, width))


def stretch(step: Step, prior: Gaussian, benchmark_of: IntArray) -> tuple[Gaussian, Gaussian]:
    """Return items and priors after each benchmark's items have been moved as one, β → mean + A(β − mean) + c.

    Where a benchmark's items differ by less than one knows of each, ``update_prior`` alone would creep: a narrow prior
    keeps the items together, and they keep it narrow. A and c are a Newton step from I and 0 of the evidence bound, the
    divergence from the prior being what it was (parameter expansion, as in ``restandardise``), and no larger than
    ``WIDEST`` in units of the prior.
    """
    items = step.gaussians
    size = items.mean.shape[1]
    precision = np.linalg.inv(prior.covariance)
    weak, weak_mean = weak_covariance(size), np.linalg.inv(weak_mean_covariance(size))
    mean, covariance = prior.mean.copy(), prior.covariance.copy()
    new = Gaussian(items.mean.copy(), items.covariance.copy())
    for number in range(len(mean)):
        own = np.flatnonzero(benchmark_of == number)
        away = np.column_stack([items.mean[own] - prior.mean[number], np.ones(len(own))])
        second = away[:, :, None] * away[:, None, :]
        second[:, :size, :size] += items.covariance[own]
        slope, data_precision = step.slope[own], step.data_precision[own]
        gradient = slope.T @ away
        gradient[:, :size] -= np.sum(data_precision @ items.covariance[own], axis=0)
        gradient[:, :size] += PRIOR_ITEMS * (precision[number] @ weak - np.eye(size))
        gradient[:, size] -= weak_mean @ prior.mean[number]
        curvature = np.tensordot(data_precision, second, axes=(0, 0))
        curvature[:, :, :size, :size] += PRIOR_ITEMS * np.multiply.outer(precision[number], weak)
        curvature[:, :, size, size] += weak_mean
        square = curvature.transpose(0, 2, 1, 3).reshape(gradient.size, gradient.size)
        change = np.linalg.solve(square, gradient.ravel()).reshape(gradient.shape)
        root = np.linalg.cholesky(prior.covariance[number])
        relative = np.linalg.solve(root, change)
        relative[:, :size] = relative[:, :size] @ root
        change *= WIDEST / max(WIDEST, float(np.linalg.norm(relative)))
        matrix = np.eye(size) + change[:, :size]
        mean[number] += change[:, size]
        covariance[number] = matrix @ prior.covariance[number] @ matrix.T
        new.mean[own] = items.mean[own] + away @ change.T
        new.covariance[own] = matrix @ items.covariance[own] @ matrix.T
    return new, Gaussian(mean, covariance)


def _expectations(
    mean: FloatArray, sd: FloatArray, kappa: FloatArray, trials: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return r and w of logits that are Normal(mean, sd²); all of one shape."""
    tanh, square, value, term = (np.zeros_like(mean) for _ in range(4))
    middle = mean / 2
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        # In place, as in irt/mirt_updates.py.
        np.multiply(sd, node / 2, out=value)
        value += middle
        np.tanh(value, out=value)
        np.multiply(value, weight, out=term)
        tanh += term
        term *= value
        square += term
    return kappa - trials * tanh / 2, trials * (1 - square) / 4
