"""scripts/predict_responses.py as its users run it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "predict_responses.py"
QUICK = ["--folds", "3", "--dims", "1"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120)


def refuse(folder: Path, *arguments: str) -> str:
    """Run, expect one line on standard error and exit status 2, return the line without its prefix."""
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    prefix = "predict_responses.py: error: "
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1
    return done.stderr[len(prefix) : -1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two benchmarks of 12 models, counts out of 2: one of a single item that all get right; a model has 4 answers."""
    rng = np.random.default_rng(0)
    theta, d = rng.normal(size=(12, 1)), rng.normal(size=16)
    counts = rng.binomial(2, 1 / (1 + np.exp(-theta - d))).astype(str).astype(object)
    counts[5, 3:] = ""
    for name, columns in (("many", counts), ("one", np.full((12, 1), "2"))):
        lines = ["model," + ",".join(f"q{i}" for i in range(columns.shape[1]))]
        lines += [f"m{i}," + ",".join(row) for i, row in enumerate(columns)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_tables_say_what_the_figures_are(folder: Path) -> None:
    done = run(folder, "many.csv", "one.csv", "--n-trials", "2", *QUICK)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Random cells: 12 models × 17 items of 2 benchmarks; 382 answers predicted"
    titles = [lines[at + 1] for at, line in enumerate(lines) if not line]
    assert titles == [
        "All answers (micro), 95 % intervals over models",
        "Mean over benchmarks (macro)",
        "Differences over all answers, on the same resampled models",
        "Accuracy by benchmark",
        "Log-loss by benchmark",
        "No AUC, the predicted answers being all right or all wrong: one",
    ]
    assert "1-D minus benchmark mean" in done.stdout and "1-D minus additive" in done.stdout


def test_table_csv_and_json_have_the_same_figures_and_repeat(folder: Path) -> None:
    (folder / "one.csv").write_text((folder / "one.csv").read_text().replace("m11,", "M-11,"))
    arguments = ["many.csv", "one.csv", "--n-trials", "2", "--protocol", "models", "--known", "4", *QUICK]
    table = run(folder, *arguments, "--output", "new/scores.csv")
    printed = run(folder, *arguments, "--json", "--output", "again.csv")
    assert table.returncode == printed.returncode == 0, table.stderr + printed.stderr
    written = (folder / "new" / "scores.csv").read_text(encoding="utf-8")
    assert written == (folder / "again.csv").read_text(encoding="utf-8")
    report = json.loads(printed.stdout)
    rows = list(csv.DictReader(written.splitlines()))
    assert f"Wrote {len(rows)} figures to new/scores.csv" in table.stderr
    assert report["predicted_answers"] == 2 * (10 * (17 - 4) + (16 - 4)) and report["known"] == 4
    assert [(entry["benchmark"], entry["file"]) for entry in report["inputs"]] == [
        ("many", "many.csv"), ("one", "one.csv"),
    ]  # fmt: skip
    for row, score in zip(rows, report["scores"], strict=True):
        assert row.pop("protocol") == "models"
        assert row == {
            name: "" if value is None else f"{value:.6f}" if isinstance(value, float) else value
            for name, value in score.items()
        }
    # 6 predictors and 5 of them minus each of 2 baselines; micro, macro and 2 benchmarks; 5 metrics.
    assert len(rows) == (6 + 2 * 5) * 4 * 5
    shown = next(line for line in table.stdout.splitlines() if line.startswith("1-D"))
    own = next(r for r in rows if (r["predictor"], r["minus"], r["metric"]) == ("1-D", "", "accuracy"))
    assert f"{float(own['value']):.3f} [{float(own['low']):.3f}, {float(own['high']):.3f}]" in shown
    blank = [r for r in rows if r["value"] == ""]
    assert {(r["benchmark"], r["metric"]) for r in blank} == {("one", "AUC")}
    assert report["fits_not_converged"] == 0 and report["not_converged"] == []
    told = table.stderr.splitlines()
    assert told[0] == "13 models × 17 items of 2 benchmarks, new models, 3 folds"
    assert told[1].startswith("warning: only 11 of 13 models are in all 2 matrices (many 12, one 12); ")
    assert told[2].startswith(
        "warning: likely the same model under two names: 'm11' in many and 'M-11' in one"
    )
    assert [f"warning: {warning}" for warning in report["warnings"]] == told[1:3]
    assert "2 of 13 models have no more than 4 answered cells; none of these is predicted" in table.stderr


def test_new_items(folder: Path) -> None:
    done = run(
        folder, "many.csv", "one.csv", "--n-trials", "2", "--protocol", "items", "--known", "6", *QUICK
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("New items, 6 cells known of each: 12 models × 17 items")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["no.csv"], "no.csv: No such file or directory"),
        (
            ["many.csv"],
            "many.csv: out of how many trials are its counts? Use --n-trials, or put many.trials.csv beside it",
        ),
        (
            ["varies.csv", "--output", "varies.trials.csv"],
            "varies.trials.csv is an input and would be overwritten; choose another place",
        ),
        (
            ["many.csv", "--n-trials", "2", "--output", "many.csv"],
            "many.csv is an input and would be overwritten; choose another place",
        ),
        (["many.csv", "--n-trials", "2", "--output", "x.txt"], "--output x.txt: the file name must end in .csv"),
        (
            ["many.csv", "--n-trials", "2", "--protocol", "models", "--folds", "13"],
            "--folds 13: there are only 12 models; use --folds 12 or fewer",
        ),
        (
            ["many.csv", "--n-trials", "2", "--protocol", "items", "--known", "12"],
            "--known 12: no item has more answered cells, so none is left to predict; use --known 11 or fewer",
        ),
        (
            ["many.csv", "--n-trials", "2", "--protocol", "models", "--folds", "5", "--dims", "1", "9"],
            "--dims 9: 9 models to fit cannot show as many dimensions; use --dims 8 or fewer",
        ),
        (
            ["many.csv", "--n-trials", "2", "--folds", "200"],
            "--folds 200: there are only 179 answered cells; use --folds 179 or fewer",
        ),
        (
            ["one.csv", "--n-trials", "2", "--protocol", "items", "--folds", "2"],
            "--folds 2: there is only 1 item; there must be at least 2",
        ),
        (
            ["one.csv", "--n-trials", "2", "--protocol", "models", "--folds", "2", "--known", "1"],
            "--known 1: no model has more answered cells, so none is left to predict; there must be at least 2",
        ),
        (
            ["many.csv", "--n-trials", "2", "--output", "many.csv/x.csv"],
            "many.csv: is a file, not a folder; choose another",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "varies.csv").write_text("model,q\na,1\nb,2\n")
    (folder / "varies.trials.csv").write_text("model,q\na,2\nb,3\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert refuse(folder, *arguments) == message
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
