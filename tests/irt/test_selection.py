"""Items chosen for a dimension: simulated truth, the mix of difficulty, and models that had no part in the choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from irt.intervals import UNDEFINED, Figure
from irt.io import InputError
from irt.mirt import MirtFit, MirtSettings, fit_mirt
from irt.mirt_updates import Gaussian
from irt.rotation import canonical
from irt.selection import (
    Strata,
    expected_easiness,
    matched_items,
    random_items,
    select_items,
    separating_items,
    stratify,
)
from irt.selection_check import Unseen, check_selection, figures, halves, score_error, summary
from irt.selection_report import Kept, json_report, report_lines
from tests.planted_abilities import Planted, on_first, on_second, plant

SETTINGS = MirtSettings(dims=2, starts=1)


@pytest.fixture(scope="module")
def half() -> tuple[Planted, MirtFit]:
    """One benchmark whose first half measures the first ability, more or less well, and whose second the second."""
    first, second = on_first(50, 1.0), on_second(50, 1.0)
    first[:, 0] = second[:, 1] = np.tile([0.4, 2.4], 25)
    planted = plant({"half": np.concatenate([first, 0.9 * second])}, models=200)
    return planted, fit_mirt(planted.data.correct, planted.data.trials, planted.data.benchmark_of, SETTINGS)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60).map(sorted),
    st.integers(1, 70),
    st.integers(0, 2**16),
)
def test_groups_keep_the_same_share_of_every_benchmark(benchmarks: list[int], count: int, seed: int) -> None:
    benchmark_of = np.unique(benchmarks, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    easiness = rng.integers(0, 5, len(benchmark_of)) / 4
    pool = np.flatnonzero(rng.random(len(benchmark_of)) < 0.8)
    if not len(pool):
        return
    strata = stratify(easiness, benchmark_of, pool, count)
    assert sorted(np.concatenate(strata.bins)) == list(pool)
    assert strata.count == min(count, len(pool))
    for number in set(benchmark_of[pool]):
        own = [at for at, members in enumerate(strata.bins) if number in benchmark_of[members]]
        groups = [strata.bins[at] for at in own]
        assert {*benchmark_of[np.concatenate(groups)]} == {number}
        size, kept = sum(map(len, groups)), int(strata.quota[own].sum())
        assert abs(kept - size * strata.count / len(pool)) < 1
        for members, keep in zip(groups, strata.quota[own], strict=True):
            assert abs(keep - len(members) * kept / size) < 1 and keep <= len(members)
        ends = [easiness[members] for members in groups]
        assert all(max(low) <= min(high) for low, high in zip(ends, ends[1:], strict=False))


def test_constant_and_unasked_items_separate_nobody() -> None:
    correct = np.array([[0, 2, 1, 0, 0], [0, 2, 1, 2, 0]])
    trials = np.array([[2, 2, 2, 2, 0], [2, 2, 2, 2, 0]])
    assert list(separating_items(correct, trials)) == [2, 3]


def test_the_choice_for_a_dimension_is_what_measures_it_best(half: tuple[Planted, MirtFit]) -> None:
    planted, whole = half
    fit, _ = canonical(whole)
    chances = fit.probability()
    easiness = expected_easiness(chances)
    pool = separating_items(planted.data.correct, planted.data.trials)
    strata = stratify(easiness, planted.data.benchmark_of, pool, 20)
    for dimension in (0, 1):
        ability = int(abs(pearsonr(fit.theta[:, dimension], planted.theta[:, 0]).statistic) < 0.5)
        kept = select_items(fit, chances, dimension, strata)
        assert len(set(kept)) == 20
        # Half of the items measure the other ability, and a quarter measures this one, but badly.
        strong = planted.a[:, ability] > 2
        groups = zip(strata.bins, strata.quota, strict=True)
        best = sum(min(strong[members].sum(), keep) for members, keep in groups)
        assert strong[kept].sum() >= best - 1 and best >= 17
        counts = [np.isin(members, kept).sum() for members in strata.bins]
        assert counts == list(strata.quota)
        assert easiness[kept].mean() == pytest.approx(easiness[pool].mean(), abs=0.03)


def test_the_first_item_taken_is_the_most_informative_one(half: tuple[Planted, MirtFit]) -> None:
    """One item, one dimension: the lowest variance left by a direct inverse."""
    _, whole = half
    fit, _ = canonical(whole)
    chances = fit.probability()
    pool = np.arange(100)
    strata = stratify(expected_easiness(chances), np.zeros(100, dtype=np.int64), pool, 2)
    first, second = map(int, select_items(fit, chances, 0, strata))
    weight = (chances * (1 - chances)).mean(axis=0)

    def left(*items: int) -> float:
        precision = np.linalg.inv(fit.ability_covariance)
        for item in items:
            precision = precision + weight[item] * np.outer(fit.a[item], fit.a[item])
        return float(np.linalg.inv(precision)[0, 0])

    positive = [item for item in range(100) if fit.a[item, 0] > 0]
    assert first == min(positive, key=lambda item: left(item))
    group = next(members for members in strata.bins if second in members)
    assert second == min(
        (item for item in positive if item in group and item != first), key=lambda item: left(first, item)
    )


def test_items_against_the_dimension_come_last() -> None:
    planted = plant({"x": np.concatenate([on_first(20, 1.5), on_first(10, -2.5)])}, models=200)
    data = planted.data
    fit, _ = canonical(fit_mirt(data.correct, data.trials, data.benchmark_of, MirtSettings(dims=1, starts=1)))
    chances = fit.probability()
    strata = stratify(np.zeros(30), data.benchmark_of, np.arange(30), 25)
    single = type(strata)([np.arange(30)], np.array([25]))
    kept = select_items(fit, chances, 0, single)
    # Whichever sign has more weight is taken as the dimension's.
    positive = fit.a[:, 0] > 0
    assert sorted(kept[: positive.sum()]) == list(np.flatnonzero(positive))


def test_controls_draw_what_they_say() -> None:
    strata = stratify(np.arange(40) / 40, np.repeat([0, 1], 20), np.arange(0, 40, 2), 11)
    rng = np.random.default_rng(0)
    drawn = [matched_items(strata, rng) for _ in range(200)]
    for items in drawn:
        assert [np.isin(members, items).sum() for members in strata.bins] == list(strata.quota)
    assert set(np.concatenate(drawn)) == set(range(0, 40, 2))
    free = [random_items(np.arange(40), 11, rng) for _ in range(200)]
    assert all(len(set(items)) == 11 for items in free)
    assert set(np.concatenate(free)) == set(range(40))


def test_score_error_by_hand() -> None:
    planted = plant({"x": on_first(3, 1), "y": on_first(2, 1)}, models=3)
    data = planted.data
    data.correct[:] = [[1, 0, 1, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
    data.trials[:] = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
    chances = np.full((3, 5), 0.5)
    found = score_error(data, np.array([0, 4]), chances)
    # Model 0: x (0.5·2 − 1)/3 = 0, y (0.5 − 1)/2; model 1: x (0.5·2 − 2)/3 and no y; model 2: nothing.
    assert found[:2] == pytest.approx([0.125, 1 / 3])
    assert np.isnan(found[2])


def test_figures_of_resamples_are_those_of_the_repeated_models() -> None:
    rng = np.random.default_rng(0)
    shapes: tuple[tuple[int, ...], ...] = ((9,), (9, 2), (9,), (9, 2), (9, 2))
    unseen = Unseen(*(rng.normal(size=shape) for shape in shapes))
    counts = np.array([[1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 2, 3, 0, 1, 1, 1, 1, 0]], dtype=float)
    pearson, spearman, error, part_whole = figures(unseen, counts)
    rows = np.repeat(np.arange(9), counts[1].astype(int))
    assert pearson[1, 1] == pytest.approx(np.corrcoef(unseen.other[rows], unseen.ability[rows, 1])[0, 1])
    assert part_whole[1, 0] == pytest.approx(np.corrcoef(unseen.full[rows], unseen.part[rows, 0])[0, 1])
    assert error[1, 0] == pytest.approx(unseen.error[rows, 0].mean())
    ranks = np.argsort(np.argsort(unseen.other)), np.argsort(np.argsort(unseen.ability[:, 0]))
    assert spearman[0, 0] == pytest.approx(np.corrcoef(*ranks)[0, 1])


def test_the_choice_beats_both_controls_on_unseen_models(half: tuple[Planted, MirtFit]) -> None:
    planted, whole = half
    _, turn = canonical(whole)
    done: list[int] = []
    check = check_selection(
        planted.data, whole, turn, settings=SETTINGS, dimension=0, count=10, folds=4, draws=8, report=done.append
    )  # fmt: skip
    assert done == [1, 2, 3, 4]
    found = summary(check, seed=0)
    for figure in (0, 1):
        selected, matched, random = (found[name][figure] for name in ("selected", "matched", "random"))
        assert selected.value > max(matched.high, random.high)
        assert selected.low < selected.value < selected.high
        gain = found["selected minus random"][figure]
        assert gain.value == pytest.approx(selected.value - random.value)
        assert gain.low > 0
    # What the dimension is in each fold: abilities by all items find the truth for every model, on one scale.
    assert max(abs(np.corrcoef(check.selected.full, planted.theta.T)[0, 1:])) > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_on_pure_noise_the_choice_gains_nothing(seed: int) -> None:
    """Neither may models be judged by their own choice, nor answers be on both sides of a correlation."""
    rng = np.random.default_rng(seed)
    data = plant({"noise": on_first(300, 0)}, models=24).data
    data.correct[:] = rng.binomial(1, 0.5, data.correct.shape)
    settings = MirtSettings(dims=1, starts=1, seed=seed)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    _, turn = canonical(whole)
    check = check_selection(
        data, whole, turn, settings=settings, dimension=0, count=30, folds=4, draws=10, report=lambda done: None
    )  # fmt: skip
    found = summary(check, seed=seed)
    for control in ("matched", "random"):
        pearson, spearman, _, part_whole = found[f"selected minus {control}"]
        assert pearson.low < 0 < pearson.high and spearman.low < 0 < spearman.high
        assert part_whole == UNDEFINED
    assert found["selected"][2].value > found["random"][2].value - 0.01


def test_nearly_all_coin_flips_of_a_half_say_nothing_of_the_other() -> None:
    """By all items they would: these are half of them."""
    rng = np.random.default_rng(0)
    data = plant({"noise": on_first(200, 0)}, models=60).data
    data.correct[:] = rng.binomial(1, 0.5, data.correct.shape)
    settings = MirtSettings(dims=1, starts=1)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    _, turn = canonical(whole)
    check = check_selection(
        data, whole, turn, settings=settings, dimension=0, count=195, folds=3, draws=2, report=lambda done: None
    )  # fmt: skip
    found = summary(check, seed=0)
    for subset in ("selected", "matched", "random"):
        assert abs(found[subset][0].value) < 0.4 and found[subset][3].value > 0.9


def test_folds_whose_fit_had_not_converged_are_named(half: tuple[Planted, MirtFit]) -> None:
    planted, whole = half
    hasty = replace(SETTINGS, max_iterations=1)
    check = check_selection(
        planted.data, whole, canonical(whole)[1], settings=hasty, dimension=0, count=10, folds=2, draws=2,
        report=lambda done: None,
    )  # fmt: skip
    assert check.not_converged == (1, 2)


def test_a_fold_whose_models_are_the_only_link_is_refused_before_its_fit() -> None:
    data = plant({"one": on_first(12, 1.5), "two": on_first(12, 1.5)}, models=21).data
    data.trials[:10, 12:] = data.correct[:10, 12:] = 0
    data.trials[11:, :12] = data.correct[11:, :12] = 0
    settings = MirtSettings(dims=1, starts=1)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    done: list[int] = []
    with pytest.raises(InputError, match="^without the models of fold [123] the models fall into 2 groups"):
        check_selection(
            data, whole, canonical(whole)[1], settings=settings, dimension=0, count=6, folds=3, draws=2,
            report=done.append,
        )  # fmt: skip
    assert not done


def test_no_figure_is_minus_zero(half: tuple[Planted, MirtFit]) -> None:
    data = half[0].data
    near = [Figure(-0.0001, -0.0004, -0.0000001)] * 4
    found = Kept(
        np.arange(4), np.arange(2), np.full(len(data.items), 0.5), {"selected": near, "a minus b": near}
    )
    shown = "\n".join(report_lines(data, found))
    assert " 0.000 [0.000, 0.000]" in shown and "+0.000 [+0.000, +0.000]" in shown and "-0.000" not in shown
    assert {str(row["high"]) for row in json_report(data, found)["figures"]} == {"0.0"}


def test_halves_share_no_item_and_split_every_benchmark() -> None:
    benchmark_of = np.repeat([0, 1, 2], [7, 1, 4])
    first, second = halves(benchmark_of, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(12))
    assert np.bincount(benchmark_of[first], minlength=3).tolist() == [4, 1, 2]
    assert np.bincount(benchmark_of[second], minlength=3).tolist() == [3, 0, 2]


@pytest.mark.parametrize("seed", range(5))
def test_every_item_taken_leaves_the_least_variance_given_those_before(seed: int) -> None:
    """By direct inverses of the information, with abilities that correlate and items that measure mixtures."""
    rng = np.random.default_rng(seed)
    tiny = plant({"x": on_first(12, 1.0)}, models=6).data
    fitted = fit_mirt(tiny.correct, tiny.trials, tiny.benchmark_of, SETTINGS)
    loadings = rng.uniform(0.1, 3, (12, 2))
    fit = replace(
        fitted,
        items=Gaussian(np.column_stack([loadings, np.zeros(12)]), fitted.items.covariance),
        ability_covariance=np.array([[1.0, 0.5], [0.5, 1.0]]),
    )
    chances = rng.uniform(0.05, 0.95, (6, 12))
    information = (chances * (1 - chances)).mean(axis=0)[:, None, None] * (
        loadings[:, :, None] * loadings[:, None, :]
    )
    precision, expected = np.linalg.inv(fit.ability_covariance), []
    for _ in range(8):
        left = {
            item: np.linalg.inv(precision + information[item])[0, 0]
            for item in range(12)
            if item not in expected
        }
        expected.append(min(left, key=lambda item: left[item]))
        precision = precision + information[expected[-1]]
    strata = Strata([np.arange(12)], np.array([8]))
    assert list(select_items(fit, chances, 0, strata)) == expected


def test_items_that_only_the_judged_models_tell_apart_are_not_in_the_choice() -> None:
    """Each of 12 items is right for one model alone: without that model's fold, nothing says what it measures."""
    rng = np.random.default_rng(0)
    data = plant({"x": on_first(30, 1.5)}, models=12).data
    data.correct[:, :12] = np.eye(12, dtype=int)
    data.correct[:, 12:] = rng.permuted(np.repeat([[0], [1]], 6, axis=0).repeat(18, axis=1), axis=0)
    assert len(separating_items(data.correct, data.trials)) == 30
    settings = MirtSettings(dims=1, starts=1)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    check = check_selection(
        data, whole, canonical(whole)[1], settings=settings, dimension=0, count=30, folds=3, draws=2,
        report=lambda done: None,
    )  # fmt: skip
    # All others are kept; were a model's own item among them, the two would be the same.
    assert np.abs(check.selected.part[:, 0] - check.selected.full).min() > 1e-3
    np.testing.assert_allclose(check.matched.part, check.selected.part[:, [0, 0]])
