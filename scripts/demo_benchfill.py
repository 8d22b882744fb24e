"""Fill the gaps of a simulated benchmark: calibrate, diagnose, init, run, status, recalibrate, before and after.

The benchmark, the twelve examinees and the rewriter are made up by a program (python -m verifier.simulated), which this
starts and stops. No model is asked, and nothing is measured but this software. `bash run_experiment.sh demo` runs it.

Examples:
    python scripts/demo_benchfill.py
    python scripts/demo_benchfill.py --output-dir /tmp/benchfill
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from irt.command import CommandParser, packages_of, run
from irt.io import InputError, atomic_writer
from verifier.items import read_items, write_items

ITEMS, TRIALS, SEED = 30, 8, 4
PLANTED_GAP = (-0.6, 1.4)  # true difficulties
HARDEST = 2.4  # and the easiest is as easy
FAMILIES = ("chain", "power", "divisible", "sequence", "system", "draws")
BENCHMARK, RUN = "simulated", "demo"
# A rewriter whose items are too hard by 0.3 on average, and that makes each mistake that the screen is there for.
HABITS = (
    "--rewriter-bias",
    "0.3",
    "--wrong-key-rate",
    "0.1",
    "--broken-format-rate",
    "0.1",
    "--duplicate-rate",
    "0.1",
)
# So few candidates that a gap takes several rounds: with the defaults, the first round would fill them all.
SETTINGS = ("--gaps", "1", "--max-rounds", "5", "--parents", "2", "--children", "3")
OURS = {
    ".": {"data", "results", "panel.toml", "rewriter.toml"},
    "data": {"pool", "matrix", "calibration", "rollouts"},
    "data/pool": {f"{BENCHMARK}.jsonl"},
    "results": {BENCHMARK},
}


def main() -> int:
    """Run the whole chain."""
    parser = CommandParser(__doc__)
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path("demo_output/benchfill"),
        help="folder for everything; emptied first (default: %(default)s)",
    )
    folder = parser.parse_args().output_dir
    with packages_of("requirements_verifier.txt"):
        from verifier.simulated.families import true_difficulty
    data, results = folder / "data", folder / "results"
    check_ours(folder)
    shutil.rmtree(folder, ignore_errors=True)
    os.environ |= {"BENCHFILL_DATA": str(data), "BENCHFILL_RESULTS": str(results)}
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

    heading("1. A simulated benchmark with a gap in it, and a simulated panel: no model is asked here")
    pool = write_pool(data)
    easiest, *_, hardest = sorted(true_difficulty(item.question) for item in read_items(pool))
    print(
        f"{ITEMS} items of true difficulty {easiest:.2f} to {hardest:.2f}, none between {PLANTED_GAP[0]} and "
        f"{PLANTED_GAP[1]}, in {pool}"
    )
    with simulated_panel() as port:
        panel, rewriter = served_at(port, folder)

        heading("2. Calibrate: the panel answers the items, and their difficulty is estimated")
        module("propose.calibrate", BENCHMARK, "--panel", panel, "--trials", TRIALS)

        heading("3. Diagnose: where is it empty?")
        difficulty = data / "calibration" / BENCHMARK / "difficulty.csv"
        command(ROOT / "scripts" / "diagnose_benchmark.py", difficulty, "--gaps", 3)

        heading("4. Init: is everything there?")
        module("propose.init", BENCHMARK, RUN, "--panel", panel, "--rewriter", rewriter, *SETTINGS)

        heading("5. Run: rewrite, screen, verify, decide")
        module("propose.run", BENCHMARK, RUN)

        heading("6. Status")
        module("propose.status", BENCHMARK, RUN)
    heading("7. Recalibrate: originals and new items in one fit, before and after")
    module("propose.recalibrate", results / BENCHMARK / RUN)
    print(
        f"\nAll of this was simulated. The files are in {folder}; the report is report.html in the run's folder."
    )
    return 0


def write_pool(data: Path) -> Path:
    """Write the items of the benchmark and return their file."""
    from verifier.simulated.families import make_items

    pool = data / "pool" / f"{BENCHMARK}.jsonl"
    write_items(pool, make_items(ITEMS, seed=SEED, families=FAMILIES, difficulties=planted(ITEMS)))
    return pool


def planted(count: int) -> list[float]:
    """Return true difficulties spread evenly over the range without the gap, in random order."""
    low, high = PLANTED_GAP
    width = 2 * HARDEST - (high - low)
    places = [-HARDEST + width * (number + 0.5) / count for number in range(count)]
    values = [place if place < low else place + (high - low) for place in places]
    random.Random(SEED).shuffle(values)
    return values


def check_ours(folder: Path) -> None:
    """Refuse to empty a folder that is not an earlier demo's.

    Raises
    ------
    InputError
        If the folder, or the data or results in it, have other files.
    """
    for place, names in OURS.items():
        if (folder / place).is_dir() and (others := set(os.listdir(folder / place)) - names):
            raise InputError(
                f"{folder / place / min(others)}: is not this demo's, and {folder} would be emptied; name a new folder"
            )


@contextlib.contextmanager
def simulated_panel() -> Iterator[int]:
    """Serve the simulated panel on a free port until the block ends."""
    words = [sys.executable, "-m", "verifier.simulated", "--port", "0", *HABITS]
    print("$ " + shlex.join(["python", *words[1:]]) + " &", flush=True)
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline().strip()
            if not line.startswith("simulated panel ready"):
                raise InputError("the simulated panel did not start; its message is above")
            print(line, flush=True)
            yield int(line.removesuffix("/v1").rpartition(":")[2])
        finally:
            server.terminate()


def served_at(port: int, folder: Path) -> tuple[Path, Path]:
    """Write panel.toml and rewriter.toml for a server on this port."""
    written = []
    for name, example in (
        ("panel.toml", "verifier/panels/simulated.toml"),
        ("rewriter.toml", "propose/rewriters/simulated.toml"),
    ):
        text = (ROOT / example).read_text(encoding="utf-8").replace("127.0.0.1:8399", f"127.0.0.1:{port}")
        with atomic_writer(folder / name) as handle:
            handle.write(text)
        written.append(folder / name)
    return written[0], written[1]


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def module(name: str, *arguments: object) -> None:
    """Print the command line of a module, then run it."""
    _run(["-m", name, *map(str, arguments)])


def command(script: Path, *arguments: object) -> None:
    """Print the command line of a script, then run it."""
    _run([os.path.relpath(script), *map(str, arguments)])


def _run(words: list[str]) -> None:
    print("$ " + shlex.join(["python", *words]), flush=True)
    status = subprocess.run([sys.executable, *words], check=False).returncode
    if status:
        raise InputError(
            f"{words[1] if words[0] == '-m' else words[0]} ended with status {status}; see above"
        )


if __name__ == "__main__":
    run(main)
