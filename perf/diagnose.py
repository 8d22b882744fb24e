"""How long diagnose_benchmark.py takes, beside a bare loop that reads the same file and sorts its numbers.

Prints one table: seconds, peak memory, and the ratio to the bare loop.

Examples:
  python3 perf/diagnose.py                   # a million items
  python3 perf/diagnose.py --items 10000     # a quick look
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import run
from perf.cost import measure

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "diagnose_benchmark.py"
BARE_LOOP = """import csv, sys
rows = csv.reader(open(sys.argv[1], encoding='utf-8', newline=''))
next(rows)
sorted(float(row[1]) for row in rows)"""


def write_difficulties(path: Path, items: int) -> None:
    """Write a file as fit_irt.py does."""
    rng = random.Random(0)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write("item,b_mean,b_sd,r_hat,ess_bulk\n")
        handle.writelines(f"item-{i:07},{rng.gauss(0, 1)!r},0.1,1.0,4000\n" for i in range(items))


def main() -> int:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1_000_000, help="number of items (default: %(default)s)")
    args = parser.parse_args()

    print(f"{args.items:,} items, Python {platform.python_version()}")
    print(f"{'command':40}{'seconds':>9}{'peak MB':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        difficulties = Path(folder, "difficulty.csv")
        write_difficulties(difficulties, args.items)
        file = str(difficulties)
        bare = measure([sys.executable, "-c", BARE_LOOP, file])
        plain = measure([sys.executable, str(SCRIPT), file])
        gaps = measure([sys.executable, str(SCRIPT), file, "--json"])
        for name, cost in (
            ("bare csv.reader loop and sorted", bare),
            ("diagnose_benchmark.py", plain),
            ("diagnose_benchmark.py --json (with gaps)", gaps),
        ):
            print(f"{name:40}{cost.seconds:9.2f}{cost.peak_mb:9.0f}{cost.seconds / bare.seconds:7.2f}")
    return 0


if __name__ == "__main__":
    run(main)
