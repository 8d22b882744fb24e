"""A simulated benchmark with its calibration by fit_irt's fit, made once for all tests that need one."""

from __future__ import annotations

from functools import cache

from irt.rasch import RaschFit, fit_rasch
from irt.settings import SamplerSettings
from tests.simulation import SimulatedCounts, simulate_counts
from verifier.ability_posterior import Calibration

ITEMS, TRIALS, GUESSING, BLANKS = 50, 2, 1 / 3, 0.2


@cache
def calibrated() -> tuple[SimulatedCounts, RaschFit, Calibration]:
    data = simulate_counts(12, ITEMS, TRIALS, guessing=GUESSING, blanks=BLANKS, seed=20)
    settings = SamplerSettings(chains=2, tune=250, draws=1000, seed=1)
    fit = fit_rasch(data.correct, data.trials, data.guessing, settings=settings)
    return data, fit, Calibration(fit.difficulty.mean, fit.difficulty.sd)
