"""Standard deviations of discrimination, difficulty and direction, against draws from the posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irt.benchmark_options import MOST_DIMS
from irt.held_out import Comparison, HeldOut
from irt.mirt import MirtFit, MirtSettings, fit_mirt
from irt.mirt_data import Benchmarks
from irt.mirt_files import mirt_figures, summarise_items, warnings_of
from irt.mirt_stability import Agreement, Stability
from irt.mirt_updates import Gaussian
from irt.rotation import canonical
from tests.planted_abilities import on_first, on_second, plant


def oblique_fit() -> MirtFit:
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.5], [0.0, 0.9]])
    a = np.eye(2)[np.arange(40) % 2] * 1.5 + 0.3 * rng.normal(size=(40, 2))
    correct = rng.binomial(20, 1 / (1 + np.exp(-(theta @ a.T + rng.normal(size=40)))))
    benchmark_of = np.zeros(40, dtype=int)
    return canonical(fit_mirt(correct, np.full_like(correct, 20), benchmark_of, MirtSettings(starts=1)))[0]


def test_standard_deviations_are_those_of_draws() -> None:
    fit = oblique_fit()
    phi = fit.ability_covariance
    assert abs(phi[0, 1]) > 0.1
    found = summarise_items(fit, np.zeros(len(fit.a), dtype=bool))
    rng = np.random.default_rng(1)
    for j in range(0, 40, 5):
        draws = rng.multivariate_normal(fit.items.mean[j], fit.items.covariance[j], 20_000)
        pull = draws[:, :2] @ phi
        mdisc = np.sqrt(np.sum(pull * draws[:, :2], axis=1))
        np.testing.assert_allclose(found.mdisc_sd[j], mdisc.std(), rtol=0.06)
        np.testing.assert_allclose(found.mdiff_sd[j], (-draws[:, 2] / mdisc).std(), rtol=0.06)
        spread = (pull / mdisc[:, None]).std(axis=0)
        # Near 1 a correlation cannot vary but by its square.
        linear = np.abs(found.direction[j]) < 0.95
        np.testing.assert_allclose(found.direction_sd[j][linear], spread[linear], rtol=0.08)
    assert (np.abs(found.direction) < 0.95).any(axis=1).all()


def test_an_item_that_separates_nobody_has_no_direction_and_no_difficulty() -> None:
    fit = oblique_fit()
    mean = fit.items.mean.copy()
    mean[3, :2] = 0
    alike = np.zeros(len(fit.a), dtype=bool)
    found = summarise_items(replace(fit, items=Gaussian(mean, fit.items.covariance)), alike)
    assert found.mdisc[3] == 0 and np.isnan(found.mdiff[3]) and np.isnan(found.direction[3]).all()
    assert np.isfinite(np.delete(found.mdiff, 3)).all()


def test_an_item_that_all_models_answered_alike_measures_nothing() -> None:
    fit = oblique_fit()
    plain = summarise_items(fit, np.zeros(len(fit.a), dtype=bool))
    found = summarise_items(fit, np.arange(len(fit.a)) == 2)
    for name, values in vars(found).items():
        assert np.isnan(values[2]).all(), name
        np.testing.assert_array_equal(
            np.delete(values, 2, axis=0), np.delete(getattr(plain, name), 2, axis=0)
        )


@pytest.mark.parametrize(
    ("models", "dims", "more"),
    [
        (4, 2, "try more with --dims"),
        (3, 2, "more models could show more"),
        (22, MOST_DIMS, "--dims takes no more"),
        (21, MOST_DIMS, "more models could show more"),
    ],
)
def test_more_dimensions_are_advised_where_the_models_and_the_option_allow(
    models: int, dims: int, more: str
) -> None:
    correct = np.arange(5 * models).reshape(models, 5) % 2
    names = tuple(map(str, range(models)))
    items = tuple(("x", str(j)) for j in range(5))
    data = Benchmarks(names, ("x",), items, np.zeros(5, dtype=int), correct, np.ones_like(correct))
    fit = fit_mirt(correct, data.trials, data.benchmark_of, MirtSettings(dims=dims, starts=1))
    compared = Comparison(tuple(HeldOut(number, -0.5, 0.1, 0.0, 0.0) for number in (1, dims)), 15, dims)
    found = warnings_of(data, fit, compared)
    assert f"{dims} dimensions are the most that were tried and predict best; {more}" in found


def test_what_had_not_converged_is_told() -> None:
    data = plant({"one": on_first(6, 1.5)}, models=12).data
    fit = fit_mirt(data.correct, data.trials, data.benchmark_of, MirtSettings(dims=1, starts=1))
    settled = Comparison((HeldOut(1, -0.5, 0.1, 0.0, 0.0),), 15, 1)
    stopped = replace(settled, not_converged=("1-D of fold 1", "2-D of fold 3"))
    halves = np.array([[0.9], [np.nan]])
    agreement = Agreement(halves, halves, np.zeros(2))
    stability = Stability(agreement, agreement, halves, halves, not_converged=3)
    told = warnings_of(data, fit, stopped, stability)
    assert set(told) - set(warnings_of(data, fit, settled, replace(stability, not_converged=0))) == {
        "of the fits that compare dimensions, these had not converged: 1-D of fold 1, 2-D of fold 3",
        "3 of 12 refits for --stability had not converged",
    }
    figures = mirt_figures(data, fit, stopped, stability)
    assert figures["warnings"] == told
    assert figures["stability"]["halves"] == {"ability_correlations": [[0.9], [None]], "not_measured": [1]}


def test_each_benchmark_has_its_own_figures_and_is_doubted_where_few_models_relate_it() -> None:
    """Two of the models of "few" answered another benchmark too: as many as dimensions, one fewer than needed."""
    data = plant(
        {"one": on_first(10, 1.5), "two": on_second(8, 1.5), "few": on_first(6, 1.5)}, models=32
    ).data
    data.trials[25:, :10] = data.trials[:5, 10:18] = data.trials[30:, 10:18] = data.trials[2:30, 18:] = 0
    data.correct[data.trials == 0] = 0
    fit, _ = canonical(fit_mirt(data.correct, data.trials, data.benchmark_of, MirtSettings(starts=1)))
    comparison = Comparison((), 0, 2)
    found = mirt_figures(data, fit, comparison)["benchmarks"]
    assert {name: (entry["items"], entry["models"]) for name, entry in found.items()} == {
        "one": (10, 25), "two": (8, 25), "few": (6, 4)
    }  # fmt: skip
    for entry, mean in zip(found.values(), fit.prior.mean, strict=True):
        assert [*entry["mean_loadings"], entry["mean_d"]] == pytest.approx(mean, abs=1e-4)

    def doubted(data: Benchmarks) -> list[str]:
        return [line for line in warnings_of(data, fit, comparison) if "few to relate" in line]

    assert doubted(data) == [
        "few: 2 of its models answered another benchmark too, few to relate it to the others in 2 dimensions"
    ]
    data.trials[2, 20] = 1
    assert doubted(data) == []
