"""Say how strongly each benchmark goes with each dimension, without the part it has itself in the abilities.

Input   response matrices, one a benchmark, .csv or .csv.gz: column model, then one column an item; cells are counts of
        correct answers, blank = never asked; models are joined by name. Trials: NAME.trials.csv beside NAME.csv, else
        --n-trials, else n_trials in NAME.json. --subsets: benchmark,item,subset.
Output  in --output-dir: alignment.csv, alignment.json, alignment.png (heat map) and, with --items-of, items_NAME.png
        (difficulty and discrimination of its items on each dimension). The table is printed, too; --json: as JSON.

A figure is the correlation over models of the share correct on the benchmark with an ability; 95 % intervals over
resampled models, the abilities as they are: their own uncertainty is not in them.
  corrected     the abilities are fitted without the benchmark (a subset: without its whole benchmark) and turned to the
                axes of all by Procrustes on the shared items: only the axes come from a fit that saw the benchmark.
                None, and the reason, for fewer than 4 models, equal scores, reliability below 0.5, agreement below 0.8
  weight        standardised weight of the dimension in the regression of the share correct on all these abilities: as
                dimensions correlate, a benchmark that measures one alone correlates with the others, too. None where
                a dimension has no corrected value, and for few models: fewer than 8 in 2 dimensions, 10 in 3
  uncorrected   the abilities are fitted to all, the benchmark among them, which usually raises it
  agreement     correlation over models of the abilities by the other benchmarks' own fit with those by the same answers
                and the item parameters of the fit of all: near 1 if the others by themselves find the dimension
  reliability   1 - error variance/variance of the abilities by the other benchmarks, mean over models; corrected and
                weight are low by the factor sqrt(reliability), 0.7 where it is 0.5, and not adjusted for it

Examples:
  python scripts/align_dimensions.py gsm8k.csv.gz math.csv.gz code.csv.gz --n-trials 1 --output-dir out
  python scripts/align_dimensions.py *.csv.gz --dims 3 --subsets subjects.csv --items-of mmlu --output-dir out
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.benchmark_options import (
    MOST_DIMS,
    add_benchmark_options,
    check_dims,
    counted,
    read_asked,
    size_of,
    tell_size,
    tell_unconverged,
)
from irt.command import CommandParser, packages_of, print_json, run, whole_number
from irt.io import InputError, sha256_of
from irt.matrix_options import unfit_name
from irt.outputs import check_outputs
from irt.progress import progress

if TYPE_CHECKING:
    from irt.mirt_data import Benchmarks


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    add_benchmark_options(parser)
    parser.add_argument(
        "--output-dir", type=Path, required=True, metavar="DIR", help="folder for the files; made if missing"
    )
    parser.add_argument(
        "--dims", type=whole_number(1, MOST_DIMS), default=2, metavar="D", help="dimensions (%(default)s)"
    )
    parser.add_argument("--subsets", type=Path, metavar="FILE.csv", help="subsets that also get a row each")
    parser.add_argument("--items-of", metavar="NAME", help="draw the items of this benchmark")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    return parser.parse_args()


def main() -> int:
    """Read, fit with and without each benchmark, write the files and print the table."""
    arguments = parse_arguments()
    with packages_of("requirements_irt.txt"):
        from irt.alignment import align
        from irt.alignment_files import json_report, lines, write_alignment
        from irt.item_subsets import read_subsets
        from irt.mirt import MirtSettings, fit_mirt
        from irt.mirt_files import answered_alike
        from irt.mirt_updates import Gaussian
        from irt.rotation import canonical
    with packages_of("requirements_dev.txt"):
        from irt.mirt_plots import draw_alignment, draw_items

    data = read_asked(arguments)
    check_request(data, arguments)
    inputs = [file.entry() for file in data.inputs]
    subsets = {}
    if arguments.subsets is not None:
        subsets = read_subsets(arguments.subsets, data)
        inputs.append({"file": arguments.subsets.name, "sha256": sha256_of(arguments.subsets)})

    settings = MirtSettings(dims=arguments.dims, seed=arguments.seed)
    tell_size(data)
    fits = len(data.names) + 1
    with progress("fits", fits) as update:
        whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
        update(1, "")
        fit, turn = canonical(whole)
        rows, unsettled = align(
            data, whole, turn, subsets, settings, report=lambda done: update(done + 1, "")
        )
    not_converged = [*([] if whole.converged else ["all"]), *(f"all but {name}" for name in unsettled)]
    tell_unconverged(not_converged, fits)
    correlations = fit.ability_covariance
    report = json_report(
        data, rows, correlations, seed=arguments.seed, not_converged=not_converged, inputs=inputs
    )
    drawings = {"alignment.png": partial(draw_alignment, rows=rows, correlations=correlations)}
    if arguments.items_of is not None:
        own = data.benchmark_of == data.names.index(arguments.items_of)
        items = Gaussian(fit.items.mean[own], fit.items.covariance[own])
        drawings[items_file(arguments.items_of)] = partial(
            draw_items, name=arguments.items_of, items=items, alike=answered_alike(data)[own]
        )
    write_alignment(arguments.output_dir, rows, report, drawings)
    if arguments.json:
        print_json(report)
    else:
        print(f"{size_of(data)}, {counted(arguments.dims, 'dimension')}")
        print("\n".join(["", *lines(rows, correlations)]))
    names = ("alignment.csv", "alignment.json", *drawings)
    print(f"Wrote {', '.join(names[:-1])} and {names[-1]} to {arguments.output_dir}", file=sys.stderr)
    return 0


def items_file(name: str) -> str:
    """Return what the drawing of a benchmark's items is called."""
    return f"items_{name}.png"


def check_request(data: Benchmarks, arguments: argparse.Namespace) -> None:
    """Refuse what cannot be fitted or shown, and outputs that cannot be written."""
    if len(data.names) < 2:
        raise InputError("there is nothing without the only benchmark; give at least two response matrices")
    for number in range(len(data.names)):
        elsewhere = data.trials[:, data.benchmark_of != number].any(axis=1)
        check_dims(arguments.dims, int(elsewhere.sum()))
    outputs = ["alignment.csv", "alignment.json", "alignment.png"]
    if arguments.items_of is not None:
        if arguments.items_of not in data.names:
            known = ", ".join(map(repr, data.names))
            raise InputError(f"--items-of {arguments.items_of}: no such benchmark; the matrices are {known}")
        outputs.append(items_file(arguments.items_of))
    if arguments.subsets is not None and unfit_name(arguments.subsets.name):
        raise InputError(
            f"--subsets {ascii(str(arguments.subsets))}: give the file a name in UTF-8 without control characters"
        )
    read = [file.path for file in data.inputs] + ([arguments.subsets] if arguments.subsets else [])
    check_outputs([arguments.output_dir / name for name in outputs], read)


if __name__ == "__main__":
    run(main)
