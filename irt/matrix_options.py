"""The options that say what the counts of a matrix are out of and how far guessing helps, and files that say otherwise.

Two commands that read a matrix share the options: scripts/fit_irt.py and verifier/fit_ability.py. Where the trials of a
matrix lie is the same for all that write or read one. Standard library only, Python 3.9+.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from irt.command import proportion, whole_number
from irt.io import InputError

# The matrix of a folder that is the benchmark's own, as verifier/rollout.py writes it.
PREPARED = "response_matrix"
TRIALS = "trials"
MOST_TRIALS = 999_999
# Control characters, halves of surrogate pairs (bytes of a file name that is not UTF-8) and ends of lines.
UNFIT = ("Cc", "Cs", "Zl", "Zp")


def add_matrix_options(parser: argparse.ArgumentParser) -> None:
    """Add --n-trials or --trials-csv (one is required), and --guessing or --guessing-csv (None if not given)."""
    trials = parser.add_mutually_exclusive_group(required=True)
    trials.add_argument(
        "--n-trials", type=whole_number(1, MOST_TRIALS), help="trials of every cell that is not blank"
    )
    trials.add_argument("--trials-csv", type=Path, help="trials by cell, in the layout of the matrix")
    guessing = parser.add_mutually_exclusive_group()
    guessing.add_argument(
        "--guessing", type=proportion(zero=True, one=False), help="guessing probability of all items (0)"
    )
    guessing.add_argument("--guessing-csv", type=Path, help="item_id,guessing: one row an item")


def matrix_stem(path: Path) -> str:
    """Return the name of a matrix's file without .csv or .csv.gz."""
    return path.name.removesuffix(".gz").removesuffix(".csv")


def unfit_name(name: str) -> bool:
    """Say whether a name is empty or has what no table or file could show: controls, line ends, bytes outside UTF-8."""
    return not name or any(unicodedata.category(character) in UNFIT for character in name)


def named_as_trials(path: Path) -> bool:
    """Say whether a file is called as the trials of a matrix are."""
    stem = matrix_stem(path)
    return stem == TRIALS or stem.endswith(f".{TRIALS}")


def trials_paths(matrix: Path) -> list[Path]:
    """Return where the trials by cell of a matrix may lie: NAME.trials.csv or .csv.gz beside NAME.csv.

    Those of a response_matrix.csv, which is alone in its folder, are in trials.csv or trials.csv.gz.
    """
    stem = matrix_stem(matrix)
    name = TRIALS if stem == PREPARED else f"{stem}.{TRIALS}"
    return [matrix.parent / f"{name}{suffix}" for suffix in (".csv", ".csv.gz")]


def find_trials(matrix: Path) -> Path | None:
    """Return the file beside a matrix that has its trials by cell, if there is one."""
    return next((path for path in trials_paths(matrix) if path.is_file()), None)


def without_trials(paths: Sequence[Path]) -> list[Path]:
    """Return these paths without the files of trials of others among them, as *.csv.gz finds them."""
    trials = {found.resolve() for found in map(find_trials, paths) if found}
    return [path for path in paths if path.resolve() not in trials]


def matrix_of_trials(path: Path) -> Path | None:
    """Return the matrix beside a file that is called as trials are, of which these are the trials, if it is there."""
    stem = matrix_stem(path)
    name = PREPARED if stem == TRIALS else stem.removesuffix(f".{TRIALS}")
    matrices = [path.with_name(f"{name}{suffix}") for suffix in (".csv", ".csv.gz")]
    return next((matrix for matrix in matrices if matrix.is_file() and find_trials(matrix) == path), None)


def trials_of_no_matrix(matrix: Path) -> Path | None:
    """Return a trials.csv beside a NAME.csv, unless a response_matrix.csv is there too, whose trials it then has."""
    if prepared_beside(matrix) is not None:
        return None
    return find_trials(matrix.parent / PREPARED)


def prepared_beside(path: Path) -> Path | None:
    """Return the response_matrix.csv or .csv.gz in the same folder, if there is one."""
    prepared = [path.parent / f"{PREPARED}{suffix}" for suffix in (".csv", ".csv.gz")]
    return next((matrix for matrix in prepared if matrix.is_file()), None)


def check_options_beside(matrix: Path, arguments: argparse.Namespace) -> None:
    """Refuse what trials by cell or a guessing.csv beside the matrix contradict, unless the options speak of them.

    scripts/prepare_response_matrix.py and verifier/rollout.py write them there; a fit without them would run all the
    same, and be wrong.

    Raises
    ------
    InputError
        If NAME.trials.csv or trials.csv is there (or packed as .csv.gz) and --trials-csv is not given, or guessing.csv
        is there and neither --guessing nor --guessing-csv is given.
    """
    guessing = matrix.with_name("guessing.csv")
    trials = find_trials(matrix) or find_trials(matrix.parent / PREPARED)
    if arguments.trials_csv is None and trials is not None:
        raise InputError(
            f"{trials} is there: some cells have fewer trials, and --n-trials would count the missing ones as wrong; "
            f"use --trials-csv {trials}, or remove it if it belongs to another matrix"
        )
    if arguments.guessing is None and arguments.guessing_csv is None and guessing.exists():
        raise InputError(
            f"{guessing} is there: some items can be guessed, and without it a lucky guess would count as ability; "
            f"use --guessing-csv {guessing}, or --guessing 0 if it belongs to another matrix"
        )
