"""The options that say what the counts of a matrix are out of and how far guessing helps, and files that say otherwise.

Two commands that read a matrix share them: scripts/fit_irt.py and verifier/fit_ability.py. Standard library only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from irt.command import proportion, whole_number
from irt.io import InputError


def add_matrix_options(parser: argparse.ArgumentParser) -> None:
    """Add --n-trials or --trials-csv (one is required), and --guessing or --guessing-csv (None if not given)."""
    trials = parser.add_mutually_exclusive_group(required=True)
    trials.add_argument("--n-trials", type=whole_number(1), help="trials of every cell that is not blank")
    trials.add_argument("--trials-csv", type=Path, help="trials by cell, in the layout of the matrix")
    guessing = parser.add_mutually_exclusive_group()
    guessing.add_argument(
        "--guessing", type=proportion(zero=True, one=False), help="guessing probability of all items (0)"
    )
    guessing.add_argument("--guessing-csv", type=Path, help="item_id,guessing: one row an item")


def check_options_beside(matrix: Path, arguments: argparse.Namespace) -> None:
    """Refuse what a trials.csv or guessing.csv beside the matrix contradicts, unless the options speak of it.

    scripts/prepare_response_matrix.py and verifier/rollout.py write them there; a fit without them would run all the
    same, and be wrong.

    Raises
    ------
    InputError
        If trials.csv is there and --trials-csv is not given, or guessing.csv is there and neither --guessing nor
        --guessing-csv is given.
    """
    trials, guessing = matrix.with_name("trials.csv"), matrix.with_name("guessing.csv")
    if arguments.trials_csv is None and trials.exists():
        raise InputError(
            f"{trials} is there: some cells have fewer trials, and --n-trials would count the missing ones as wrong; "
            f"use --trials-csv {trials}, or remove it if it belongs to another matrix"
        )
    if arguments.guessing is None and arguments.guessing_csv is None and guessing.exists():
        raise InputError(
            f"{guessing} is there: some items can be guessed, and without it a lucky guess would count as ability; "
            f"use --guessing-csv {guessing}, or --guessing 0 if it belongs to another matrix"
        )
