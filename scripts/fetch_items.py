"""Fetch the items of a benchmark from its public home into a pool: one JSON object a line, in one schema.

Benchmarks: aime24, aime25, aime26, amc23, gaokao2023en, bbh_3obj, mmlu_bio, ifeval. Each comes from one pinned
revision on the Hugging Face Hub (HF_ENDPOINT, HF_TOKEN and HF_HOME are read) or on GitHub (a mirror of
raw.githubusercontent.com may be named in BENCHFILL_GITHUB_RAW).

Output  data/pool/BENCHMARK.jsonl with id, question, answer, answer_type, choices or instruction_ids and kwargs,
        source, licence. Items that are broken at the source are named and left out; duplicates are named and kept.
        The items belong to their sources: read their licences before you pass them on.

Examples:
  python scripts/fetch_items.py amc23
  python scripts/fetch_items.py ifeval --from ifeval_input_data.jsonl --output my_benchmark/items.jsonl
  python scripts/fetch_items.py --list
  python scripts/fetch_items.py --check my_items.jsonl
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from irt.command import CommandParser, packages_of, run, whole_number
from irt.io import InputError, check_output
from verifier.items import Item, write_items
from verifier.pools.fetching import SECONDS, fetch
from verifier.pools.pool_check import PoolReport, check_file, check_pool
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import Source, read_sources

EXIT_BROKEN_ITEMS = 1
POOL = ROOT / "data" / "pool"


def parse_arguments(benchmarks: list[str]) -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.add_argument("benchmark", nargs="?", metavar="BENCHMARK", help="one of the names above")
    parser.add_argument(
        "--from",
        dest="local",
        type=Path,
        action="append",
        metavar="FILE",
        help="read this local copy, not the network; repeat it for a benchmark of several files",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="the pool (data/pool/BENCHMARK.jsonl)")
    parser.add_argument(
        "--timeout",
        type=whole_number(1, 86_400),
        metavar="SECONDS",
        help=f"give a download up after this long ({SECONDS:g})",
    )
    parser.add_argument("--list", action="store_true", help="show every benchmark with its home and licence")
    parser.add_argument(
        "--check", type=Path, metavar="FILE", help="check a pool of your own; exit 1 if it has faults"
    )
    arguments = parser.parse_args()
    chosen = [arguments.benchmark is not None, arguments.list, arguments.check is not None]
    if sum(chosen) != 1:
        parser.error("name one benchmark, or use --list or --check FILE")
    if arguments.benchmark is None:
        for option in ("local", "output", "timeout"):
            if getattr(arguments, option) is not None:
                parser.error("--from, --output and --timeout go with a benchmark")
    elif arguments.benchmark not in benchmarks:
        parser.error(f"unknown benchmark {arguments.benchmark!r}; choose from {', '.join(benchmarks)}")
    if arguments.local and arguments.timeout is not None:
        parser.error("--timeout is for downloads, and --from needs none")
    return arguments


def main() -> int:
    """Fetch or check, and say what was found."""
    sources = read_sources()
    arguments = parse_arguments(list(sources))
    if arguments.list:
        show(sources)
        return 0
    with packages_of("requirements_verifier.txt"):
        return check(arguments.check) if arguments.check else bring(sources[arguments.benchmark], arguments)


def check(path: Path) -> int:
    """Check a pool of the user's, and say what was found."""
    report = check_file(path)
    say(report, "broken")
    print(
        f"{path}: {len(report.items)} sound, {len(report.broken)} broken, {len(report.duplicates)} duplicates"
    )
    return EXIT_BROKEN_ITEMS if report.broken else 0


def bring(source: Source, arguments: argparse.Namespace) -> int:
    """Bring a benchmark's items into a pool, and say what was left out."""
    output = arguments.output or POOL / f"{source.benchmark}.jsonl"
    check_output(output)
    if arguments.local:
        items = local_items(source, arguments.local, output)
    else:
        items = downloaded_items(source, arguments.timeout or SECONDS)
    report = check_pool(items, source.defects)
    if not report.items:
        raise InputError(f"{source.benchmark}: every item is broken; nothing was written")
    write_items(output, report.items)
    say(report, "left out")
    if report.broken:
        print(
            f"Left out: {len(report.broken)} of {len(items)}. The ids are the source's, but an item's place in the "
            "pool is not its place there."
        )
    print(
        f"Wrote {os.path.relpath(output)}: {len(report.items)} items from {origin(source, arguments.local)}"
    )
    print(f"Licence: {source.licence}. The items belong to their source.")
    return 0


def local_items(source: Source, paths: list[Path], output: Path) -> list[Item]:
    """Read local copies, after seeing that the pool will not take the place of one."""
    for path in paths:
        if output.exists() and path.exists() and output.samefile(path):
            raise InputError(f"{path} is both --from and --output; choose another output")
    return read_items_of(source, paths)


def downloaded_items(source: Source, seconds: float) -> list[Item]:
    """Download the files of a benchmark and read them."""
    with tempfile.TemporaryDirectory() as folder:
        return read_items_of(source, fetch(source, Path(folder), seconds))


def origin(source: Source, local: list[Path] | None) -> str:
    """Return where the items came from, for people."""
    return ", ".join(str(path) for path in local) if local else source.address


def show(sources: dict[str, Source]) -> None:
    """Print every benchmark with its size, home, revision and licence."""
    for source in sources.values():
        print(f"{source.benchmark:<13} {source.items:>4} items  {source.address}  {source.licence}")


def say(report: PoolReport, broken: str) -> None:
    """Print the findings, one a line."""
    for name, findings in ((broken, report.broken), ("kept", report.duplicates), ("kept", report.doubtful)):
        for finding in findings:
            print(f"{name}: {finding}")


if __name__ == "__main__":
    run(main)
