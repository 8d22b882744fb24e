"""Do intervals hold the truth as often as they say? Simulation-based calibration of fit_irt's posterior.

Abilities and difficulties are drawn from the prior, answers from the model, and the model is fitted; over many
simulated items and models, a 90 % interval must hold the truth 90 % of the time (Cook, Gelman and Rubin 2006), and
the rank of the truth among the draws must be uniform (Talts et al. 2018): its chi-square over 20 bins has
expectation 19.

Examples:
  python perf/calibration.py                 # 20 simulated benchmarks a row, about 5 minutes on 2 cores
  python perf/calibration.py --repeats 3     # a quick look
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import numpy.typing as npt

from irt.rasch import fit_rasch
from irt.settings import SamplerSettings

FloatArray = npt.NDArray[np.float64]

# models, items, trials, guessing
DESIGNS = ((12, 200, 4, 0.0), (12, 200, 4, 0.25), (9, 200, 1, 0.0), (9, 200, 1, 0.25), (60, 20, 2, 0.25))
LEVELS = (0.5, 0.8, 0.9, 0.95)
BINS = 20


def ranks(models: int, items: int, trials: int, guessing: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the share of draws below the truth, of every difficulty and of every ability."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=models), rng.normal(size=items)
    p = guessing + (1 - guessing) / (1 + np.exp(b - theta[:, None]))
    fit = fit_rasch(
        rng.binomial(trials, p),
        np.full(p.shape, trials),
        guessing,
        settings=SamplerSettings(tune=500, draws=500, seed=seed),
        keep_draws=True,
    )
    assert fit.draws is not None
    return (fit.draws.b < b).mean(axis=(0, 1)), (fit.draws.theta < theta).mean(axis=(0, 1))


def main() -> int:
    """Simulate, fit, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=20, help="simulated benchmarks a row (default: %(default)s)"
    )
    args = parser.parse_args()
    print(
        f"{'models':>6}{'items':>6}{'trials':>7}{'g':>6}  {'parameter':12}{'number':>7}"
        + "".join(f"{f'in {level:.0%}':>8}" for level in LEVELS)
        + f"{'chi2 (19)':>11}"
    )
    for design in DESIGNS:
        runs = [ranks(*design, seed=seed) for seed in range(args.repeats)]
        for name, parts in zip(("difficulty b", "ability"), zip(*runs, strict=True), strict=True):
            rank = np.concatenate(parts)
            covered = [np.mean(np.abs(rank - 0.5) < level / 2) for level in LEVELS]
            counts, _ = np.histogram(rank, bins=BINS, range=(0, 1))
            expected = len(rank) / BINS
            models, items, trials, guessing = design
            print(
                f"{models:6}{items:6}{trials:7}{guessing:6.2f}  {name:12}{len(rank):7}"
                + "".join(f"{share:8.1%}" for share in covered)
                + f"{((counts - expected) ** 2 / expected).sum():11.1f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
