"""Do intervals hold the truth as often as they say? Simulation-based calibration of fit_irt's posterior.

Abilities and difficulties are drawn from the prior, answers from the model, and the model is fitted; over many
simulated benchmarks a 90 % interval must hold the truth 90 % of the time (Cook, Gelman and Rubin 2006).

The figures of one fit share their errors: if an ability is estimated too high, so are many difficulties. So the
standard error of the 90 % column comes from the shares of whole benchmarks: their standard deviation / sqrt(repeats).
Of 14 such columns, a right posterior leaves about one more than 2 standard errors from 90 %.

Examples:
  python perf/calibration.py                 # 10 simulated benchmarks a row, about 5 minutes on 2 cores
  python perf/calibration.py --repeats 1     # a quick look, without standard errors
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import numpy.typing as npt

from irt.arrays import FloatArray
from irt.command import run
from irt.settings import SamplerSettings, available_cpus
from tests.simulation import simulate_counts


class Design(NamedTuple):
    """The shape of a simulated benchmark; ``blanks`` is the share of cells that were never asked."""

    models: int
    items: int
    trials: int
    guessing: float
    blanks: float = 0.0


DESIGNS = (
    Design(12, 200, 4, 0.0),
    Design(12, 200, 4, 0.25),
    Design(12, 200, 4, 0.25, blanks=0.2),
    Design(12, 200, 100, 0.0),
    Design(9, 200, 1, 0.0),
    Design(9, 200, 1, 0.25),
    Design(60, 20, 2, 0.25),
)
LEVELS = (0.5, 0.8, 0.9, 0.95)
TUNE, DRAWS = 300, 500
# The data's seeds are far from the sampler's, so that no stream of random numbers serves twice.
FIRST_SEED = 1000


class Covered(NamedTuple):
    """Share of one benchmark's parameters whose interval holds the truth, (levels,) each."""

    difficulty: FloatArray
    ability: FloatArray


def covered(design: Design, number: int) -> Covered:
    """Simulate and fit one benchmark."""
    from irt.rasch import fit_rasch

    models, items, trials, guessing, blanks = design
    data = simulate_counts(models, items, trials, guessing=guessing, blanks=blanks, seed=FIRST_SEED + number)
    # One core each: as many benchmarks are fitted side by side as there are processors.
    settings = SamplerSettings(tune=TUNE, draws=DRAWS, seed=number, cores=1)
    fit = fit_rasch(data.correct, data.trials, data.guessing, settings=settings, keep_draws=True)
    assert fit.draws is not None
    return Covered(shares(fit.draws.b < data.b), shares(fit.draws.theta < data.theta))


def shares(below: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the share of parameters in the central interval of each level, from (chains, draws, U)."""
    rank = below.mean(axis=(0, 1))
    return np.array([np.mean(np.abs(rank - 0.5) < level / 2) for level in LEVELS])


def main() -> int:
    """Simulate, fit, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10, help="simulated benchmarks a row (%(default)s)")
    args = parser.parse_args()
    if args.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {args.repeats}")
    print(
        f"{'models':>6}{'items':>6}{'trials':>7}{'g':>6}{'blanks':>7}  {'parameter':11}{'number':>7}"
        + "".join(f"{f'in {level:.0%}':>8}" for level in LEVELS)
        + f"{'SE of 90%':>11}"
    )
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(available_cpus(), args.repeats), mp_context=context) as pool:
        for design in DESIGNS:
            benchmarks = list(pool.map(covered, repeat(design), range(args.repeats)))
            for name, units in (("difficulty", design.items), ("ability", design.models)):
                share = np.array([getattr(benchmark, name) for benchmark in benchmarks])  # (repeats, levels)
                at_90 = share[:, LEVELS.index(0.9)]
                error = f"{at_90.std(ddof=1) / np.sqrt(args.repeats):.1%}" if args.repeats > 1 else "-"
                models, items, trials, guessing, blanks = design
                print(
                    f"{models:6}{items:6}{trials:7}{guessing:6.2f}{blanks:7.0%}  {name:11}"
                    f"{units * args.repeats:7}"
                    + "".join(f"{value:8.1%}" for value in share.mean(axis=0))
                    + f"{error:>11}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    run(main)
