"""Start or resume a run of BenchFill: rounds of candidates, screened, answered by the panel, and decided.

Input   the run's folder in BENCHFILL_RESULTS (propose/results), as `python -m propose.init` made it, and its benchmark.
Output  rows in its journals; `python -m propose.status` reads them, also meanwhile.

Stop it at any moment, even with kill -9: the same command goes on, and no answer is paid for twice. A cap ends it in
the same way; a higher one lets it go on.

Examples:
  python -m propose.run aime25 first
  python -m propose.run aime25 first --max-rollouts 20000 --panel my_panel.toml
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irt.command import CommandParser, packages_of, run, whole_number
from irt.io import InputError, sha256_of
from irt.settings import available_cpus
from propose.calibrated import Calibrated, files_of, read_calibrated
from propose.calibration_record import graders_of
from propose.candidate_items import candidate_items
from propose.config import Config, found_path, read_config
from propose.rewriter import Rewriter, read_rewriter
from propose.run_folder import RunFolder, data_root, folder_of, read_state
from propose.run_journals import open_journals
from propose.starts import ERROR, INTERRUPTED, ending_row, read_starts, start_row
from verifier.graders.grader_pool import GraderPool
from verifier.graders.grading import check_graders
from verifier.journal import Append, open_journal
from verifier.panel import Panel, Verifier, read_panel
from verifier.regrade import grade_again, regrade_jobs
from verifier.trials import Job, jobs_of, read_trials

EXIT_INCOMPLETE = 1


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.run"
    parser.add_argument("benchmark", help="its name")
    parser.add_argument("run", help="the run's name")
    parser.add_argument("--panel", type=Path, help="the same verifiers, served elsewhere (as init was told)")
    parser.add_argument(
        "--rewriter", type=Path, help="the same rewriter, served elsewhere (as init was told)"
    )
    parser.add_argument(
        "--max-rollouts", type=whole_number(1, 10**15), help="another cap of the panel's answers"
    )
    parser.add_argument(
        "--max-tokens", type=whole_number(1, 10**15), help="another cap of all tokens written"
    )
    return parser.parse_args()


def main() -> int:
    """Check that all is as it was, go on with the rounds, and say why they ended."""
    arguments = parse_arguments()
    folder = folder_of(arguments.benchmark, arguments.run)
    config = read_config(folder)
    caps = {
        name: value
        for name in ("max_rollouts", "max_tokens")
        if (value := getattr(arguments, name)) is not None
    }
    config = replace(config, settings=replace(config.settings, **caps))
    calibrated = read_inputs(folder, config)
    read_starts(folder.starts)  # before one is added: `status` could not read them either
    panel = same_panel(folder, config, arguments.panel)
    rewriter = same_rewriter(folder, config, arguments.rewriter)
    with packages_of("requirements_verifier.txt"):
        from propose.loop import run_rounds
        from propose.loop_run import Run
        from propose.rewriting import RewriterPort
        from verifier.ask_panel import ask_panel
    answer_types = {item.answer_type for item in calibrated.items}
    check_graders(answer_types)
    check_versions(folder, config, calibrated)
    verifiers = {verifier.name: verifier for verifier in panel.verifiers}
    ordered = tuple(verifiers[name] for name in calibrated.models)

    with (
        open_journals(folder) as journals,
        open_journal(folder.starts) as note,
        GraderPool(answer_types, workers=available_cpus()) as pool,
    ):
        note(start_row(config.settings))
        try:
            grade_waiting(folder, ordered, calibrated, journals.rollouts, pool)
            state = read_state(folder)
            port = RewriterPort(rewriter, pool, folder.path / "logs", answered=bool(state.candidates))

            def ask(jobs: Sequence[Job], append: Append) -> dict[str, str]:
                port.release()  # its GPUs, if it was served here
                answered = {name for answers in state.answers.values() for name, _ in answers}
                return ask_panel(panel, jobs, folder.path, append, pool, answered)

            with port as ask_rewriter:
                ending = run_rounds(
                    Run(
                        settings=config.settings,
                        calibrated=calibrated,
                        state=state,
                        journals=journals,
                        verifiers=ordered,
                        rewriter_max_tokens=rewriter.model.max_tokens,
                        ask_rewriter=ask_rewriter,
                        ask_panel=ask,
                        say=lambda line: print(line, file=sys.stderr, flush=True),
                    )
                )
        except KeyboardInterrupt:
            note(ending_row(INTERRUPTED, "interrupted; the same command goes on"))
            raise
        except BrokenPipeError:
            note(ending_row(ERROR, "whoever read its messages has gone; the same command goes on"))
            raise
        except (InputError, OSError) as error:
            note(ending_row(ERROR, str(error)))
            raise
        note(ending_row(ending.reason, ending.detail))
    print(f"{folder.path}: ended, {ending.detail}")
    if ending.reason in ("max_rollouts", "max_tokens"):
        print(f"The same command with a higher {ending.reason.upper()} goes on from here")
    if ending.is_failure:
        print("The same command goes on from here", file=sys.stderr)
    else:
        print(f"Next: python -m propose.recalibrate {shlex.quote(str(folder.path))}")
    return EXIT_INCOMPLETE if ending.is_failure else 0


def read_inputs(folder: RunFolder, config: Config) -> Calibrated:
    """Return the calibrated benchmark, if its files are those that the run was made with.

    Raises
    ------
    InputError
        With the first file that has changed.
    """
    files = files_of(data_root(), config.settings.benchmark)
    for name, path in vars(files).items():
        check_input(folder, config, name, path)
    return read_calibrated(files, config.n_trials)


def check_input(folder: RunFolder, config: Config, name: str, path: Path) -> None:
    """Hold one of the benchmark's files, by its name in CalibrationFiles, to what the run was made with.

    Raises
    ------
    InputError
        If it has changed, is missing, or was not there.
    """
    then = config.inputs.get(name, {}).get("sha256")
    if then != (sha256_of(path) if path.exists() else None):
        raise InputError(
            f"{path}: is not what {folder.config} was made with; restore it, init a new run, or say with "
            "BENCHFILL_DATA where the run's benchmark is"
        )


def check_versions(folder: RunFolder, config: Config, calibrated: Calibrated) -> None:
    """Hold the graders to those of the run: its decisions rest on their verdicts and cannot be made again.

    Raises
    ------
    InputError
        With the first grader of another version.
    """
    for name, version in graders_of(calibrated.items).items():
        if (then := config.versions.get(name)) != version:
            raise InputError(
                f"{folder.config}: the run's answers are graded with {name} {then}, and this is {name} {version}; a "
                "run has one: go back to the earlier version (`make setup` installs its packages), or calibrate with "
                "--regrade and init a new run"
            )


def same_panel(folder: RunFolder, config: Config, path: Path | None) -> Panel:
    """Return the panel, held to the identities that the run was made with."""
    path = path or found_path(config.panel["file"])
    panel = read_panel(path)
    _check_identities(
        folder, path, config.panel["identities"], {one.name: one.identity for one in panel.verifiers}
    )
    return panel


def same_rewriter(folder: RunFolder, config: Config, path: Path | None) -> Rewriter:
    """Return the rewriter, held to the identity that the run was made with."""
    path = path or found_path(config.rewriter["file"])
    rewriter = read_rewriter(path)
    _check_identities(folder, path, config.rewriter["identities"], {rewriter.name: rewriter.identity})
    return rewriter


def _check_identities(folder: RunFolder, path: Path, then: dict[str, str], now: dict[str, str]) -> None:
    if then == now:
        return
    name = min(set(then.items()) ^ set(now.items()))[0]
    raise InputError(
        f"{path}: {name} is not as {folder.config} has it (model, revision, sampling, thinking, max_tokens or system "
        "prompt differ); a run has one panel and one rewriter: restore it, or init a new run"
    )


def grade_waiting(
    folder: RunFolder, verifiers: Sequence[Verifier], calibrated: Calibrated, append: Append, pool: GraderPool
) -> None:
    """Grade the answers that a kill left without a verdict."""
    state = read_state(folder)
    waiting = {name for name, answers in state.answers.items() if None in answers.values()}
    if not waiting:
        return
    items = [
        item
        for name, item in candidate_items(state.candidates.values(), calibrated.items).items()
        if name in waiting
    ]
    trials = read_trials(folder.rollouts, verifiers, items)
    jobs = regrade_jobs(jobs_of(verifiers, items, calibrated.n_trials), trials)
    grade_again(folder.rollouts, jobs, trials, append, pool)


if __name__ == "__main__":
    run(main)
