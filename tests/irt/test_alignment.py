"""The benchmark × dimension table: simulated truth, and when there is no corrected value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from irt.alignment import Alignment, align, fit_without
from irt.alignment_files import fields, lines, write_alignment
from irt.arrays import IntArray
from irt.intervals import UNDEFINED, correlate, resampled_counts, standardised_weights
from irt.io import InputError
from irt.item_subsets import read_subsets
from irt.mirt import MirtSettings, fit_mirt
from irt.mirt_data import Benchmarks
from irt.mirt_plots import draw_alignment, draw_items
from irt.rotation import canonical
from tests.planted_abilities import Planted, on_first, on_second, plant


def table(
    data: Benchmarks, subsets: dict[tuple[int, str], IntArray] | None = None, dims: int = 2
) -> list[Alignment]:
    settings = MirtSettings(dims=dims, starts=1)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    _, turn = canonical(whole)
    rows, not_converged = align(data, whole, turn, subsets or {}, settings, lambda done: None)
    assert not_converged == 0
    return rows


@pytest.fixture(scope="module")
def planted() -> Planted:
    """The first ability has more weight over all, so it is dimension 1."""
    mixed = np.concatenate([on_first(12, 2.0), on_second(12, 2.0)])
    return plant({"one": on_first(30, 2.0), "two": on_second(20, 1.8), "mixed": mixed}, models=200)


@pytest.fixture(scope="module")
def rows(planted: Planted) -> list[Alignment]:
    return table(planted.data, {(2, "first half"): np.arange(50, 62), (2, "second half"): np.arange(62, 74)})


def find(rows: list[Alignment], benchmark: str, subset: str = "") -> list[Alignment]:
    return [row for row in rows if (row.benchmark, row.subset) == (benchmark, subset)]


def test_benchmarks_and_subsets_go_with_the_ability_they_measure(rows: list[Alignment]) -> None:
    assert [(row.benchmark, row.subset, row.dimension, row.items) for row in rows[4:]] == [
        ("mixed", "", 1, 24), ("mixed", "", 2, 24),
        ("mixed", "first half", 1, 12), ("mixed", "first half", 2, 12),
        ("mixed", "second half", 1, 12), ("mixed", "second half", 2, 12),
    ]  # fmt: skip
    assert not any(row.note for row in rows) and {row.models for row in rows} == {200}
    for name, subset, own in (
        ("one", "", 0),
        ("two", "", 1),
        ("mixed", "first half", 0),
        ("mixed", "second half", 1),
    ):
        measured, other = find(rows, name, subset)[own], find(rows, name, subset)[1 - own]
        assert measured.corrected.value > 0.75 and abs(other.corrected.value) < 0.25
        assert measured.corrected.low < measured.corrected.value < measured.corrected.high
        assert measured.agreement > 0.9 and measured.reliability > 0.6
        assert measured.weight.value > 0.75 and abs(other.weight.value) < 0.3
    both = find(rows, "mixed")
    assert all(0.5 < row.corrected.value < 0.8 for row in both)


def test_a_benchmark_goes_more_with_abilities_that_are_fitted_to_it(rows: list[Alignment]) -> None:
    for name, own in (("one", 0), ("two", 1)):
        row = find(rows, name)[own]
        assert row.uncorrected.value > row.corrected.value + 0.03


def test_weights_tell_what_a_benchmark_measures_where_the_abilities_correlate() -> None:
    """Scores that are one of two abilities that correlate at 0.8, and noise."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(400, 2)) @ np.linalg.cholesky([[1, 0.8], [0.8, 1]]).T
    score = theta[:, 0] + 0.3 * rng.normal(size=400)
    weights = resampled_counts(400, 0)
    first, second = standardised_weights(score, theta, weights)
    assert correlate(score, theta[:, 1], weights).value > 0.7
    assert first.low > 0.85 and second.low < 0.05 and abs(second.value) < 0.1
    z = [(v - v.mean(axis=0)) / v.std(axis=0) for v in (score, theta)]
    expected = np.linalg.lstsq(z[1], z[0], rcond=None)[0]
    assert [first.value, second.value] == pytest.approx(expected)
    same = standardised_weights(score, np.column_stack([theta[:, 0], 2 * theta[:, 0]]), weights)
    assert same == [UNDEFINED, UNDEFINED]


def test_abilities_without_a_benchmark_have_no_trace_of_it(planted: Planted) -> None:
    """With the items held, other answers to the benchmark change nothing."""
    data = planted.data
    settings = MirtSettings(dims=2, starts=1)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    _, turn = canonical(whole)
    own = data.benchmark_of == 1
    flipped = data.correct.copy()
    flipped[:, own] = data.trials[:, own] - flipped[:, own]
    before, after = (
        fit_without(replace(data, correct=correct), 1, whole, turn, settings)
        for correct in (data.correct, flipped)
    )
    np.testing.assert_array_equal(before.frozen, after.frozen)
    np.testing.assert_array_equal(before.theta, after.theta)


