"""Fill a whole benchmark: runs of BenchFill, each on what the one before has left, until no gap is wide any more.

Input   as for `python -m propose.init`: pool, matrix and calibration of BENCHMARK in BENCHFILL_DATA (data).
Output  in --output (data/filled_benchs): NAME.json (id, question, answer) and the folder NAME (all that grading needs,
        difficulties before and after, provenance). The passes are in BENCHFILL_RESULTS/BENCHMARK/mass-NAME.

It ends when Max Gap is under --max-gap, when --max-rollouts answers of the panel are spent, after --passes passes, or
when a pass accepts nothing. Stopped at any moment, the same command goes on.

Examples:
  python -m propose.mass_fill aime26 AIME26 --panel verifier/panel.toml --max-gap 0.1 --max-rollouts 50000
  python -m propose.mass_fill demo SIM-DEMO --panel verifier/panels/simulated.toml \
      --rewriter propose/rewriters/simulated.toml
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path

from irt.command import CommandParser, packages_of, run, whole_number
from irt.io import InputError
from irt.settings import SamplerSettings
from propose.rewriter import DEFAULT
from propose.run_folder import data_root, folder_of
from propose.settings import Settings

FILLED = Path(__file__).resolve().parents[2] / "data" / "filled_benchs"


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.mass_fill"
    parser.add_argument("benchmark", help="its name, as in data/pool/BENCHMARK.jsonl")
    parser.add_argument("name", help="of the filled benchmark; its ids begin with it")
    parser.add_argument("--panel", type=Path, required=True, help="who answers, TOML")
    parser.add_argument("--rewriter", type=Path, default=DEFAULT, help="who writes, TOML (%(default)s)")
    parser.add_argument(
        "--max-gap", type=_share, default=0.1, help="wide enough to go on, 0 to 1 (%(default)s)"
    )
    parser.add_argument("--max-rollouts", type=whole_number(1, 10**15), help="answers of the panel in all")
    parser.add_argument("--passes", type=whole_number(1), default=4, help="at most (%(default)s)")
    for option, of in (
        ("gaps", "gaps"),
        ("max_rounds", "rounds"),
        ("parents", "parents"),
        ("children", "children"),
    ):
        parser.add_argument(
            f"--{option.replace('_', '-')}",
            type=whole_number(1),
            default=getattr(Settings("", ""), option),
            help=f"{of} of a pass, as for init (%(default)s)",
        )
    parser.add_argument("--trials", type=whole_number(1, 9999), help="of the calibration (as its fit says)")
    parser.add_argument("--tune", type=whole_number(1), help="warm-up draws a chain of a fit (%(default)s)")
    parser.add_argument("--draws", type=whole_number(4), help="kept draws a chain of a fit (%(default)s)")
    parser.add_argument("--seed", type=whole_number(0, 2**32 - 1), help="of the fits (%(default)s)")
    parser.add_argument("--output", type=Path, default=FILLED, help="where to (data/filled_benchs)")
    defaults = SamplerSettings()
    parser.set_defaults(tune=defaults.tune, draws=defaults.draws, seed=defaults.seed)
    return parser.parse_args()


def main() -> int:
    """Run passes until it is enough, write the filled benchmark, and say what it is."""
    arguments = parse_arguments()
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", arguments.name):
        raise InputError(f"name {arguments.name!r}: a name has letters, digits, '.', '_' and '-' alone")
    with packages_of("requirements_verifier.txt"), packages_of("requirements_irt.txt"):
        from propose.mass_fill.passes import Pass, run_pass, start_from_benchmark, start_from_pass
        from propose.mass_fill.releasing import release
        from propose.outcome import Outcome
    folder = folder_of(arguments.benchmark, f"mass-{arguments.name}").path
    settings = SamplerSettings(tune=arguments.tune, draws=arguments.draws, seed=arguments.seed)
    places = ["--panel", str(arguments.panel.resolve()), "--rewriter", str(arguments.rewriter.resolve())]
    shape = [
        part
        for option in ("gaps", "max_rounds", "parents", "children")
        for part in (f"--{option.replace('_', '-')}", str(getattr(arguments, option)))
    ]
    passes: list[Outcome] = []
    while True:
        one = Pass(folder / f"pass-{len(passes) + 1:02}", arguments.benchmark)
        if passes:
            start_from_pass(one, passes[-1])
        else:
            start_from_benchmark(one, data_root())
        spent = sum(outcome.state.spent.rollouts for outcome in passes)
        caps = (
            [] if arguments.max_rollouts is None else ["--max-rollouts", str(arguments.max_rollouts - spent)]
        )
        said = [] if arguments.trials is None else ["--trials", str(arguments.trials)]
        passes.append(run_pass(one, [*places, *shape, *caps, *said], [*places, *caps], settings))
        provenance = release(arguments.output, arguments.name, passes)
        print(
            f"pass {len(passes)}: {len(passes[-1].accepted)} items accepted, Max Gap "
            f"{provenance['before']['max_gap']:.4f} to {provenance['after']['max_gap']:.4f}, "
            f"{provenance['rollouts']:,} answers of the panel",
            flush=True,
        )
        enough = {
            f"Max Gap is under {arguments.max_gap:g}": provenance["after"]["max_gap"] < arguments.max_gap,
            "the answers are spent": (arguments.max_rollouts or math.inf) <= provenance["rollouts"],
            "the pass accepted nothing": not passes[-1].accepted,
            "all passes are done": len(passes) >= arguments.passes,
        }
        if any(enough.values()):
            break
    print(f"Ended: {next(why for why, so in enough.items() if so)}")
    if passes[0].config.simulated:
        print("The panel is SIMULATED: nothing here is a measurement of any model.")
    print(f"Wrote {arguments.output / arguments.name}.json and the folder beside it")
    return 0


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, found {text!r}")
    return value


if __name__ == "__main__":
    sys.argv[0] = "propose.mass_fill"  # what messages begin with; it would be __main__.py
    run(main)
