"""DDM, Max Gap and gaps: worked numbers, a naive implementation beside them, and what must not change them."""

from __future__ import annotations

import gzip
import math
import random
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from irt.difficulty import ddm, diagnose, max_gap, normalize, widest_gaps
from irt.difficulty_csv import check_unit_interval, read_difficulties
from irt.io import InputError

unit_values = st.lists(st.floats(0, 1), min_size=1, max_size=50)
# Spread over at least 1e-3, so that rounding stays far below the tolerances.
spread_values = st.lists(
    st.integers(-(10**6), 10**6).map(lambda n: n / 1000), min_size=2, max_size=50
).filter(lambda values: max(values) > min(values))


def naive_gaps(z: list[float]) -> list[tuple[float, float, float]]:
    """Return (width, lower, upper) of every interval, from easy to hard, by looking for each next item."""
    edges, left = [0.0], list(z)
    while left:
        edges.append(min(left))
        left.remove(edges[-1])
    edges.append(1.0)
    return [(edges[i + 1] - edges[i], edges[i], edges[i + 1]) for i in range(len(edges) - 1)]


def naive_ddm(z: list[float]) -> float:
    total = 0.0
    for value in z:
        # With ties any order of the equal values gives the same sum, so tied ranks are averaged over.
        below = sum(other < value for other in z)
        tied = sum(other == value for other in z)
        total += sum(abs(value - (rank - 0.5) / len(z)) for rank in range(below + 1, below + tied + 1)) / tied
    return total / len(z)


def test_worked_numbers() -> None:
    assert normalize([-2, 0, 3]) == [0, 0.4, 1]
    assert ddm([0, 0.2, 1]) == pytest.approx(19 / 90, abs=1e-15)
    assert ddm([1, 0, 0.2]) == ddm([0, 0.2, 1])
    assert max_gap([0, 0.2, 1]) == 0.8
    assert max_gap([0.5]) == 0.5
    assert max_gap([0.4, 0.5]) == 0.5
    assert max_gap([0.7, 0.5]) == 0.5


@given(unit_values)
def test_both_equal_a_naive_implementation(z: list[float]) -> None:
    assert ddm(z) == pytest.approx(naive_ddm(z), abs=1e-12)
    assert max_gap(z) == max(width for width, _, _ in naive_gaps(z))


@given(unit_values, st.integers(0, 60))
def test_the_widest_gaps_equal_a_naive_search(z: list[float], count: int) -> None:
    found = widest_gaps(z, count)
    by_width = sorted(naive_gaps(z), key=lambda gap: (-gap[0], gap[1]))
    expected = [gap for gap in by_width if gap[0] > 0][:count]
    assert [(gap.width, gap.lower, gap.upper) for gap in found] == expected
    for gap in found:
        assert gap.lower == (0 if gap.lower_index is None else z[gap.lower_index])
        assert gap.upper == (1 if gap.upper_index is None else z[gap.upper_index])
    if count:
        assert found[0].width == max_gap(z)


def test_equally_wide_gaps_go_from_easy_to_hard_and_boundaries_have_no_item() -> None:
    first, second, third, fourth = widest_gaps([0.75, 0.25, 0.5], 9)
    assert [gap.lower for gap in (first, second, third, fourth)] == [0, 0.25, 0.5, 0.75]
    assert (first.lower_index, first.upper_index) == (None, 1)
    assert (second.lower_index, second.upper_index) == (1, 2)
    assert (fourth.lower_index, fourth.upper_index) == (0, None)


@given(spread_values, st.floats(0.01, 100), st.floats(-100, 100), st.randoms(use_true_random=False))
def test_scale_origin_and_order_do_not_matter(
    values: list[float], scale: float, origin: float, rng: random.Random
) -> None:
    before = diagnose(values)
    moved = [scale * value + origin for value in values]
    rng.shuffle(moved)
    after = diagnose(moved)
    assert after.ddm == pytest.approx(before.ddm, abs=1e-6)
    assert after.max_gap == pytest.approx(before.max_gap, abs=1e-6)


