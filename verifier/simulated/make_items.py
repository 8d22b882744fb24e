"""Make a pool of simulated items, whose true difficulty and right answer are known.

Families: chain, power, divisible, sequence, system, committee, draws (mathematics), ordering, fractions (multiple
choice), writing (instructions). The items come from them in turn; difficulties are drawn from Normal(0, 1.2).

Output  a JSONL file of items; with --truth also a CSV (item,family,b_true,guessing).

Examples:
  python -m verifier.simulated.make_items --count 60 --seed 1 --output my_benchmark/items.jsonl
  python -m verifier.simulated.make_items --count 90 --families power,draws --output pool.jsonl --truth truth.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

from irt.command import CommandParser, run, whole_number
from irt.io import write_csv
from verifier.items import write_items
from verifier.simulated.families import make_items, problem_of


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m verifier.simulated.make_items"
    parser.add_argument("--count", type=whole_number(1), required=True, help="number of items")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="random seed (%(default)s)")
    parser.add_argument("--families", metavar="A,B,...", help="only these families (all)")
    parser.add_argument("--output", type=Path, required=True, help="the items, .jsonl")
    parser.add_argument("--truth", type=Path, help="the true difficulties, .csv")
    return parser.parse_args()


def main() -> int:
    """Make, write, and say what was written."""
    arguments = parse_arguments()
    families = arguments.families.split(",") if arguments.families else None
    items = make_items(arguments.count, seed=arguments.seed, families=families)
    write_items(arguments.output, items)
    written = f"{len(items)} simulated items to {arguments.output}"
    if arguments.truth is not None:
        problems = [problem_of(item.question) for item in items]
        rows = [
            (item.id, problem.family.name, f"{problem.difficulty:.6f}", f"{problem.guessing:.6g}")
            for item, problem in zip(items, problems, strict=True)
        ]
        write_csv(arguments.truth, ("item", "family", "b_true", "guessing"), rows)
        written += f" and their true difficulties to {arguments.truth}"
    print(f"Wrote {written}")
    return 0


if __name__ == "__main__":
    run(main)
