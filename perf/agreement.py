"""Do the marginal and the joint method give the same figures? Both fit the same real and simulated matrices.

For every ability and difficulty the two posterior means differ by z combined Monte Carlo standard errors (MCSE of
arviz-stats, from the draws of each). If they agree, z is at most standard normal: its root mean square is 1 or less
(less, since difficulties of the marginal method are Rao-Blackwellised and vary less than their draws say), 0.27 %
are beyond 3, and the largest of n is about sqrt(2 ln n). Figures of one fit move together, so these are guides.

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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import numpy.typing as npt
from arviz_stats.base import array_stats

from irt.benchmark_list import BENCHMARK_LIST, read_benchmark_list
from irt.matrix_source import find_sources, read_matrix
from irt.rasch import RaschFit, fit_rasch
from irt.settings import SamplerSettings

FloatArray = npt.NDArray[np.float64]

REAL = ("AIME25-I", "CORE-Bench-Hard", "LiveCodeBench", "METR-Tasks", "BBH-Deduction3", "SWE-bench-Mini")
SIMULATED = "simulated"
# The joint method needs more draws for the same precision where there are hundreds of parameters.
JOINT = SamplerSettings(draws=2000)


@dataclass(frozen=True)
class Case:
    """A matrix to be fitted by both methods."""

    name: str
    correct: FloatArray
    trials: FloatArray
    guessing: float


def simulated_case() -> Case:
    """Return 31 models × 118 items × 100 trials: very narrow posteriors."""
    rng = np.random.default_rng(0)
    theta, b = rng.normal(size=31), rng.normal(size=118)
    correct = rng.binomial(100, 1 / (1 + np.exp(b - theta[:, None]))).astype(float)
    return Case(SIMULATED, correct, np.full(correct.shape, 100.0), 0.0)


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


def differences(marginal: RaschFit, joint: RaschFit) -> FloatArray:
    """Return z of all abilities and difficulties, (M + N,)."""
    assert marginal.draws is not None and joint.draws is not None
    z = []
    for a, b, name in (
        (marginal.ability, joint.ability, "theta"),
        (marginal.difficulty, joint.difficulty, "b"),
    ):
        errors = [
            array_stats.mcse(getattr(fit.draws, name).astype(float), chain_axis=0, draw_axis=1, method="mean")
            for fit in (marginal, joint)
        ]
        z.append((a.mean - b.mean) / np.hypot(*errors))
    return np.concatenate(z)


def main() -> int:
    """Fit everything twice, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", type=Path, required=True, help="as for build_benchmarks.py")
    parser.add_argument("--only", nargs="+", default=[*REAL, SIMULATED])
    args = parser.parse_args()
    print(
        f"{'matrix':18}{'models':>7}{'items':>6}{'g':>6}{'parameters':>11}{'max |z|':>9}{'beyond 3':>9}{'rms z':>7}"
        f"{'max |diff|':>11}{'R-hat':>8}{'joint ESS':>10}{'s':>6}{'joint s':>9}"
    )
    cases = real_cases(args.matrices, args.only)
    if SIMULATED in args.only:
        cases.append(simulated_case())
    for case in cases:
        started = time.perf_counter()
        inputs = (case.correct, case.trials, case.guessing)
        marginal = fit_rasch(*inputs, settings=SamplerSettings(), keep_draws=True)
        between = time.perf_counter()
        joint = fit_rasch(*inputs, settings=JOINT, keep_draws=True, method="joint")
        seconds, joint_seconds = between - started, time.perf_counter() - between
        z = differences(marginal, joint)
        gap = max(
            np.abs(a.mean - b.mean).max()
            for a, b in ((marginal.ability, joint.ability), (marginal.difficulty, joint.difficulty))
        )
        r_hat = max(e.r_hat.max() for fit in (marginal, joint) for e in (fit.ability, fit.difficulty))
        ess = min(joint.ability.ess_bulk.min(), joint.difficulty.ess_bulk.min())
        print(
            f"{case.name:18}{case.correct.shape[0]:7}{case.correct.shape[1]:6}{case.guessing:6.2f}{len(z):11}"
            f"{np.abs(z).max():9.2f}{int((np.abs(z) > 3).sum()):9}{np.sqrt((z**2).mean()):7.2f}{gap:11.4f}"
            f"{r_hat:8.4f}{ess:10.0f}{seconds:6.0f}{joint_seconds:9.0f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
