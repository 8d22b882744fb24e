"""The tables of benchmarks: what a row holds, in which order rows come, and how each form writes them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irt.benchmark_list import Benchmark
from irt.io import InputError
from irt.tables import (
    FilledRow,
    Row,
    Table,
    as_csv,
    as_markdown,
    as_text,
    diagnostics_table,
    domain_table,
    filled_table,
    read_filled_rows,
    read_rows,
    rounded,
    summarize,
)

# Difficulty 0, 2 and 10: z = 0, 0.2 and 1; DDM (1/6 + 0.3 + 1/6) / 3.
THREE = "item_id,b_mean\n0,2\n1,10\n2,0\n"
LISTED = [
    Benchmark(name, name, domain, "m", 0.0, ())
    for name, domain in (("B2", "Zoology"), ("B1", "Zoology"), ("A1", "Algebra"))
]


def add(folder: Path, name: str, provenance: dict[str, object] | None = None, text: str = THREE) -> None:
    (folder / name).mkdir()
    (folder / name / "difficulty.csv").write_text(text)
    if provenance is not None:
        (folder / name / "provenance.json").write_text(json.dumps(provenance))


def test_a_row_has_the_figures_of_the_file_and_of_its_provenance(tmp_path: Path) -> None:
    add(
        tmp_path,
        "A1",
        {"domain": "Algebra", "models": 5, "trials_per_cell": "varies, 1–8", "max_r_hat": 1.003},
    )
    rows, without = read_rows(tmp_path, LISTED)
    assert without == []
    assert [replace(row, ddm=round(row.ddm, 12)) for row in rows] == [
        Row(
            domain="Algebra",
            benchmark="A1",
            items=3,
            models=5,
            trials="varies, 1–8",
            ddm=round(19 / 90, 12),
            max_gap=0.8,
            z_lower=0.2,
            z_upper=1.0,
            b_lower=2.0,
            b_upper=10.0,
            max_r_hat=1.003,
        )
    ]


def test_order_is_that_of_the_list_whatever_the_folders_are_called(tmp_path: Path) -> None:
    add(tmp_path, "A1", {"domain": "Algebra"})
    add(tmp_path, "B1", {"domain": "Zoology"})
    add(tmp_path, "B2", {"domain": "Zoology"})
    add(tmp_path, "New", {"domain": "Algebra"})
    add(tmp_path, "C1", {"domain": "Crafts"})
    add(tmp_path, "Unknown")
    rows, _ = read_rows(tmp_path, LISTED)
    assert [(row.domain, row.benchmark) for row in rows] == [
        ("Zoology", "B2"),
        ("Zoology", "B1"),
        ("Algebra", "A1"),
        ("Algebra", "New"),
        ("Crafts", "C1"),
        (None, "Unknown"),
    ]
    assert [(row.domain, row.benchmarks, row.items) for row in summarize(rows)] == [
        ("Zoology", 2, 6),
        ("Algebra", 2, 6),
        ("Crafts", 1, 3),
        ("All", 6, 18),
    ]


def test_a_summary_takes_median_and_mean_over_benchmarks_not_items(tmp_path: Path) -> None:
    gaps = {"X": "0\n1,5\n2,10", "Y": "0\n1,6\n2,10", "Z": "0\n1,9\n2,10\n3,10"}  # 0.5, 0.6, 0.9
    for name, values in gaps.items():
        add(tmp_path, name, text=f"item_id,b_mean\n0,{values}\n")
    rows, _ = read_rows(tmp_path, LISTED)
    (all_of_them,) = summarize(rows)
    assert all_of_them.domain == "All"
    assert (all_of_them.max_gap_median, all_of_them.max_gap_mean) == pytest.approx((0.6, 2.0 / 3))
    ddm = sorted(row.ddm for row in rows)
    assert (all_of_them.ddm_median, all_of_them.ddm_mean) == pytest.approx((ddm[1], sum(ddm) / 3))


def test_a_fits_own_output_and_a_release_without_provenance_are_read(tmp_path: Path) -> None:
    add(tmp_path, "fit", text="item,b_mean,b_sd,r_hat,ess_bulk\nq,0,1,1,9\nr,2,1,1,9\ns,10,1,,\n")
    (tmp_path / "fit" / "test.jsonl").write_text("{}\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README.md").write_text("not a benchmark")
    rows, without = read_rows(tmp_path, LISTED)
    assert without == ["notes"]
    assert diagnostics_table(rows).rows == [("—", "fit", "3", "—", "—", "0.211", "0.800", "0.20–1.00", "—")]
    assert as_csv(rows) == (
        ["domain", "benchmark", "items", "models", "trials", "ddm", "max_gap"]
        + ["z_lower", "z_upper", "b_lower", "b_upper", "max_r_hat"],
        [
            [
                "",
                "fit",
                "3",
                "",
                "",
                "0.211111",
                "0.800000",
                "0.200000",
                "1.000000",
                "2.000000",
                "10.000000",
                "",
            ]
        ],
    )
    assert domain_table(summarize(rows)).rows == [("All", "1", "3", "0.211", "0.211", "0.800", "0.800")]


@pytest.mark.parametrize(
    ("text", "provenance", "message"),
    [
        ("item_id,b_mean\n0,1\n", None, "difficulty.csv: min-max normalization needs at least two items"),
        ("item_id,b_mean\n0,1\n1,1\n", None, "difficulty.csv: all 2 difficulties are equal"),
        ("item_id,b_mean\n0,1\n1,x\n", None, "difficulty.csv:3: the difficulty is 'x'"),
        ("item_id,b\n0,1\n", None, "difficulty.csv:1: no column 'b_mean'"),
        (THREE, '{\n"domain"', "provenance.json:2: not valid JSON"),
        (THREE, "[]", "provenance.json: expected a JSON object"),
        (THREE, '{"max_r_hat": "1.0"}', "provenance.json: max_r_hat is '1.0'"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, provenance: str | None, message: str
) -> None:
    add(tmp_path, "A1", text=text)
    if provenance:
        (tmp_path / "A1" / "provenance.json").write_text(provenance)
    with pytest.raises(InputError) as caught:
        read_rows(tmp_path, LISTED)
    assert str(caught.value).startswith(f"{tmp_path / 'A1'}/{message}")


def test_text_is_aligned_and_markdown_escapes_its_own_bars() -> None:
    table = Table(("Name", "N"), (True, False), [("a|b", "7"), ("longer", "1,234")])
    assert as_text(table) == ["Name        N", "a|b         7", "longer  1,234"]
    assert as_markdown(table) == ["| Name | N |", "| --- | ---: |", "| a\\|b | 7 |", "| longer | 1,234 |"]


def add_filled(folder: Path, name: str, before: str = THREE, after: str = THREE + "3,6\n") -> None:
    (folder / f"{name}.json").write_text("[]")
    (folder / name).mkdir()
    (folder / name / "difficulty_before.csv").write_text(before)
    (folder / name / "difficulty.csv").write_text(after)


def test_a_filled_benchmark_has_a_row_of_before_and_after(tmp_path: Path) -> None:
    """Difficulty 0, 2, 6 and 10: the widest gap goes from 0.8 to 0.4."""
    add_filled(tmp_path, "SIM-X")
    (tmp_path / "SIM-X" / "provenance.json").write_text('{"panel": "simulated"}')
    add_filled(tmp_path, "A")
    (tmp_path / "Unfinished.json").write_text("[]")
    rows, without = read_filled_rows(tmp_path)
    assert without == ["Unfinished"]
    assert [(row.benchmark, row.panel) for row in rows] == [("A", None), ("SIM-X", "simulated")]
    assert (rows[1].items_before, rows[1].items_after) == (3, 4)
    assert rows[1].max_gap_before == pytest.approx(0.8)
    assert rows[1].max_gap_after == pytest.approx(0.4)
    assert rows[1].ddm_before == pytest.approx(19 / 90)
    assert as_text(filled_table([FilledRow("B", None, 3, 4, 0.25, 0.125, 0.8, 0.4)])) == [
        "Filled benchmark  Panel  Items before  after  DDM before  after  Max Gap before  after",
        "B                 —                 3      4       0.250  0.125           0.800  0.400",
    ]


def test_a_figure_in_json_is_never_minus_zero_nor_nan() -> None:
    figures = [rounded(value, 6) for value in (-1e-9, float("nan"), -0.1234567)]
    assert json.dumps(figures) == "[0.0, null, -0.123457]"


def test_without_a_folder_of_filled_benchmarks_there_are_no_rows(tmp_path: Path) -> None:
    assert read_filled_rows(tmp_path / "none") == ([], [])
    add_filled(tmp_path, "Flat", before="item,b_mean\na,1\nb,1\n")
    with pytest.raises(InputError, match="difficulty_before.csv: all 2 difficulties are equal"):
        read_filled_rows(tmp_path)
