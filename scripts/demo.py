"""Measure a simulated benchmark whose truth is known, then show the released ones.

Simulates a log of responses with an empty interval of difficulty planted in it, runs the real commands on it, and
compares what they find with the truth. The released difficulty estimates follow, read from data/benchmarks.

Example:

    python scripts/demo.py
    python scripts/demo.py --output-dir /tmp/demo
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import correlation

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from irt.command import CommandParser, run
from irt.difficulty import normalize, widest_gaps
from irt.difficulty_csv import read_difficulties
from irt.io import InputError, write_csv
from irt.simulate import SimulatedLog, simulate_log

MODELS, ITEMS, TRIALS, SEED = 12, 40, 8, 1
PLANTED_GAP = (-0.7, 0.7)  # even on both sides, so that the mean difficulty stays 0 as the model expects
NORMAL_90 = 1.645  # 90 % of a normal distribution lies within this many standard deviations


@dataclass(frozen=True)
class Recovery:
    """How close the estimated difficulties are to the true ones.

    Attributes
    ----------
    correlation
        Pearson's, between true and estimated difficulties.
    covered
        How many of the items have their true difficulty within b_mean ± 1.645 b_sd.
    items
        The number of items.
    """

    correlation: float
    covered: int
    items: int


def compare(true: dict[str, float], estimated: dict[str, tuple[float, float]]) -> Recovery:
    """Compare true difficulties with estimated ones, (b_mean, b_sd) by item id."""
    pairs = [(b, *estimated[item]) for item, b in true.items()]
    covered = sum(abs(mean - b) <= NORMAL_90 * sd for b, mean, sd in pairs)
    return Recovery(
        correlation([b for b, _, _ in pairs], [mean for _, mean, _ in pairs]), covered, len(pairs)
    )


def read_estimates(path: Path) -> dict[str, tuple[float, float]]:
    """Read (b_mean, b_sd) by item id from the difficulty.csv of a fit."""
    mean, sd = read_difficulties(path, "b_mean"), read_difficulties(path, "b_sd")
    return dict(zip(mean.ids, zip(mean.values, sd.values, strict=True), strict=True))


def widest_gap(difficulties: Iterable[float]) -> tuple[float, float]:
    """Return the widest empty interval on the scale where the easiest item is 0 and the hardest is 1."""
    gap = widest_gaps(normalize(list(difficulties)), 1)[0]
    return gap.lower, gap.upper


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def command(script: str, *arguments: str | Path) -> None:
    """Print a command line, then run it."""
    words = [os.path.relpath(ROOT / "scripts" / script), *map(str, arguments)]
    print("$ " + shlex.join(["python", *words]), flush=True)
    status = subprocess.run([sys.executable, *words], check=False).returncode
    if status:
        raise InputError(f"{script} ended with status {status}; its message is above")


def measure(log: SimulatedLog, folder: Path) -> None:
    """Write the log, run the three commands on it, and compare what they find with the truth."""
    responses, matrix, fit = (
        folder / name for name in ("simulated_responses.csv", "simulated_matrix.csv", "simulated_fit")
    )
    difficulty = fit / "difficulty.csv"

    heading(
        f"1. Simulated: {MODELS} models answer {ITEMS} items {TRIALS} times; we know how hard each item is"
    )
    write_csv(responses, ("model", "item_id", "trial", "correct"), log.rows)
    low, high = widest_gap(log.difficulties.values())
    print(
        f"Planted: no item has its true difficulty between {low:.2f} and {high:.2f} (easiest item 0, hardest 1)."
    )
    print(f"Wrote {len(log.rows):,} simulated responses to {responses}")

    heading("2. Count the correct answers of every model on every item")
    command("prepare_response_matrix.py", responses, "--n-trials", str(TRIALS), "--output", matrix)

    heading("3. Estimate abilities and difficulties from the counts")
    command("fit_irt.py", matrix, "--n-trials", str(TRIALS), "--output-dir", fit)

    heading("4. Where is the simulated benchmark lopsided, and where is it empty?")
    command("diagnose_benchmark.py", difficulty, "--gaps", "3")

    heading("5. Was that right? Estimated against true difficulty of the simulated items")
    estimated = read_estimates(difficulty)
    found = compare(log.difficulties, estimated)
    left, right = widest_gap(mean for mean, _ in estimated.values())
    print(f"Widest gap: planted {low:.2f} to {high:.2f}, estimated {left:.2f} to {right:.2f}.")
    print(f"Correlation of the difficulties: {found.correlation:.3f}.")
    print(
        f"{found.covered} of {found.items} intervals of 90 % hold the truth ({0.9 * found.items:.0f} expected)."
    )


def main() -> int:
    """Run the demo."""
    parser = CommandParser(__doc__)
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path("demo_output"),
        help="folder for the simulated files (default: %(default)s)",
    )
    folder = parser.parse_args().output_dir

    measure(simulate_log(MODELS, ITEMS, TRIALS, SEED, gap=PLANTED_GAP), folder)

    heading("6. The same figures for a real benchmark, from our released estimates")
    command("diagnose_benchmark.py", os.path.relpath(ROOT / "data/benchmarks/AIME25-I/difficulty.csv"))

    heading("7. All released benchmarks")
    command("reproduce_tables.py")
    print(f"\nThe simulated files are in {folder}. For your own log, follow steps 2 to 4.")
    return 0


if __name__ == "__main__":
    run(main)
