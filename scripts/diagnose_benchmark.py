"""Say how evenly a benchmark covers difficulty: DDM and Max Gap.

Input: a .csv or .csv.gz file with one item a row: its id in the first column named item or item_id, its
difficulty in the column --column; higher = harder. Without an id column, the ids are row numbers.

Output: four lines. DDM is the mean distance of the items from evenly spread ones, Max Gap the widest interval
of difficulty without an item. --gaps adds a table of the widest gaps with the items at their edges, --json
prints the same figures as one JSON object, --plot draws them.

Nothing is installed for this: any Python from 3.9 on runs it. Only --plot needs matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import CommandParser, print_json, run, whole_number
from irt.difficulty import Diagnosis, Gap, diagnose, widest_gaps
from irt.difficulty_csv import Difficulties, check_unit_interval, read_difficulties
from irt.io import InputError

EXAMPLES = """examples:
  python3 scripts/diagnose_benchmark.py data/benchmarks/AIME25-I/difficulty.csv
  python3 scripts/diagnose_benchmark.py my_benchmark/difficulty.csv --gaps 5 --plot difficulty.png
"""

SCHEMA_VERSION = 1
DEFAULT_GAPS = 3
PLOT_SUFFIXES = (".png", ".pdf", ".svg")


def describe_gap(gap: Gap, difficulties: Difficulties, diagnosis: Diagnosis) -> dict[str, object]:
    """Return a gap's figures by name: edges in z and in b, and the items there (None at a boundary)."""

    def b_at(index: int | None, z: float) -> float:
        # Away from the boundary the difficulty itself is exact; mapping z back would round it.
        return difficulties.values[index] if index is not None else z

    def id_at(index: int | None) -> str | None:
        return difficulties.ids[index] if index is not None else None

    return {
        "width": gap.width,
        "z_lower": gap.lower,
        "z_upper": gap.upper,
        "b_lower": b_at(gap.lower_index, gap.lower),
        "b_upper": b_at(gap.upper_index, gap.upper),
        "item_lower": id_at(gap.lower_index),
        "item_upper": id_at(gap.upper_index),
    }


def gap_table(gaps: Sequence[dict[str, object]]) -> list[str]:
    """Return the lines of a table of gaps; ids come last because they may be long."""
    headings = ("Gap", "Width", "z from", "z to", "b from", "b to", "item from", "item to")
    rows: list[tuple[str, ...]] = [headings]
    for rank, gap in enumerate(gaps, start=1):
        figures = tuple(f"{gap[name]:.6f}" for name in ("width", "z_lower", "z_upper", "b_lower", "b_upper"))
        rows.append((str(rank), *figures, shown(gap["item_lower"]), shown(gap["item_upper"])))
    widths = [max(map(len, column)) for column in zip(*rows)]
    left = len(headings) - 2  # the ids are aligned left, the figures right
    return [
        "  ".join(
            cell.rjust(width) if at < left else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def shown(item: object) -> str:
    """Return an id so that it stays on its line; a boundary has none."""
    if item is None:
        return "(boundary)"
    text = str(item)
    return text if text.isprintable() and text == text.strip() else repr(text)


def draw(path: Path, source: Path, diagnosis: Diagnosis, gaps: Sequence[Gap]) -> None:
    """Draw the plot, if matplotlib is there."""
    try:
        from irt.difficulty_plot import plot_difficulty
    except ModuleNotFoundError as error:
        raise InputError(
            f"--plot needs matplotlib ({error}); run: python -m pip install matplotlib"
        ) from error
    plot_difficulty(path, f"{source.resolve().parent.name}/{source.name}", diagnosis, gaps)


def main() -> int:
    """Read the arguments and the file, print the diagnosis."""
    parser = CommandParser(__doc__, EXAMPLES)
    parser.add_argument("file", type=Path, help="difficulties, .csv or .csv.gz")
    parser.add_argument(
        "--column", default="b_mean", help="column of the difficulties (default: %(default)s)"
    )
    parser.add_argument(
        "--normalized", action="store_true", help="the values are on [0, 1] already; keep them"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument(
        "--gaps",
        type=whole_number(1),
        metavar="K",
        help=f"show the K widest gaps (default for --json and --plot: {DEFAULT_GAPS})",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the distribution: .png, .pdf or .svg")
    args = parser.parse_args()
    if args.plot and args.plot.suffix not in PLOT_SUFFIXES:
        raise InputError(f"--plot {args.plot}: the name must end in {', '.join(PLOT_SUFFIXES)}")
    if args.plot and args.plot.exists() and args.file.exists() and args.plot.samefile(args.file):
        raise InputError(f"--plot {args.plot} is the input file; choose another name")
    # An id may hold a character that the terminal cannot show; that is no reason to fail.

    difficulties = read_difficulties(args.file, args.column)
    if args.normalized:
        check_unit_interval(args.file, difficulties)
    try:
        diagnosis = diagnose(difficulties.values, args.normalized)
    except ValueError as error:
        raise InputError(f"{args.file}: {error}") from error
    normalization = (
        "none (values already on [0, 1])" if args.normalized else "per-benchmark min-max to [0, 1]"
    )

    gaps: list[Gap] = []
    if args.gaps or args.json or args.plot:
        gaps = widest_gaps(diagnosis.z, args.gaps or DEFAULT_GAPS)
    described = [describe_gap(gap, difficulties, diagnosis) for gap in gaps]
    if args.plot:
        draw(args.plot, args.file, diagnosis, gaps)

    if args.json:
        report = {
            "schema_version": SCHEMA_VERSION,
            "file": str(args.file),
            "column": args.column,
            "items": diagnosis.items,
            "normalization": normalization,
            "ddm": diagnosis.ddm,
            "max_gap": diagnosis.max_gap,
            "b_min": diagnosis.b_min,
            "b_max": diagnosis.b_max,
            "gaps": described,
        }
        print_json(report)
    else:
        print(f"Items: {diagnosis.items}")
        print(f"Normalization: {normalization}")
        print(f"DDM: {diagnosis.ddm:.6f}")
        print(f"Max Gap: {diagnosis.max_gap:.6f}")
        if args.gaps:
            print("\n".join(["", *gap_table(described)]))
    if args.plot:
        print(f"Wrote {args.plot}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run(main)
