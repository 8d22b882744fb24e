"""Show the prompt that asks the rewriter for a new item of a benchmark, filled in with an item of its pool.

The prompts are plain files in propose/prompts/, one a benchmark family: change them there. The pass rates and the
earlier items shown are examples; in a run they are measured. Nothing is asked and nothing is written.

Input   the pool, data/pool/BENCHMARK.jsonl or --pool FILE (python scripts/fetch_items.py BENCHMARK fetches it).

Examples:
  python -m propose.show_prompt aime25
  python -m propose.show_prompt mine --pool my_benchmark/items.jsonl --parent item-17
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from irt.command import CommandParser, run
from irt.io import InputError
from propose.calibrated import check_present, files_of
from propose.candidate import Brief, Miss
from propose.prompting import FAMILIES, FOLDER, family_for, rewrite_prompt
from propose.run_folder import data_root
from verifier.items import Item, read_items

# What stands in for measurements.
PARENT_PASS_RATE, TARGET_PASS_RATE = 0.7, 0.4
NEIGHBOUR_PASS_RATES = (0.55, 0.2)
MISSES = (Miss(0.4, 0.615), Miss(0.4, 0.23))


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.show_prompt"
    parser.add_argument("benchmark", metavar="BENCHMARK", help=f"{', '.join(FAMILIES)}, or one of yours")
    parser.add_argument("--pool", type=Path, metavar="FILE", help="the items (data/pool/BENCHMARK.jsonl)")
    parser.add_argument("--parent", metavar="ID", help="the item to rewrite (the first)")
    return parser.parse_args()


def main() -> int:
    """Print the prompt."""
    arguments = parse_arguments()
    items = read_pool(arguments.benchmark, arguments.pool)
    brief = example_brief(arguments.benchmark, items, arguments.parent)
    print(rewrite_prompt(brief), end="")
    path = FOLDER / f"{family_for(brief.benchmark, brief.parent).prompt}.txt"
    print(f"The prompt is {os.path.relpath(path)}; its pass rates here are examples", file=sys.stderr)
    return 0


def read_pool(benchmark: str, given: Path | None) -> list[Item]:
    """Read the pool of a benchmark.

    Raises
    ------
    InputError
        If it is not there, with where it belongs.
    """
    if given is not None:
        return read_items(given)
    files = files_of(data_root(), benchmark)
    check_present(files, "pool")
    return read_items(files.pool)


def example_brief(benchmark: str, items: list[Item], parent_id: str | None) -> Brief:
    """Return what the prompt for one parent is made from, with example figures.

    Raises
    ------
    InputError
        If the pool has no such parent.
    """
    parents = [item for item in items if parent_id in (None, item.id)]
    if not parents:
        raise InputError(f"--parent {parent_id}: no such item; the pool begins with {items[0].id}")
    others = [item for item in items if item.id != parents[0].id]
    neighbours = tuple(zip(others, NEIGHBOUR_PASS_RATES, strict=False))
    return Brief(
        benchmark, parents[0], PARENT_PASS_RATE, TARGET_PASS_RATE, neighbours=neighbours, misses=MISSES
    )


if __name__ == "__main__":
    sys.argv[0] = "propose.show_prompt"  # what messages begin with
    run(main)
