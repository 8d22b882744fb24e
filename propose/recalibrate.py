"""Fit a run's accepted items together with the originals, and write the filled benchmark and the report.

Input   a run's folder (propose/results/BENCHMARK/RUN), finished or not, and the benchmark it was made for in
        BENCHFILL_DATA (data).
Output  in that folder: filled.json (id, question, answer), filled_items.jsonl (all that grading needs, and under
        source_item_id each item's own id), report.html, difficulty_before.csv, of the joint fit difficulty.csv,
        ability.csv, diagnostics.json, and recalibration.json, which is there only if all of them are of one
        recalibration.

DDM and Max Gap are those of the estimates; median and 90 % interval are those of the true difficulties by the posterior
draws, before of a fit of the originals alone, after of the joint one, which is on the scale of the calibration. Where
the run accepted nothing, filled.json has the originals alone, and the last lines say so.

Examples:
  python -m propose.recalibrate propose/results/aime26/first
  python -m propose.recalibrate propose/results/aime26/first --seed 7 --json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irt.command import CommandParser, packages_of, print_json, run, whole_number
from irt.io import atomic_writer, check_output, remove_file, write_csv
from irt.response_matrix import ResponseMatrix
from irt.settings import ESTIMATOR, SamplerSettings
from propose.filled import filled_name, filled_pool, write_filled
from verifier.items import write_items

if TYPE_CHECKING:
    from propose.outcome import Outcome
    from propose.recalibrating import Figure, Recalibration, Spread

SCHEMA_VERSION = 1
OUTPUTS = (
    *("difficulty.csv", "ability.csv", "diagnostics.json", "difficulty_before.csv"),
    *("filled_items.jsonl", "filled.json", "report.html", "recalibration.json"),
)


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.recalibrate"
    parser.add_argument("run", type=Path, metavar="RUN_FOLDER", help="the run's folder")
    parser.add_argument("--name", help="what ids begin with (the benchmark's name in capitals)")
    parser.add_argument("--tune", type=whole_number(1), help="warm-up draws a chain (%(default)s)")
    parser.add_argument("--draws", type=whole_number(4), help="kept draws a chain (%(default)s)")
    parser.add_argument("--seed", type=whole_number(0, 2**32 - 1), help="random seed (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    defaults = SamplerSettings()
    parser.set_defaults(tune=defaults.tune, draws=defaults.draws, seed=defaults.seed)
    return parser.parse_args()


def main() -> int:
    """Read, fit, write, and say what was written."""
    arguments = parse_arguments()
    with packages_of("requirements_verifier.txt"):
        from propose.outcome import read_outcome
        from propose.report_summary import worse_ddm
    outcome = read_outcome(arguments.run)
    name = arguments.name or filled_name(outcome.config.settings.benchmark)
    settings = replace(SamplerSettings(), tune=arguments.tune, draws=arguments.draws, seed=arguments.seed)
    found = finish(outcome, name, settings)
    if arguments.json:
        print_json(figures_of(outcome, found))
    else:
        if outcome.config.simulated:
            print("The panel is SIMULATED: these figures are no measurement of any model.")
        for what, spread in (("before", found.before), ("after", found.after)):
            print("\n".join(lines_of(what, spread)))
        if worse := worse_ddm(outcome, found.before.ddm.of_estimates, found.after.ddm.of_estimates):
            print(worse)
        if not outcome.accepted:
            print("The run has accepted no item: filled.json has the originals alone")
        print(f"Wrote filled.json, filled_items.jsonl, report.html and the fit to {arguments.run}")
    return 0


def finish(outcome: Outcome, name: str, settings: SamplerSettings, *, earlier: int = 0) -> Recalibration:
    """Recalibrate a run and write all its outputs.

    Parameters
    ----------
    name
        What the filled items' ids begin with.
    earlier
        How many of the benchmark's items, its last, were filled in before this run: they keep the prior of candidates,
        and what is called before is the benchmark without them.

    Raises
    ------
    InputError
        If an output cannot be written.
    """
    with packages_of("requirements_irt.txt"):
        from irt.fit_files import fit_figures, write_fit
        from propose.outcome import counts_of
        from propose.recalibrating import Counts, recalibrate
        from propose.report import report

    calibrated, folder = outcome.calibrated, outcome.folder.path
    for output in OUTPUTS:
        check_output(folder / output)
    counts = Counts(calibrated.correct, calibrated.trials, calibrated.guessing)
    new = counts_of(outcome.accepted, len(calibrated.models))
    first = len(calibrated.items) - earlier
    started = time.monotonic()
    found = recalibrate(
        counts.part(slice(first)),
        counts.part(slice(first, None)).and_then(new),
        calibrated.b_mean[:first],
        settings,
    )
    pool = filled_pool(name, calibrated.items, [one.item for one in outcome.accepted])
    ids = tuple(item.id for item in pool)
    matrix = ResponseMatrix(
        calibrated.models,
        ids,
        [[*a, *b] for a, b in zip(counts.correct.tolist(), new.correct.tolist(), strict=True)],
        [[*a, *b] for a, b in zip(counts.trials.tolist(), new.trials.tolist(), strict=True)],
    )
    figures = fit_figures(found.fit, matrix, chains=settings.chains, seconds=time.monotonic() - started)
    diagnostics = {
        "schema_version": SCHEMA_VERSION,
        **figures,
        "sampling": {"method": "marginal", **vars(settings)},
        "estimator": ESTIMATOR,
        "simulated_panel": outcome.config.simulated,
    }
    known = zip(ids[: len(calibrated.items)], calibrated.b_mean, calibrated.b_sd, strict=True)
    rows = [[identifier, f"{b:.6f}", f"{sd:.6f}"] for identifier, b, sd in known]
    with (
        atomic_writer(folder / "recalibration.json") as figures_file,
        atomic_writer(folder / "report.html") as report_file,
    ):
        report_file.write(report(outcome, found, ids))
        figures_file.write(json.dumps(figures_of(outcome, found), indent=2) + "\n")
        for handle in (report_file, figures_file):
            handle.flush()
        # They vouch for the rest: the old ones go before anything changes, the new ones come after all.
        for name in ("recalibration.json", "report.html"):
            remove_file(folder / name)
        write_fit(folder, matrix, found.fit, diagnostics)
        write_csv(folder / "difficulty_before.csv", ["item", "b_mean", "b_sd"], rows)
        write_items(folder / "filled_items.jsonl", pool)
        write_filled(folder / "filled.json", pool)
    return found


def figures_of(outcome: Outcome, found: Recalibration) -> dict[str, Any]:
    """Return what recalibration.json holds."""
    from propose.recalibrating import scale_note

    spent = outcome.state.spent
    return {
        "schema_version": SCHEMA_VERSION,
        "simulated_panel": outcome.config.simulated,
        "scale": scale_note(found),
        "shift": round(found.shift, 6),
        "before": asdict(found.before),
        "after": asdict(found.after),
        "accepted": len(outcome.accepted),
        "expected_false_landings": round(outcome.state.expected_false_landings, 4),
        "rounds": len(outcome.state.rounds),
        "candidates": len(outcome.state.candidates),
        "rollouts": spent.rollouts,
        "panel_tokens": spent.panel_tokens,
        "rewriter_tokens": spent.rewriter_tokens,
    }


def lines_of(what: str, spread: Spread) -> list[str]:
    """Return a spread as two lines for people: of the estimates, and of the true difficulties."""
    ddm, gap = spread.ddm, spread.max_gap

    def truth(figure: Figure) -> str:
        return f"median {figure.median:.4f}, 90 % {figure.low:.4f} to {figure.high:.4f}"

    return [
        f"{what:7}{spread.items:5,} items   estimates: DDM {ddm.of_estimates:.4f}; Max Gap {gap.of_estimates:.4f}",
        f"{'':21}true difficulties: DDM {truth(ddm)}; Max Gap {truth(gap)}",
    ]


if __name__ == "__main__":
    run(main)
