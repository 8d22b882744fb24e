"""Multidimensional item response theory: the abilities that a set of benchmarks mixes, and what each item measures.

logit P(model i answers item j correctly) = a_j·θ_i + d_j, with θ_i ~ Normal(0, I) and for each benchmark a learned
Gaussian prior of its items' (a, d). See irt/mirt_updates.py and irt/mirt_refine.py for the two stages of a fit,
irt/rotation.py for what fixes the axes: the likelihood does not.

M models, N items, D dimensions, p = D + 1, B benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.blas import one_thread
from irt.mirt_refine import (
    SCORING_ITERATIONS,
    SCORING_TOLERANCE,
    Refinement,
    Step,
    refine,
    step_abilities,
    step_items,
)
from irt.mirt_start import first_posterior
from irt.mirt_updates import (
    Answers,
    Gaussian,
    answers_of,
    better_scaled,
    item_products,
    products,
    restandardise,
    update_abilities,
    update_items,
    update_prior,
    weak_covariance,
    with_one,
)

# Gauss–Hermite nodes of the integral of σ(z) over a Gaussian z: the error is below 1e-5 up to a variance of 4.
QUADRATURE_NODES = 15


@dataclass(frozen=True)
class MirtSettings:
    """How to fit: number of dimensions, starts, iterations of each, and when one has converged.

    Start 0 begins at what the answers have in common, all others at random; the first of them is ``first_start``.
    A start has converged when an iteration adds less than ``tolerance`` nats an answer to the evidence bound.
    """

    dims: int = 2
    starts: int = 3
    first_start: int = 0
    max_iterations: int = 1000
    tolerance: float = 1e-6
    seed: int = 0


@dataclass(frozen=True)
class Starts:
    """What the starts came to, the best first: how far the answer depends on where the fit began.

    Attributes
    ----------
    elbo
        (S,) the evidence bound that each reached, in nats.
    converged
        (S,) whether each met the tolerance.
    iterations
        (S,) how many iterations each took.
    difference
        (S,) root mean square difference of its predicted probabilities from those of the best start, over the answered
        cells; 0 for the best itself. Unlike loadings, predictions do not depend on the rotation.
    """

    elbo: FloatArray
    converged: list[bool]
    iterations: list[int]
    difference: FloatArray


@dataclass(frozen=True)
class MirtFit:
    """The approximate posterior q(θ) q(a, d) of the best start, refined.

    It is too narrow, as q takes θ and (a, d) for independent. Simulated (60 models × 200 items; 30 × 400), 95 %
    intervals of θ hold the truth 91.5 % of the time, errors having 1.15 times the standard deviation of q; those of
    loadings 92.5–93.5 %.

    Attributes
    ----------
    abilities
        Mean (M, D) and covariance (M, D, D) of θ. Over the models θ has mean 0 and, with its uncertainty, covariance I
        (until it is rotated), so that a loading is the effect of one standard deviation between these models.
    items
        Mean (N, p) and covariance (N, p, p) of (a_1 … a_D, d).
    prior
        Mean (B, p) and covariance (B, p, p) of the items of each benchmark.
    ability_covariance
        (D, D) covariance of θ over models, and the prior of other models: the identity, unless irt/rotation.py has made
        the dimensions oblique.
    elbo
        (iterations,) evidence bound before each iteration's update of θ, in nats, up to a constant; it never falls. It
        ends with the first stage: the refinement that follows improves another, closer approximation.
    starts
        All starts, the one kept among them.
    refinement
        Whether the second stage has converged, and in how many iterations.
    """

    abilities: Gaussian
    items: Gaussian
    prior: Gaussian
    ability_covariance: FloatArray
    elbo: FloatArray
    starts: Starts
    refinement: Refinement

    @property
    def theta(self) -> FloatArray:
        """Posterior mean abilities, (M, D)."""
        return self.abilities.mean

    @property
    def a(self) -> FloatArray:
        """Posterior mean loadings, (N, D)."""
        return self.items.mean[:, :-1]

    @property
    def d(self) -> FloatArray:
        """Posterior mean intercepts, (N,): higher = easier."""
        return self.items.mean[:, -1]

    @property
    def reliability(self) -> FloatArray:
        """How well each ability is known, (M, D): 1 − its posterior variance / that of the prior."""
        error = np.diagonal(self.abilities.covariance, axis1=1, axis2=2)
        return np.asarray(1 - error / np.diag(self.ability_covariance))

    @property
    def converged(self) -> bool:
        """Whether the start that was kept met its tolerance, and its refinement that of irt/mirt_refine.py."""
        return self.starts.converged[0] and self.refinement.converged

    def probability(self) -> FloatArray:
        """Return P(correct) of every model and item, (M, N), integrated over the posterior."""
        return probability(self.abilities, self.items)


def probability(abilities: Gaussian, items: Gaussian) -> FloatArray:
    """Return E[σ(a·θ + d)] of every model and item, (M, N), the uncertainty of θ, a and d integrated out.

    z = a·θ + d is taken as Gaussian with its exact mean and variance under q.
    """
    x = with_one(abilities)
    x_products, of_items = products(x.second_moment()), item_products(items)
    nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
    weights /= weights.sum()
    chances = np.empty((len(x.mean), len(items.mean)))
    width = max(1, 100_000 // len(x.mean))
    for start in range(0, len(items.mean), width):
        block = slice(start, start + width)
        mean = x.mean @ items.mean[block].T
        sd = np.sqrt(np.maximum(x_products @ of_items[block].T - mean**2, 0))
        # σ(z) = (1 + tanh(z/2))/2, which does not overflow.
        total = sum(
            weight * np.tanh((mean + node * sd) / 2) for node, weight in zip(nodes, weights, strict=True)
        )
        chances[:, block] = (1 + total) / 2
    return chances


@one_thread
def fit_mirt(
    correct: FloatArray | IntArray,
    trials: FloatArray | IntArray,
    benchmark_of: IntArray,
    settings: MirtSettings,
) -> MirtFit:
    """Fit the model from several starts and return the one with the best evidence bound, refined.

    The bound is that of the first stage (irt/mirt_updates.py), which finds the solution; irt/mirt_refine.py then gives
    the best start's posteriors their widths and the learned priors theirs.

    Parameters
    ----------
    correct, trials
        (M, N) counts; 0 trials = never asked.
    benchmark_of
        (N,) number of each item's benchmark, 0 … B − 1, each of which has an item.
    settings
        The same settings give the same fit.
    """
    answers = answers_of(correct, trials)
    numbers = range(settings.first_start, settings.first_start + settings.starts)
    tried = [_fit_once(answers, benchmark_of, settings, number) for number in numbers]
    tried.sort(key=lambda attempt: -attempt.elbo[-1])  # stable: the earlier of two equals stays first
    best = tried[0]
    asked = answers.trials > 0
    expected = probability(best.abilities, best.items)[asked]
    difference = [
        0.0
        if other is best
        else np.sqrt(np.mean((probability(other.abilities, other.items)[asked] - expected) ** 2))
        for other in tried
    ]
    starts = Starts(
        elbo=np.array([attempt.elbo[-1] for attempt in tried]),
        converged=[attempt.converged for attempt in tried],
        iterations=[len(attempt.elbo) for attempt in tried],
        difference=np.array(difference),
    )
    # The learned priors may have kept the scale off; the logits are the same.
    *sharpened, refinement = refine(answers, best.abilities, best.items, best.prior, benchmark_of)
    return MirtFit(*restandardise(*sharpened), np.eye(settings.dims), best.elbo, starts, refinement)


@dataclass(frozen=True)
class _Attempt:
    abilities: Gaussian
    items: Gaussian
    prior: Gaussian
    elbo: FloatArray
    converged: bool


def _fit_once(answers: Answers, benchmark_of: IntArray, settings: MirtSettings, number: int) -> _Attempt:
    """Run start ``number`` until it has converged or has used its iterations."""
    benchmarks = int(benchmark_of.max()) + 1
    size = settings.dims + 1
    identity = np.eye(settings.dims)
    abilities, items = first_posterior(answers, settings.dims, number, settings.seed)
    prior = Gaussian(np.zeros((benchmarks, size)), np.tile(weak_covariance(size), (benchmarks, 1, 1)))
    enough = settings.tolerance * answers.trials.sum()
    elbo: list[float] = []
    converged = False
    while not converged and len(elbo) < settings.max_iterations:
        items = update_items(answers, items, abilities, prior, benchmark_of)
        prior = update_prior(items, prior, benchmark_of)
        (abilities, items, prior), loss = better_scaled(abilities, items, prior, benchmark_of)
        abilities, bound = update_abilities(answers, items, abilities, identity)
        elbo.append(bound - loss)
        converged = len(elbo) > 1 and bool(elbo[-1] - elbo[-2] < enough)
    return _Attempt(abilities, items, prior, np.array(elbo), converged)


@one_thread
def score_models(fit: MirtFit, correct: FloatArray | IntArray, trials: FloatArray | IntArray) -> Gaussian:
    """Return the abilities of other models on the fit's items, which stay as they are: mean (M', D).

    ``correct`` and ``trials`` are (M', N). A model that was asked nothing gets the prior.
    """
    answers = answers_of(correct, trials)
    dims = fit.theta.shape[1]
    count = len(answers.kappa)
    abilities = Gaussian(np.zeros((count, dims)), np.tile(fit.ability_covariance, (count, 1, 1)))
    precision = np.linalg.inv(fit.ability_covariance)
    return _scored(abilities, lambda now: step_abilities(answers, fit.items, now, precision))


@one_thread
def score_items(
    fit: MirtFit,
    correct: FloatArray | IntArray,
    trials: FloatArray | IntArray,
    benchmark_of: IntArray,
) -> Gaussian:
    """Return (a, d) of other items answered by the fit's models, whose abilities stay as they are: mean (N', p).

    ``correct`` and ``trials`` are (M, N'). ``benchmark_of`` (N',) says which of the fit's benchmarks each belongs to,
    for its learned prior.
    """
    answers = answers_of(correct, trials)
    items = Gaussian(fit.prior.mean[benchmark_of], fit.prior.covariance[benchmark_of])
    return _scored(items, lambda now: step_items(answers, now, fit.abilities, fit.prior, benchmark_of))


def _scored(gaussians: Gaussian, step: Callable[[Gaussian], Step]) -> Gaussian:
    """Return where the steps lead, from these Gaussians on.

    They nearly always end by themselves. Of models that are right everywhere in up to 1,000 trials, on items in a
    perfect order and in up to 12 dimensions, they had 0.005 posterior standard deviations to go when they were cut off.
    """
    for _ in range(SCORING_ITERATIONS):
        taken = step(gaussians)
        gaussians = taken.gaussians
        if taken.length < SCORING_TOLERANCE:
            break
    return gaussians
