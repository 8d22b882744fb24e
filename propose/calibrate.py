"""Make what `python -m propose.init` needs from an item pool alone: the panel answers the pool, and a fit follows.

Input   BENCHFILL_DATA (data)/pool/BENCHMARK.jsonl, the items; --panel, who answers, TOML.
Output  under the same root: rollouts/BENCHMARK/rollouts.jsonl (every answer, append-only; what
        verifier/run_rollout.sh has left there counts), matrix/BENCHMARK_response_matrix.csv with columns q0, q1, …
        (positions in the pool) and _trials.csv and _guessing.csv beside it where they apply, and
        calibration/BENCHMARK/{difficulty.csv,ability.csv,diagnostics.json}.

The same command resumes. --regrade first grades the stored answers again, and lists every verdict that changes.

Examples:
  python -m propose.calibrate aime25 --panel verifier/panel.toml --trials 8
  python -m propose.calibrate demo --panel verifier/panels/simulated.toml --trials 4
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irt.command import CommandParser, packages_of, run, whole_number
from irt.io import InputError, sha256_of
from irt.response_matrix import read_guessing, read_response_matrix
from irt.settings import ESTIMATOR, SamplerSettings, available_cpus
from propose.calibrated import CalibrationFiles, check_ids, check_present, files_of
from propose.calibration_record import MOST_TRIALS, graders_of, record_fields
from propose.config import Config, read_config
from propose.prompting import check_prompts
from propose.run_folder import RunFolder, check_name, data_root, results_root
from verifier.counts import GUESSING, MATRIX, TRIALS, summarise, warnings_of, write_matrix
from verifier.graders.grader_pool import GraderPool
from verifier.graders.grading import check_graders, check_item
from verifier.items import Item, read_items
from verifier.journal import open_journal
from verifier.panel import Panel, read_panel
from verifier.regrade import grade_again, regrade_jobs
from verifier.rollout import check_versions, print_table
from verifier.trials import Key, Trial, jobs_of, read_trials

EXIT_INCOMPLETE = 1


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.calibrate"
    parser.add_argument("benchmark", help="its name, as in data/pool/BENCHMARK.jsonl")
    parser.add_argument("--panel", type=Path, required=True, help="who answers, TOML")
    parser.add_argument(
        "--trials",
        type=whole_number(1, MOST_TRIALS),
        default=8,
        help="answers a verifier and item (%(default)s)",
    )
    parser.add_argument("--regrade", action="store_true", help="grade the stored answers again")
    parser.add_argument("--tune", type=whole_number(1), help="warm-up draws a chain of the fit (%(default)s)")
    parser.add_argument("--draws", type=whole_number(4), help="kept draws a chain of the fit (%(default)s)")
    parser.add_argument("--seed", type=whole_number(0, 2**32 - 1), help="of the fit (%(default)s)")
    defaults = SamplerSettings()
    parser.set_defaults(tune=defaults.tune, draws=defaults.draws, seed=defaults.seed)
    return parser.parse_args()


def main() -> int:
    """Ask what is missing, write the matrix, fit it."""
    arguments = parse_arguments()
    # What init would refuse is refused before the first answer is paid for.
    check_name("benchmark", arguments.benchmark)
    files = files_of(data_root(), arguments.benchmark)
    check_present(files, "pool")
    items = read_items(files.pool)
    check_ids(files.pool, items)
    for item in items:
        check_item(item)
    check_prompts(arguments.benchmark, items)
    panel = read_panel(arguments.panel)
    if any(config.n_trials != arguments.trials for config in runs_made_with(files, "matrix")):
        keep_for_runs(files, "matrix")
    folder = data_root() / "rollouts" / arguments.benchmark
    trials = ask_pool(folder, panel, items, arguments.trials, regrade=arguments.regrade)
    names = [verifier.name for verifier in panel.verifiers]
    summaries = summarise(names, items, arguments.trials, trials)
    print_table(summaries)
    for warning in warnings_of(summaries, trials):
        print(f"warning: {warning}", file=sys.stderr)
    missing = sum(len(items) * arguments.trials - one.trials for one in summaries)
    if missing:
        print(f"{missing} trials are missing; the same command asks for them again", file=sys.stderr)
    if not all(one.trials for one in summaries):
        silent = next(one.verifier for one in summaries if not one.trials)
        raise InputError(
            f"{silent} has no answer yet, so there is no whole matrix; see above, and run it again"
        )
    asked = {item for (_, item, _), trial in trials.items() if trial.counts}
    if unasked := [item.id for item in items if item.id not in asked]:
        raise InputError(
            f"{files.pool}: item {unasked[0]!r} has no answer yet, so there is no whole matrix; see above, and run it "
            "again"
        )
    write_positions(files, names, items, arguments.trials, trials)
    identities = {verifier.name: verifier.identity for verifier in panel.verifiers}
    warned = fit(files, arguments, record_fields(files.pool, items, identities, graders_of(items)))
    print(
        f"Wrote {files.matrix} and {files.difficulty}; q0, q1, … are the items of {files.pool} in their order"
    )
    for warning in warned:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"Next: python scripts/diagnose_benchmark.py {shlex.quote(str(files.difficulty))}, and init a run")
    return EXIT_INCOMPLETE if missing else 0


def ask_pool(
    folder: Path, panel: Panel, items: Sequence[Item], n_trials: int, *, regrade: bool
) -> Mapping[Key, Trial]:
    """Let the panel answer what is missing in ``folder``/rollouts.jsonl, and return what is there then."""
    with packages_of("requirements_verifier.txt"):
        from verifier.ask_panel import ask_panel
    answer_types = {item.answer_type for item in items}
    check_graders(answer_types)
    journal = folder / "rollouts.jsonl"
    jobs = list(jobs_of(panel.verifiers, items, n_trials))
    with open_journal(journal) as append, GraderPool(answer_types, workers=available_cpus()) as pool:
        trials = read_trials(journal, panel.verifiers, items)
        if regrade:
            for line in grade_again(journal, {job.key: job for job in jobs}, trials, append, pool):
                print(line)
        else:
            check_versions(trials, jobs)
            grade_again(journal, regrade_jobs(jobs, trials), trials, append, pool)
        missing = [job for job in jobs if job.key not in trials or not trials[job.key].answered]
        if missing:
            for name, reason in ask_panel(panel, missing, folder, append, pool).items():
                print(f"{name}: stopped: {reason}", file=sys.stderr)
    return read_trials(journal, panel.verifiers, items)


def write_positions(
    files: CalibrationFiles,
    names: Sequence[str],
    items: Sequence[Item],
    n_trials: int,
    trials: Mapping[Key, Trial],
) -> None:
    """Write matrix, trials and guessing, the items named by their positions in the pool."""
    column = {item.id: f"q{position}" for position, item in enumerate(items)}
    renamed = [replace(item, id=column[item.id]) for item in items]
    by_column = {(name, column[item], trial): value for (name, item, trial), value in trials.items()}
    # verifier.counts writes files of fixed names; they take their places here one by one.
    folder = files.matrix.parent / f".{files.pool.stem}.calibrate"
    written = write_matrix(folder, names, renamed, n_trials, by_column)
    places = {
        "trials": (TRIALS, files.trials),
        "guessing": (GUESSING, files.guessing),
        "matrix": (MATRIX, files.matrix),
    }
    for what, (name, path) in places.items():
        if not _same_bytes(folder / name, path):
            keep_for_runs(files, what)
    for name, path in places.values():
        if name in written:
            os.replace(folder / name, path)
        else:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
    shutil.rmtree(folder)  # a kill may have left a temporary file in it


def runs_made_with(files: CalibrationFiles, what: str) -> list[Config]:
    """Return the configs of the benchmark's runs that were made with one of its files as it is now.

    ``what`` is its name in CalibrationFiles.
    """
    path = getattr(files, what)
    if not path.exists():
        return []
    now = sha256_of(path)
    found = sorted((results_root() / files.pool.stem).glob("*/config.json"))
    configs = [read_config(RunFolder(config.parent)) for config in found]
    return [config for config in configs if config.inputs.get(what, {}).get("sha256") == now]


def keep_for_runs(files: CalibrationFiles, what: str) -> None:
    """Refuse to replace a file without which a run could not go on.

    Raises
    ------
    InputError
        With the runs.
    """
    if runs := runs_made_with(files, what):
        names = ", ".join(config.settings.run for config in runs)
        raise InputError(
            f"{getattr(files, what)}: would be replaced, and {names} of {results_root() / files.pool.stem} could not "
            "go on without it; calibrate into another folder (BENCHFILL_DATA), or remove what was made with it"
        )


def _same_bytes(new: Path, old: Path) -> bool:
    """Return whether two files are the same, or both not there."""
    if new.exists() and old.exists():
        return filecmp.cmp(new, old, shallow=False)
    return not new.exists() and not old.exists()


def fit(files: CalibrationFiles, arguments: argparse.Namespace, record: Mapping[str, Any]) -> list[str]:
    """Fit the matrix and write the calibration with its record; return the fit's warnings."""
    matrix = read_response_matrix(
        files.matrix,
        n_trials=None if files.trials.exists() else arguments.trials,
        trials_path=files.trials if files.trials.exists() else None,
    )
    guessing = [0.0] * len(matrix.items)
    if files.guessing.exists():
        guessing = read_guessing(files.guessing, matrix.items)
    settings = SamplerSettings(tune=arguments.tune, draws=arguments.draws, seed=arguments.seed)
    given = {"matrix": files.matrix, "trials": files.trials, "guessing": files.guessing}
    wanted: dict[str, Any] = {
        "sampling": {"method": "marginal", "guessing": sorted(set(guessing)), **vars(settings)},
        "estimator": ESTIMATOR,
        **record,
        "inputs": {
            name: {"file": path.name, "sha256": sha256_of(path)}
            for name, path in given.items()
            if path.exists()
        },
    }
    if (present := _fitted(files, wanted)) is not None:
        return present
    keep_for_runs(files, "difficulty")
    with packages_of("requirements_irt.txt"):
        from irt.fit_files import SCHEMA_VERSION, fit_figures, write_fit
        from irt.rasch import fit_rasch
    print(f"{len(matrix.models)} models × {len(matrix.items)} items: compiling the fit", file=sys.stderr)
    started = time.monotonic()
    fitted = fit_rasch(matrix.correct, matrix.trials, guessing, settings=settings)
    diagnostics = {
        "schema_version": SCHEMA_VERSION,
        **fit_figures(fitted, matrix, chains=settings.chains, seconds=time.monotonic() - started),
        **wanted,
    }
    write_fit(files.difficulty.parent, matrix, fitted, diagnostics)
    return list(diagnostics["warnings"])


def _fitted(files: CalibrationFiles, wanted: Mapping[str, Any]) -> list[str] | None:
    """Return the warnings of the fit that is there, if it was made from the same in the same way; else None."""
    try:
        diagnostics = json.loads(files.difficulty.with_name("diagnostics.json").read_bytes())
        same = all(diagnostics[name] == value for name, value in wanted.items())
        return list(diagnostics["warnings"]) if same and files.difficulty.exists() else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or of something else
        return None


if __name__ == "__main__":
    run(main)
