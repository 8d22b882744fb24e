"""fit_mirt.py as a user runs it: files, determinism, one-line errors."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fit_mirt.py"


def write_matrices(folder: Path, models: int = 40, items: int = 30) -> list[Path]:
    """Two benchmarks of an own ability each, and a third of one item."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(models, 2))
    paths = []
    for number, name in enumerate(("words", "sums", "single")):
        width = 1 if name == "single" else items
        z = 2 * theta[:, [number % 2]] + rng.normal(size=width)
        correct = rng.binomial(1, 1 / (1 + np.exp(-z)))
        paths.append(folder / f"{name}.csv")
        with open(paths[-1], "w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["model", *(f"q{j}" for j in range(width))])
            writer.writerows([f"model,{i}", *row] for i, row in enumerate(correct.tolist()))
    return paths


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_three_files_that_say_what_was_found(tmp_path: Path) -> None:
    matrices = write_matrices(tmp_path)
    out = tmp_path / "new" / "out"
    options = ["--n-trials", 1, "--dims", 1, 2, "--starts", 2, "--stability", 1, "--seed", 4]
    result = run(*matrices, *options, "--output-dir", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-2:] == [
        f"Wrote abilities.csv, items.csv and fit.json to {out}",
        f"Next: python scripts/align_dimensions.py {' '.join(map(str, matrices))} --n-trials 1 --seed 4 "
        f"--dims 2 --output-dir {out}",
    ]
    told = result.stderr.splitlines()
    assert told[0] == "40 models × 61 items of 3 benchmarks"
    assert sum("2 dimensions are the most" in line for line in told) == 1
    table = result.stdout.splitlines()
    assert table[0].startswith(
        "1,220 hidden answers, mean log-likelihood ± standard error in nats an answer, by number"
    )
    assert "; chosen: the smallest that falls short of the best by at most one standard error" in table[0]
    assert table[2].endswith(", behind the best by — (chosen)") and " ± " in table[1]
    for name, word in (
        ("refits", "least"),
        ("shuffled refits", "most"),
        ("halves", "least"),
        ("shuffled halves", "most"),
    ):
        (line,) = (line for line in table if line.startswith(f"{name}: "))
        assert f"abilities at {word} " in line

    abilities, items = rows(out / "abilities.csv"), rows(out / "items.csv")
    assert list(abilities[0]) == ["model", "theta_1", "theta_2", "sd_1", "sd_2"]
    assert list(items[0]) == [
        *("benchmark", "item", "a_1", "a_2", "d", "MDISC", "MDIFF", "direction_1", "direction_2"),
        *("sd_a_1", "sd_a_2", "sd_d", "sd_MDISC", "sd_MDIFF", "sd_direction_1", "sd_direction_2"),
    ]
    assert [row["model"] for row in abilities] == [f"model,{i}" for i in range(40)]
    assert [row["benchmark"] for row in items] == ["words"] * 30 + ["sums"] * 30 + ["single"]
    values = {
        key: np.array([float(row[key] or "nan") for row in items])
        for key in items[0]
        if key not in ("benchmark", "item")
    }
    # Each benchmark goes with its own ability.
    own = np.column_stack([values["direction_1"], values["direction_2"]])[:60]
    assert (own.argmax(axis=1) == np.repeat([own[0].argmax(), own[30].argmax()], 30)).mean() > 0.95
    assert own[0].argmax() != own[30].argmax()
    sure = values["MDISC"] >= 2 * values["sd_MDISC"]
    assert (np.isnan(values["MDIFF"]) == ~sure).all() and (np.isnan(values["sd_MDIFF"]) == ~sure).all()
    np.testing.assert_allclose(values["MDIFF"][sure], (-values["d"] / values["MDISC"])[sure], rtol=1e-3)
    assert min(np.nanmin(values[key]) for key in values if key.startswith("sd_")) > 0

    fit = json.loads((out / "fit.json").read_text(encoding="utf-8"))
    assert fit["schema_version"] == 1 and fit["held_out"]["chosen_dims"] == 2
    assert [entry["dims"] for entry in fit["held_out"]["by_dims"]] == [1, 2]
    assert fit["benchmarks"]["single"]["items"] == 1
    assert fit["settings"]["seed"] == 4 and fit["settings"]["dims"] == 2
    assert fit["inputs"][0] == {
        "benchmark": "words",
        "file": "words.csv",
        "sha256": hashlib.sha256(matrices[0].read_bytes()).hexdigest(),
    }
    assert fit["models"] == fit["models_in_all"] == 40
    of_chance = fit["stability"]["shuffled_halves"]["ability_correlations"]
    # A dimension of chance may be one that a half does not measure: then it is told, not counted as 0.
    (line,) = (line for line in table if line.startswith("shuffled halves: "))
    there = [abs(r) for row in of_chance for r in row if r is not None]
    assert f"at most {max(there):.3f}" in line if there else "at most —" in line
    blank = [number for number, r in enumerate(of_chance[0], start=1) if r is None]
    assert line.count("not measured in 1 of 1") == len(blank)
    assert fit["stability"]["shuffled_halves"]["not_measured"] == [int(r is None) for r in of_chance[0]]
    assert min(min(row) for row in fit["stability"]["refits"]["ability_correlations"]) > 0.98
    assert max(max(row) for row in fit["stability"]["shuffled_refits"]["ability_correlations"]) < 0.7
    assert min(min(row) for row in fit["stability"]["halves"]["ability_correlations"]) > 0.6
    assert fit["stability"]["halves"]["not_measured"] == [0, 0]
    assert max(there, default=0) < 0.6
    assert fit["refinement"]["converged"] and fit["constant_items"] == []
    phi = np.array(fit["ability_correlations"])
    a = np.column_stack([values["a_1"], values["a_2"]])
    np.testing.assert_allclose(np.sqrt(np.sum((a @ phi) * a, axis=1)), values["MDISC"], rtol=1e-3)
    assert any("2 dimensions are the most that were tried" in warning for warning in fit["warnings"])

    again = run(*matrices, *options, "--output-dir", tmp_path / "again")
    assert again.returncode == 0
    for name in ("abilities.csv", "items.csv"):
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "--n-trials", "1"], "missing.csv: No such file or directory"),
        (["words.csv"], "words.csv: out of how many trials are its counts? Use --n-trials"),
        (["words.csv", "words.csv", "--n-trials", "1"], "words.csv: the same content as words.csv"),
        (["words.csv", "apart.csv", "--n-trials", "1"], "(in 'words') and 'x' (in 'apart')"),
        (["words.csv", "--n-trials", "1", "--dims", "0"], "must be a whole number from 1 to 20"),
        (
            ["few.csv", "--n-trials", "1", "--dims", "1", "3"],
            "--dims 3: 3 models to fit cannot show as many dimensions; use --dims 2 or",
        ),
        (["words.csv", "--n-trials", "1", "--output-dir", "sums.csv"], "sums.csv: is a file, not a folder"),
        (["words.csv", "--n-trials", "1", "--output-dir", "taken"], "items.csv: is a folder or a device"),
        (
            ["items.csv", "--n-trials", "1", "--dims", "1", "--output-dir", "."],
            "items.csv is an input and would be overwritten; choose another place",
        ),
        (
            ["fit.csv", "--output-dir", "."],
            "fit.json is an input and would be overwritten; choose another place",
        ),
        (["twice.csv", "--n-trials", "1"], "model 'a' is there twice"),
        ([b"b\xff.csv", "--n-trials", "1"], "the benchmark would be called 'b\\udcff'; give the file"),
        ([".", "--n-trials", "1"], ".: is a folder; give the matrices in it"),
        (
            ["log.csv", "--n-trials", "1"],
            "log.csv:1: this is a response log, one answer a row (columns model, item_id, trial, correct), not a "
            "matrix; make it one: python scripts/prepare_response_matrix.py log.csv --n-trials 1 --output NAME.csv",
        ),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    tmp_path: Path, arguments: list[str | bytes], message: str
) -> None:
    write_matrices(tmp_path)
    (tmp_path / "apart.csv").write_text("model,q0\nx,1\ny,0\n")
    (tmp_path / "few.csv").write_text("model,q0,q1\na,1,0\nb,0,0\nc,1,1\n")
    (tmp_path / "items.csv").write_text("model,q0,q1\na,1,0\nb,0,0\nc,1,1\n")
    (tmp_path / "twice.csv").write_text("model,q0\na,1\na,0\n")
    (tmp_path / "fit.csv").write_text("model,q0,q1\na,1,0\nb,0,0\nc,1,1\n")
    (tmp_path / "fit.json").write_text('{"n_trials": 1}')
    (tmp_path / "log.csv").write_text("trial,model,item_id,correct\n0,a,q0,1\n")
    Path(os.fsdecode(bytes(tmp_path) + b"/b\xff.csv")).write_text("model,q0\na,1\nb,0\n")
    (tmp_path / "taken" / "items.csv").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    output = [] if "--output-dir" in arguments else ["--output-dir", "out"]
    result = run(*map(os.fsdecode, arguments), *output, cwd=tmp_path)
    assert result.returncode == 2 and message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_outputs_that_are_links_stay_links_and_slips_are_told_before_the_fit(tmp_path: Path) -> None:
    write_matrices(tmp_path, items=4)
    text = (tmp_path / "sums.csv").read_text().replace("model,3", "Model/,3")
    (tmp_path / "sums.csv").write_text(text)
    out = tmp_path / "out"
    out.mkdir()
    for name in ("abilities.csv", "items.csv", "fit.json"):
        (tmp_path / f"kept_{name}").write_text("old")
        (out / name).symlink_to(f"../kept_{name}")
    options = ["--n-trials", 3, "--dims", 1, "--starts", 1, "--output-dir", "out"]
    result = run("words.csv", "sums.csv", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert all((out / name).is_symlink() for name in ("abilities.csv", "items.csv", "fit.json"))
    fit = json.loads((tmp_path / "kept_fit.json").read_text(encoding="utf-8"))
    assert (tmp_path / "kept_items.csv").read_text().startswith("benchmark,item,a_1,")
    told = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert told[:4] == [
        "warning: no cell of 'words' has more than 1 of 3 correct: is --n-trials right?",
        "warning: no cell of 'sums' has more than 1 of 3 correct: is --n-trials right?",
        "warning: only 29 of 51 models are in all 2 matrices (words 40, sums 40); --common-models uses only these 29",
        "warning: likely the same model under two names: 'model,3' in words and 'Model/,3' in sums, "
        "'model,30' in words and 'Model/,30' in sums, 'model,31' in words and 'Model/,31' in sums, and 8 more; models "
        "are joined by name as it stands",
    ]
    assert [f"warning: {warning}" for warning in fit["warnings"]] == told
    assert fit["models_in_all"] == 29 and fit["models"] == 51


def test_two_items_and_four_answers_are_enough_to_say_something(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text("model,q0,q1\na,1,0\nb,1,0\nc,1,\n")
    result = run(tmp_path / "tiny.csv", "--n-trials", 1, "--output-dir", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert len(rows(tmp_path / "out" / "items.csv")) == 2
    fit = json.loads((tmp_path / "out" / "fit.json").read_text(encoding="utf-8"))
    assert [entry["dims"] for entry in fit["held_out"]["by_dims"]] == [1, 2]  # 3 models show no more


def test_one_item_has_no_halves_and_no_loadings_to_correlate(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("model,q0\na,1\nb,0\nc,1\nd,0\n")
    result = run(
        "one.csv", "--n-trials", 1, "--dims", 1, "--stability", 1, "--output-dir", "out", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "refits: correlations of a dimension's loadings at least —" in result.stdout
    told = "halves: correlations of a dimension's abilities at least —, dimension 1 not measured in 1 of 1\n"
    assert told in result.stdout
    stability = json.loads((tmp_path / "out" / "fit.json").read_text(encoding="utf-8"))["stability"]
    assert stability["halves"] == {"ability_correlations": [[None]], "not_measured": [1]}


def test_a_difficulty_without_meaning_is_blank_and_constant_items_are_named(tmp_path: Path) -> None:
    write_matrices(tmp_path)
    coin = np.random.default_rng(3).integers(0, 2, size=40)
    lines = ["model,q0,q1,q2", *(f'"model,{i}",1,0,{value}' for i, value in enumerate(coin))]
    (tmp_path / "flat.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["--n-trials", 1, "--dims", 1, "--starts", 1, "--output-dir", "out"]
    result = run("words.csv", "flat.csv", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    items = rows(tmp_path / "out" / "items.csv")
    blank = [row["item"] for row in items if row["MDIFF"] == ""]
    assert blank == [row["item"] for row in items if row["sd_MDIFF"] == ""]
    assert {row["item"] for row in items if row["benchmark"] == "flat"} == set(blank)
    fit = json.loads((tmp_path / "out" / "fit.json").read_text(encoding="utf-8"))
    assert fit["constant_items"] == [{"benchmark": "flat", "item": item} for item in ("q0", "q1")]
    assert any(warning.startswith("1 of 33 items have no MDIFF") for warning in fit["warnings"])
    flat = {row["item"]: row for row in items if row["benchmark"] == "flat"}
    for name in ("MDISC", "sd_MDISC", "direction_1", "sd_direction_1"):
        assert [flat[item][name] == "" for item in ("q0", "q1", "q2")] == [True, True, False], name
