"""Do the marginal and the joint method give the same figures? Both fit the same real and simulated matrices.

For every ability and difficulty the means of the draws of the two methods differ by z combined Monte Carlo standard
errors (MCSE of arviz-stats, from the draws of each). Before, the mean of all parameters is taken from every draw: the
data say nothing about it, and its error would move all z of a fit together. If the methods agree, z is about standard
normal. The verdict is NO, and the exit status 1, if
  the root mean square of z is above 1.2 for the abilities or for the difficulties (for few figures, above what
    chance exceeds once in 1,000),
  more than 1 % of z are beyond 3 (one always may), or one is beyond 5, or
  the released means of the marginal method are more than 5 MCSE from the means of its draws.
The last is column RB: these means are Rao-Blackwellised, means of exact conditional means. They vary less than the
draws' MCSE says, so z is of the draws.

Examples:
  python perf/agreement.py --matrices ~/matrices
  python perf/agreement.py --matrices ~/matrices --only AIME25-I METR-Tasks
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy.stats import chi2

from irt.arrays import FloatArray
from irt.benchmark_list import BENCHMARK_LIST, read_benchmark_list
from irt.command import run
from irt.matrix_source import find_sources, read_matrix
from irt.settings import SamplerSettings
from tests.simulation import simulate_counts

if TYPE_CHECKING:
    from irt.rasch import RaschFit

REAL = ("AIME25-I", "CORE-Bench-Hard", "LiveCodeBench", "METR-Tasks", "BBH-Deduction3", "SWE-bench-Mini")
SIMULATED = "simulated"
# The joint method needs more draws for the same precision where there are hundreds of parameters.
JOINT = SamplerSettings(draws=2000)

MAX_RMS = 1.2
CHANCE = 0.001
MAX_BEYOND_3 = 0.01
MAX_Z = 5.0


@dataclass(frozen=True)
class Case:
    """A matrix to be fitted by both methods."""

    name: str
    correct: FloatArray
    trials: FloatArray
    guessing: float


@dataclass(frozen=True)
class Comparison:
    """How far two fits are apart, in MCSE: z of M abilities and N difficulties, and the largest of RB."""

    ability: FloatArray
    difficulty: FloatArray
    rao_blackwell: float

    def agrees(self) -> bool:
        """Return whether no difference is more than chance."""
        z = np.abs(np.concatenate([self.ability, self.difficulty]))
        return bool(
            all(rms(side) <= rms_limit(len(side)) for side in (self.ability, self.difficulty))
            and (z > 3).sum() <= max(1, MAX_BEYOND_3 * len(z))
            and z.max() <= MAX_Z
            and self.rao_blackwell <= MAX_Z
        )


def rms(z: FloatArray) -> float:
    """Return the root mean square."""
    return float(np.sqrt((z**2).mean()))


def rms_limit(number: int) -> float:
    """Return the largest root mean square of z that passes: 1.2 for 130 figures or more, 1.76 for 9."""
    return max(MAX_RMS, float(np.sqrt(chi2.ppf(1 - CHANCE, number) / number)))


def simulated_case() -> Case:
    """Return 31 models × 118 items × 100 trials: very narrow posteriors."""
    data = simulate_counts(31, 118, 100)
    return Case(SIMULATED, data.correct, data.trials, 0.0)


def real_cases(matrices: Path, names: list[str]) -> list[Case]:
    """Return the named benchmarks as they are released: models left out, guessing fixed."""
    chosen = [entry for entry in read_benchmark_list(BENCHMARK_LIST) if entry.name in names]
    cases = []
    for entry, source in zip(chosen, find_sources(matrices, chosen), strict=True):
        matrix = read_matrix(source, entry)
        cases.append(
            Case(entry.name, np.array(matrix.correct, float), np.array(matrix.trials, float), entry.guessing)
        )
    return cases


def compare(marginal: RaschFit, joint: RaschFit) -> Comparison:
    """Return the differences of two fits that kept their draws."""
    models = len(marginal.ability.mean)
    ours, theirs = draws_of(marginal), draws_of(joint)
    released = np.concatenate([marginal.ability.mean, marginal.difficulty.mean])
    rao_blackwell = np.abs(released - ours.mean(axis=(0, 1))) / mcse(ours)
    ours, theirs = (draws - draws.mean(axis=2, keepdims=True) for draws in (ours, theirs))
    z = (ours.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))) / np.hypot(mcse(ours), mcse(theirs))
    return Comparison(z[:models], z[models:], float(rao_blackwell.max()))


def draws_of(fit: RaschFit) -> FloatArray:
    """Return the draws of abilities, then difficulties, (chains, draws, M + N)."""
    assert fit.draws is not None
    return np.concatenate([fit.draws.theta, fit.draws.b], axis=2).astype(float)


def mcse(draws: FloatArray) -> FloatArray:
    """Return the Monte Carlo standard error of the mean of each parameter."""
    from arviz_stats.base import array_stats

    return array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean")


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    known = [*(entry.name for entry in read_benchmark_list(BENCHMARK_LIST)), SIMULATED]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--matrices", type=Path, metavar="DIR", required=True, help="as for build_benchmarks.py"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=known,
        default=[*REAL, SIMULATED],
        help=f"benchmarks of data/benchmarks.toml, or {SIMULATED} (six and {SIMULATED})",
    )
    return parser.parse_args()


def main() -> int:
    """Fit everything twice, print one table with a verdict on each row."""
    args = parse_arguments()
    cases = real_cases(args.matrices, args.only)
    if SIMULATED in args.only:
        cases.append(simulated_case())
    from irt.rasch import fit_rasch

    print(
        f"{'matrix':18}{'models':>7}{'items':>6}{'g':>6}{'rms z: ability':>15}{'difficulty':>11}{'beyond 3':>9}"
        f"{'max |z|':>8}{'RB':>6}{'R-hat':>8}{'joint ESS':>10}{'s':>5}{'joint s':>8}{'verdict':>9}"
    )
    all_agree = True
    for case in cases:
        started = time.perf_counter()
        inputs = (case.correct, case.trials, case.guessing)
        marginal = fit_rasch(*inputs, settings=SamplerSettings(), keep_draws=True)
        between = time.perf_counter()
        joint = fit_rasch(*inputs, settings=JOINT, keep_draws=True, method="joint")
        seconds, joint_seconds = between - started, time.perf_counter() - between
        found = compare(marginal, joint)
        all_agree &= found.agrees()
        z = np.abs(np.concatenate([found.ability, found.difficulty]))
        r_hat = max(side.r_hat.max() for fit in (marginal, joint) for side in (fit.ability, fit.difficulty))
        ess = min(joint.ability.ess_bulk.min(), joint.difficulty.ess_bulk.min())
        print(
            f"{case.name:18}{case.correct.shape[0]:7}{case.correct.shape[1]:6}{case.guessing:6.2f}"
            f"{rms(found.ability):15.2f}{rms(found.difficulty):11.2f}{int((z > 3).sum()):9}{z.max():8.2f}"
            f"{found.rao_blackwell:6.2f}{r_hat:8.4f}{ess:10.0f}{seconds:5.0f}{joint_seconds:8.0f}"
            f"{'ok' if found.agrees() else 'NO':>9}",
            flush=True,
        )
    return 0 if all_agree else 1


if __name__ == "__main__":
    run(main)
