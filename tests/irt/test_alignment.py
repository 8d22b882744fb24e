"""The benchmark × dimension table: simulated truth, and when there is no corrected value."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from irt.alignment import Alignment, _with_weights, align, fit_without
from irt.alignment_files import as_shown, fields, lines, write_alignment
from irt.arrays import IntArray
from irt.intervals import UNDEFINED, Figure, correlate, resampled_counts, standardised_weights
from irt.io import InputError
from irt.item_subsets import read_subsets
from irt.mirt import MirtSettings, fit_mirt
from irt.mirt_data import Benchmarks
from irt.rotation import canonical, procrustes, rotate
from tests.planted_abilities import Planted, on_first, on_second, plant


def table(
    data: Benchmarks, subsets: dict[tuple[int, str], IntArray] | None = None, dims: int = 2
) -> list[Alignment]:
    settings = MirtSettings(dims=dims, starts=1)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    _, turn = canonical(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows, not_converged = align(data, whole, turn, subsets or {}, settings, lambda done: None)
    assert not_converged == []
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


def test_weights_of_few_models_are_withheld_and_told_apart_from_dependent_dimensions() -> None:
    rng = np.random.default_rng(0)
    rows = [Alignment("one", "", 9, 6, k) for k in (1, 2)]
    for models, reason in ((3, "few models"), (6, "few models"), (8, "")):
        theta = rng.normal(size=(models, 2))
        found = _with_weights(rows, theta[:, 0] + rng.normal(size=models), theta, seed=0)
        assert {row.weight_reason for row in found} == {reason}
        assert all(np.isnan(row.weight.value) == bool(reason) for row in found)
    found = _with_weights(rows, rng.normal(size=8), np.repeat(theta[:, :1], 2, axis=1), seed=0)
    assert {row.weight_reason for row in found} == {"dependent dimensions"}


def test_correlations_and_weights_are_low_by_the_root_of_the_reliability() -> None:
    """With abilities by 10 and 40 items, scores of which both are a known part."""
    planted = plant({"few": on_first(10, 1.5), "many": on_second(40, 1.5)}, models=800)
    data, theta = planted.data, planted.theta
    fit = fit_mirt(data.correct, data.trials, data.benchmark_of, MirtSettings(dims=2, starts=1))
    fit = rotate(fit, procrustes(fit.theta, theta))
    score, once = theta @ [0.6, 0.6] + 0.3 * np.random.default_rng(0).normal(size=800), np.ones((1, 800))
    found, true = (standardised_weights(score, abilities, once) for abilities in (fit.theta, theta))
    assert fit.reliability[:, 0].mean() < 0.85 < 0.9 < fit.reliability[:, 1].mean()
    for k, expected in enumerate(np.sqrt(fit.reliability.mean(axis=0))):
        corrected, at_truth = (correlate(score, v[:, k], once).value for v in (fit.theta, theta))
        assert corrected / at_truth == pytest.approx(expected, abs=0.025)
        assert found[k].value / true[k].value == pytest.approx(expected, abs=0.025)


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
        assert row.note.startswith("the other benchmarks ") and row.reason in (
            "not measured",
            "not identified",
        )
        assert [both.weight_reason for both in find(found, name)] == ["needs all dimensions"] * 2
    text = "\n".join(lines(found, np.eye(2)))
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
    assert find(found, "bridge")[0].reason == "not linked"
    assert find(found, "bridge")[0].note == (
        "without it the other benchmarks fall into 2 groups with no model in common"
    )
    assert find(found, "a")[0].models == 30 and find(found, "a")[0].note == ""


def test_small_benchmarks_have_a_value_or_a_reason() -> None:
    data = plant({"many": on_first(30, 2.0), "one item": on_first(1, 2.0), "same": on_first(2, 2.0)}, 60).data
    data.correct[:, 31:] = 1
    data.trials[3:, 30] = data.correct[3:, 30] = 0
    found = table(data, dims=1)
    few, same = find(found, "one item")[0], find(found, "same")[0]
    assert (few.reason, few.note) == ("few models", "only 3 models answered both this and another benchmark")
    assert (same.reason, same.note) == ("equal scores", "all models have the same share correct")
    assert np.isnan(same.uncorrected.value) and same.weight_reason == "needs all dimensions"
    data.trials[1:, 30] = data.correct[1:, 30] = 0
    one = find(table(data, dims=1), "one item")[0]
    assert one.note == "only 1 model answered both this and another benchmark"
    data = plant({"many": on_first(30, 2.0), "one item": on_first(1, 2.0)}, 200).data
    assert 0.3 < find(table(data, dims=1), "one item")[0].corrected.value < 0.9


def test_models_that_answer_the_others_alike_have_no_abilities_to_compare() -> None:
    data = plant({"many": on_first(30, 2.0), "few": on_first(5, 2.0)}, 60).data
    data.correct[:20, :30] = data.correct[0, :30]
    data.trials[20:, 30:] = data.correct[20:, 30:] = 0
    row = find(table(data, dims=1), "few")[0]
    assert (row.reason, row.note) == ("not measured", "the other benchmarks do not tell these models apart")
    assert np.isnan([row.corrected.value, row.uncorrected.low, row.weight.value]).any()


def test_fits_that_had_not_converged_are_named(planted: Planted) -> None:
    data = planted.data
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, MirtSettings(dims=2, starts=1))
    hasty = MirtSettings(dims=2, starts=1, max_iterations=1)
    _, not_converged = align(data, whole, canonical(whole)[1], {}, hasty, lambda done: None)
    assert not_converged == ["one", "two", "mixed"]


def test_the_table_says_what_to_read_first(rows: list[Alignment]) -> None:
    zero = replace(rows[0], benchmark="a\nb\x1b[31m", corrected=Figure(-0.001, -0.12, 0.004))
    text = lines([zero, *rows[1:]], np.array([[1, -0.48], [-0.48, 1]]))
    assert text[0].split() == [
        "items", "models", "dimension", "corrected", "weight", "uncorrected", "agreement", "reliability",
    ]  # fmt: skip
    assert text[1].startswith("a\\nb\\x1b[31m ") and " 0.00 [-0.12, 0.00] " in text[1]
    assert f"{zero.weight.value:.2f} [{zero.weight.low:.2f}, {zero.weight.high:.2f}]" in text[1]
    assert text[1].split()[-2:] == [f"{zero.agreement:.2f}", f"{zero.reliability:.2f}"]
    assert text[2].split()[0] == "2" and len(text) == 10 + 5
    reading, withheld, correlations = text[-3:]
    assert (
        reading.startswith("Read corrected first") and "(most: 1 and 2, -0.48); uncorrected last: " in reading
    )
    assert "agreement below 0.8 " in withheld and "reliability below 0.5 " in withheld
    assert correlations == "Dimensions 1 and 2 correlate -0.48"


def test_a_single_dimension_has_no_weights_to_read(rows: list[Alignment]) -> None:
    text = "\n".join(lines([row for row in rows if row.dimension == 1], np.eye(1)))
    assert "weight" not in text and "correlate" not in text and "uncorrected last: " in text


def test_reasons_for_no_weights_are_told_once(rows: list[Alignment]) -> None:
    few = [replace(row, weight=UNDEFINED, weight_reason="few models") for row in rows[:2]]
    assert "\n".join(lines(few, np.eye(2))).count("one: no weights: few models") == 1


def test_names_are_shown_on_one_line() -> None:
    assert as_shown("naïve 中文 $x_1$ \\frac") == "naïve 中文 $x_1$ \\frac"
    assert as_shown("a\nb\tc\udcff") == "a\\nb\\tc\\udcff"


def test_files_are_written_together(tmp_path: Path, rows: list[Alignment]) -> None:
    def fail(path: Path) -> None:
        raise InputError("no drawing")

    (tmp_path / "alignment.csv").write_text("old")
    with pytest.raises(InputError):
        write_alignment(tmp_path, rows, {"a": 1}, {"alignment.png": fail})
    assert [path.name for path in tmp_path.iterdir()] == ["alignment.csv"]
    assert (tmp_path / "alignment.csv").read_text() == "old"


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
        ("subset,benchmark,item,subset\n", ":1: two columns 'subset'; keep one"),
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


def test_models_that_answered_this_benchmark_alone_do_not_count() -> None:
    """Without it nothing is known of their abilities."""
    data = plant({"one": on_first(15, 2.0), "two": on_first(15, 2.0)}, models=60).data
    data.trials[:20, 15:] = data.correct[:20, 15:] = 0
    found = table(data, dims=1)
    assert [row.models for row in found] == [40, 40]
    assert find(found, "one")[0].reliability > 0.7
