"""scripts/build_benchmarks.py on two simulated benchmarks, and the benchmarks that are in the repository."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from irt.benchmark_list import BENCHMARK_LIST, Benchmark, read_benchmark_list
from irt.matrix_source import find_sources, read_matrix
from irt.release import finished, recipe_of
from irt.settings import SamplerSettings
from irt.simulate import probability_correct

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "data" / "benchmarks"
MATRICES = "BENCHFILL_MATRICES"

LIST = """
[Plain]
title = "Plain, simulated"
domain = "First"
matrix = "plain__simulated"

[Odd]
title = "Odd | simulated"
domain = "Second"
matrix = "odd__simulated"
guessing = 0.25
drop_models = ["broken"]
"""
ODD_ITEMS = ["ü/1", 'quoted "2"', "comma,3", "q4", "q5", "q6", "q7"]


def script(name: str, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / name), *args],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def build(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    usual = ("--matrices", "matrices", "--benchmarks-toml", "list.toml", "--output", "out")
    return script("build_benchmarks.py", folder, *usual, *args)


def refuse(folder: Path, *args: str) -> str:
    """Run, expect one line on standard error, status 2 and no output; return the line without its prefix."""
    done = build(folder, *args)
    assert (done.returncode, done.stdout) == (2, "")
    prefix = "build_benchmarks.py: error: "
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1
    assert not (folder / "out").exists()
    return done.stderr[len(prefix) : -1]


def write_table(path: Path, rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as handle:
        csv.writer(handle, lineterminator="\n").writerows(rows)


def prepare(folder: Path) -> None:
    """Write the list and two simulated matrices; Odd has blanks, trials by cell, a guess and a broken row."""
    draw = random.Random(3)
    matrices = folder / "matrices"
    (folder / "list.toml").write_text(LIST, encoding="utf-8")

    def counts(theta: float, trials: Sequence[int], guessing: float) -> list[int]:
        return [
            sum(draw.random() < probability_correct(theta, i / 3 - 1, guessing) for _ in range(asked))
            for i, asked in enumerate(trials)
        ]

    plain = [[f"m{m}", *counts(m / 2 - 1, [4] * 8, 0.0)] for m in range(5)]
    write_table(matrices / "plain__simulated.csv.gz", [["model", *(f"p{i}" for i in range(8))], *plain])

    trials = [[1 + (m + i) % 3 for i in range(7)] for m in range(5)]
    odd: list[list[object]] = [list(counts(m / 2 - 1, asked, 0.25)) for m, asked in enumerate(trials)]
    cells: list[list[object]] = [list(row) for row in trials]
    odd[1][2] = cells[1][2] = ""
    models = ["a", "b", "broken", "c", "d"]
    for name, rows in (("odd__simulated", odd), ("odd__simulated.trials", cells)):
        write_table(
            matrices / f"{name}.csv.gz", [["model", *ODD_ITEMS], *([m, *row] for m, row in zip(models, rows))]
        )
    for name, n_trials in (("plain", 4), ("odd", "varies: see odd__simulated.trials.csv.gz")):
        (matrices / f"{name}__simulated.json").write_text(
            json.dumps(
                {"source_repo": f"sim/{name}", "commit": "c0ffee", "licence": "CC0", "n_trials": n_trials}
            )
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both benchmarks built; tests copy it before they change it."""
    folder = tmp_path_factory.mktemp("built")
    prepare(folder)
    done = build(folder)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout, encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def provenance_of(folder: Path) -> dict[str, object]:
    return json.loads((folder / "provenance.json").read_text(encoding="utf-8"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_each_benchmark_gets_its_three_files(built: Path) -> None:
    assert sorted(contents(built / "out")) == sorted(
        f"{name}/{file}"
        for name in ("Plain", "Odd")
        for file in ("difficulty.csv", "test.jsonl", "provenance.json")
    )
    lines = (built / "stdout").read_text(encoding="utf-8").splitlines()
    assert re.match(r"Plain: 5 models × 8 items, R-hat at most 1\.\d{4}, bulk ESS at least \d+, \d", lines[0])
    assert lines[1].startswith("Odd: 4 models × 7 items, ")
    assert lines[2].startswith("Wrote 2 of 2 benchmarks to out; ") and len(lines) == 3

    odd = built / "out" / "Odd"
    text = (odd / "difficulty.csv").read_bytes().decode()
    assert re.fullmatch(r"item_id,b_mean\n(\d,-?\d\.\d{6}\n){7}", text)
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == list("0123456")
    items = [json.loads(line) for line in (odd / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    assert items == [{"item_id": i, "source_item_id": name} for i, name in enumerate(ODD_ITEMS)]
    assert "ü/1" in (odd / "test.jsonl").read_text(encoding="utf-8")


def test_provenance_says_where_the_estimates_come_from_and_how(built: Path) -> None:
    odd = provenance_of(built / "out" / "Odd")
    matrices = built / "matrices"
    expected = {
        "schema_version": 1,
        "name": "Odd",
        "title": "Odd | simulated",
        "domain": "Second",
        "source_repository": "sim/odd",
        "commit": "c0ffee",
        "licence": "CC0",
        "inputs": {
            "matrix": {
                "file": "odd__simulated.csv.gz",
                "sha256": sha256(matrices / "odd__simulated.csv.gz"),
            },
            "trials": {
                "file": "odd__simulated.trials.csv.gz",
                "sha256": sha256(matrices / "odd__simulated.trials.csv.gz"),
            },
        },
        "models": 4,
        "models_left_out": ["broken"],
        "items": 7,
        "trials_per_cell": "varies, 1–3",
        "blank_cells": 1,
        "guessing": 0.25,
        "sampling": {
            "method": "marginal",
            "chains": 4,
            "tune": 1000,
            "draws": 1000,
            "target_accept": 0.95,
            "seed": 0,
        },
    }
    assert {key: odd[key] for key in expected} == expected
    assert set(odd) - set(expected) == {
        "constant_items", "max_r_hat", "min_ess_bulk", "divergences", "warnings", "versions", "chains_at_a_time",
        "estimator", "seconds",
    }  # fmt: skip
    plain = provenance_of(built / "out" / "Plain")
    assert plain["trials_per_cell"] == 4 and list(plain["inputs"]) == ["matrix"]  # type: ignore[call-overload]


def test_the_estimates_are_those_of_fit_irt_with_its_defaults(built: Path, tmp_path: Path) -> None:
    """The row that is left out, the guess and the trials by cell reach the fit, and no setting differs."""
    for suffix in ("", ".trials"):
        name = f"odd__simulated{suffix}.csv.gz"
        with gzip.open(built / "matrices" / name, "rt", encoding="utf-8", newline="") as handle:
            write_table(tmp_path / name, [row for row in csv.reader(handle) if row[0] != "broken"])
    arguments = ("--trials-csv", "odd__simulated.trials.csv.gz", "--guessing", "0.25", "--output-dir", "fit")
    done = script("fit_irt.py", tmp_path, "odd__simulated.csv.gz", *arguments)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "fit" / "difficulty.csv", encoding="utf-8", newline="") as handle:
        fitted = [row["b_mean"] for row in csv.DictReader(handle)]
    with open(built / "out" / "Odd" / "difficulty.csv", encoding="utf-8", newline="") as handle:
        assert [row["b_mean"] for row in csv.DictReader(handle)] == fitted


def test_what_is_there_is_left_alone_and_what_is_missing_is_made_again(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(built, folder)
    before = contents(folder / "out")

    done = build(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["Plain: up to date", "Odd: up to date"]
    assert contents(folder / "out") == before

    # A new title and licence are told without a new fit.
    (folder / "list.toml").write_text(LIST.replace("Plain, simulated", "Renamed"), encoding="utf-8")
    assert build(folder).stdout.startswith("Plain: up to date\nOdd: up to date\nWrote 0 of 2 ")
    assert provenance_of(folder / "out" / "Plain") == provenance_of(built / "out" / "Plain") | {
        "title": "Renamed"
    }
    assert contents(folder / "out")["Plain/difficulty.csv"] == before["Plain/difficulty.csv"]

    # Without provenance.json, which is written last, a folder is not finished. The seed gives the same again.
    (folder / "out" / "Plain" / "provenance.json").unlink()
    (folder / "out" / "Plain" / "difficulty.csv").write_text("half")
    done = build(folder, "--only", "Plain")
    assert done.returncode == 0 and done.stdout.startswith("Plain: 5 models")
    after = contents(folder / "out")
    assert after["Plain/difficulty.csv"] == before["Plain/difficulty.csv"]
    assert {name: after[name] for name in after if name.startswith("Odd/")} == {
        name: before[name] for name in before if name.startswith("Odd/")
    }


def test_finished_means_the_same_matrix_settings_guess_and_models(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(built, folder)
    odd = read_benchmark_list(folder / "list.toml")[1]
    out = folder / "out" / "Odd"

    def is_finished(benchmark: Benchmark = odd, settings: SamplerSettings | None = None) -> bool:
        (source,) = find_sources(folder / "matrices", [benchmark])
        recipe = recipe_of(benchmark, source, settings or SamplerSettings(), "marginal")
        return finished(out, recipe) is not None

    assert is_finished()
    assert is_finished(settings=SamplerSettings(cores=3))
    assert not is_finished(settings=SamplerSettings(seed=1))
    assert not is_finished(Benchmark(odd.name, odd.title, odd.domain, odd.matrix, 0.2, odd.drop_models))
    assert not is_finished(Benchmark(odd.name, odd.title, odd.domain, odd.matrix, odd.guessing, ()))
    for name in ("test.jsonl", "difficulty.csv", "provenance.json"):
        (out / name).rename(folder / name)
        assert not is_finished()
        (folder / name).rename(out / name)
    for name in ("odd__simulated.csv.gz", "odd__simulated.trials.csv.gz"):
        before = (folder / "matrices" / name).read_bytes()
        (folder / "matrices" / name).write_bytes(before + b"\n")
        assert not is_finished()
        (folder / "matrices" / name).write_bytes(before)
    assert is_finished()


def test_a_mistake_is_one_line_before_any_fit(tmp_path: Path) -> None:
    prepare(tmp_path)
    assert refuse(tmp_path, "--only", "Plane") == "--only Plane: not in list.toml; there are Odd, Plain"

    matrices = tmp_path / "matrices"
    wrong = json.dumps({"source_repo": "sim/plain", "commit": "c", "licence": "l", "n_trials": 0})
    good = (matrices / "plain__simulated.json").read_text()
    (matrices / "plain__simulated.json").write_text(wrong)
    assert "n_trials must be a whole number from 1 to 999999, or 'varies…', found 0" in refuse(tmp_path)
    (matrices / "plain__simulated.json").write_text(good.replace("licence", "license"))
    assert "plain__simulated.json: licence must be a text, found None" in refuse(tmp_path)
    (matrices / "plain__simulated.json").write_text(good[:-1])
    assert "plain__simulated.json:1: not valid JSON" in refuse(tmp_path)
    (matrices / "plain__simulated.json").write_text(good)

    # A name that is not in the second matrix stops before the first is fitted.
    (tmp_path / "list.toml").write_text(LIST.replace('"broken"', '"bruken"'), encoding="utf-8")
    assert "no such model to leave out: 'bruken'" in refuse(tmp_path)
    (tmp_path / "list.toml").write_text(LIST, encoding="utf-8")

    (matrices / "odd__simulated.trials.csv.gz").unlink()
    assert refuse(tmp_path) == "matrices: missing odd__simulated.trials.csv.gz; nothing was fitted"
    (matrices / "odd__simulated.json").unlink()
    (matrices / "plain__simulated.csv.gz").unlink()
    assert refuse(tmp_path) == (
        "matrices: missing plain__simulated.csv.gz, odd__simulated.json; nothing was fitted"
    )
    shutil.rmtree(matrices)
    assert refuse(tmp_path) == "matrices: no such folder of response matrices"


# The released benchmarks ----------------------------------------------------------------------------------------


@pytest.fixture
def released() -> tuple[Benchmark, ...]:
    if not BENCHMARKS.is_dir():
        pytest.skip("data/benchmarks is not built yet (scripts/build_benchmarks.py)")
    return read_benchmark_list(BENCHMARK_LIST)


def test_released_folders_are_those_of_the_list(released: tuple[Benchmark, ...]) -> None:
    assert {path.name for path in BENCHMARKS.iterdir()} == {benchmark.name for benchmark in released}
    for benchmark in released:
        folder = BENCHMARKS / benchmark.name
        assert {path.name for path in folder.iterdir()} == {"difficulty.csv", "test.jsonl", "provenance.json"}
        provenance = provenance_of(folder)
        listed = (benchmark.title, benchmark.domain, benchmark.guessing, list(benchmark.drop_models))
        assert listed == tuple(provenance[key] for key in ("title", "domain", "guessing", "models_left_out"))


def test_released_items_are_numbered_from_0_and_have_finite_difficulties(
    released: tuple[Benchmark, ...],
) -> None:
    for benchmark in released:
        folder = BENCHMARKS / benchmark.name
        text = (folder / "difficulty.csv").read_bytes().decode()
        assert "\r" not in text and text.startswith("item_id,b_mean\n"), benchmark.name
        rows = [line.split(",") for line in text.splitlines()[1:]]
        items = [json.loads(line) for line in (folder / "test.jsonl").read_text("utf-8").splitlines()]
        numbers = list(range(len(rows)))
        assert [row[0] for row in rows] == list(map(str, numbers)), benchmark.name
        assert [item["item_id"] for item in items] == numbers, benchmark.name
        assert len({item["source_item_id"] for item in items}) == len(rows) == provenance_of(folder)["items"]
        assert all(math.isfinite(float(b)) for _, b in rows), benchmark.name


# Name of a released benchmark whose fit has warnings → why it is released all the same. The README names them too.
EXPLAINED: dict[str, str] = {}


def test_released_fits_have_converged(released: tuple[Benchmark, ...]) -> None:
    for benchmark in released:
        fit = provenance_of(BENCHMARKS / benchmark.name)
        assert bool(fit["warnings"]) == (benchmark.name in EXPLAINED), benchmark.name
        if benchmark.name not in EXPLAINED:
            r_hat, ess = fit["max_r_hat"], fit["min_ess_bulk"]
            assert isinstance(r_hat, float) and r_hat <= 1.01, benchmark.name
            assert isinstance(ess, float) and ess >= 400, benchmark.name
            assert fit["divergences"] == 0, benchmark.name


def test_released_estimates_are_of_the_matrices_at_hand(released: tuple[Benchmark, ...]) -> None:
    if not os.environ.get(MATRICES):
        pytest.skip(f"set {MATRICES} to the folder of response matrices")
    for benchmark, source in zip(released, find_sources(Path(os.environ[MATRICES]), released), strict=True):
        folder = BENCHMARKS / benchmark.name
        recipe = recipe_of(benchmark, source, SamplerSettings(), "marginal")
        assert finished(folder, recipe) is not None, benchmark.name
        matrix = read_matrix(source, benchmark)
        items = [json.loads(line) for line in (folder / "test.jsonl").read_text("utf-8").splitlines()]
        assert tuple(item["source_item_id"] for item in items) == matrix.items
        assert all(any(column) for column in zip(*matrix.trials, strict=True)), benchmark.name
