"""Turn response rows into the matrix of correct counts that fit_irt.py reads.

Input: a .csv or .csv.gz file with the columns model, item_id, trial and correct (in any order; others are
ignored), one response a row. correct is 0 or 1; a trial is any id that its model and item have only once;
every model has --n-trials trials of every item.

Output: a CSV file with the column model and then one column an item; a cell is the number of correct answers.
With --allow-missing a pair that was never asked is blank; where some pair has fewer trials than --n-trials, a
second file of the same layout (--trials-output) holds the number of trials of every pair: trials.csv beside a
response_matrix.csv, NAME.trials.csv beside any other NAME.csv, where the commands that read matrices look for it.

Nothing is installed for this: any Python from 3.9 on runs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import CommandParser, run, whole_number
from irt.io import InputError, atomic_writer, csv_rows, open_text, remove_file, write_csv, write_rows
from irt.matrix_options import named_as_trials, trials_paths
from irt.responses import Numbers, ResponseCounts, check_trials, count_responses

EXAMPLES = """examples:
  python3 scripts/prepare_response_matrix.py responses.csv --n-trials 8 \\
      --output my_benchmark/response_matrix.csv
  python3 scripts/prepare_response_matrix.py responses.csv.gz --n-trials 8 --allow-missing \\
      --output my_benchmark/response_matrix.csv --trials-output my_benchmark/trials.csv
"""


def check_paths(responses: Path, output: Path, trials_output: Path) -> None:
    """Refuse output paths that would overwrite the input or each other, or that could not be read back."""
    for option, path in (("--output", output), ("--trials-output", trials_output)):
        if same_file(path, responses):
            raise InputError(f"{option} {path} is the input file; choose another name")
        if path.is_dir():
            raise InputError(f"{option} {path} is a folder; name a file in it")
        if path.suffix == ".gz":
            raise InputError(f"{option} {path}: the output is plain text; choose a name that ends in .csv")
    if named_as_trials(output):
        raise InputError(
            f"--output {output}: the trials of a matrix are called so; choose another name for the matrix"
        )
    if same_file(output, trials_output):
        raise InputError(f"--output and --trials-output are both {output}; choose two names")


def same_file(one: Path, other: Path) -> bool:
    """Say whether two paths are one file, also through links."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def refuse_stale_trials(output: Path, trials_output: Path, *, replaced: bool) -> None:
    """Stop if trials are there that this run does not replace: beside the matrix, or where --trials-output says."""
    for path in trials_paths(output):
        if path.exists() and not (replaced and same_file(path, trials_output)):
            raise InputError(
                f"{path} is there from an earlier run, and would be taken for the trials of the new matrix, which it "
                "does not fit; delete it"
            )
    if trials_output.exists() and not replaced:
        raise InputError(
            f"{trials_output} is there, and this run writes no trials; delete it or leave out --trials-output"
        )


def write_matrices(counts: ResponseCounts, output: Path, trials_output: Path | None) -> None:
    """Write the matrix, and the numbers of trials where they are wanted: both files, or none if one fails."""
    header = ["model", *counts.items]
    if trials_output is None:
        write_csv(output, header, named(counts.models, counts.correct))
        return
    with atomic_writer(output) as matrix, atomic_writer(trials_output) as trials:
        write_rows(trials, header, named(counts.models, counts.trials))
        write_rows(matrix, header, named(counts.models, counts.correct))
        for handle in (trials, matrix):
            handle.flush()
        # Killed between the two, it must not leave a new matrix beside the trials of an old one.
        remove_file(output)


def named(models: Iterable[str], numbers: Numbers) -> Iterable[list[object]]:
    """Yield the rows of a matrix with the model's id in front; None becomes a blank cell."""
    return ([model, *row] for model, row in zip(models, numbers))


def print_notes(counts: ResponseCounts) -> None:
    """Say what a reader of the matrix should know, on standard error."""
    pairs = len(counts.models) * len(counts.items)
    if counts.blanks:
        note(f"{counts.blanks:,} of {pairs:,} (model, item) pairs were never asked; their cells are blank")
    for what, ids, total in (
        ("models", counts.constant_models(), len(counts.models)),
        ("items", counts.constant_items(), len(counts.items)),
    ):
        if ids:
            first = ", ".join(map(repr, ids[:3])) + (", ..." if len(ids) > 3 else "")
            note(f"{len(ids):,} of {total:,} {what} have only right or only wrong answers: {first}")


def note(text: str) -> None:
    """Print a note on standard error."""
    print(f"Note: {text}", file=sys.stderr)


def main() -> int:
    """Read the arguments, count, write, and say what was written."""
    parser = CommandParser(__doc__, EXAMPLES)
    parser.add_argument("responses", type=Path, help="response rows, .csv or .csv.gz")
    parser.add_argument(
        "--n-trials", type=whole_number(1), required=True, help="trials that every (model, item) pair has"
    )
    parser.add_argument("--output", type=Path, required=True, help="the matrix of correct counts")
    parser.add_argument("--allow-missing", action="store_true", help="accept fewer trials than --n-trials")
    parser.add_argument(
        "--trials-output",
        type=Path,
        help="numbers of trials where they differ (default: beside --output, trials.csv for response_matrix.csv, else "
        "NAME.trials.csv)",
    )
    args = parser.parse_args()

    trials_output = args.trials_output or trials_paths(args.output)[0]
    check_paths(args.responses, args.output, trials_output)
    # Before the long read; only with --allow-missing can some pair have fewer trials, which are then written.
    refuse_stale_trials(args.output, trials_output, replaced=args.allow_missing)

    source = str(args.responses)
    with open_text(source) as handle:
        counts = count_responses(source, csv_rows(source, handle))
    check_trials(source, counts, args.n_trials, args.allow_missing)

    uneven = counts.uneven(args.n_trials)
    refuse_stale_trials(args.output, trials_output, replaced=uneven)
    write_matrices(counts, args.output, trials_output if uneven else None)
    print_notes(counts)
    written = f"{args.output} and {trials_output}" if uneven else str(args.output)
    print(
        f"Wrote {written}: {len(counts.models):,} models, {len(counts.items):,} items, "
        f"{counts.responses:,} responses"
    )
    return 0


if __name__ == "__main__":
    run(main)
