"""Estimate the ability of every model of a panel from its answers and the calibrated difficulties of the items.

P(correct) = g + (1 - g) * sigmoid(theta - b), theta ~ Normal(0, 1), b as uncertain as the calibration table says.

Input   --matrix: column model, then one column an item; cells are counts of correct answers, blank = never asked.
        --difficulty: item (or item_id), b_mean, b_sd, one row for each of these items, as scripts/fit_irt.py writes it.
        It may be fitted to this matrix or to other models' answers, which makes a difference where guessing helps: the
        diagnostics.json beside it tells, and without one the answers are taken for others.
Output  model,theta_mean,theta_sd,location_sd. location_sd is the part of theta_sd that all models share with the items.
        Nothing is done while the inputs are those of the last time (OUTPUT.inputs.json keeps their hash).

Examples:
  python -m verifier.fit_ability --matrix m.csv --n-trials 4 --difficulty difficulty.csv --output panel_ability.csv
  python -m verifier.fit_ability --matrix m.csv --trials-csv t.csv --guessing 0.25 --difficulty d.csv --output a.csv
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from irt.command import CommandParser, run, whole_number
from irt.io import InputError, atomic_writer, check_output, open_text, sha256_of, write_csv
from irt.response_matrix import read_guessing, read_response_matrix
from verifier.ability_calibration import read_calibration
from verifier.ability_posterior import Abilities, fit_ability

# Goes up with every change that changes figures, so that old ones are not taken for up to date.
ESTIMATOR = 1
HEADER = ["model", "theta_mean", "theta_sd", "location_sd"]
FEWEST_MODELS = 3


@dataclass(frozen=True)
class AbilityInputs:
    """What abilities are estimated from. Give ``n_trials`` or ``trials_csv``; ``guessing`` or ``guessing_csv``."""

    matrix: Path
    difficulty: Path
    n_trials: int | None = None
    trials_csv: Path | None = None
    guessing: float = 0.0
    guessing_csv: Path | None = None

    def files(self) -> dict[str, Path]:
        """Return the files by what they are."""
        named = {
            "matrix": self.matrix,
            "difficulty": self.difficulty,
            "trials": self.trials_csv,
            "guessing": self.guessing_csv,
        }
        return {name: path for name, path in named.items() if path is not None}

    def own_table(self) -> bool:
        """Return whether the diagnostics.json beside the table says that it was fitted to this matrix."""
        try:
            fit = json.loads(self.difficulty.with_name("diagnostics.json").read_bytes())
            return bool(fit["inputs"]["matrix"]["sha256"] == sha256_of(self.matrix))
        except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or of something else
            return False

    def sha256(self) -> str:
        """Return a hash of the files' contents, the settings and the estimator."""
        contents = {
            "estimator": ESTIMATOR,
            "n_trials": self.n_trials,
            "guessing": None if self.guessing_csv else self.guessing,
            "own_table": self.own_table(),
            "files": {name: sha256_of(path) for name, path in self.files().items()},
        }
        return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class PanelAbilities:
    """The abilities of the named models, as the file holds them; ``fitted`` is False if it was up to date."""

    models: tuple[str, ...]
    abilities: Abilities
    fitted: bool


def abilities_of(inputs: AbilityInputs, output: Path) -> PanelAbilities:
    """Return the abilities in ``output``, estimated first unless it was made from these inputs and is unchanged.

    Raises
    ------
    InputError
        If an input is wrong (with file, line and id), table and matrix have not the same items, there are fewer than
        three models, or ``output`` is another command's.
    OSError
        If a file cannot be opened.
    """
    wanted = inputs.sha256()
    if _up_to_date(output, wanted):
        return _read(output, fitted=False)
    _check_free(inputs, output)
    models, abilities = _estimate(inputs)
    write_csv(
        output,
        HEADER,
        (
            [model, f"{mean:.6f}", f"{sd:.6f}", f"{abilities.location_sd:.6f}"]
            for model, mean, sd in zip(models, abilities.mean, abilities.sd, strict=True)
        ),
    )
    # Last: it vouches for the table.
    with atomic_writer(_record_of(output)) as handle:
        json.dump({"inputs_sha256": wanted, "output_sha256": sha256_of(output)}, handle)
        handle.write("\n")
    return _read(output, fitted=True)


