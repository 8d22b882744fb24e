"""scripts/reproduce_tables.py as its users run it, and the tables that are in the repository."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from irt.tables import read_filled_rows

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "reproduce_tables.py"
BENCHMARKS, TABLES = ROOT / "data" / "benchmarks", ROOT / "data" / "tables"
FILES = ["diagnostics.csv", "diagnostics.md", "domains.csv", "domains.md"]
OURS = "Estimates of this project, fitted to public responses of other model panels; not the tables of the paper."
OTHERS = "Computed from the difficulties in that folder, wherever they come from."


def reproduce(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *args], cwd=folder, capture_output=True, encoding="utf-8", timeout=60
    )


def refuse(folder: Path, *args: str) -> str:
    """Run, expect one line on standard error and exit status 2, return the line without its prefix."""
    done = reproduce(folder, *args)
    assert (done.returncode, done.stdout) == (2, "")
    prefix = "reproduce_tables.py: error: "
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1
    return done.stderr[len(prefix) : -1]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two benchmarks: GSM8K with our provenance, and one of somebody else's without."""
    folder = tmp_path / "two"
    for name, b in (("Other", "2"), ("GSM8K", "5")):
        (folder / name).mkdir(parents=True)
        (folder / name / "difficulty.csv").write_text(f"item_id,b_mean\n0,0\n1,{b}\n2,10\n")
    (folder / "GSM8K" / "provenance.json").write_text(
        '{"domain": "Mathematics", "models": 44, "trials_per_cell": 1, "max_r_hat": 1.0021}'
    )
    return folder


def test_another_folder_is_printed_and_written_only_where_asked(two: Path, tmp_path: Path) -> None:
    done = reproduce(tmp_path, "--benchmarks", "two")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Domain       Benchmark  Items  Models  Trials    DDM  Max Gap  Gap at z   R-hat max\n"
        "Mathematics  GSM8K          3      44  1       0.111    0.500  0.00–0.50     1.0021\n"
        "—            Other          3       —  —       0.211    0.800  0.20–1.00          —\n"
        "\n"
        "Domain       Benchmarks  Items  DDM median  DDM mean  Max Gap median  Max Gap mean\n"
        "Mathematics           1      3       0.111     0.111           0.500         0.500\n"
        "All                   2      6       0.161     0.161           0.650         0.650\n"
        f"\n{OTHERS}\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["two"]

    done = reproduce(tmp_path, "--benchmarks", "two", "--output", "tables")
    assert done.returncode == 0
    assert done.stderr == "Wrote diagnostics and domains, .csv and .md each, to tables\n"
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == FILES
    with open(tmp_path / "tables" / "diagnostics.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["benchmark"] for row in rows] == ["GSM8K", "Other"]
    assert (rows[0]["z_lower"], rows[0]["b_upper"], rows[1]["models"]) == ("0.000000", "5.000000", "")
    assert (tmp_path / "tables" / "domains.md").read_text(encoding="utf-8").endswith(f"|\n\n{OTHERS}\n")


def test_json_has_full_figures_and_nothing_else_is_on_standard_output(two: Path, tmp_path: Path) -> None:
    (two / "Other" / "difficulty.csv").unlink()
    done = reproduce(tmp_path, "--benchmarks", "two", "--json", "--output", "tables")
    assert done.stderr.startswith("Left out, no difficulty.csv: Other\nWrote ")
    report = json.loads(done.stdout)
    assert (report["schema_version"], report["note"]) == (1, OTHERS)
    (row,) = report["benchmarks"]
    assert row["ddm"] == pytest.approx(1 / 9, abs=1e-15)
    assert (row["b_lower"], row["b_upper"], row["trials"]) == (0.0, 5.0, 1)
    assert [domain["domain"] for domain in report["domains"]] == ["Mathematics", "All"]


def test_filled_benchmarks_beside_the_folder_have_a_table_of_their_own(two: Path, tmp_path: Path) -> None:
    beside = tmp_path / "filled_benchs" / "SIM-X"
    beside.mkdir(parents=True)
    beside.with_suffix(".json").write_text("[]")
    (beside / "difficulty_before.csv").write_text("item,b_mean\na,0\nb,2\nc,10\n")
    (beside / "difficulty.csv").write_text("item,b_mean\na,0\nb,2\nc,10\nd,7\n")
    (beside / "provenance.json").write_text('{"panel": "simulated"}')
    done = reproduce(tmp_path, "--benchmarks", "two", "--output", "tables")
    assert (
        "Filled benchmark  Panel      Items before  after  DDM before  after  Max Gap before  after\n"
        "SIM-X             simulated             3      4       0.211  0.125           0.800  0.500\n"
    ) in done.stdout
    assert done.stderr == "Wrote diagnostics, domains and filled, .csv and .md each, to tables\n"
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [*FILES, "filled.csv", "filled.md"]
    report = json.loads(reproduce(tmp_path, "--benchmarks", "two", "--json").stdout)
    assert [row["items_after"] for row in report["filled"]] == [4]


def test_a_folder_without_any_benchmark_is_one_line(tmp_path: Path) -> None:
    assert refuse(tmp_path, "--benchmarks", "none") == "none: no such folder of benchmarks"
    (tmp_path / "empty" / "A").mkdir(parents=True)
    assert refuse(tmp_path, "--benchmarks", "empty") == (
        "empty: no sub-folder has a difficulty.csv; expected NAME/difficulty.csv"
    )
    assert refuse(tmp_path, "--benchmarks", "empty", "--output", "tables").startswith("empty: ")
    assert not (tmp_path / "tables").exists()


def test_tables_in_the_repository_are_those_of_the_released_benchmarks(tmp_path: Path) -> None:
    if not BENCHMARKS.is_dir():
        pytest.skip("data/benchmarks is not built yet (scripts/build_benchmarks.py)")
    done = reproduce(tmp_path, "--output", "tables")
    assert done.returncode == 0 and OURS in done.stdout
    for name in [*FILES, "filled.csv", "filled.md"]:
        committed = TABLES / name
        assert committed.read_bytes() == (tmp_path / "tables" / name).read_bytes(), name


def test_four_filled_benchmarks_are_simulated_and_say_so() -> None:
    rows, without = read_filled_rows(ROOT / "data" / "filled_benchs")
    assert without == []
    simulated = [row for row in rows if row.benchmark.startswith("SIM-")]
    assert len(simulated) == 4
    for row in simulated:
        assert row.panel == "simulated" and row.max_gap_after < row.max_gap_before
        path = ROOT / "data" / "filled_benchs" / f"{row.benchmark}.json"
        ids = [entry["id"] for entry in json.loads(path.read_text(encoding="utf-8"))]
        assert ids == [
            *(f"{row.benchmark}-origin-{number:03d}" for number in range(row.items_before)),
            *(
                f"{row.benchmark}-fill-{number:03d}"
                for number in range(1, row.items_after - row.items_before + 1)
            ),
        ]
