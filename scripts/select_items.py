"""Keep the items that best separate models on one dimension, and see what they say of models not used for the choice.

Input   response matrices, one a benchmark, .csv or .csv.gz: column model, then one column an item; cells are counts of
        correct answers, blank = never asked; models are joined by name. Trials: NAME.trials.csv beside NAME.csv, else
        --n-trials, else n_trials in NAME.json.
Output  --output: benchmark,item of the kept items, chosen with all models; and, on standard output, how well items
        chosen in the same way without a fold's models tell what all items say of these models.

How     logit P = a·θ + d in --dims dimensions, axes fixed by quartimin. The items of a benchmark that some models get
        right and some wrong are split into 5 groups by expected share correct, which all keep the same fraction. Each
        item taken is the one, of groups not yet full, that lowers the variance of the ability most. Items that all
        models answer alike are never kept.
Figures Pearson, Spearman: the ability by items kept of a random half of each benchmark, the same share, with that by
        the other half: no answer is on both sides. Score error: of the share correct on each benchmark, predicted from
        the items kept of all, mean over models and benchmarks. Part-whole r: the ability by these with that by all
        answers, theirs among them; even coin flips make it high, most of all for the choice, so no gain is given.
        selected: the choice; matched: random items with its mix of difficulty; random: random items of all.
        95 % intervals: over resampled models; of matched and random over draws of the items.

Examples:
  python scripts/select_items.py gsm8k.csv.gz math.csv.gz --n-trials 1 --fraction 0.1 --output kept.csv
  python scripts/select_items.py *.csv.gz --common-models --fraction 0.5 --dims 3 --dimension 2 --output kept.csv
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.benchmark_options import (
    MOST_DIMS,
    add_benchmark_options,
    check_csv_name,
    check_dims,
    counted,
    read_asked,
    tell_size,
    tell_unconverged,
)
from irt.command import CommandParser, packages_of, print_json, proportion, run, whole_number
from irt.io import InputError, write_csv
from irt.outputs import check_outputs
from irt.progress import progress

if TYPE_CHECKING:
    from irt.mirt_data import Benchmarks
    from irt.selection_report import Kept

SCHEMA_VERSION = 1


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    add_benchmark_options(parser)
    parser.add_argument(
        "--fraction", type=proportion(zero=False, one=False), required=True, help="share of all items to keep"
    )
    parser.add_argument(
        "--dims", type=whole_number(1, MOST_DIMS), default=2, metavar="D", help="dimensions (%(default)s)"
    )
    parser.add_argument(
        "--dimension",
        type=whole_number(1, MOST_DIMS),
        default=1,
        metavar="K",
        help="which of them (%(default)s)",
    )
    parser.add_argument("--folds", type=whole_number(2), default=5, help="folds of the models (%(default)s)")
    parser.add_argument(
        "--draws", type=whole_number(2), default=100, help="random subsets of each kind (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.csv", help="the kept items")
    arguments = parser.parse_args()
    if arguments.dimension > arguments.dims:
        parser.error(f"--dimension {arguments.dimension}: there are only --dims {arguments.dims}")
    return arguments


def main() -> int:
    """Read, choose, judge, write the kept items and print the figures."""
    arguments = parse_arguments()
    with packages_of("requirements_irt.txt"):
        from irt.mirt import MirtSettings, fit_mirt
        from irt.rotation import canonical
        from irt.selection import expected_easiness, select_items, separating_items, stratify
        from irt.selection_check import check_selection, summary
        from irt.selection_report import Kept

    check_csv_name(arguments.output)
    data = read_asked(arguments)
    check_outputs([arguments.output], [file.path for file in data.inputs])
    pool = separating_items(data.correct, data.trials)
    count = round(arguments.fraction * len(data.items))
    check_sizes(data, arguments, count, len(pool))

    settings = MirtSettings(dims=arguments.dims, seed=arguments.seed)
    tell_size(data, f", {arguments.folds} folds of the models")
    tell_fewer(len(data.items), count, len(pool))
    with progress("fits", arguments.folds + 1) as update:
        whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
        update(1, "")
        fit, turn = canonical(whole)
        chances = fit.probability()
        easiness = expected_easiness(chances)
        kept = select_items(
            fit, chances, arguments.dimension - 1, stratify(easiness, data.benchmark_of, pool, count)
        )
        check = check_selection(
            data,
            whole,
            turn,
            settings=settings,
            dimension=arguments.dimension - 1,
            count=count,
            folds=arguments.folds,
            draws=arguments.draws,
            report=lambda done: update(done + 1, ""),
        )
    kept.sort()
    not_converged = ([] if whole.converged else ["all models"]) + [
        f"without fold {fold}" for fold in check.not_converged
    ]
    tell_unconverged(not_converged, arguments.folds + 1)
    found = Kept(pool, kept, easiness, summary(check, arguments.seed))
    write_csv(arguments.output, ("benchmark", "item"), (data.items[number] for number in kept))
    print_report(data, found, arguments, not_converged)
    print(f"Wrote {counted(len(kept), 'item')} to {arguments.output}", file=sys.stderr)
    return 0


def print_report(
    data: Benchmarks, found: Kept, arguments: argparse.Namespace, not_converged: list[str]
) -> None:
    """Print what was kept and how good it is, as tables or as JSON."""
    from irt.selection_report import json_report, report_lines

    if arguments.json:
        names = ("fraction", "dims", "dimension", "folds", "draws", "seed")
        asked = {name: getattr(arguments, name) for name in names}
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                **asked,
                "fits_not_converged": len(not_converged),
                "not_converged": not_converged,
                **json_report(data, found),
            }
        )
        return
    items, separating = len(data.items), len(found.pool)
    print(
        f"Dimension {arguments.dimension} of {arguments.dims}: {len(found.kept):,} of {items:,} items kept; "
        f"{items - separating:,} were answered alike by all models and cannot be"
    )
    print("\n".join(report_lines(data, found)))


def check_sizes(data: Benchmarks, arguments: argparse.Namespace, count: int, separating: int) -> None:
    """Refuse what leaves nothing to keep or too few models to judge by."""
    models, items = len(data.models), len(data.items)
    if models < 2 * arguments.folds:
        what = f"use --folds {models // 2} or fewer" if models > 3 else "there must be at least 4 models"
        raise InputError(
            f"--folds {arguments.folds}: {models:,} models leave fewer than 2 in a fold to judge by; {what}"
        )
    check_dims(arguments.dims, models - -(-models // arguments.folds))
    if count < 1:
        enough = min(1 / items, 0.9)  # 1 itself cannot be asked for
        raise InputError(
            f"--fraction {arguments.fraction} keeps none of {counted(items, 'item')}; use at least {enough:.2g}"
        )
    if not separating:
        raise InputError(
            f"none of {counted(items, 'item')} has right and wrong answers, so none separates these models"
        )


def tell_fewer(items: int, count: int, separating: int) -> None:
    """Say how many items are kept where fewer than asked for separate models."""
    if count > separating:
        print(
            f"only {separating:,} of {items:,} items have right and wrong answers; {separating:,} are kept, not "
            f"{count:,}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    run(main)
