"""scripts/diagnose_benchmark.py as its users run it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Sequence

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "diagnose_benchmark.py"

# Difficulty 0, 2 and 10: z = 0, 0.2 and 1.
THREE = "item,b_mean\nq0,0\nq1,2\nq2,10\n"
THREE_LINES = "Items: 3\nNormalization: per-benchmark min-max to [0, 1]\nDDM: 0.211111\nMax Gap: 0.800000\n"


def diagnose(
    folder: Path, *args: str, python: Sequence[str] = (sys.executable,)
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*python, str(SCRIPT), *args], cwd=folder, capture_output=True, encoding="utf-8", timeout=60
    )


def refuse(folder: Path, *args: str) -> str:
    """Run, expect one line on standard error and exit status 2, return the line without its prefix."""
    done = diagnose(folder, *args)
    assert (done.returncode, done.stdout) == (2, "")
    prefix = "diagnose_benchmark.py: error: "
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1
    return done.stderr[len(prefix) : -1]


def test_four_lines(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(THREE)
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(THREE.encode()))
    for name in ("d.csv", "d.csv.gz"):
        done = diagnose(tmp_path, name)
        assert (done.returncode, done.stdout, done.stderr) == (0, THREE_LINES, "")


def test_another_column(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("hardness,item\n0,a\n2,b\n10,c\n")
    assert diagnose(tmp_path, "d.csv", "--column", "hardness").stdout == THREE_LINES


def test_normalized_values_are_kept(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("item,b_mean\na,0.25\nb,0.5\nc,0.625\n")
    assert diagnose(tmp_path, "d.csv", "--normalized").stdout == (
        "Items: 3\nNormalization: none (values already on [0, 1])\nDDM: 0.097222\nMax Gap: 0.375000\n"
    )
    gap = json.loads(diagnose(tmp_path, "d.csv", "--normalized", "--json", "--gaps", "1").stdout)["gaps"]
    assert gap == [
        {
            "width": 0.375,
            "z_lower": 0.625,
            "z_upper": 1.0,
            "b_lower": 0.625,
            "b_upper": 1.0,
            "item_lower": "c",
            "item_upper": None,
        }
    ]


def test_normalized_midpoints_have_no_mismatch(tmp_path: Path) -> None:
    rows = [f"q{i},{(i - 0.5) / 40}\n" for i in range(1, 41)]
    (tmp_path / "d.csv").write_text("".join(["item,b_mean\n", *reversed(rows)]))
    assert "\nDDM: 0.000000\nMax Gap: 0.025000\n" in diagnose(tmp_path, "d.csv", "--normalized").stdout


def test_json_has_the_same_figures(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(THREE)
    report = json.loads(diagnose(tmp_path, "d.csv", "--json").stdout)
    assert report == {
        "schema_version": 1,
        "file": "d.csv",
        "column": "b_mean",
        "items": 3,
        "normalization": "per-benchmark min-max to [0, 1]",
        "ddm": pytest.approx(19 / 90),
        "max_gap": 0.8,
        "b_min": 0.0,
        "b_max": 10.0,
        "gaps": [
            {
                "width": 0.8,
                "z_lower": 0.2,
                "z_upper": 1.0,
                "b_lower": 2.0,
                "b_upper": 10.0,
                "item_lower": "q1",
                "item_upper": "q2",
            },
            {
                "width": 0.2,
                "z_lower": 0.0,
                "z_upper": 0.2,
                "b_lower": 0.0,
                "b_upper": 2.0,
                "item_lower": "q0",
                "item_upper": "q1",
            },
        ],
    }


def test_table_of_gaps(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('item,b_mean\n"a, long id",-10\n"new\nline",0.5\n z,10\n')
    done = diagnose(tmp_path, "d.csv", "--gaps", "5")
    assert done.stdout.splitlines()[4:] == [
        "",
        "Gap     Width    z from      z to      b from       b to  item from    item to",
        r"  1  0.525000  0.000000  0.525000  -10.000000   0.500000  a, long id   'new\nline'",
        r"  2  0.475000  0.525000  1.000000    0.500000  10.000000  'new\nline'  ' z'",
    ]
    (tmp_path / "d.csv").write_text("item,b_mean\na,0.5\n")
    done = diagnose(tmp_path, "d.csv", "--gaps", "1", "--normalized")
    assert (
        done.stdout.splitlines()[-1].split()
        == "1 0.500000 0.000000 0.500000 0.000000 0.500000 (boundary) a".split()
    )


def test_an_id_that_the_terminal_cannot_show_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("item,b_mean\né,0\nb,1\n", encoding="utf-8")
    done = diagnose(
        tmp_path, "d.csv", "--gaps", "1", python=("env", "PYTHONIOENCODING=ascii", sys.executable)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe9" in done.stdout


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "d.csv: the file is empty; its first line must hold column names"),
        ("item,b_mean\n", "d.csv: no items below the column names"),
        ("item,b_mean\na,1\n", "d.csv: min-max normalization needs at least two items, found 1"),
        ("item,b_mean\na,1\nb,1.0\n", "d.csv: all 2 difficulties are equal (1.0), so they have no spread"),
        (
            "item,b\na,1\nb,2\n",
            "d.csv:1: no column 'b_mean'; the columns there are 'item', 'b'; choose one with --column",
        ),
        (
            "b_mean,b_mean\n1,1\n2,2\n",
            "d.csv:1: more than one column 'b_mean'; the columns there are 'b_mean', 'b_mean'; "
            "choose one with --column",
        ),
        ("item,b_mean\na,1\nb,\n", "d.csv:3: the difficulty is blank; it must be a finite number"),
        ("item,b_mean\na,1\nb, \n", "d.csv:3: the difficulty is blank; it must be a finite number"),
        ("item,b_mean\na,1\nb,nan\n", "d.csv:3: the difficulty is 'nan'; it must be a finite number"),
        ("item,b_mean\na,1\nb,-inf\n", "d.csv:3: the difficulty is '-inf'; it must be a finite number"),
        ("item,b_mean\na,1\nb,1e999\n", "d.csv:3: the difficulty is '1e999'; it must be a finite number"),
        ("item,b_mean\na,1\nb,hard\n", "d.csv:3: the difficulty is 'hard'; it must be a finite number"),
        ("item,b_mean\na,1\nb,1_000\n", "d.csv:3: the difficulty is '1_000'; it must be a finite number"),
        ("item,b_mean\na,1\nb\n", "d.csv:3: 1 cells instead of 2"),
        ("item,b_mean\na,1\nb,2,3\n", "d.csv:3: 3 cells instead of 2"),
        ("item,b_mean\na,1\n,2\n", "d.csv:3: the item's id is blank"),
        ("item,b_mean\na,1\nb,2\n\na,3\n", "d.csv:5: item 'a' is there already, on line 2"),
        ('item,b_mean\na,1\n"b"x,2\n', "d.csv:3: not valid CSV (',' expected after '\"')"),
    ],
)
def test_files_that_cannot_be_diagnosed(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    assert refuse(tmp_path, "d.csv") == message


@pytest.mark.parametrize(
    "args, message",
    [
        (["no.csv"], "no.csv: No such file or directory"),
        (
            ["d.csv", "--gaps", "0"],
            "argument --gaps: must be a whole number from 1 to 999999, found '0'; see --help",
        ),
        (["d.csv", "--plot", "x.jpg"], "--plot x.jpg: the name must end in .png, .pdf, .svg"),
        (
            ["d.csv", "--normalized"],
            "d.csv:3: the difficulty of item 'q1' is 2.0, which is not on [0, 1]; leave out --normalized",
        ),
    ],
)
def test_arguments_that_cannot_be_right(tmp_path: Path, args: list[str], message: str) -> None:
    (tmp_path / "d.csv").write_text(THREE)
    assert refuse(tmp_path, *args) == message


def test_help_has_two_examples(tmp_path: Path) -> None:
    done = diagnose(tmp_path, "--help")
    assert done.returncode == 0
    assert done.stdout.count("python3 scripts/diagnose_benchmark.py") == 2


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_plot(tmp_path: Path, suffix: str, start: bytes) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    (tmp_path / "d.csv").write_text(THREE)
    done = diagnose(tmp_path, "d.csv", "--plot", f"plots/d.{suffix}")
    assert (done.returncode, done.stdout, done.stderr) == (0, THREE_LINES, f"Wrote plots/d.{suffix}\n")
    assert (tmp_path / "plots" / f"d.{suffix}").read_bytes().startswith(start)
    assert len(list((tmp_path / "plots").iterdir())) == 1


def test_a_name_that_looks_like_mathematics_is_drawn_as_it_stands(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    folder = tmp_path / "$\\frac$"
    folder.mkdir()
    (folder / "difficulty.csv").write_text("item,b_mean\na,1\nb,2\n", encoding="utf-8")
    done = diagnose(folder, "difficulty.csv", "--plot", "d.png")
    assert (done.returncode, done.stderr) == (0, "Wrote d.png\n")


def test_plot_without_matplotlib_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(THREE)
    done = diagnose(tmp_path, "d.csv", "--plot", "d.png", python=(sys.executable, "-I", "-S"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("; run: python -m pip install matplotlib\n") and done.stderr.count("\n") == 1
    assert not (tmp_path / "d.png").exists()


def test_the_published_figures_of_aime24() -> None:
    release = os.environ.get("BENCHFILL_RELEASE")
    if not release:
        pytest.skip(
            "BENCHFILL_RELEASE is not set: the paper's own release "
            "(ASTRAL-Group/benchmark-difficulty-measure) is not available here"
        )
    benchmarks = Path(release) / "data" / "benchmarks"
    folder = next(path for path in benchmarks.iterdir() if path.name.lower() == "aime24")
    done = diagnose(benchmarks, str(folder / "difficulty.csv"))
    assert "\nDDM: 0.077077\nMax Gap: 0.178623\n" in done.stdout
