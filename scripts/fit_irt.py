"""Estimate the difficulty of every item and the ability of every model from a matrix of correct counts.

P(correct) = g + (1 - g) * sigmoid(theta - b); counts are binomial; theta and b have independent Normal(0, 1) priors.

Input   a CSV: column model, then one column an item; cells are counts of correct answers, blank = never asked.
        With a trials.csv or guessing.csv beside it, the options that name them are required.
Output  in --output-dir: difficulty.csv (item,b_mean,b_sd,r_hat,ess_bulk; higher b = harder),
        ability.csv (model,theta_mean,theta_sd,r_hat,ess_bulk) and diagnostics.json.

Examples:
  python scripts/fit_irt.py my_benchmark/response_matrix.csv --n-trials 2 --output-dir my_benchmark
  python scripts/fit_irt.py choices.csv.gz --n-trials 1 --guessing 0.25 --output-dir out --save-draws out/draws.npz
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import CommandParser, packages_of, proportion, run, whole_number
from irt.io import InputError, sha256_of
from irt.matrix_options import add_matrix_options, check_options_beside
from irt.outputs import check_outputs
from irt.response_matrix import read_guessing, read_response_matrix
from irt.settings import ESTIMATOR, SamplerSettings, available_cpus

EXIT_NOT_CONVERGED = 1
OUTPUTS = ("difficulty.csv", "ability.csv", "diagnostics.json")


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.add_argument("matrix", type=Path, help="response matrix, .csv or .csv.gz")
    add_matrix_options(parser)
    parser.add_argument(
        "--output-dir", type=Path, required=True, help="folder for the three files; made if missing"
    )
    parser.add_argument("--save-draws", type=Path, metavar="FILE.npz", help="also keep the posterior draws")
    parser.add_argument(
        "--method",
        choices=("marginal", "joint"),
        default="marginal",
        help="marginal: integrate the longer side out (default); joint: sample everything, for checking",
    )
    parser.add_argument("--chains", type=whole_number(1), help="NUTS chains (%(default)s)")
    parser.add_argument("--tune", type=whole_number(1), help="warm-up draws a chain (%(default)s)")
    parser.add_argument("--draws", type=whole_number(4), help="kept draws a chain (%(default)s)")
    parser.add_argument(
        "--target-accept",
        type=proportion(zero=False, one=False),
        help="NUTS acceptance target (%(default)s)",
    )
    parser.add_argument("--seed", type=whole_number(0, 2**32 - 1), help="random seed (%(default)s)")
    parser.add_argument(
        "--cores", type=whole_number(1), help="chains at a time (as many as there are processors)"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 when the sampler has not converged")
    parser.set_defaults(**vars(SamplerSettings()) | {"cores": available_cpus()})
    return parser.parse_args()


def main() -> int:
    """Read, fit, write, and say what was written."""
    arguments = parse_arguments()
    if arguments.save_draws is not None and arguments.save_draws.suffix != ".npz":
        raise InputError(f"--save-draws {arguments.save_draws}: the file name must end in .npz")
    check_options_beside(arguments.matrix, arguments)
    matrix = read_response_matrix(
        arguments.matrix, n_trials=arguments.n_trials, trials_path=arguments.trials_csv
    )
    guessing = [arguments.guessing or 0.0] * len(matrix.items)
    if arguments.guessing_csv:
        guessing = read_guessing(arguments.guessing_csv, matrix.items)
    # Of the files as they were read, not as they are after an hour of sampling.
    given = {"matrix": arguments.matrix, "trials": arguments.trials_csv, "guessing": arguments.guessing_csv}
    files = {name: path for name, path in given.items() if path is not None}
    inputs = {name: {"file": path.name, "sha256": sha256_of(path)} for name, path in files.items()}
    outputs = [arguments.output_dir / name for name in OUTPUTS]
    if arguments.save_draws is not None:
        outputs.append(arguments.save_draws)
    check_outputs(outputs, files.values())

    with packages_of("requirements_irt.txt"):
        from irt.fit_files import SCHEMA_VERSION, fit_figures, write_draws, write_fit
        from irt.rasch import fit_rasch

    started = time.monotonic()
    settings = SamplerSettings(
        chains=arguments.chains,
        tune=arguments.tune,
        draws=arguments.draws,
        target_accept=arguments.target_accept,
        seed=arguments.seed,
        cores=min(arguments.cores, arguments.chains),
    )
    print(
        f"{len(matrix.models)} models × {len(matrix.items)} items, method {arguments.method}: compiling",
        file=sys.stderr,
    )
    fit = fit_rasch(
        matrix.correct,
        matrix.trials,
        guessing,
        settings=settings,
        method=arguments.method,
        keep_draws=arguments.save_draws is not None,
    )
    figures = fit_figures(fit, matrix, chains=settings.chains, seconds=time.monotonic() - started)
    diagnostics = {
        "schema_version": SCHEMA_VERSION,
        **figures,
        "sampling": {"method": arguments.method, "guessing": sorted(set(guessing)), **vars(settings)},
        "estimator": ESTIMATOR,
        "inputs": inputs,
    }
    write_fit(arguments.output_dir, matrix, fit, diagnostics)
    if fit.draws is not None:
        write_draws(arguments.save_draws, matrix, fit.draws)
    report(diagnostics, arguments.output_dir)
    return EXIT_NOT_CONVERGED if diagnostics["warnings"] and arguments.strict else 0


def report(diagnostics: dict[str, Any], output_dir: Path) -> None:
    """Print what a reader should know before using the figures, and where they are."""
    for name, items in diagnostics["constant_items"].items():
        if items:
            print(
                f"{name.replace('_', ' ')}: {len(items)} of {diagnostics['items']} items, listed in diagnostics.json"
            )
    for warning in diagnostics["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    r_hat, ess = diagnostics["max_r_hat"], diagnostics["min_ess_bulk"]
    print(
        f"R-hat at most {'unknown' if r_hat is None else r_hat}, "
        f"bulk ESS at least {'unknown' if ess is None else format(ess, '.0f')}, "
        f"{diagnostics['divergences']} divergences, {diagnostics['seconds']} s"
    )
    print(f"Wrote difficulty.csv, ability.csv and diagnostics.json to {output_dir}")


if __name__ == "__main__":
    run(main)
