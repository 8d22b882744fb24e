"""What integrating the longer side out buys: fit_irt.py against the joint model, from command to result.

Simulated: 12 models × 30 to 14,042 items × 8 trials, without and with guessing; or --matrix, a real one. Peers, all
with the joint model: PyMC's own NUTS and nutpie through pm.sample (perf/joint_pymc.py), and fit_irt.py --method joint
(nutpie, low-rank mass matrix). Seconds are of the whole process, with an empty compilation cache for each row; "warm"
is fit_irt.py with the cache of the row before. Peak MB is of the largest single process.

Where a peer would take hours, it takes few draws and its figures are scaled to the default 1,000 + 1,000 (marked ~):
  a draw  = (a run of few draws - a run of 5 draws) / draws between them, both runs with a warm cache
  seconds = a run of 5 draws with an empty cache + a draw x 2,000
  min ESS = that of the few draws x 1,000 / few
A scaled ratio is an order of magnitude: few warm-up draws leave a sampler worse adapted than many would, and the
smallest of thousands of ESS from few draws is too small. Its peak MB is of the few draws.

Examples:
  python perf/fit.py                                            # everything
  python perf/fit.py --items 30 --guessing 0 --peers nutpie     # a quick look
  python perf/fit.py --matrix mmlu_pro.csv.gz --n-trials 1 --guessing 0.1 --few 20
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import run
from irt.response_matrix import read_response_matrix
from irt.settings import SamplerSettings
from perf.cost import Cost, measure
from tests.simulation import simulate_counts

ROOT = Path(__file__).resolve().parents[1]
MODELS, TRIALS = 12, 8
ITEMS = (30, 500, 3000, 14042)
# Draws (and as many warm-up draws) of the joint model where the default would take too long.
FEW_DRAWS = {3000: 100, 14042: 20}
# Warm-up and kept draws of a run that is nearly all start: fit_irt.py keeps no fewer.
START = (1, 4)
FULL = SamplerSettings()
PEERS = {
    "pymc": "joint, PyMC's own NUTS",
    "nutpie": "joint, pm.sample's default here (nutpie, diagonal)",
    "joint": "joint, --method joint (nutpie, low rank)",
}


@dataclass(frozen=True)
class Problem:
    """A matrix file and what both programs have to know of it; ``few`` draws for the peers, or None for all."""

    matrix: Path
    options: tuple[str, ...]
    few: int | None


@dataclass(frozen=True)
class Outcome:
    """A fit, from command to result; ``scaled`` if from few draws."""

    seconds: float
    ess: float
    peak_mb: float
    scaled: bool


def write_matrix(path: Path, items: int, guessing: float) -> None:
    """Write counts drawn from the model itself."""
    counts = simulate_counts(MODELS, items, TRIALS, guessing=guessing, seed=items).correct.astype(int)
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["model", *(f"q{i}" for i in range(items))])
        writer.writerows([f"m{m}", *row] for m, row in enumerate(counts))


def fit(method: str, problem: Problem, folder: Path, tune: int, draws: int) -> Cost:
    """Fit in a process of its own; its figures and its compilation cache stay in the folder."""
    folder.mkdir(exist_ok=True)
    if method in ("marginal", "joint"):
        program = [str(ROOT / "scripts/fit_irt.py"), f"--method={method}", f"--output-dir={folder}"]
    else:
        program = [
            str(ROOT / "perf/joint_pymc.py"),
            f"--sampler={method}",
            f"--output={folder / 'diagnostics.json'}",
        ]
    environment = ["env", f"PYTENSOR_FLAGS=base_compiledir={folder / 'cache'}"]
    options = [*problem.options, f"--tune={tune}", f"--draws={draws}"]
    return measure([*environment, sys.executable, *program, str(problem.matrix), *options])


def fit_in_full(method: str, problem: Problem, folder: Path) -> Outcome:
    """Return the outcome of a fit with the default number of draws."""
    cost = fit(method, problem, folder, FULL.tune, FULL.draws)
    return Outcome(cost.seconds, min_ess(folder), cost.peak_mb, scaled=False)


def fit_scaled(method: str, problem: Problem, folder: Path, few: int) -> Outcome:
    """Return the outcome of a fit with few draws, scaled to the default number."""
    cold, start = (fit(method, problem, folder, *START) for _ in range(2))
    cost = fit(method, problem, folder, few, few)
    seconds = scaled_seconds(cold.seconds, start.seconds, cost.seconds, few)
    return Outcome(seconds, min_ess(folder) * FULL.draws / few, cost.peak_mb, scaled=True)


def scaled_seconds(cold: float, start: float, cost: float, few: int) -> float:
    """Return seconds of all draws, from a first run, one with its cache, and one with the cache and few draws.

    20 s, 10 s, and 29.5 s for 100 + 100 draws are 0.1 s a draw, and 20 + 2,000 × 0.1 = 220 s.
    """
    a_draw = (cost - start) / (2 * few - sum(START))
    return cold + max(a_draw, 0.0) * (FULL.tune + FULL.draws)


def min_ess(folder: Path) -> float:
    """Return the smallest bulk effective sample size of the fit that was written there."""
    return float(json.loads((folder / "diagnostics.json").read_text(encoding="utf-8"))["min_ess_bulk"])


def rows(problem: Problem, peers: Sequence[str]) -> Iterator[tuple[str, Outcome]]:
    """Yield every row's name and outcome, fit_irt.py's own first."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield "marginal", fit_in_full("marginal", problem, folder / "marginal")
        yield "marginal, compiled before (warm)", fit_in_full("marginal", problem, folder / "marginal")
        for peer in peers:
            if problem.few is None:
                yield PEERS[peer], fit_in_full(peer, problem, folder / peer)
            else:
                yield PEERS[peer], fit_scaled(peer, problem, folder / peer, problem.few)