def test_the_corrected_value_is_that_of_abilities_that_never_saw_the_benchmark(
    planted: Planted, rows: list[Alignment]
) -> None:
    """Other answers to a benchmark change its scores and the axes, but not what the others say of the models."""
    data = planted.data
    rng = np.random.default_rng(5)
    correct = data.correct.copy()
    correct[:, data.benchmark_of == 1] = rng.binomial(1, 0.5, (200, 20))
    noise = find(table(replace(data, correct=correct)), "two")
    assert [row.note for row in noise] == ["", ""]
    assert all(row.corrected.low < 0 < row.corrected.high or abs(row.corrected.value) < 0.2 for row in noise)
    before = find(rows, "two")
    assert [row.reliability for row in noise] == pytest.approx([row.reliability for row in before], abs=0.02)


def test_with_two_benchmarks_the_other_cannot_show_a_dimension_it_lacks() -> None:
    two = plant({"one": on_first(30, 2.0), "two": on_second(30, 1.8)}, models=200).data
    found = table(two)
    for name, own in (("one", 0), ("two", 1)):
        row = find(found, name)[own]
        assert row.uncorrected.value > 0.9
        assert np.isnan([row.corrected.value, row.corrected.low]).all()
        assert all(np.isnan(both.weight.value) for both in find(found, name))
        assert row.note.startswith("the other benchmarks ")
    text = "\n".join(lines(found))
    assert "one, dimension 1: no corrected value: the other benchmarks " in text
    assert fields(find(found, "one")[0])["corrected"] is None


def test_a_bridge_cannot_be_left_out() -> None:
    data = plant(
        {"a": on_first(15, 2.0), "bridge": on_first(15, 2.0), "c": on_first(15, 2.0)}, models=60
    ).data
    data.trials[:30, 30:] = 0
    data.trials[30:, :15] = 0
    data.correct[data.trials == 0] = 0
    found = table(data, dims=1)
    assert find(found, "bridge")[0].note == (
        "without it the other benchmarks fall into 2 groups with no model in common"
    )
    assert find(found, "a")[0].models == 30 and find(found, "a")[0].note == ""


def test_small_benchmarks_have_a_value_or_a_reason() -> None:
    data = plant({"many": on_first(30, 2.0), "one item": on_first(1, 2.0), "same": on_first(2, 2.0)}, 60).data
    data.correct[:, 31:] = 1
    data.trials[3:, 30] = data.correct[3:, 30] = 0
    found = table(data, dims=1)
    assert find(found, "one item")[0].note == "only 3 models answered both this and another benchmark"
    assert find(found, "same")[0].note == "all models have the same share correct"
    assert np.isnan(find(found, "same")[0].uncorrected.value)
    data = plant({"many": on_first(30, 2.0), "one item": on_first(1, 2.0)}, 200).data
    assert 0.3 < find(table(data, dims=1), "one item")[0].corrected.value < 0.9


def test_files_are_written_together(tmp_path: Path, rows: list[Alignment]) -> None:
    def fail(path: Path) -> None:
        raise InputError("no drawing")

    (tmp_path / "alignment.csv").write_text("old")
    with pytest.raises(InputError):
        write_alignment(tmp_path, rows, {"a": 1}, {"alignment.png": fail})
    assert [path.name for path in tmp_path.iterdir()] == ["alignment.csv"]
    assert (tmp_path / "alignment.csv").read_text() == "old"


def test_drawings(tmp_path: Path, planted: Planted, rows: list[Alignment]) -> None:
    missing = replace(rows[0], corrected=replace(rows[0].corrected, value=float("nan")))
    draw_alignment(tmp_path / "a.png", [missing, *rows[1:]])
    data = planted.data
    for dims in (1, 2):
        fit = fit_mirt(data.correct, data.trials, data.benchmark_of, MirtSettings(dims=dims, starts=1))
        draw_items(tmp_path / f"{dims}.png", "one", fit.items)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 3


def test_subsets_are_read(tmp_path: Path, planted: Planted) -> None:
    path = tmp_path / "s.csv"
    path.write_text("subset,benchmark,item,x\nB,two,q1,\nA,one,q0,\nB,two,q0,\nA,two,q0,\n")
    found = read_subsets(path, planted.data)
    assert {key: list(items) for key, items in found.items()} == {
        (1, "B"): [31, 30],
        (0, "A"): [0],
        (1, "A"): [30],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: no column 'benchmark'; it needs benchmark, item, subset"),
        ("benchmark,item\n", ":1: no column 'subset'; it needs benchmark, item, subset"),
        ("benchmark,item,subset\n", ": no items below the column names"),
        ("benchmark,item,subset\none,q0\n", ":2: 2 cells instead of 3"),
        ("benchmark,item,subset\none,q0,\n", ":2: the subset is blank; leave out items that are in none"),
        ("benchmark,item,subset\nx,q0,A\n", ":2: no benchmark 'x'; the matrices are 'one', 'two', 'mixed'"),
        ("benchmark,item,subset\ntwo,q20,A\n", ":2: 'two' has no item 'q20'"),
        ("benchmark,item,subset\none,q0,A\none,q0,A\n", ":3: item 'q0' is in subset 'A' already"),
    ],
)
def test_subsets_that_cannot_be_meant(tmp_path: Path, planted: Planted, text: str, message: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_subsets(path, planted.data)
    assert str(caught.value) == f"{path}{message}"
