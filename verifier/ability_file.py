"""The abilities of a panel as a file, made once from files of answers and difficulties, and again when one changes."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from irt.io import InputError, atomic_writer, check_output, open_text, sha256_of, write_csv
from irt.response_matrix import read_guessing, read_response_matrix
from verifier.ability_calibration import FIT_COLUMNS, models_seen, read_calibration
from verifier.ability_posterior import Abilities, fit_ability

# Goes up with every change that changes figures, so that old ones are not taken for up to date.
ESTIMATOR = 2
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

    def sha256(self, seen: frozenset[str] | None) -> str:
        """Return a hash of the files' contents, the settings, the models that the table has seen, the estimator."""
        contents = {
            "estimator": ESTIMATOR,
            "n_trials": self.n_trials,
            "guessing": None if self.guessing_csv else self.guessing,
            "seen": None if seen is None else sorted(seen),
            "files": {name: sha256_of(path) for name, path in self.files().items()},
        }
        return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class PanelAbilities:
    """The abilities of the named models, as the file holds them.

    Attributes
    ----------
    seen
        The models that the table has seen, by their names alone (see ``models_seen``); None if it was fitted to
        exactly this matrix.
    fitted
        False if the file was up to date.
    """

    models: tuple[str, ...]
    abilities: Abilities
    seen: tuple[str, ...] | None
    fitted: bool


def abilities_of(inputs: AbilityInputs, output: Path) -> PanelAbilities:
    """Return the abilities in ``output``, estimated first unless it was made from these inputs and is unchanged.

    Raises
    ------
    InputError
        If an input is wrong (with file, line and id), an item of the matrix is not in the table, there are fewer than
        three models, or ``output`` is another command's.
    OSError
        If a file cannot be opened.
    """
    seen = models_seen(inputs.difficulty, inputs.matrix)
    wanted = inputs.sha256(seen)
    if _up_to_date(output, wanted):
        return _read(output, seen, fitted=False)
    _check_free(inputs, output)
    models, abilities = _estimate(inputs, seen)
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
    return _read(output, seen, fitted=True)


def _estimate(inputs: AbilityInputs, seen: frozenset[str] | None) -> tuple[tuple[str, ...], Abilities]:
    matrix = read_response_matrix(inputs.matrix, n_trials=inputs.n_trials, trials_path=inputs.trials_csv)
    if len(matrix.models) < FEWEST_MODELS:
        raise InputError(
            f"{inputs.matrix}: {len(matrix.models)} models; a panel needs at least {FEWEST_MODELS}"
        )
    guessing = [inputs.guessing] * len(matrix.items)
    if inputs.guessing_csv is not None:
        guessing = read_guessing(inputs.guessing_csv, matrix.items)
    calibration = read_calibration(inputs.difficulty, matrix.items, inputs.matrix)
    own = [seen is None or model in seen for model in matrix.models]
    return matrix.models, fit_ability(matrix.correct, matrix.trials, guessing, calibration, own_table=own)


def _record_of(output: Path) -> Path:
    return output.with_name(output.name + ".inputs.json")


def _up_to_date(output: Path, wanted: str) -> bool:
    """Return whether the table is whole and was made from the wanted inputs; a damaged record is as good as none."""
    try:
        record = json.loads(_record_of(output).read_bytes())
        return record == {"inputs_sha256": wanted, "output_sha256": sha256_of(output)}
    except (FileNotFoundError, ValueError, RecursionError):  # what is not JSON or not text is a ValueError
        return False


def _read(output: Path, seen: frozenset[str] | None, *, fitted: bool) -> PanelAbilities:
    with open_text(output) as handle:
        rows = list(csv.DictReader(handle))
    mean, sd, location_sd = (np.array([float(row[name]) for row in rows]) for name in HEADER[1:])
    models = tuple(row["model"] for row in rows)
    return PanelAbilities(
        models,
        Abilities(mean, sd, float(location_sd[0])),
        None if seen is None else tuple(model for model in models if model in seen),
        fitted,
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
    if output.read_bytes().startswith(",".join(FIT_COLUMNS).encode()):
        raise InputError(
            f"{output} was written by scripts/fit_irt.py and would be lost; choose another --output"
        )
