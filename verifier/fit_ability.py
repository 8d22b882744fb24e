"""Estimate the ability of every model of a panel from its answers and the calibrated difficulties of the items.

P(correct) = g + (1 - g) * sigmoid(theta - b), theta ~ Normal(0, 1), b as uncertain as the calibration table says.

Input   --matrix: column model, then one column an item; cells are counts of correct answers, blank = never asked.
        With a trials.csv or guessing.csv beside it, the options that name them are required.
        --difficulty: item (or item_id), b_mean, b_sd, as scripts/fit_irt.py writes it: one row for each of these items,
        and for any others that it was fitted to.
        Whose answers it was fitted to makes a difference where guessing helps: to this matrix, if the diagnostics.json
        beside it says so; to answers of the models that an ability.csv of fit_irt.py beside it names, which are taken
        for those given here, with a warning; else to others.
Output  model,theta_mean,theta_sd,location_sd. location_sd is the part of theta_sd that all models share with the items.
        Nothing is done while the inputs are those of the last time (OUTPUT.inputs.json keeps their hash).

Examples:
  python -m verifier.fit_ability --matrix m.csv --n-trials 4 --difficulty difficulty.csv --output panel_ability.csv
  python -m verifier.fit_ability --matrix m.csv --trials-csv t.csv --guessing 0.25 --difficulty d.csv --output a.csv
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irt.command import CommandParser, packages_of, run
from irt.matrix_options import add_matrix_options, check_options_beside


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m verifier.fit_ability"
    parser.add_argument("--matrix", type=Path, required=True, help="response matrix, .csv or .csv.gz")
    add_matrix_options(parser)
    parser.add_argument(
        "--difficulty", type=Path, required=True, help="calibration table: item, b_mean, b_sd"
    )
    parser.add_argument("--output", type=Path, required=True, help="the table of abilities to write")
    return parser.parse_args()


def main() -> int:
    """Estimate unless it is done already, and say where the abilities are."""
    arguments = parse_arguments()
    check_options_beside(arguments.matrix, arguments)
    with packages_of("requirements_irt.txt"):
        from verifier.ability_calibration import listed
        from verifier.ability_file import AbilityInputs, abilities_of
    inputs = AbilityInputs(
        matrix=arguments.matrix,
        difficulty=arguments.difficulty,
        n_trials=arguments.n_trials,
        trials_csv=arguments.trials_csv,
        guessing=arguments.guessing or 0.0,
        guessing_csv=arguments.guessing_csv,
    )
    panel = abilities_of(inputs, arguments.output)
    count = len(panel.models)
    if panel.seen and (inputs.guessing or inputs.guessing_csv):
        print(
            f"warning: {inputs.difficulty} was fitted to another matrix, with answers of {listed(panel.seen)}; those "
            f"in {inputs.matrix} are taken for the same answers. If they are new, give these models other names there",
            file=sys.stderr,
        )
    if not panel.fitted:
        print(f"Nothing to do: {arguments.output} holds the abilities of {count} models from these inputs")
        return 0
    if panel.seen is None:
        fitted_to = "this matrix"
    else:
        fitted_to = f"answers of {len(panel.seen)} of these models" if panel.seen else "other answers"
    print(f"The difficulties were fitted to {fitted_to}")
    print(f"Wrote the abilities of {count} models to {arguments.output}")
    return 0


if __name__ == "__main__":
    run(main)
