"""Hide answers and predict them, to see whether several abilities say more than simple means do.

Input   response matrices, one a benchmark, .csv or .csv.gz: column model, then one column an item; cells are counts of
        correct answers, blank = never asked; models are joined by name. Trials: NAME.trials.csv beside NAME.csv, else
        --n-trials, else n_trials in NAME.json.
Output  accuracy, log-loss, Brier score, AUC and calibration error of each predictor, over all answers and by benchmark,
        with 95 % intervals over models, the items as they are; and what the models of ability gain over the additive
        model and the benchmark mean. --json prints, and --output writes, all figures, differences and intervals.

What is hidden (--protocol):
  cells    a share of all answers; every fold hides another, so each answer is predicted once
  models   all but --known answers of the models of each fold; the items are fitted without these models
  items    all but --known answers to the items of each fold; the abilities are fitted without these items. How much
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

from irt.benchmark_options import add_benchmark_options, check_csv_output, check_dims
from irt.command import CommandParser, packages_of, print_json, run, whole_number
from irt.io import InputError, write_csv
from irt.progress import progress

if TYPE_CHECKING:
    from irt.mirt_data import Benchmarks

SCHEMA_VERSION = 1
TITLES = {"cells": "random cells", "models": "new models", "items": "new items"}


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    add_benchmark_options(parser)
    parser.add_argument(
        "--protocol", choices=tuple(TITLES), default="cells", help="what is hidden (%(default)s)"
    )
    parser.add_argument(
        "--dims", nargs="+", type=whole_number(1, 20), default=[1, 2], metavar="D", help="dimensions (1 2)"
    )
    parser.add_argument("--folds", type=whole_number(2), default=10, help="folds (%(default)s)")
    parser.add_argument(
        "--known",
        type=whole_number(1),
        default=20,
        help="known answers of a new model or to a new item, drawn at random (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help="also write all figures")
    return parser.parse_args()


def main() -> int:
    """Read, predict, and print how good the predictions are."""
    arguments = parse_arguments()
    dims = sorted(set(arguments.dims))
    with packages_of("requirements_irt.txt"):
        from irt.mirt_data import find_trials, read_benchmarks
        from irt.prediction_report import HEADER, csv_row, json_row, report_lines
        from irt.prediction_scores import score_predictions
        from irt.predictors import ADDITIVE, BENCHMARK_MEAN, predict_folds

    if arguments.output is not None:
        check_csv_output(arguments.output, (*arguments.matrices, *map(find_trials, arguments.matrices)))
    data = read_benchmarks(
        arguments.matrices, n_trials=arguments.n_trials, common_models=arguments.common_models
    )
    check_folds(data, arguments)
    benchmarks = "1 benchmark" if len(data.names) == 1 else f"{len(data.names)} benchmarks"
    size = f"{len(data.models):,} models × {len(data.items):,} items of {benchmarks}"
    print(f"{size}, {TITLES[arguments.protocol]}, {arguments.folds} folds", file=sys.stderr)
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
    if unconverged:
        fits = arguments.folds * (len(dims) + 1)
        print(f"warning: {unconverged} of {fits} fits had not converged", file=sys.stderr)
    if arguments.output is not None:
        write_csv(
            arguments.output,
            ("protocol", *HEADER),
            ([arguments.protocol, *row] for row in map(csv_row, scores)),
        )
    if arguments.json:
        settings = {name: getattr(arguments, name) for name in ("protocol", "folds", "known", "seed")}
        report = {
            "schema_version": SCHEMA_VERSION,
            **settings,
            "dims": dims,
            "models": len(data.models),
            "items": len(data.items),
            "benchmarks": list(data.names),
            "predicted_answers": answers,
            "fits_not_converged": unconverged,
            "inputs": list(data.inputs),
            "scores": [json_row(score) for score in scores],
        }
        print_json(report)
    else:
        title = TITLES[arguments.protocol].capitalize()
        known = "" if arguments.protocol == "cells" else f", {arguments.known} answers known of each"
        print(f"{title}{known}: {size}; {answers:,} answers predicted")
        print("\n".join(report_lines(scores, dims)))
    if arguments.output is not None:
        print(f"Wrote {len(scores):,} figures to {arguments.output}", file=sys.stderr)
    return 0


def check_folds(data: Benchmarks, arguments: argparse.Namespace) -> None:
    """Refuse what leaves a fold empty, nothing to predict, or too few models; say what has too few answers."""
    asked = data.trials > 0
    largest_fold = -(-len(data.models) // arguments.folds) if arguments.protocol == "models" else 0
    check_dims(max(arguments.dims), len(data.models) - largest_fold)
    if arguments.protocol == "cells":
        if asked.sum() < arguments.folds:
            raise InputError(f"--folds {arguments.folds}: there are only {asked.sum()} answered cells")
        return
    count = len(data.models) if arguments.protocol == "models" else len(data.items)
    if count < arguments.folds:
        raise InputError(
            f"--folds {arguments.folds}: there are only {count} {arguments.protocol}; use --folds {count} or fewer"
        )
    per_one = asked.sum(axis=1 if arguments.protocol == "models" else 0)
    short = int((per_one <= arguments.known).sum())
    if short == count:
        raise InputError(
            f"--known {arguments.known}: no {arguments.protocol[:-1]} has more answers than that, so none is left to "
            f"predict; use --known {max(int(per_one.max()) - 1, 1)} or fewer"
        )
    if short:
        print(
            f"{short} of {count} {arguments.protocol} have no more than {arguments.known} answers; "
            "none of these is predicted",
            file=sys.stderr,
        )


if __name__ == "__main__":
    run(main)
