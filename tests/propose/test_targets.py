from __future__ import annotations

import numpy as np
import pytest

from irt.difficulty import normalize, widest_gaps
from propose.panel_tables import PanelTables, panel_tables
from propose.targets import Gap, aims, choose_targets, gaps_of, parents_for, pass_rate, resolvable
from tests.propose.simulation import true_abilities
from verifier.simulated.families import panel_pass_rate


def tables(n_trials: int = 4) -> PanelTables:
    return panel_tables(true_abilities(), n_trials, 0.0)


def test_gaps_are_those_of_the_diagnosis_and_accepted_items_split_them() -> None:
    b = [-2.0, -1.5, 0.0, 0.2, 2.0]
    gaps = gaps_of(b, [])
    expected = widest_gaps(normalize(b), 4)
    assert [gap.width / 4 for gap in gaps] == pytest.approx([gap.width for gap in expected])
    assert gaps_of(b, [1.0])[0] == Gap(-1.5, 0.0)


def test_the_scale_stays_that_of_the_originals() -> None:
    gaps = gaps_of([-1.0, 0.0, 1.0], [5.0, -7.0])
    assert {(gap.low, gap.high) for gap in gaps} == {(-1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (-1.0, -1.0)}


def test_equally_wide_gaps_come_from_easy_to_hard() -> None:
    assert gaps_of([2.0, 0.0, 1.0], []) == [Gap(0.0, 1.0), Gap(1.0, 2.0)]


def test_a_gap_that_hardly_any_answers_could_fill_is_no_target() -> None:
    wide, narrow = Gap(0.0, 1.0), Gap(-1.0, -0.8)
    found = choose_targets([wide, narrow], 3, lambda gap: tables(), 0.5)
    assert found.gaps == (wide,)
    assert found.unresolvable == (narrow,)


def test_more_trials_resolve_a_narrower_gap() -> None:
    gap = Gap(-0.15, 0.15)
    assert not resolvable(gap, tables(4), 0.5)
    assert resolvable(gap, tables(32), 0.5)


def test_a_gap_far_from_all_verifiers_is_harder_to_resolve() -> None:
    assert resolvable(Gap(0.0, 0.6), tables(), 0.5)
    assert not resolvable(Gap(3.6, 4.2), tables(), 0.5)


def test_guessing_makes_a_gap_harder_to_resolve() -> None:
    gap = Gap(0.75, 1.25)
    assert resolvable(gap, tables(), 0.5)
    assert not resolvable(gap, panel_tables(true_abilities(), 4, 0.5), 0.5)


def test_only_as_many_targets_as_wanted_and_narrower_gaps_are_not_called_unresolvable() -> None:
    gaps = [Gap(0.0, 1.0), Gap(1.0, 1.9), Gap(2.0, 2.1)]
    assert choose_targets(gaps, 1, lambda gap: tables(), 0.5).gaps == (gaps[0],)
    assert choose_targets(gaps, 2, lambda gap: tables(), 0.5).unresolvable == ()


@pytest.mark.parametrize(
    ("count", "places"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 0]), (4, [1, 2, 0, 3]), (9, [1, 2, 0, 3, 4])]
)
def test_parents_come_from_the_edges_in_turn(count: int, places: list[int]) -> None:
    assert parents_for(Gap(0.0, 1.0), [-1.0, 0.0, 1.0, 1.5, 2.0], count) == places


def test_parents_where_one_side_has_few() -> None:
    assert parents_for(Gap(0.0, 1.0), [0.0, 1.0, 1.1, 1.2], 4) == [0, 1, 2, 3]


def test_children_are_aimed_at_the_middle_half() -> None:
    assert aims(Gap(0.0, 4.0), 4) == pytest.approx([1.25, 1.75, 2.25, 2.75])
    assert aims(Gap(0.0, 4.0), 1) == [2.0]


@pytest.mark.parametrize("guessing", [0.0, 0.25])
@pytest.mark.parametrize("b", [-2.0, 0.0, 2.5])
def test_pass_rate_is_the_mean_over_the_panel(b: float, guessing: float) -> None:
    assert pass_rate(b, true_abilities(1e-6), guessing) == pytest.approx(panel_pass_rate(b, guessing))
    rates = [pass_rate(value, true_abilities(0.3), guessing) for value in np.linspace(-3, 3, 20)]
    assert (np.diff(rates) < 0).all()