def _estimate(inputs: AbilityInputs) -> tuple[tuple[str, ...], Abilities]:
    matrix = read_response_matrix(inputs.matrix, n_trials=inputs.n_trials, trials_path=inputs.trials_csv)
    if len(matrix.models) < FEWEST_MODELS:
        raise InputError(
            f"{inputs.matrix}: {len(matrix.models)} models; a panel needs at least {FEWEST_MODELS}"
        )
    guessing = [inputs.guessing] * len(matrix.items)
    if inputs.guessing_csv is not None:
        guessing = read_guessing(inputs.guessing_csv, matrix.items)
    calibration = read_calibration(inputs.difficulty, matrix.items, inputs.matrix)
    return matrix.models, fit_ability(
        matrix.correct, matrix.trials, guessing, calibration, own_table=inputs.own_table()
    )


def _record_of(output: Path) -> Path:
    return output.with_name(output.name + ".inputs.json")


def _up_to_date(output: Path, wanted: str) -> bool:
    """Return whether the table is whole and was made from the wanted inputs; a damaged record is as good as none."""
    try:
        record = json.loads(_record_of(output).read_bytes())
        return record == {"inputs_sha256": wanted, "output_sha256": sha256_of(output)}
    except (FileNotFoundError, ValueError):  # what is not JSON or not text is a ValueError
        return False


def _read(output: Path, *, fitted: bool) -> PanelAbilities:
    with open_text(output) as handle:
        rows = list(csv.DictReader(handle))
    mean, sd, location_sd = (np.array([float(row[name]) for row in rows]) for name in HEADER[1:])
    return PanelAbilities(
        tuple(row["model"] for row in rows), Abilities(mean, sd, float(location_sd[0])), fitted
    )


def _check_free(inputs: AbilityInputs, output: Path) -> None:
    """Refuse to write over an input, or over the abilities of scripts/fit_irt.py."""
    check_output(output)
    if not output.exists():
        return
    if any(output.samefile(path) for path in inputs.files().values()):
        raise InputError(
            f"{output} is an input of this fit and would be overwritten; choose another --output"
        )
    if output.read_bytes().startswith(b"model,theta_mean,theta_sd,r_hat"):
        raise InputError(
            f"{output} was written by scripts/fit_irt.py and would be lost; choose another --output"
        )


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.add_argument("--matrix", type=Path, required=True, help="response matrix, .csv or .csv.gz")
    trials = parser.add_mutually_exclusive_group(required=True)
    trials.add_argument("--n-trials", type=whole_number(1), help="trials of every cell that is not blank")
    trials.add_argument("--trials-csv", type=Path, help="trials by cell, in the layout of the matrix")
    parser.add_argument(
        "--difficulty", type=Path, required=True, help="calibration table: item, b_mean, b_sd"
    )
    guessing = parser.add_mutually_exclusive_group()
    guessing.add_argument(
        "--guessing", type=_guessing, default=0.0, help="guessing probability of all items (0)"
    )
    guessing.add_argument("--guessing-csv", type=Path, help="item_id,guessing: one row an item")
    parser.add_argument("--output", type=Path, required=True, help="the table of abilities to write")
    return parser.parse_args()


def main() -> int:
    """Estimate unless it is done already, and say where the abilities are."""
    arguments = parse_arguments()
    check_no_trials_beside(arguments.matrix, arguments.trials_csv)
    inputs = AbilityInputs(
        matrix=arguments.matrix,
        difficulty=arguments.difficulty,
        n_trials=arguments.n_trials,
        trials_csv=arguments.trials_csv,
        guessing=arguments.guessing,
        guessing_csv=arguments.guessing_csv,
    )
    panel = abilities_of(inputs, arguments.output)
    if panel.fitted:
        fitted_to = "this matrix" if inputs.own_table() else "other answers"
        print(f"The difficulties were fitted to {fitted_to}")
        print(f"Wrote the abilities of {len(panel.models)} models to {arguments.output}")
    else:
        print(
            f"Nothing to do: {arguments.output} holds the abilities of {len(panel.models)} models from these inputs"
        )
    return 0


def check_no_trials_beside(matrix: Path, trials: Path | None) -> None:
    """Refuse to take every cell for fully asked where a trials.csv says that some were not."""
    beside = matrix.with_name("trials.csv")
    if trials is None and beside.exists():
        raise InputError(
            f"{beside} is there: some cells have fewer trials, and --n-trials would count the missing ones as wrong; "
            f"use --trials-csv {beside}, or remove it if it belongs to another matrix"
        )


def _guessing(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to below 1, found {text!r}")
    return value


if __name__ == "__main__":
    run(main)
