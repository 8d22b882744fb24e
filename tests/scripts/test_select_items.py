"""scripts/select_items.py as its users run it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.planted_abilities import on_first, on_second, plant, write_matrices

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "select_items.py"
QUICK = ["--n-trials", "1", "--folds", "2", "--draws", "3"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """40 models; in "same" nobody is wrong, and one item of "one" nobody gets right."""
    data = plant({"one": on_first(20, 2.0), "two": on_second(15, 2.0), "same": on_first(1, 2.0)}, 40).data
    data.correct[:, 35] = 1
    data.correct[:, 4] = 0
    write_matrices(tmp_path, data)
    return tmp_path


def test_kept_items_tables_and_json_repeat(folder: Path) -> None:
    (folder / "two.csv").write_text((folder / "two.csv").read_text().replace("m39,", "M-39,"))
    arguments = ["one.csv", "two.csv", "same.csv", "--fraction", "0.3", *QUICK]
    shown = run(folder, *arguments, "--output", "new/kept.csv")
    printed = run(folder, *arguments, "--output", "again.csv", "--json")
    assert shown.returncode == printed.returncode == 0, shown.stderr + printed.stderr
    assert (folder / "new" / "kept.csv").read_bytes() == (folder / "again.csv").read_bytes()
    with open(folder / "again.csv", encoding="utf-8", newline="") as handle:
        kept = [(row["benchmark"], row["item"]) for row in csv.DictReader(handle)]
    assert len(set(kept)) == len(kept) == 11
    order = {"one": 0, "two": 1}  # and none of "same"
    assert kept == sorted(kept, key=lambda item: (order[item[0]], int(item[1][1:])))
    assert ("one", "q4") not in kept
    assert shown.stderr.splitlines()[-1] == "Wrote 11 items to new/kept.csv"
    report = json.loads(printed.stdout)
    told = [line for line in shown.stderr.splitlines() if line.startswith("warning: ")]
    assert told[0].startswith("warning: only 39 of 41 models are in all 3 matrices (") and len(told) == 2
    assert [f"warning: {warning}" for warning in report["warnings"]] == told
    assert report["separating_items"] == 34 and report["kept_items"] == 11
    assert [(row["name"], row["items"], row["kept"]) for row in report["benchmarks"]] == [
        ("one", 20, 6), ("two", 15, 5), ("same", 1, 0),
    ]  # fmt: skip
    assert {row["subset"] for row in report["figures"]} == {
        "selected", "matched", "random", "selected minus matched", "selected minus random",
    }  # fmt: skip
    found = {}
    for row in report["figures"]:
        line = next(line for line in shown.stdout.splitlines() if line.startswith(f"{row['subset']}  "))
        if row["figure"] == "part_whole_r" and "minus" in row["subset"]:
            assert row["value"] is None and line.endswith("—")
            continue
        assert format(row["value"], "+.3f" if "minus" in row["subset"] else ".3f") in line
        assert row["low"] < row["value"] < row["high"]
        found[row["subset"], row["figure"]] = [row["low"], row["value"], row["high"]]
    assert found["selected", "pearson"] == pytest.approx([0.751, 0.853, 0.916], abs=0.01)
    assert found["selected minus random", "pearson"] == pytest.approx([0.014, 0.080, 0.155], abs=0.01)
    assert shown.stdout.startswith(
        "Dimension 1 of 2: 11 of 36 items kept; 2 were answered alike by all models and cannot be\n"
    )


def test_more_than_separate_models_are_not_kept(folder: Path) -> None:
    done = run(
        folder, "one.csv", "same.csv", "--fraction", "0.99", "--dims", "1", *QUICK, "--output", "kept.csv"
    )
    assert done.returncode == 0, done.stderr
    assert "only 19 of 21 items have right and wrong answers; 19 are kept, not 21" in done.stderr
    assert len((folder / "kept.csv").read_text().splitlines()) == 1 + 19


def test_one_item_kept_has_a_figure_or_a_dash(folder: Path) -> None:
    done = run(folder, "one.csv", "--fraction", "0.05", "--dims", "1", *QUICK, "--output", "kept.csv")
    assert done.returncode == 0, done.stderr
    assert "Dimension 1 of 1: 1 of 20 items kept" in done.stdout and "nan" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fraction", "0.001"], "--fraction 0.001 keeps none of 20 items; use at least 0.05"),
        (
            ["--fraction", "1"],
            "argument --fraction: must be a number above 0 and below 1, found '1'; see --help",
        ),
        (
            ["--fraction", "0.5", "--folds", "21"],
            "--folds 21: 40 models leave fewer than 2 in a fold to judge by; use --folds 20 or fewer",
        ),
        (
            ["--fraction", "0.5", "--dimension", "3"],
            "--dimension 3: there are only --dims 2; see --help",
        ),
        (
            ["--fraction", "0.5", "--folds", "2", "--dims", "20"],
            "--dims 20: 20 models to fit cannot show as many dimensions; use --dims 19 or fewer",
        ),
        (
            ["--fraction", "0.5", "--output", "one.csv"],
            "one.csv is an input and would be overwritten; choose another place",
        ),
        (["--fraction", "0.5", "--output", "kept"], "--output kept: the file name must end in .csv"),
    ],
)
def test_requests_that_cannot_be_meant(folder: Path, arguments: list[str], message: str) -> None:
    before = (folder / "one.csv").read_bytes()
    done = run(folder, "one.csv", "--n-trials", "1", "--output", "kept.csv", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"select_items.py: error: {message}\n"
    assert not (folder / "kept.csv").exists() and (folder / "one.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        (
            "a,1,0\nb,0,0\nc,0,0\nd,0,0\n",
            [],
            "without the models of fold 2, none of the items has right and wrong answers, so that there is nothing to "
            "choose from; give more models or items, or try another --folds or --seed",
        ),
        (
            "a,1,0\nb,0,0\nc,0,0\nd,1,0\ne,1,0\nf,0,0\n",
            ["--seed", "1"],
            "without the models of fold 1, none of a random half of the items has right and wrong answers, so that "
            "there is nothing to choose from; give more models or items, or try another --folds or --seed",
        ),
        (
            "a,1\nb,0\nc,0\nd,1\n",
            [],
            "every benchmark has one item, so that none is left to judge the choice by; give benchmarks of more items",
        ),
        (
            "a,1\nb,0\nc,0\nd,1\n",
            ["--fraction", "0.4"],
            "--fraction 0.4 keeps none of 1 item; use at least 0.9",
        ),
    ],
)
def test_nothing_to_choose_from(tmp_path: Path, rows: str, arguments: list[str], message: str) -> None:
    header = ",".join(["model", "q0", "q1"][: rows.index("\n") // 2 + 1])
    (tmp_path / "few.csv").write_text(f"{header}\n{rows}")
    options = ["--fraction", "0.9", "--dims", "1", *QUICK, "--output", "kept.csv", *arguments]
    done = run(tmp_path, "few.csv", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == f"select_items.py: error: {message}"
    assert "Traceback" not in done.stderr and not (tmp_path / "kept.csv").exists()


def test_items_that_separate_nobody(folder: Path) -> None:
    done = run(folder, "same.csv", "--fraction", "0.9", *QUICK, "--output", "kept.csv")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "select_items.py: error: none of 1 item has right and wrong answers, so none separates these models"
    ]
