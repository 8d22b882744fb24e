"""Separate the abilities that a set of benchmarks mixes, and say what each item measures.

logit P(correct) = a·theta + d, in as many dimensions as predict answers that were hidden from the fit. Counts are
binomial, theta ~ Normal(0, 1) in each dimension, and the items of a benchmark share a prior that is learned.

Input   response matrices, one a benchmark (.csv or .csv.gz): column model, then one column an item; cells are counts of
        correct answers, blank = never asked. Models are joined by name. The trials are in NAME.trials.csv(.gz) beside
        NAME.csv (trials.csv beside response_matrix.csv), else --n-trials, else n_trials in NAME.json.
Output  in --output-dir: abilities.csv (model,theta_1...,sd_1...; higher = more able),
        items.csv (benchmark,item,a_1...,d,MDISC,MDIFF,direction_1...,sd_...)
        and fit.json (how well each number of dimensions predicts, the chosen one, settings, warnings, and the seconds
        it took: all else is the same when it is run again).

Of an item (Phi: the correlations of the abilities)
  a_k          its loading on ability k: logits a standard deviation of that ability, the others kept as they are
  d            easiness: the logit of a model whose abilities are all 0; higher = easier
  MDISC        discrimination, sqrt(a' Phi a): logits a standard deviation of what the item measures, a·theta
  MDIFF        difficulty, -d/MDISC: how many standard deviations along a·theta half the answers are right; higher =
               harder; blank where MDISC is less than twice its sd
  direction_k  correlation over models of a·theta with ability k. Where abilities correlate it is not 0 for an ability
               that the item does not load on: read a_k for that
  Where all models answered alike, MDISC, MDIFF and direction are blank, and a_k is what the benchmark's items have

Examples:
  python scripts/fit_mirt.py gsm8k.csv.gz math.csv.gz code.csv.gz --n-trials 1 --output-dir out
  python scripts/fit_mirt.py matrices/*.csv.gz --common-models --dims 2 3 --stability 5 --output-dir out
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.benchmark_options import (
    MOST_DIMS,
    add_benchmark_options,
    check_dims,
    counted,
    read_asked,
    tell_size,
    tell_warnings,
)
from irt.command import CommandParser, packages_of, run, whole_number
from irt.matrix_options import without_trials
from irt.outputs import check_outputs

MOST_DEFAULT_DIMS = 4


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    add_benchmark_options(parser)
    parser.add_argument(
        "--output-dir", type=Path, required=True, help="folder for the three files; made if missing"
    )
    parser.add_argument(
        "--dims",
        type=whole_number(1, MOST_DIMS),
        nargs="+",
        help="numbers of dimensions to choose from (1 2 3 4, as far as the models can show them)",
    )
    parser.add_argument("--starts", type=whole_number(1), default=3, help="starts of the fit (%(default)s)")
    parser.add_argument(
        "--stability",
        type=whole_number(1),
        metavar="R",
        help="also refit R times from random starts (is the optimum found again?) and to random halves of each "
        "benchmark's items (do dimensions come again in other items?), both also with shuffled answers",
    )
    return parser.parse_args()


def main() -> int:
    """Read, choose the dimensions, fit, write, and say what was written."""
    arguments = parse_arguments()
    with packages_of("requirements_irt.txt"):
        from irt.held_out import compare_dims, rounds_of
        from irt.mirt import MirtSettings, fit_mirt
        from irt.mirt_files import OUTPUTS, SCHEMA_VERSION, mirt_figures, write_mirt
        from irt.mirt_stability import FITS_A_ROUND, measure_stability
        from irt.progress import progress
        from irt.rotation import canonical

    started = time.monotonic()
    benchmarks = read_asked(arguments)
    models = len(benchmarks.models)
    dims = sorted(set(arguments.dims or range(1, min(MOST_DEFAULT_DIMS, models - 1) + 1)))
    check_dims(dims[-1], models)
    check_outputs(
        [arguments.output_dir / name for name in OUTPUTS], [file.path for file in benchmarks.inputs]
    )
    tell_size(benchmarks)
    settings = MirtSettings(starts=arguments.starts, seed=arguments.seed)
    answers = benchmarks.correct, benchmarks.trials, benchmarks.benchmark_of
    with progress("predicting hidden answers", rounds_of(benchmarks.trials) * len(dims)) as update:
        comparison = compare_dims(*answers, dims, settings, lambda done: update(done, ""))
    settings = replace(settings, dims=comparison.chosen)
    raw = fit_mirt(*answers, settings)
    fit, turn = canonical(raw)
    stability = None
    if arguments.stability:
        with progress("refitting", FITS_A_ROUND * arguments.stability) as update:
            stability = measure_stability(
                raw, turn, *answers, settings, arguments.stability, lambda done: update(done, "")
            )
    figures = {
        "schema_version": SCHEMA_VERSION,
        **mirt_figures(benchmarks, fit, comparison, stability),
        "settings": {**vars(settings), "common_models": arguments.common_models},
        "inputs": [file.entry() for file in benchmarks.inputs],
        "seconds": round(time.monotonic() - started, 1),
    }
    write_mirt(arguments.output_dir, benchmarks, fit, figures)
    report(figures)
    told_before = len(benchmarks.warnings)
    tell_warnings(figures["warnings"][told_before:])
    print(f"Wrote abilities.csv, items.csv and fit.json to {arguments.output_dir}")
    if len(benchmarks.names) > 1:
        print(f"Next: {next_command(arguments, comparison.chosen)}")
    return 0


def next_command(arguments: argparse.Namespace, dims: int) -> str:
    """Return the command that says which benchmark goes with which dimension, on the same answers."""
    words = ["python", "scripts/align_dimensions.py", *map(str, without_trials(arguments.matrices))]
    words += ["--n-trials", str(arguments.n_trials)] if arguments.n_trials else []
    words += ["--common-models"] if arguments.common_models else []
    words += ["--seed", str(arguments.seed)] if arguments.seed else []
    words += ["--dims", str(dims), "--output-dir", str(arguments.output_dir)]
    return shlex.join(words)


def report(figures: dict[str, Any]) -> None:
    """Print how well each number of dimensions predicts, and how stable the fit is."""
    held_out = figures["held_out"]
    print(
        f"{counted(held_out['answers'], 'hidden answer')}, mean log-likelihood ± standard error in nats an answer, by "
        f"number of dimensions; chosen: {held_out['rule']}"
    )
    for entry in held_out["by_dims"]:
        behind = "—"
        if entry["behind_best"]:
            error = shown(entry["behind_best_standard_error"], 4)
            behind = f"{entry['behind_best']:.4f} ± {error}"
        print(
            f"  {entry['dims']}  {entry['log_likelihood']:.4f} ± {shown(entry['standard_error'], 4)}, "
            f"behind the best by {behind}" + (" (chosen)" if entry["dims"] == held_out["chosen_dims"] else "")
        )
    for name, agreement in figures.get("stability", {}).items():
        control = name.startswith("shuffled")
        found = [
            f"correlations of a dimension's {what} {(highest if control else lowest)(agreement[key])}"
            for what, key in (("loadings", "loading_correlations"), ("abilities", "ability_correlations"))
            if key in agreement
        ]
        if "prediction_difference" in agreement:
            found.append(f"predictions differ by {max(agreement['prediction_difference']):.4f}")
        rounds = len(agreement["ability_correlations"])
        found += [
            f"dimension {number} not measured in {times} of {rounds}"
            for number, times in enumerate(agreement.get("not_measured", ()), start=1)
            if times
        ]
        print(f"{name.replace('_', ' ')}: {', '.join(found)}")


def lowest(correlations: list[list[float | None]]) -> str:
    """Return in words how low the correlations go; "—" if nothing varied that could correlate."""
    there = [value for row in correlations for value in row if value is not None]
    return f"at least {shown(min(there, default=None), 3)}"


def highest(correlations: list[list[float | None]]) -> str:
    """Return in words how far from 0 the correlations of a control go, which should have none."""
    there = [abs(value) for row in correlations for value in row if value is not None]
    return f"at most {shown(max(there, default=None), 3)}"


def shown(value: float | None, digits: int) -> str:
    """Return a number as text; "—" for None."""
    return "—" if value is None else f"{value:z.{digits}f}"


if __name__ == "__main__":
    run(main)
