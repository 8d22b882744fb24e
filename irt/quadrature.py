"""Where the one-dimensional integrals of the marginal likelihood are evaluated.

One grid of equally spaced nodes serves all integrals: on an analytic integrand that vanishes at both ends the
trapezoid rule converges geometrically (Trefethen and Weideman 2014), with an error of about
2·exp(−2π²(σ/h)²) for a Gaussian of width σ and spacing h, and shared nodes make the tables of log p shared too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import lambertw

from irt.arrays import FloatArray

# Prior standard deviations from the mean: where the other side may lie as a whole without a unit leaving the grid.
EXTREME = 3.0


@dataclass(frozen=True)
class Grid:
    """Equally spaced nodes y and the log of (spacing × prior density) at each, both (Q,)."""

    nodes: FloatArray
    log_weights: FloatArray


def grid_between(lower: float, upper: float, spacing: float, *, prior_sd: float = 1.0) -> Grid:
    """Return the grid that covers [lower, upper] with at most the given spacing; the prior is Normal(0, prior_sd²)."""
    nodes = np.linspace(lower, upper, int(np.ceil((upper - lower) / spacing)) + 1)
    log_density = -0.5 * (nodes / prior_sd) ** 2 - np.log(prior_sd) - 0.5 * np.log(2 * np.pi)
    return Grid(nodes, log_density + np.log(nodes[1] - nodes[0]))


def grid_for(max_trials: float, *, prior_sd: float = 1.0, fineness: float = 1.0) -> Grid:
    """Return a grid that holds for every unit with up to ``max_trials`` trials.

    Spacing: along the real axis a trial adds at most 1/4 to the curvature of the log posterior (with any g), so no
    posterior is narrower than 1/√(1 + trials/4). With that width as spacing the relative error of an integral is
    below 1e-6 for a single trial, where the posterior is least like a Gaussian, and falls to 1e-8 at 100.
    ``fineness`` divides it, for more than integrals over the whole line.

    Range: the most extreme posterior is that of a unit with only right or only wrong answers. If every x is at
    ``EXTREME``, its mode solves y = trials·σ(EXTREME − y) < trials·e^(EXTREME − y), and its log density there is
    about −y²/2 − y. Nodes go on until the prior has fallen 18 nats (1.5e-8) below that. In units of another prior's
    sd s the same holds, with s² times as many trials: an answer tells more where less was known.
    """
    spacing = 1 / np.sqrt(1 + max_trials / 4) / fineness
    trials = prior_sd**2 * max_trials
    mode = min(lambertw(trials * np.exp(EXTREME)).real, trials)
    reach = prior_sd * np.sqrt(mode**2 + 2 * mode + 36)
    return grid_between(-reach, reach, spacing, prior_sd=prior_sd)
