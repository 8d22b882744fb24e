"""What integrating the longer side out buys: fit_irt.py against the joint model, from command to result.

Simulated: 12 models × 30 to 14,042 items × 8 trials, without and with guessing. Peers: the joint model under
PyMC's default NUTS (perf/joint_pymc.py) and fit_irt.py --method joint (nutpie, low-rank mass matrix). Seconds are of
the whole process, with an empty compilation cache for each run; "warm" is fit_irt.py with the cache of the run before.

Where the joint model would take an hour, it takes few draws and its figures are scaled to the default 1,000 + 1,000
(marked ~): seconds by the time a draw took, effective draws by the number of draws. Few warm-up draws leave the
joint sampler worse adapted than many would; the scaled ratio is an order of magnitude.

Examples:
  python perf/fit.py                            # everything: about an hour on 2 cores
  python perf/fit.py --items 30 --guessing 0    # a quick look
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from irt.settings import SamplerSettings
from perf.prepare import measure

ROOT = Path(__file__).resolve().parents[1]
MODELS, TRIALS = 12, 8
ITEMS = (30, 500, 3000, 14042)
# Draws (and as many warm-up draws) of the joint model where the default would take too long.
FEW_DRAWS = {3000: 100, 14042: 20}


@dataclass(frozen=True)
class Outcome:
    """A fit, from command to result; ``scaled`` if from few draws."""

    seconds: float
    ess: float
    peak_mb: float
    scaled: bool


def write_matrix(path: Path, items: int, guessing: float) -> None:
    """Write counts drawn from the model itself."""
    rng = np.random.default_rng(items)
    theta, b = rng.normal(size=MODELS), rng.normal(size=items)
    p = guessing + (1 - guessing) / (1 + np.exp(b - theta[:, None]))
    counts = rng.binomial(TRIALS, p)
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["model", *(f"q{i}" for i in range(items))])
        writer.writerows([f"m{m}", *row] for m, row in enumerate(counts))


def command(method: str, matrix: Path, guessing: float, tune: int, draws: int) -> list[str]:
    """Return the command line of one fit; it leaves its figures beside the matrix."""
    if method == "pymc":
        program = [str(ROOT / "perf/joint_pymc.py"), f"--output={result_of(method, matrix)}"]
    else:
        program = [
            str(ROOT / "scripts/fit_irt.py"),
            f"--method={method}",
            f"--output-dir={matrix.parent / 'out'}",
        ]
    options = [f"--n-trials={TRIALS}", f"--guessing={guessing}", f"--tune={tune}", f"--draws={draws}"]
    return [sys.executable, *program, str(matrix), *options]


def result_of(method: str, matrix: Path) -> Path:
    """Return the JSON file that has min_ess_bulk."""
    return matrix.parent / ("pymc.json" if method == "pymc" else "out/diagnostics.json")


def run(method: str, matrix: Path, guessing: float, cache: Path, few: int | None = None) -> Outcome:
    """Run one fit in a process of its own; with ``few`` draws, scale its figures to the default number."""
    compile_in = ["env", f"PYTENSOR_FLAGS=base_compiledir={cache}"]
    full = SamplerSettings()
    tune, draws = (few, few) if few else (full.tune, full.draws)
    cost = measure([*compile_in, *command(method, matrix, guessing, tune, draws)])
    ess = float(json.loads(result_of(method, matrix).read_text())["min_ess_bulk"])
    if not few:
        return Outcome(cost.seconds, ess, cost.peak_mb, scaled=False)
    # What the sampler takes for a draw, apart from all that comes before the first.
    start = measure([*compile_in, *command(method, matrix, guessing, 1, 4)]).seconds
    a_draw = max(cost.seconds - start, 0.0) / (2 * few)
    seconds = cost.seconds + a_draw * (full.tune + full.draws - 2 * few)
    return Outcome(seconds, ess * full.draws / few, cost.peak_mb, scaled=True)


def main() -> int:
    """Run all fits, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS)
    parser.add_argument("--guessing", type=float, nargs="+", default=(0.0, 0.25))
    args = parser.parse_args()
    print(
        f"{MODELS} models x {TRIALS} trials, Python {platform.python_version()}, {platform.processor() or 'CPU'}"
    )
    print(
        f"{'g':>5}{'items':>7}  {'method':34}{'seconds':>9}{'min ESS':>9}{'ESS/s':>9}{'peak MB':>9}"
        f"{'marginal is':>13}"
    )
    for guessing in args.guessing:
        for items in args.items:
            with tempfile.TemporaryDirectory() as folder:
                matrix = Path(folder, "matrix.csv")
                write_matrix(matrix, items, guessing)
                few = FEW_DRAWS.get(items)
                cold = Path(folder, "cold")
                outcomes = {
                    "marginal": run("marginal", matrix, guessing, cold),
                    "marginal, compiled before (warm)": run("marginal", matrix, guessing, cold),
                    "joint, PyMC's default NUTS": run("pymc", matrix, guessing, Path(folder, "pymc"), few),
                    "joint, --method joint (low rank)": run(
                        "joint", matrix, guessing, Path(folder, "joint"), few
                    ),
                }
            reference = outcomes["marginal"]
            for name, outcome in outcomes.items():
                mark = "~" if outcome.scaled else ""
                speed = outcome.ess / outcome.seconds
                ratio = reference.ess / reference.seconds / speed
                print(
                    f"{guessing:5.2f}{items:7,}  {name:34}{mark + format(outcome.seconds, '.1f'):>9}"
                    f"{mark + format(outcome.ess, '.0f'):>9}{mark + format(speed, '.4g'):>9}"
                    f"{outcome.peak_mb:9.0f}{mark + format(ratio, '.4g') + ' x':>13}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
