"""The additive model, logit P(model i answers item j correctly) = θ_i + d_j: what a predictor has to beat.

It is the model of irt/mirt.py in one dimension with every loading at 1 and, in exchange, the variance of θ learned: the
same updates, the same refinement, the same learned prior of each benchmark's d, and what is uncertain is integrated out
in the same way. A fit is a ``MirtFit``, so that its models and items are scored like any other's.
"""

from __future__ import annotations

import numpy as np

from irt.arrays import IntArray
from irt.blas import one_thread
from irt.mirt import MirtFit, MirtSettings, Starts
from irt.mirt_refine import ITERATIONS, Refinement, chance_at_means, settled, step_abilities, step_items
from irt.mirt_updates import (
    Gaussian,
    answers_of,
    divergences,
    update_abilities,
    update_items,
    update_prior,
    weak_covariance,
)

# Of a loading: nothing, but a number that has an inverse.
PINNED_VARIANCE = 1e-8


@one_thread
def fit_additive(correct: IntArray, trials: IntArray, benchmark_of: IntArray) -> MirtFit:
    """Fit logit P = θ_i + d_j, with the variance of θ and each benchmark's prior of d learned.

    Returns a fit of one dimension whose loadings are 1 and whose ``ability_covariance`` is that variance.
    """
    answers = answers_of(correct, trials)
    models, items_count = trials.shape
    benchmarks = int(benchmark_of.max()) + 1
    settings = MirtSettings(dims=1)
    variance = np.eye(1)
    abilities = Gaussian(np.zeros((models, 1)), np.ones((models, 1, 1)))
    prior = _pinned(Gaussian(np.zeros((benchmarks, 2)), np.tile(weak_covariance(2), (benchmarks, 1, 1))))
    items = Gaussian(prior.mean[benchmark_of], prior.covariance[benchmark_of])
    enough = settings.tolerance * answers.trials.sum()
    elbo: list[float] = []
    converged = False
    while not converged and len(elbo) < settings.max_iterations:
        items = update_items(answers, items, abilities, prior, benchmark_of)
        prior = _pinned(update_prior(items, prior, benchmark_of))
        abilities, items, prior = _centred(abilities, items, prior)
        variance = abilities.second_moment().mean(axis=0)
        loss = divergences(abilities, items, prior, benchmark_of)
        # divergences() takes θ ~ Normal(0, 1); at this variance the learned prior's own terms take the place of those.
        loss += float(models - abilities.second_moment().sum() + models * np.log(variance[0, 0])) / 2
        abilities, bound = update_abilities(answers, items, abilities, np.linalg.inv(variance))
        elbo.append(bound - loss)
        converged = len(elbo) > 1 and bool(elbo[-1] - elbo[-2] < enough)
    predicted = chance_at_means(abilities, items)
    refined, iterations = False, 0
    while not refined and iterations < ITERATIONS:
        items = step_items(answers, items, abilities, prior, benchmark_of).gaussians
        prior = _pinned(update_prior(items, prior, benchmark_of))
        abilities, items, prior = _centred(abilities, items, prior)
        variance = abilities.second_moment().mean(axis=0)
        abilities = step_abilities(answers, items, abilities, np.linalg.inv(variance)).gaussians
        before, predicted = predicted, chance_at_means(abilities, items)
        refined = settled(before, predicted)
        iterations += 1
    trace = np.array(elbo)
    starts = Starts(trace[-1:], [converged], [len(elbo)], np.zeros(1))
    return MirtFit(abilities, items, prior, variance, trace, starts, Refinement(refined, iterations))


def _centred(abilities: Gaussian, items: Gaussian, prior: Gaussian) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Return the same predictions with the mean θ at 0.

    No answer tells a shift of all θ from one of all d; the updates alone would creep along it.
    """
    shift = abilities.mean.mean()
    return (
        Gaussian(abilities.mean - shift, abilities.covariance),
        Gaussian(items.mean + [0, shift], items.covariance),
        Gaussian(prior.mean + [0, shift], prior.covariance),
    )


def _pinned(prior: Gaussian) -> Gaussian:
    """Return the priors with every loading at 1, apart from the intercept."""
    mean, covariance = prior.mean.copy(), prior.covariance.copy()
    mean[:, 0] = 1.0
    covariance[:, 0, :] = covariance[:, :, 0] = 0.0
    covariance[:, 0, 0] = PINNED_VARIANCE
    return Gaussian(mean, covariance)
