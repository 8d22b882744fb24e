"""Estimate the item difficulties of the released benchmarks from their response matrices.

Input   --matrices: a folder with, for each benchmark of the list, MATRIX.csv.gz (column model, then one column an
        item: counts of correct answers) and MATRIX.json (source_repo, commit, licence, n_trials); where the trials
        differ by cell, also MATRIX.trials.csv.gz. The list, data/benchmarks.toml, has each benchmark's matrix,
        guessing probability and models to leave out.
Output  for each benchmark a folder in --output: difficulty.csv (item_id,b_mean; higher b = harder), test.jsonl (the
        id of each item in its source) and provenance.json (source, settings and diagnostics of the fit).

The fits are those of fit_irt.py with its default settings. A benchmark that is there already, made from the same
matrix in the same way, is left as it is: after an interruption, the same command continues.

Examples:
  python scripts/build_benchmarks.py --matrices ~/matrices
  python scripts/build_benchmarks.py --matrices ~/matrices --only AIME25-I Cybench --output /tmp/benchmarks
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.benchmark_list import BENCHMARK_LIST, Benchmark, read_benchmark_list
from irt.command import EXIT_INTERRUPTED, CommandParser, packages_of, run
from irt.io import InputError
from irt.matrix_source import MatrixSource, find_sources, read_matrix
from irt.release import finished, identity_of, recipe_of, write_provenance, write_release
from irt.response_matrix import ResponseMatrix
from irt.settings import SamplerSettings

BENCHMARKS = BENCHMARK_LIST.with_suffix("")
METHOD: Literal["marginal"] = "marginal"


@dataclass(frozen=True)
class Job:
    """A benchmark to fit, and what its provenance says already before the fit."""

    benchmark: Benchmark
    matrix: ResponseMatrix
    known: dict[str, Any]


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = CommandParser(__doc__)
    parser.add_argument("--matrices", type=Path, metavar="DIR", required=True, help="the response matrices")
    parser.add_argument(
        "--benchmarks-toml",
        type=Path,
        metavar="FILE",
        default=BENCHMARK_LIST,
        help="the list of benchmarks (data/benchmarks.toml)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=BENCHMARKS,
        help="where the folders go (data/benchmarks)",
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these benchmarks of the list")
    parser.add_argument("--force", action="store_true", help="fit also what is there already")
    return parser.parse_args()


def choose(benchmarks: Sequence[Benchmark], names: Sequence[str] | None, path: Path) -> list[Benchmark]:
    """Return the named benchmarks in the order of the list; all without names."""
    known = {benchmark.name for benchmark in benchmarks}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InputError(f"--only {unknown[0]}: not in {path}; there are {', '.join(sorted(known))}")
    return [benchmark for benchmark in benchmarks if names is None or benchmark.name in names]


def plan(
    benchmarks: Sequence[Benchmark],
    sources: Sequence[MatrixSource],
    settings: SamplerSettings,
    output: Path,
    force: bool,
) -> list[Job]:
    """Return what is to be fitted, its matrices read and checked; say what is up to date."""
    jobs = []
    for benchmark, source in zip(benchmarks, sources, strict=True):
        folder = output / benchmark.name
        identity, recipe = identity_of(benchmark, source), recipe_of(benchmark, source, settings, METHOD)
        provenance = None if force else finished(folder, recipe)
        if provenance is None:
            jobs.append(Job(benchmark, read_matrix(source, benchmark), identity | recipe))
            continue
        print(f"{benchmark.name}: up to date")
        # A new title or licence needs no new fit.
        if provenance | identity != provenance:
            write_provenance(folder, provenance | identity)
    return jobs


def summary(outcome: Mapping[str, Any]) -> str:
    """Return the outcome of a fit as one line; a figure that cannot be assessed is a question mark."""
    r_hat, ess = outcome["max_r_hat"], outcome["min_ess_bulk"]
    return (
        f"{outcome['models']} models × {outcome['items']} items, "
        f"R-hat at most {'?' if r_hat is None else format(r_hat, '.4f')}, "
        f"bulk ESS at least {'?' if ess is None else format(ess, '.0f')}, "
        f"{outcome['divergences']} divergences, {outcome['seconds']} s"
    )


def fit_all(jobs: Sequence[Job], settings: SamplerSettings, output: Path) -> int:
    """Fit and write one benchmark after the other; return how many have warnings."""
    with packages_of("requirements_irt.txt"):
        from irt.release_fit import fit_release
    doubtful = 0
    for number, job in enumerate(jobs, start=1):
        name = job.benchmark.name
        print(f"{number} of {len(jobs)}: {name}", file=sys.stderr, flush=True)
        fit = fit_release(job.matrix, job.benchmark.guessing, settings, METHOD)
        outcome = fit.outcome
        write_release(output / name, job.matrix.items, fit.b_mean, job.known | outcome)
        print(f"{name}: {summary(outcome)}")
        for warning in outcome["warnings"]:
            print(f"{name}: warning: {warning}", file=sys.stderr, flush=True)
        doubtful += bool(outcome["warnings"])
    return doubtful


def main() -> int:
    """Check all inputs, then fit what is not there yet."""
    arguments = parse_arguments()
    benchmarks = choose(
        read_benchmark_list(arguments.benchmarks_toml), arguments.only, arguments.benchmarks_toml
    )
    sources = find_sources(arguments.matrices, benchmarks)
    settings = SamplerSettings()
    jobs = plan(benchmarks, sources, settings, arguments.output, arguments.force)
    try:
        doubtful = fit_all(jobs, settings, arguments.output) if jobs else 0
    except KeyboardInterrupt:
        print("interrupted; what is finished stays, and the same command continues", file=sys.stderr)
        return EXIT_INTERRUPTED
    print(
        f"Wrote {len(jobs)} of {len(benchmarks)} benchmarks to {arguments.output}; "
        f"the others were up to date; {doubtful} of those written with warnings"
    )
    return 0


if __name__ == "__main__":
    run(main)
