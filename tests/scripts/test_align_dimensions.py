"""scripts/align_dimensions.py as its users run it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.planted_abilities import on_first, on_second, plant, write_matrices

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "align_dimensions.py"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    loadings = {"one": on_first(12, 2.0), "two": on_first(8, 2.0), "apart": on_second(12, 1.5)}
    write_matrices(tmp_path, plant(loadings, models=60).data)
    return tmp_path


def test_table_files_and_json_say_the_same_and_repeat(folder: Path) -> None:
    (folder / "two.csv").write_text((folder / "two.csv").read_text().replace("m59,", "M-59,"))
    (folder / "s.csv").write_text("benchmark,item,subset\n" + "".join(f"one,q{i},easy\n" for i in range(5)))
    arguments = [
        "one.csv",
        "two.csv",
        "apart.csv",
        "--n-trials",
        "1",
        "--subsets",
        "s.csv",
        "--items-of",
        "two",
    ]
    shown = run(folder, *arguments, "--output-dir", "new/out")
    printed = run(folder, *arguments, "--output-dir", "again", "--json")
    assert shown.returncode == printed.returncode == 0, shown.stderr + printed.stderr
    names = ["alignment.csv", "alignment.json", "alignment.png", "items_two.png"]
    for name in names:
        assert (folder / "new" / "out" / name).read_bytes() == (folder / "again" / name).read_bytes()
    assert len(list((folder / "again").iterdir())) == 4
    assert shown.stderr.splitlines()[-1] == f"Wrote {', '.join(names[:-1])} and {names[-1]} to new/out"
    report = json.loads(printed.stdout)
    told = [line for line in shown.stderr.splitlines() if line.startswith("warning: ")]
    assert told[0].startswith("warning: only 59 of 61 models are in all 3 matrices (") and len(told) == 2
    assert [f"warning: {warning}" for warning in report["warnings"]] == told
    assert report == json.loads((folder / "again" / "alignment.json").read_text())
    assert [entry["file"] for entry in report["inputs"]] == ["one.csv", "two.csv", "apart.csv", "s.csv"]
    assert report["fits_not_converged"] == 0 and len(report["dimension_correlations"]) == 2
    with open(folder / "again" / "alignment.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["benchmark"], row["subset"], row["dimension"]) for row in rows[:4]] == [
        ("one", "", "1"), ("one", "", "2"), ("one", "easy", "1"), ("one", "easy", "2"),
    ]  # fmt: skip
    for row, entry in zip(rows, report["alignment"], strict=True):
        assert row == {name: "" if value is None else str(value) for name, value in entry.items()}
    # Nothing but "apart" has anything of its ability.
    apart = rows[-1]
    assert apart["corrected"] == "" and float(apart["uncorrected"]) > 0.8
    lines = shown.stdout.splitlines()
    assert lines[0] == "61 models × 32 items of 3 benchmarks, 2 dimensions"
    assert any(line.startswith("apart, dimension 2: no corrected value: the other ben") for line in lines)
    assert lines[-1].startswith("Dimensions 1 and 2 correlate ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one.csv"], "there is nothing without the only benchmark; give at least two response matrices"),
        (
            ["one.csv", "two.csv", "--items-of", "three"],
            "--items-of three: no such benchmark; the matrices are 'one', 'two'",
        ),
        (
            ["one.csv", "few.csv", "--dims", "3"],
            "--dims 3: 3 models to fit cannot show as many dimensions; use --dims 2 or fewer",
        ),
        (["one.csv", "no.csv"], "no.csv: No such file or directory"),
        (
            ["one.csv", "two.csv", "--subsets", "one.csv"],
            "one.csv:1: no column 'benchmark'; it needs benchmark, item, subset",
        ),
        (
            ["one.csv", "two.csv", "--output-dir", "one.csv/out"],
            "one.csv: is a file, not a folder; choose another",
        ),
        (
            ["one.csv", "two.csv", "--subsets", "alignment.csv", "--output-dir", "."],
            "alignment.csv is an input and would be overwritten; choose another place",
        ),
        (
            ["one.csv", "two.csv", "--subsets", "s\udcff.csv"],
            "--subsets 's\\udcff.csv': give the file a name in UTF-8 without control characters",
        ),
        (
            ["one.csv", "two.csv", "far.csv", "--common-models"],
            "--common-models: 0 of the models in every matrix, and a fit needs at least 2; 'far' has 0 in common with "
            "'one'",
        ),
        (
            ["one.csv", "two.csv", "--dims", "0"],
            "argument --dims: must be a whole number from 1 to 20, found '0'; see --help",
        ),
    ],
)
def test_requests_that_cannot_be_meant(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "few.csv").write_text("model,q0,q1\nm0,1,0\nm1,0,1\nm2,1,1\n")
    (folder / "far.csv").write_text("model,q0,q1\nx0,1,0\nx1,0,1\n")
    (folder / "alignment.csv").write_text("benchmark,item,subset\none,q1,a\n")
    output = [] if "--output-dir" in arguments else ["--output-dir", "out"]
    done = run(folder, *arguments, "--n-trials", "1", *output)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"align_dimensions.py: error: {message}\n"
    assert not (folder / "out").exists()