def print_rows(what: str, problem: Problem, peers: Sequence[str]) -> None:
    """Print the rows of a problem as they come; ``what`` begins each."""
    own_speed = 0.0
    for name, outcome in rows(problem, peers):
        mark = "~" if outcome.scaled else ""
        speed = outcome.ess / outcome.seconds
        own_speed = own_speed or speed
        print(
            f"{what}  {name:51}{f'{mark}{outcome.seconds:.1f}':>9}{f'{mark}{outcome.ess:.0f}':>9}"
            f"{f'{mark}{speed:.4g}':>9}{outcome.peak_mb:9.0f}{f'{mark}{own_speed / speed:.4g} x':>13}",
            flush=True,
        )


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--items", type=int, nargs="+", default=ITEMS, help="of the simulated (30 to 14,042)")
    data.add_argument("--matrix", type=Path, metavar="FILE", help="a real matrix, as for fit_irt.py")
    trials = parser.add_mutually_exclusive_group()
    trials.add_argument("--n-trials", type=int, help="of the real matrix, as for fit_irt.py")
    trials.add_argument("--trials-csv", type=Path, metavar="FILE", help="of the real matrix")
    parser.add_argument("--guessing", type=float, nargs="+", help="(0 and 0.25; one for a real matrix, 0)")
    parser.add_argument("--few", type=int, help="draws of the peers (100 for 3,000 items, 20 for 14,042)")
    parser.add_argument("--peers", choices=PEERS, nargs="+", default=list(PEERS), help="(all)")
    args = parser.parse_args()
    args.guessing = args.guessing or ([0.0] if args.matrix else [0.0, 0.25])
    if bool(args.matrix) != bool(args.n_trials or args.trials_csv):
        parser.error("--matrix goes with --n-trials or --trials-csv")
    if args.matrix and len(args.guessing) > 1:
        parser.error("--matrix takes one --guessing")
    if args.few is not None and args.few < START[1]:
        parser.error(f"--few must be at least {START[1]}, got {args.few}")
    return args


def main() -> int:
    """Run all fits, print one table."""
    args = parse_arguments()
    shape = f"{MODELS} models x {TRIALS} trials, simulated"
    if args.matrix:
        matrix = read_response_matrix(args.matrix, n_trials=args.n_trials, trials_path=args.trials_csv)
        shape = f"{args.matrix.name}: {len(matrix.models)} models"
    print(f"{shape}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors")
    print(
        f"{'g':>5}{'items':>7}  {'fit':51}{'seconds':>9}{'min ESS':>9}{'ESS/s':>9}{'peak MB':>9}{'marginal is':>13}"
    )
    if args.matrix:
        trials = f"--trials-csv={args.trials_csv}" if args.trials_csv else f"--n-trials={args.n_trials}"
        [guessing] = args.guessing
        problem = Problem(args.matrix, (trials, f"--guessing={guessing}"), args.few)
        print_rows(f"{guessing:5.2f}{len(matrix.items):7,}", problem, args.peers)
        return 0
    for guessing in args.guessing:
        for items in args.items:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "matrix.csv")
                write_matrix(path, items, guessing)
                options = (f"--n-trials={TRIALS}", f"--guessing={guessing}")
                problem = Problem(path, options, args.few or FEW_DRAWS.get(items))
                print_rows(f"{guessing:5.2f}{items:7,}", problem, args.peers)
    return 0


if __name__ == "__main__":
    run(main)