@given(spread_values)
def test_turning_difficulty_round_does_not_matter(values: list[float]) -> None:
    turned = diagnose([-value for value in values])
    assert turned.ddm == pytest.approx(diagnose(values).ddm, abs=1e-9)
    assert turned.max_gap == pytest.approx(diagnose(values).max_gap, abs=1e-9)


@given(st.integers(1, 300))
def test_evenly_spread_items_have_no_mismatch(n: int) -> None:
    diagnosis = diagnose([(i - 0.5) / n for i in range(1, n + 1)], normalized=True)
    assert diagnosis.ddm == 0
    assert diagnosis.max_gap == pytest.approx(1 / n if n > 1 else 0.5)


@given(unit_values)
def test_bounds(z: list[float]) -> None:
    assert 0 <= ddm(z) <= 0.5
    assert 1 / (len(z) + 1) <= max_gap(z) * (1 + 1e-12) <= 1 + 1e-12


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20))
def test_normalized_values_stay_on_the_unit_interval(values: list[float]) -> None:
    assume(0 < max(values) - min(values) < math.inf)
    z = normalize(values)
    assert (min(z), max(z)) == (0, 1)
    assert z[values.index(min(values))] == 0
    diagnose(values)


def test_a_diagnosis_keeps_the_range_and_the_order() -> None:
    diagnosis = diagnose([3.0, -1.0, 1.0])
    assert (diagnosis.items, diagnosis.b_min, diagnosis.b_max) == (3, -1, 3)
    assert diagnosis.z == [1, 0, 0.5]
    kept = diagnose([0.75, 0.5], normalized=True)
    assert (kept.z, kept.b_min, kept.b_max) == ([0.75, 0.5], 0.5, 0.75)


@pytest.mark.parametrize(
    "values, message",
    [
        ([], "min-max normalization needs at least two items, found 0"),
        ([1.0], "min-max normalization needs at least two items, found 1"),
        ([1.0, 1.0], "all 2 difficulties are equal"),
        ([1.0, math.nan], "not a finite number"),
        ([1.0, math.inf], "not a finite number"),
        ([-1e308, 1e308], "span more than a float can hold"),
    ],
)
def test_values_that_cannot_be_normalized(values: list[float], message: str | None) -> None:
    with pytest.raises(ValueError, match=message):
        normalize(values)


@pytest.mark.parametrize("function", [ddm, max_gap, lambda z: widest_gaps(z, 1)])
@pytest.mark.parametrize(
    "z, message",
    [
        ([], "no items"),
        ([0.5, math.nan], "not a finite number"),
        ([0.5, 1.01], "must be on"),
        ([-0.01, 0.5], "must be on"),
    ],
)
def test_values_off_the_unit_interval(
    function: Callable[[list[float]], object], z: list[float], message: str | None
) -> None:
    with pytest.raises(ValueError, match=message):
        function(z)


def test_reading_keeps_ids_values_and_lines(tmp_path: Path) -> None:
    text = '\ufeffb_sd,item_id,b_mean,item\r\n0,007,1.5,x\r\n\r\n0," a\nb ",-2e-1,x\r\n0,é,0,x\r\n'
    (tmp_path / "d.csv").write_bytes(text.encode())
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("d.csv", "d.csv.gz"):
        found = read_difficulties(tmp_path / name)
        assert found.ids == ("007", " a\nb ", "é")
        assert found.values == (1.5, -0.2, 0)
        assert found.lines == (2, 5, 6)


def test_without_an_id_column_row_numbers_are_the_ids(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("name,b\nx,1\n\nx,2\n")
    found = read_difficulties(tmp_path / "d.csv", "b")
    assert found.ids == ("1", "2")
    assert found.lines == (2, 4)


def test_the_row_outside_the_unit_interval_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("item,b_mean\na,0\nb,1\n")
    check_unit_interval(path, read_difficulties(path))
    path.write_text("item,b_mean\na,0\nb,1.5\n")
    with pytest.raises(
        InputError, match=r"d.csv:3: the difficulty of item 'b' is 1.5, which is not on \[0, 1\]"
    ):
        check_unit_interval(path, read_difficulties(path))
