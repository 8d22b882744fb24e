"""Make a new run of BenchFill, once everything that it will need is there and fits together.

Input   in BENCHFILL_DATA (data): pool/BENCHMARK.jsonl, the items; matrix/BENCHMARK_response_matrix.csv, the panel's
        answers to them (columns q0, q1, … are positions in the pool); calibration/BENCHMARK/difficulty.csv, the fit.
        `python -m propose.calibrate` makes the last two. The panel and the rewriter are TOML files.
Output  BENCHFILL_RESULTS (propose/results)/BENCHMARK/RUN/config.json; a run that is there is never touched.

Examples:
  python -m propose.init aime25 first --panel verifier/panel.toml --rewriter propose/rewriter.toml
  python -m propose.init demo small --panel verifier/panels/simulated.toml --rewriter propose/rewriters/simulated.toml
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from pathlib import Path

from irt.command import CommandParser, proportion, run, whole_number
from irt.io import sha256_of
from propose.calibrated import Calibrated, CalibrationFiles, check_panel, files_of, read_calibrated
from propose.calibration_record import MOST_TRIALS, check_graders, graders_of, read_record
from propose.config import Config, check_new, stored_path, write_config
from propose.prompting import check_prompts
from propose.rewriter import DEFAULT, Rewriter, read_rewriter
from propose.run_folder import data_root, folder_of
from propose.settings import Settings
from verifier.graders.grading import check_item
from verifier.panel import Panel, read_panel

SIMULATED = "simulated"  # what every name of the simulated panel begins with


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.init"
    parser.add_argument("benchmark", help="its name, as in data/pool/BENCHMARK.jsonl")
    parser.add_argument("run", help="a name for the run, new for this benchmark")
    parser.add_argument("--panel", type=Path, required=True, help="who answers, TOML")
    parser.add_argument("--rewriter", type=Path, default=DEFAULT, help="who writes, TOML (%(default)s)")
    parser.add_argument(
        "--trials", type=whole_number(1, MOST_TRIALS), help="of the calibration (as its fit says)"
    )
    for name, text in (
        ("gaps", "gaps that a round fills"),
        ("max_rounds", "rounds at most"),
        ("parents", "items at the edges of a gap that are rewritten"),
        ("children", "candidates of each parent"),
        ("verifiers_a_wave", "verifiers that answer before hopeless candidates are dropped"),
    ):
        parser.add_argument(_option(name), type=whole_number(1), help=f"{text} (%(default)s)")
    parser.add_argument(
        "--solutions", type=whole_number(0), help="own solutions of a candidate by the rewriter (%(default)s)"
    )
    parser.add_argument(
        "--drop-below",
        type=proportion(zero=True, one=False),
        help="predicted acceptance that is too low (%(default)s)",
    )
    for name, text in (("max_rollouts", "answers of the panel"), ("max_tokens", "tokens written by all")):
        parser.add_argument(_option(name), type=whole_number(1, 10**15), help=f"cap of {text} (none)")
    parser.set_defaults(**Settings("", "").as_fields() | {"benchmark": None, "run": None})
    return parser.parse_args()


def main() -> int:
    """Check everything, write the config, and say what the run starts from."""
    arguments = parse_arguments()
    given = vars(arguments)
    settings = Settings(**{name: given[name] for name in Settings.__dataclass_fields__})
    folder = folder_of(settings.benchmark, settings.run)
    check_new(folder)
    files = files_of(data_root(), settings.benchmark)
    calibrated = read_calibrated(files, arguments.trials)
    panel, rewriter = read_panel(arguments.panel), read_rewriter(arguments.rewriter)
    record = read_record(files.difficulty)
    identities = {one.name: one.identity for one in panel.verifiers}
    check_panel(calibrated.models, identities, files.matrix, arguments.panel, record)
    for item in calibrated.items:
        check_item(item)
    check_graders(record, graders_of(calibrated.items))
    check_prompts(settings.benchmark, calibrated.items)
    config = config_of(settings, files, calibrated, panel, rewriter, arguments.panel, arguments.rewriter)
    write_config(folder, config)
    easiest, hardest = calibrated.b_mean.min(), calibrated.b_mean.max()
    print(
        f"{len(calibrated.items)} items, b from {easiest:.2f} to {hardest:.2f}; {len(calibrated.models)} verifiers, "
        f"{calibrated.n_trials} answers each"
    )
    if record.lacking:
        print(
            f"note: {record.path} does not say {' or '.join(record.lacking)}, so that it could not be checked; "
            "`bash run_experiment.sh calibrate` notes it",
            file=sys.stderr,
        )
    if config.simulated:
        print("The panel is simulated: its answers say nothing about any model")
    print(f"Wrote {folder.config}")
    return 0


def config_of(
    settings: Settings,
    files: CalibrationFiles,
    calibrated: Calibrated,
    panel: Panel,
    rewriter: Rewriter,
    panel_file: Path,
    rewriter_file: Path,
) -> Config:
    """Return the config of a new run."""
    names = [verifier.name for verifier in panel.verifiers] + [rewriter.name]
    return Config(
        settings=settings,
        n_trials=calibrated.n_trials,
        inputs={
            name: {"file": path.name, "sha256": sha256_of(path)} for name, path in files.present().items()
        },
        panel={
            "file": stored_path(panel_file),
            "identities": {verifier.name: verifier.identity for verifier in panel.verifiers},
        },
        rewriter={"file": stored_path(rewriter_file), "identities": {rewriter.name: rewriter.identity}},
        versions={"python": platform.python_version()} | graders_of(calibrated.items),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        simulated=any(name.startswith(SIMULATED) for name in names),
    )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


if __name__ == "__main__":
    run(main)
