"""The Rasch model with every ability and every difficulty sampled: the literal model, for checking.

P(correct) = g + (1 − g)·σ(theta − b), counts binomial, theta and b independent Normal(0, 1). The marginal model
(irt/marginal.py) has the same posterior and costs far less.
"""

from __future__ import annotations

import pymc as pm
import pytensor.tensor as pt

from irt.arrays import FloatArray
from irt.marginal import log_guessing


def joint_model(correct: FloatArray, trials: FloatArray, guessing: FloatArray) -> pm.Model:
    """Return a PyMC model with variables ``theta`` (M,) and ``b`` (N,).

    Parameters
    ----------
    correct, trials
        (M, N); 0 trials = never asked.
    guessing
        (N,) guessing probability of each item.
    """
    models, items = correct.shape
    with pm.Model() as model:
        theta = pm.Normal("theta", 0.0, 1.0, shape=models)
        b = pm.Normal("b", 0.0, 1.0, shape=items)
        z = theta[:, None] - b
        # log of the binomial up to a constant: k·log(g + e^z) − n·log(1 + e^z), finite for any z.
        log_right = pt.logaddexp(log_guessing(guessing), z) if guessing.any() else z
        pm.Potential("correct", pt.sum(correct * log_right - trials * pt.softplus(z)))
    return model
