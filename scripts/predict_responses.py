"""Hide answers and predict them, to see whether several abilities say more than simple means do.

Input   response matrices, one a benchmark, .csv or .csv.gz: column model, then one column an item; cells are counts of
        correct answers, blank = never asked; models are joined by name. Trials: NAME.trials.csv beside NAME.csv, else
        --n-trials, else n_trials in NAME.json.
Output  accuracy, log-loss, Brier score, AUC and calibration error of each predictor, over all answers and by benchmark,
        with 95 % intervals over models, the items as they are; and what the models of ability gain over the additive
        model and the benchmark mean. --json prints, and --output writes, all figures, differences and intervals.

What is hidden (--protocol):
  cells    a share of all answers; every fold hides another, so each answer is predicted once
  models   all but --known cells of the models of each fold; the items are fitted without these models
  items    all but --known cells of the items of each fold; the abilities are fitted without these items. How much
           other new items would differ is not in the intervals

Predictors: global mean; the model's mean; its mean in the benchmark; the item's mean (each leans on the mean of what it
is a part of, the more the less such means differ); additive: logit P = ability + easiness; D-D: logit P = a·θ + d in D
dimensions.

Examples:
  python scripts/predict_responses.py gsm8k.csv.gz math.csv.gz --n-trials 1 --dims 1 2 3
  python scripts/predict_responses.py tiny*.csv.gz --n-trials 1 --protocol models --known 20 --output scores.csv
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
    size_of,
    tell_size,
    tell_unconverged,
)
from irt.command import CommandParser, packages_of, print_json, run, whole_number
from irt.io import InputError, write_csv
from irt.outputs import check_outputs
from irt.progress import progress

if TYPE_CHECKING:
    from irt.arrays import IntArray
    from irt.mirt_data import Benchmarks

TITLES = {"cells": "random cells", "models": "new models", "items": "new items"}


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    add_benchmark_options(parser)
    parser.add_argument(
        "--protocol", choices=tuple(TITLES), default="cells", help="what is hidden (%(default)s)"
    )
    parser.add_argument(
        "--dims",
        nargs="+",
        type=whole_number(1, MOST_DIMS),
        default=[1, 2],
        metavar="D",
        help="dimensions (1 2)",
    )
    parser.add_argument("--folds", type=whole_number(2), default=10, help="folds (%(default)s)")
    parser.add_argument(
        "--known",
        type=whole_number(1),
        default=20,
        help="known cells, with all their trials, of a new model or item, drawn at random (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help="also write all figures")
    return parser.parse_args()


def main() -> int:
    """Read, predict, and print how good the predictions are."""
    arguments = parse_arguments()
    dims = sorted(set(arguments.dims))
    with packages_of("requirements_irt.txt"):
        from irt.prediction_report import HEADER, csv_row, json_report, report_lines
        from irt.prediction_scores import score_predictions
        from irt.predictors import ADDITIVE, BENCHMARK_MEAN, predict_folds

    if arguments.output is not None:
        check_csv_name(arguments.output)
    data = read_asked(arguments)
    if arguments.output is not None:
        check_outputs([arguments.output], [file.path for file in data.inputs])
    check_folds(data, arguments)
    tell_size(data, f", {TITLES[arguments.protocol]}, {arguments.folds} folds")
    tell_short(data, arguments)
    with progress("folds", arguments.folds) as update:
        cells, unconverged = predict_folds(
            data.correct,
            data.trials,
            data.benchmark_of,
            protocol=arguments.protocol,
            folds=arguments.folds,
            known=arguments.known,
            dims=dims,
            seed=arguments.seed,
            report=lambda done: update(done, ""),
        )
    scores = score_predictions(cells, data.names, (ADDITIVE, BENCHMARK_MEAN), arguments.seed)
    answers = int(cells.trials.sum())
    tell_unconverged(unconverged, arguments.folds * (len(dims) + 1))
    if arguments.output is not None:
        write_csv(
            arguments.output,
            ("protocol", *HEADER),
            ([arguments.protocol, *row] for row in map(csv_row, scores)),
        )
    if arguments.json:
        settings = {name: getattr(arguments, name) for name in ("protocol", "folds", "known", "seed")}
        settings["dims"] = dims
        print_json(json_report(data, scores, settings, answers=answers, not_converged=unconverged))
    else:
        title = TITLES[arguments.protocol].capitalize()
        known = "" if arguments.protocol == "cells" else f", {counted(arguments.known, 'cell')} known of each"
        print(f"{title}{known}: {size_of(data)}; {counted(answers, 'answer')} predicted")
        print("\n".join(report_lines(scores, dims)))
    if arguments.output is not None:
        print(f"Wrote {counted(len(scores), 'figure')} to {arguments.output}", file=sys.stderr)
    return 0


def check_folds(data: Benchmarks, arguments: argparse.Namespace) -> None:
    """Refuse what leaves a fold empty, nothing to predict, or too few models."""
    asked = data.trials > 0
    largest_fold = -(-len(data.models) // arguments.folds) if arguments.protocol == "models" else 0
    check_dims(max(arguments.dims), len(data.models) - largest_fold)
    counts = {"cells": int(asked.sum()), "models": len(data.models), "items": len(data.items)}
    count, what = counts[arguments.protocol], arguments.protocol[:-1]
    if count < arguments.folds:
        most = f"use --folds {count} or fewer" if count > 1 else "there must be at least 2"
        there = counted(count, "answered cell" if what == "cell" else what)
        raise InputError(
            f"--folds {arguments.folds}: there {'is' if count == 1 else 'are'} only {there}; {most}"
        )
    if arguments.protocol == "cells":
        return
    most_cells = int(cells_of_each(data, arguments.protocol).max())
    if most_cells <= arguments.known:
        remedy = f"use --known {most_cells - 1} or fewer" if most_cells > 1 else "there must be at least 2"
        raise InputError(
            f"--known {arguments.known}: no {what} has more answered cells, so none is left to predict; {remedy}"
        )


def tell_short(data: Benchmarks, arguments: argparse.Namespace) -> None:
    """Say how many new models or items have too few answered cells for any to be predicted."""
    if arguments.protocol == "cells":
        return
    cells = cells_of_each(data, arguments.protocol)
    short = int((cells <= arguments.known).sum())
    if short:
        print(
            f"{short:,} of {counted(len(cells), arguments.protocol[:-1])} have no more than "
            f"{counted(arguments.known, 'answered cell')}; none of these is predicted",
            file=sys.stderr,
        )


def cells_of_each(data: Benchmarks, protocol: str) -> IntArray:
    """Return how many cells of each model, or of each item, are answered."""
    return (data.trials > 0).sum(axis=1 if protocol == "models" else 0)


if __name__ == "__main__":
    run(main)
