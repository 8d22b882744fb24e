"""scripts/prepare_response_matrix.py as its users run it: what it writes, and what it leaves alone."""

from __future__ import annotations

import csv
import gzip
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, Sequence

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SCRIPT = SCRIPTS / "prepare_response_matrix.py"

HEADER = "model,item_id,trial,correct\n"
EXAMPLE = (
    HEADER + "model-a,q0,0,1\nmodel-a,q0,1,0\nmodel-a,q1,0,1\nmodel-a,q1,1,1\n"
    "model-b,q0,0,0\nmodel-b,q0,1,0\nmodel-b,q1,0,1\nmodel-b,q1,1,0\n"
)
EXAMPLE_MATRIX = "model,q0,q1\nmodel-a,1,2\nmodel-b,0,1\n"
# Without model-b's answers to q1, and one of its two to q0.
UNEVEN = "".join(EXAMPLE.splitlines(keepends=True)[:6])


def prepare(
    folder: Path,
    *args: str,
    python: Sequence[str] = (sys.executable,),
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*python, str(SCRIPT), *args],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        preexec_fn=before,
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuse(folder: Path, *args: str) -> str:
    """Run, expect one line on standard error, status 2 and no file touched; return the line without prefix."""
    before = files(folder)
    done = prepare(folder, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert files(folder) == before
    prefix = "prepare_response_matrix.py: error: "
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1
    return done.stderr[len(prefix) : -1]


def test_the_worked_example(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(EXAMPLE)
    done = prepare(tmp_path, "r.csv", "--n-trials", "2", "--output", "my_benchmark/response_matrix.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Wrote my_benchmark/response_matrix.csv: 2 models, 2 items, 8 responses\n"
    assert (tmp_path / "my_benchmark" / "response_matrix.csv").read_bytes() == EXAMPLE_MATRIX.encode()
    assert len(files(tmp_path)) == 2


def test_gzip_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(("\ufeff" + EXAMPLE.replace("\n", "\r\n")).encode()))
    assert prepare(tmp_path, "r.csv.gz", "--n-trials", "2", "--output", "m.csv").returncode == 0
    assert (tmp_path / "m.csv").read_text() == EXAMPLE_MATRIX


def test_ids_survive_unchanged(tmp_path: Path) -> None:
    models = ["007", "1e3", " a", "a ", "a", "ä, ö", 'say "x"', "\u4f60\u597d"]
    items = ["model", "1.0", "1", "two\nlines", "two\r\nlines", " ", "TRUE", "-"]
    with open(tmp_path / "r.csv", "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["correct", "trial", "why", "item_id", "model"])
        writer.writerows([i % 2, " t", "", item, model] for i, model in enumerate(models) for item in items)
    assert prepare(tmp_path, "r.csv", "--n-trials", "1", "--output", "m.csv").returncode == 0
    with open(tmp_path / "m.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    assert rows == [["model", *items], *([model, *[str(i % 2)] * 8] for i, model in enumerate(models))]


def test_allow_missing_writes_blanks_and_the_numbers_of_trials(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(UNEVEN)
    done = prepare(tmp_path, "r.csv", "--n-trials", "2", "--output", "m/m.csv", "--allow-missing")
    assert done.stdout == "Wrote m/m.csv and m/m.trials.csv: 2 models, 2 items, 5 responses\n"
    assert done.stderr == (
        "Note: 1 of 4 (model, item) pairs were never asked; their cells are blank\n"
        "Note: 1 of 2 models have only right or only wrong answers: 'model-b'\n"
        "Note: 1 of 2 items have only right or only wrong answers: 'q1'\n"
    )
    assert (tmp_path / "m" / "m.csv").read_text() == "model,q0,q1\nmodel-a,1,2\nmodel-b,0,\n"
    assert (tmp_path / "m" / "m.trials.csv").read_text() == "model,q0,q1\nmodel-a,2,2\nmodel-b,1,\n"


def test_allow_missing_writes_no_trials_where_every_pair_asked_has_all(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("".join(EXAMPLE.splitlines(keepends=True)[:7]))
    done = prepare(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", "--allow-missing")
    assert done.stdout == "Wrote m.csv: 2 models, 2 items, 6 responses\n"
    assert (tmp_path / "m.csv").read_text() == "model,q0,q1\nmodel-a,1,2\nmodel-b,0,\n"
    assert len(files(tmp_path)) == 2


def test_each_matrix_of_a_folder_has_trials_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(UNEVEN)
    for name, trials in (
        ("a.csv", "a.trials.csv"),
        ("b.c.csv", "b.c.trials.csv"),
        ("response_matrix.csv", "trials.csv"),
    ):
        done = prepare(tmp_path, "r.csv", "--n-trials", "2", "--output", name, "--allow-missing")
        assert done.stdout == f"Wrote {name} and {trials}: 2 models, 2 items, 5 responses\n", done.stderr
    assert len(files(tmp_path)) == 7


def test_trials_output_has_the_name_asked_for(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(UNEVEN)
    paths = ("--output", "m.csv", "--trials-output", "t/n.csv")
    done = prepare(tmp_path, "r.csv", "--n-trials", "2", "--allow-missing", *paths)
    assert done.stdout == "Wrote m.csv and t/n.csv: 2 models, 2 items, 5 responses\n"
    assert (tmp_path / "t" / "n.csv").exists() and not (tmp_path / "m.trials.csv").exists()


@pytest.mark.parametrize("options", [[], ["--allow-missing"]])
def test_a_trials_file_of_an_earlier_run_never_stays_beside_a_matrix_it_does_not_fit(
    tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "r.csv").write_text(UNEVEN)
    earlier = prepare(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", "--allow-missing")
    assert earlier.returncode == 0 and (tmp_path / "m.trials.csv").exists()
    (tmp_path / "r.csv").write_text(EXAMPLE)
    stale = (
        "m.trials.csv is there from an earlier run, and would be taken for the trials of the new matrix, which it does "
        "not fit; delete it"
    )
    assert refuse(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", *options) == stale
    # Nor may it stay if this run writes its own elsewhere.
    elsewhere = ["--trials-output", "other.csv"]
    assert refuse(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", *options, *elsewhere) == stale
    (tmp_path / "m.trials.csv").rename(tmp_path / "m.trials.csv.gz")
    assert refuse(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", *options) == (
        stale.replace("m.trials.csv", "m.trials.csv.gz")
    )


@pytest.mark.parametrize("options", [[], ["--allow-missing"]])
def test_a_file_elsewhere_is_refused_only_if_no_trials_are_written(
    tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "keep.csv").write_text("old")
    (tmp_path / "r.csv").write_text(EXAMPLE)
    arguments = ["r.csv", "--n-trials", "2", "--output", "m.csv", "--trials-output", "keep.csv"]
    assert refuse(tmp_path, *arguments, *options) == (
        "keep.csv is there, and this run writes no trials; delete it or leave out --trials-output"
    )
    (tmp_path / "r.csv").write_text(UNEVEN)
    done = prepare(tmp_path, *arguments, "--allow-missing")
    assert done.returncode == 0 and (tmp_path / "keep.csv").read_text().startswith("model,q0,q1\n")


def test_outputs_that_are_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(UNEVEN)
    (tmp_path / "kept").mkdir()
    for name in ("m.csv", "m.trials.csv"):
        (tmp_path / "kept" / name).write_text("old")
        (tmp_path / name).symlink_to(f"kept/{name}")
    done = prepare(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / name).is_symlink() for name in ("m.csv", "m.trials.csv"))
    assert (tmp_path / "kept" / "m.csv").read_text() == "model,q0,q1\nmodel-a,1,2\nmodel-b,0,\n"


RULE = (
    ". A row needs one cell for each column, ids that are not empty, correct 0 or 1, "
    "and a trial that its model and item have only once"
)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "r.csv: the file is empty; its first line must be model,item_id,trial,correct"),
        ("\n\n", "r.csv: the file is empty; its first line must be model,item_id,trial,correct"),
        (HEADER, "r.csv: no responses below the column names; add one row for each answer"),
        (
            "model,item,trial,correct\na,q,0,1\n",
            "r.csv:1: no column 'item_id'; the columns there are 'model', 'item', 'trial', 'correct'; "
            "the first line must hold model,item_id,trial,correct once each",
        ),
        (
            "trial,model,item_id,correct,trial\n0,a,q,1,0\n",
            "r.csv:1: more than one column 'trial'; the columns there are 'trial', 'model', 'item_id', 'correct', "
            "'trial'; the first line must hold model,item_id,trial,correct once each",
        ),
        (EXAMPLE + "a,q,0\n", "r.csv:10: 3 cells instead of 4" + RULE),
        (EXAMPLE + "a,q,0,1,\n", "r.csv:10: 5 cells instead of 4" + RULE),
        (EXAMPLE + ",q,0,1\na,,0,1\na,q,,1\n", "r.csv:10: model is empty; r.csv:11: item_id is empty; "
         "r.csv:12: trial is empty" + RULE),
        (EXAMPLE + "a,q,0,\n\na,q,0,yes\n",
         "r.csv:10: correct is empty; r.csv:12: correct is 'yes', not 0 or 1" + RULE),
        (
            EXAMPLE + "model-b,q0,1,1\n",
            "r.csv:10: trial '1' of model 'model-b', item 'q0' is there already" + RULE,
        ),
        (EXAMPLE + 'a,"q"x,0,1\n', "r.csv:10: not valid CSV (',' expected after '\"')"),
        (
            UNEVEN,
            "r.csv: wrong number of trials: model 'model-b', item 'q0': found 1, expected 2; model 'model-b', "
            "item 'q1': found 0, expected 2. To mend it, add the missing rows, or accept them with --allow-missing",
        ),
        (
            EXAMPLE + "model-b,q1,2,1\n",
            "r.csv: wrong number of trials: model 'model-b', item 'q1': found 3, expected 2. "
            "To mend it, remove the surplus rows or raise --n-trials",
        ),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_counted(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    (tmp_path / "m.csv").write_text("the old matrix")
    assert refuse(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv") == message
    # What is missing can be accepted; all else stays a mistake.
    if text != UNEVEN:
        assert refuse(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv", "--allow-missing") == message


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(EXAMPLE.encode() + b"caf\xe9,q,0,1\n")
    assert "r.csv: not UTF-8 text" in refuse(tmp_path, "r.csv", "--n-trials", "2", "--output", "m.csv")
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(EXAMPLE.encode())[:-10])
    assert "r.csv.gz: not a whole gzip" in refuse(
        tmp_path, "r.csv.gz", "--n-trials", "2", "--output", "m.csv"
    )


@pytest.mark.parametrize(
    "args, message",
    [
        (["no.csv", "--n-trials", "2", "--output", "m.csv"], "no.csv: No such file or directory"),
        (
            ["r.csv", "--n-trials", "0", "--output", "m.csv"],
            "argument --n-trials: must be a whole number from 1 to 999999, found '0'; see --help",
        ),
        (["r.csv", "--n-trials", "2", "--output", "r.csv"], "--output r.csv is the input file; choose another name"),
        (["r.csv", "--n-trials", "2", "--output", "x/../r.csv"],
         "--output x/../r.csv is the input file; choose another name"),
        (["r.csv", "--n-trials", "2", "--output", "link.csv"],
         "--output link.csv is the input file; choose another name"),
        (["r.csv", "--n-trials", "2", "--output", "m.csv", "--trials-output", "r.csv"],
         "--trials-output r.csv is the input file; choose another name"),
        (["r.csv", "--n-trials", "2", "--output", "m.csv", "--trials-output", "m.csv"],
         "--output and --trials-output are both m.csv; choose two names"),
        (["r.csv", "--n-trials", "2", "--output", "trials.csv"],
         "--output trials.csv: the trials of a matrix are called so; choose another name for the matrix"),
        (["r.csv", "--n-trials", "2", "--output", "m.trials.csv"],
         "--output m.trials.csv: the trials of a matrix are called so; choose another name for the matrix"),
        (["r.csv", "--n-trials", "2", "--output", "folder"], "--output folder is a folder; name a file in it"),
        (["r.csv", "--n-trials", "2", "--output", "m.csv.gz"],
         "--output m.csv.gz: the output is plain text; choose a name that ends in .csv"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_right(tmp_path: Path, args: list[str], message: str) -> None:
    (tmp_path / "r.csv").write_text(EXAMPLE)
    (tmp_path / "link.csv").symlink_to("r.csv")
    for name in ("folder", "x"):
        (tmp_path / name).mkdir()
    assert refuse(tmp_path, *args) == message


def test_arguments_that_argparse_refuses(tmp_path: Path) -> None:
    for args in ([], ["r.csv", "--output", "m.csv"], ["r.csv", "--n-trials", "two", "--output", "m.csv"]):
        done = prepare(tmp_path, *args)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert done.stderr.startswith("prepare_response_matrix.py: error: ")


def test_help_has_two_examples(tmp_path: Path) -> None:
    done = prepare(tmp_path, "--help")
    assert done.returncode == 0
    assert done.stdout.count("python3 scripts/prepare_response_matrix.py") == 2


def test_a_write_that_fails_half_way_leaves_the_old_files(tmp_path: Path) -> None:
    rows = [f"model,q{i:04},{trial},1\n" for i in range(2000) for trial in range(1 + i % 2)]
    (tmp_path / "r.csv").write_text(HEADER + "".join(rows))
    for name in ("m.csv", "m.trials.csv"):
        (tmp_path / name).write_text(f"the old {name}")
    before = files(tmp_path)

    def allow_4096_bytes_a_file() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = prepare(
        tmp_path,
        *("r.csv", "--n-trials", "2", "--allow-missing", "--output", "m.csv"),
        python=(sys.executable, "-B"),
        before=allow_4096_bytes_a_file,
    )
    assert done.returncode != 0 and "File too large" in done.stderr
    assert files(tmp_path) == before


def test_a_killed_run_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("the old matrix")
    os.mkfifo(tmp_path / "r.csv")
    command = [sys.executable, str(SCRIPT), "r.csv", "--n-trials", "2", "--output", "m.csv"]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        with open(tmp_path / "r.csv", "w") as pipe:  # opens once the command reads
            pipe.write(EXAMPLE)
            pipe.flush()
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.csv", "r.csv"]
    assert (tmp_path / "m.csv").read_text() == "the old matrix"


def oldest_python() -> tuple[str, tuple[int, ...]]:
    """Return the oldest Python from 3.9 on that runs here, with its (major, minor)."""
    candidates: list[str | None] = [shutil.which(f"python3.{minor}") for minor in range(9, 20)]
    candidates += [str(path) for path in Path.home().glob(".pyenv/versions/*/bin/python")]
    found: dict[tuple[int, ...], str] = {}
    for python in filter(None, candidates):
        # Shims of version managers may be on the PATH and fail.
        done = subprocess.run([python, "--version"], capture_output=True, encoding="utf-8")
        match = re.match(r"Python (\d+)\.(\d+)", done.stdout)
        version = tuple(map(int, match.groups())) if match and done.returncode == 0 else (0, 0)
        if version >= (3, 9):
            found.setdefault(version, python)
    version = min(found, default=tuple(sys.version_info[:2]))
    return found.get(version, sys.executable), version


def test_both_commands_run_on_the_oldest_python_with_nothing_installed(tmp_path: Path) -> None:
    python, version = oldest_python()
    bare = (python, "-I", "-S", "-B")  # no site-packages, no environment variables
    (tmp_path / "r.csv").write_text(EXAMPLE)
    (tmp_path / "d.csv").write_text("item,b_mean\nq0,0\nq1,2\nq2,10\n")
    done = prepare(tmp_path, "r.csv", "--n-trials", "3", "--allow-missing", "--output", "m.csv", python=bare)
    assert done.returncode == 0, (version, done.stderr)
    assert (tmp_path / "m.csv").read_text() == EXAMPLE_MATRIX
    assert (tmp_path / "m.trials.csv").read_text() == "model,q0,q1\nmodel-a,2,2\nmodel-b,2,2\n"
    done = subprocess.run(
        [*bare, str(SCRIPTS / "diagnose_benchmark.py"), "d.csv", "--gaps", "1"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, (version, done.stderr)
    assert "DDM: 0.211111\nMax Gap: 0.800000\n" in done.stdout
