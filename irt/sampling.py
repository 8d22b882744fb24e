"""Run NUTS on a PyMC model: nutpie with a low-rank mass matrix, several chains, a progress report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import nutpie
import pymc as pm
import pytensor
from threadpoolctl import threadpool_limits

from irt.arrays import FloatArray
from irt.progress import progress
from irt.settings import SamplerSettings, available_cpus


@dataclass(frozen=True)
class NutsDraws:
    """Posterior draws by variable name, each (chains, draws, U), and how many transitions diverged."""

    values: dict[str, FloatArray]
    divergences: int


def sample(model: pm.Model, settings: SamplerSettings, title: str) -> NutsDraws:
    """Return posterior draws of every free variable of the model.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after the chains have been stopped.
    """
    # Without fast-math the same seed gives the same draws whether or not the compiled code comes from a cache.
    with pytensor.config.change_flags(numba__fastmath=False):
        compiled = nutpie.compile_pymc_model(model)
    total = settings.chains * (settings.tune + settings.draws)
    # Chains run in threads: each gets its share of the processors for its matrix products.
    threads = max(1, available_cpus() // settings.cores)
    with progress(title, total) as update, threadpool_limits(limits=threads):

        def report(chains: list[Any]) -> None:
            divergences = sum(chain.divergences for chain in chains)
            note = f"{divergences} divergences" if divergences else ""
            update(sum(chain.finished_draws for chain in chains), note)

        sampler = nutpie.sample(
            compiled,
            draws=settings.draws,
            tune=settings.tune,
            chains=settings.chains,
            cores=settings.cores,
            seed=settings.seed,
            adaptation="low_rank",
            target_accept=settings.target_accept,
            save_warmup=False,
            progress_bar=False,
            progress_callback=report,
            progress_rate=200,
            blocking=False,
        )
        try:
            # nutpie's blocking call turns Ctrl-C into a short trace; here it has to stay an interrupt.
            trace = sampler.wait()
        except BaseException:
            sampler.cancel()
            raise
    values = {name: np.asarray(array.values) for name, array in trace["posterior"].data_vars.items()}
    return NutsDraws(values, int(trace["sample_stats"]["diverging"].values.sum()))
