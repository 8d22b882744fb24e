"""Fill a whole benchmark: runs of BenchFill, each on what the one before has left, until no gap is wide any more.

Input   as for `python -m propose.init`: pool, matrix and calibration of BENCHMARK in BENCHFILL_DATA (data).
Output  in --output (data/filled_benchs): NAME.json (id, question, answer) and the folder NAME (all that grading needs,
        difficulties before and after, provenance). The passes are in BENCHFILL_RESULTS/BENCHMARK/mass-NAME.

It ends when Max Gap is under --max-gap, when --max-rollouts answers of the panel or --max-tokens tokens are spent,
after --passes passes, or when a pass accepts nothing; a benchmark that is under --max-gap already is left alone.
Stopped at any moment, the same command goes on. Where a pass stands:
BENCHFILL_DATA=PASS/data BENCHFILL_RESULTS=PASS/results python -m propose.status BENCHMARK fill

Examples:
  python -m propose.mass_fill aime26 AIME26 --panel verifier/panel.toml --max-gap 0.1 --max-rollouts 50000
  python -m propose.mass_fill demo SIM-DEMO --panel verifier/panels/simulated.toml \
      --rewriter propose/rewriters/simulated.toml
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irt.command import CommandParser, packages_of, proportion, run, whole_number
from irt.difficulty import diagnose
from irt.difficulty_csv import read_difficulties
from irt.io import InputError
from irt.settings import SamplerSettings
from propose.calibrated import check_present, files_of
from propose.rewriter import DEFAULT, read_rewriter
from propose.run_folder import data_root, folder_of
from propose.settings import Settings
from verifier.panel import read_panel

if TYPE_CHECKING:
    from propose.outcome import Outcome

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
        "--max-gap",
        type=proportion(zero=True, one=True),
        default=0.1,
        help="no gap may be as wide, as a share of the whole range, 0 to 1 (%(default)s)",
    )
    parser.add_argument("--max-rollouts", type=whole_number(1, 10**15), help="answers of the panel in all")
    parser.add_argument("--max-tokens", type=whole_number(1, 10**15), help="tokens written by all, in all")
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
        from propose.mass_fill.passes import Pass, run_pass, start_from_benchmark, start_from_pass, started
        from propose.mass_fill.releasing import check_ours, release
    folder = folder_of(arguments.benchmark, f"mass-{arguments.name}").path
    first = Pass(folder / "pass-01", arguments.benchmark)
    check_ours(arguments.output, arguments.name, started(first))
    panel, rewriter = read_panel(arguments.panel), read_rewriter(arguments.rewriter)
    longest = max(one.max_tokens for one in (*panel.verifiers, rewriter.model))
    settings = SamplerSettings(tune=arguments.tune, draws=arguments.draws, seed=arguments.seed)
    files = files_of(data_root(), arguments.benchmark)
    check_present(files)
    max_gap = _max_gap(files.difficulty)
    passes: list[Outcome] = []
    while (why := enough(arguments, passes, max_gap, longest)) is None:
        one = Pass(folder / f"pass-{len(passes) + 1:02}", arguments.benchmark)
        if passes:
            start_from_pass(one, passes[-1])
        else:
            start_from_benchmark(one, data_root())
        init_options, run_options = options_of(arguments, passes)
        earlier = sum(len(outcome.accepted) for outcome in passes)
        passes.append(run_pass(one, init_options, run_options, settings, earlier=earlier))
        provenance = release(arguments.output, arguments.name, passes)
        max_gap = provenance["after"]["max_gap"]
        print(
            f"pass {len(passes)}: {len(passes[-1].accepted)} items accepted, Max Gap "
            f"{provenance['before']['max_gap']:.4f} to {max_gap:.4f}, {provenance['rollouts']:,} answers of the panel, "
            f"{provenance['tokens']:,} tokens",
            file=sys.stderr,
            flush=True,
        )
    print(f"Ended: {why}")
    if not passes:
        print("No pass was made, and nothing was written")
        return 0
    if passes[0].config.simulated:
        print("The panel is SIMULATED: nothing here is a measurement of any model.")
    print(f"Wrote {arguments.output / arguments.name}.json and the folder beside it")
    return 0


def enough(
    arguments: argparse.Namespace, passes: Sequence[Outcome], max_gap: float, longest: int
) -> str | None:
    """Return why no further pass is made; None if one is.

    Parameters
    ----------
    max_gap
        The benchmark's, after these passes.
    longest
        The most tokens that one answer of anybody may take.
    """
    rollouts, tokens = _spent(passes)
    if max_gap < arguments.max_gap:
        return f"Max Gap is {max_gap:.4f}, under {arguments.max_gap:g}"
    if arguments.max_rollouts is not None and rollouts >= arguments.max_rollouts:
        return f"{rollouts:,} of at most {arguments.max_rollouts:,} answers of the panel are spent"
    if arguments.max_tokens is not None and tokens + longest > arguments.max_tokens:
        return f"{tokens:,} of at most {arguments.max_tokens:,} tokens are spent, and one answer may take {longest:,}"
    if passes and not passes[-1].accepted:
        return "the last pass accepted nothing"
    if len(passes) >= arguments.passes:
        return f"all {arguments.passes} passes are done"
    return None


def options_of(arguments: argparse.Namespace, passes: Sequence[Outcome]) -> tuple[list[str], list[str]]:
    """Return the options of init and of run for the pass that follows these; its caps are what they have left."""
    rollouts, tokens = _spent(passes)
    shared = ["--panel", str(arguments.panel.resolve()), "--rewriter", str(arguments.rewriter.resolve())]
    if arguments.max_rollouts is not None:
        shared += ["--max-rollouts", str(arguments.max_rollouts - rollouts)]
    if arguments.max_tokens is not None:
        shared += ["--max-tokens", str(arguments.max_tokens - tokens)]
    shape = [
        part
        for option in ("gaps", "max_rounds", "parents", "children")
        for part in (f"--{option.replace('_', '-')}", str(getattr(arguments, option)))
    ]
    trials = [] if arguments.trials is None else ["--trials", str(arguments.trials)]
    return [*shared, *shape, *trials], shared


def _spent(passes: Sequence[Outcome]) -> tuple[int, int]:
    """Return the panel's answers and all tokens of some passes."""
    spent = [outcome.state.spent for outcome in passes]
    return sum(one.rollouts for one in spent), sum(one.tokens for one in spent)


def _max_gap(difficulty: Path) -> float:
    values = read_difficulties(difficulty).values
    try:
        return diagnose(values).max_gap
    except ValueError as error:
        raise InputError(f"{difficulty}: {error}; there is no scale to find gaps on") from error


if __name__ == "__main__":
    sys.argv[0] = "propose.mass_fill"  # what messages begin with; it would be __main__.py
    run(main)
