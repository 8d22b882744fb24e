"""Print the diagnostics of every released benchmark, of every domain, and of filled benchmarks before and after.

Input   --benchmarks: a folder with one sub-folder a benchmark, which holds difficulty.csv (item_id or item, b_mean).
        Domain, models and trials are read from provenance.json beside it, and are blank where there is none.
        Beside that folder, if it is there: filled_benchs, with NAME.json, NAME/difficulty_before.csv (the originals)
        and NAME/difficulty.csv (all items) for each filled benchmark.
Output  two tables, and a third of filled benchmarks if there are any. In --output: diagnostics.csv, diagnostics.md,
        domains.csv and domains.md, filled.csv and filled.md. For the released benchmarks that is data/tables; for
        another folder nothing is written unless --output is given.

DDM is the mean distance of the items from evenly spread ones; Max Gap is the widest interval of difficulty without an
item, and z is where it lies: the easiest item is at 0, the hardest at 1.

Examples:
  python scripts/reproduce_tables.py
  python scripts/reproduce_tables.py --benchmarks ~/release/data/benchmarks --output /tmp/tables
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.benchmark_list import BENCHMARK_LIST, read_benchmark_list
from irt.command import CommandParser, print_json, run
from irt.io import atomic_writer, write_csv
from irt.tables import (
    DomainRow,
    FilledRow,
    Row,
    Table,
    as_csv,
    as_markdown,
    as_text,
    diagnostics_table,
    domain_table,
    filled_table,
    read_filled_rows,
    read_rows,
    summarize,
)

SCHEMA_VERSION = 1
BENCHMARKS = BENCHMARK_LIST.with_suffix("")
TABLES = BENCHMARKS.with_name("tables")
FILLED = "filled_benchs"

NOTE_OURS = "Estimates of this project, fitted to public responses of other model panels; not the tables of the paper."
NOTE_OTHERS = "Computed from the difficulties in that folder, wherever they come from."
NOTE_FILLED = "Before: the originals as first calibrated; after: all items, calibrated together."


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = CommandParser(__doc__)
    parser.add_argument(
        "--benchmarks", type=Path, metavar="DIR", default=BENCHMARKS, help="the benchmarks (data/benchmarks)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where the tables go (data/tables for the released benchmarks)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    return parser.parse_args()


def write_table(
    folder: Path,
    name: str,
    rows: Sequence[Row] | Sequence[DomainRow] | Sequence[FilledRow],
    table: Table,
    note: str,
) -> None:
    """Write NAME.csv with full figures and NAME.md with rounded ones."""
    write_csv(folder / f"{name}.csv", *as_csv(rows))
    with atomic_writer(folder / f"{name}.md") as handle:
        handle.write("\n".join([*as_markdown(table), "", note, ""]))


def main() -> int:
    """Read, print, and write where that is wanted."""
    arguments = parse_arguments()
    # A folder's name may hold a character that the terminal cannot show; that is no reason to fail.
    rows, without = read_rows(arguments.benchmarks, read_benchmark_list(BENCHMARK_LIST))
    domains = summarize(rows)
    filled, unfinished = read_filled_rows(arguments.benchmarks.resolve().with_name(FILLED))
    diagnostics, summary, filled_summary = (
        diagnostics_table(rows),
        domain_table(domains),
        filled_table(filled),
    )
    released = arguments.benchmarks.resolve() == BENCHMARKS
    note = NOTE_OURS if released else NOTE_OTHERS

    if arguments.json:
        report = {
            "schema_version": SCHEMA_VERSION,
            "note": note,
            "benchmarks": [asdict(row) for row in rows],
            "domains": [asdict(row) for row in domains],
            "filled": [asdict(row) for row in filled],
        }
        print_json(report)
    else:
        print("\n".join([*as_text(diagnostics), "", *as_text(summary), "", note]))
        if filled:
            print("\n".join(["", *as_text(filled_summary), "", NOTE_FILLED]))
    if without:
        print(f"Left out, no difficulty.csv: {', '.join(without)}", file=sys.stderr)
    if unfinished:
        print(
            f"Left out, no difficulties beside the filled benchmark: {', '.join(unfinished)}", file=sys.stderr
        )

    output = arguments.output or (TABLES if released else None)
    if output:
        write_table(output, "diagnostics", rows, diagnostics, note)
        write_table(output, "domains", domains, summary, note)
        written = "diagnostics and domains"
        if filled:
            write_table(output, "filled", filled, filled_summary, NOTE_FILLED)
            written = "diagnostics, domains and filled"
        print(f"Wrote {written}, .csv and .md each, to {os.path.relpath(output)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run(main)
