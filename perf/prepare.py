"""How long prepare_response_matrix.py takes, beside a bare csv.reader loop over the same file.

Prints one table: seconds, peak memory, and the ratio to the bare loop, for rows in the order of the models and
for rows in the order of the trials, in which every row is of another pair than the one before.

Examples:
  python3 perf/prepare.py                # 50 models x 2,000 items x 100 trials: 10 million rows
  python3 perf/prepare.py --items 20     # a quick look
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Iterable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import run
from perf.cost import measure

MODELS = 50
TRIALS = 100
SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "prepare_response_matrix.py"
BARE_LOOP = "import csv, sys\nfor row in csv.reader(open(sys.argv[1], encoding='utf-8', newline='')): pass"


def write_responses(path: Path, cells: Iterable[tuple[int, int, int]]) -> None:
    """Write one response for each (model, item, trial)."""
    answer = random.Random(0).getrandbits
    with open(path, "w", encoding="utf-8") as handle:
        handle.write("model,item_id,trial,correct\n")
        handle.writelines(f"model-{m:02},item-{i:04},{t},{answer(1)}\n" for m, i, t in cells)


def main() -> int:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--items", type=int, default=2000, help="items; 5,000 rows each (default: %(default)s)"
    )
    args = parser.parse_args()
    models, items, trials = range(MODELS), range(args.items), range(TRIALS)

    print(
        f"{MODELS * args.items * TRIALS:,} rows ({MODELS} models x {args.items:,} items x {TRIALS} trials), "
        f"Python {platform.python_version()}"
    )
    print(f"{'order of rows':16}{'command':28}{'seconds':>9}{'peak MB':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        responses, matrix = Path(folder, "responses.csv"), Path(folder, "matrix.csv")
        for order, cells in (
            ("model", product(models, items, trials)),
            ("trial", ((m, i, t) for t, i, m in product(trials, items, models))),
        ):
            write_responses(responses, cells)
            bare = measure([sys.executable, "-c", BARE_LOOP, str(responses)])
            ours = measure(
                [sys.executable, str(SCRIPT), str(responses), f"--n-trials={TRIALS}", f"--output={matrix}"]
            )
            for name, cost in (("bare csv.reader loop", bare), ("prepare_response_matrix.py", ours)):
                ratio = cost.seconds / bare.seconds
                print(f"{order:16}{name:28}{cost.seconds:9.2f}{cost.peak_mb:9.0f}{ratio:7.2f}", flush=True)
    return 0


if __name__ == "__main__":
    run(main)
