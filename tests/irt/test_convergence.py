"""R-hat and effective sample size against arviz-stats, and what is warned about."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats

from irt.convergence import convergence_warnings, diagnose, summarize


def autoregressive(chains: int, draws: int, parameters: int, *, seed: int = 0) -> np.ndarray:
    """Return draws from slowly mixing to antithetic, one chain off its place, one parameter full of ties."""
    rng = np.random.default_rng(seed)
    pull = rng.uniform(-0.9, 0.99, parameters)
    noise = rng.normal(size=(chains, draws, parameters))
    values = np.zeros_like(noise)
    for t in range(1, draws):
        values[:, t] = pull * values[:, t - 1] + noise[:, t]
    values[..., 0] = np.round(values[..., 0])
    values[0, :, 1] += 3
    return values


@pytest.mark.parametrize(
    ("chains", "draws"),
    [(4, 1000), (4, 501), (2, 37), (3, 8), (4, 7), (4, 6), (4, 5), (4, 4), (1, 100)],
)
def test_same_figures_as_arviz(chains: int, draws: int) -> None:
    values = autoregressive(chains, draws, 40)
    r_hat, ess = diagnose(values)
    expected = array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")
    np.testing.assert_allclose(ess, expected, rtol=1e-10)
    if chains > 1:
        np.testing.assert_allclose(r_hat, array_stats.rhat(values, chain_axis=0, draw_axis=1), rtol=1e-10)


def test_one_chain_and_draws_that_never_move_cannot_be_assessed() -> None:
    """NaN must come out as a warning: NaN <= 1.01 is False, but so is NaN > 1.01."""
    rng = np.random.default_rng(0)
    r_hat, ess = diagnose(rng.normal(size=(1, 1000, 3)))
    assert np.isnan(r_hat).all() and np.isfinite(ess).all()
    assert "one chain" in convergence_warnings(r_hat, ess, chains=1, divergences=0)[0]

    still = rng.normal(size=(4, 1000, 3))
    still[..., 1] = 0.5
    r_hat, ess = diagnose(still)
    assert np.isnan([r_hat[1], ess[1]]).all() and np.isfinite(np.delete(r_hat, 1)).all()
    warnings = convergence_warnings(r_hat, ess, chains=4, divergences=0)
    assert len(warnings) == 2
    assert all("1 of 3 parameters (draws that do not move)" in warning for warning in warnings)


def test_chains_stuck_at_different_places_cannot_be_assessed() -> None:
    """The ratio behind R-hat is infinite there, which no JSON file can hold."""
    stuck = np.random.default_rng(0).normal(size=(4, 20, 2))
    stuck[..., 0] = np.arange(4.0)[:, None]
    r_hat, ess = diagnose(stuck)
    assert np.isnan([r_hat[0], ess[0]]).all() and np.isfinite([r_hat[1], ess[1]]).all()
    assert (
        "1 of 2 parameters (draws that do not move)"
        in convergence_warnings(r_hat, ess, chains=4, divergences=0)[0]
    )


def test_each_doubt_is_a_warning_of_its_own() -> None:
    good, enough = np.array([1.0, 1.01]), np.array([400.0, 4000.0])
    assert convergence_warnings(good, enough, chains=4, divergences=0) == []
    high = convergence_warnings(np.array([1.0, 1.0101]), enough, chains=4, divergences=0)
    assert len(high) == 1 and "R-hat is above 1.01 for 1 of 2" in high[0]
    few = convergence_warnings(good, np.array([399.0, 4000.0]), chains=4, divergences=0)
    assert len(few) == 1 and "below 400 for 1 of 2" in few[0]
    assert "3 divergent" in convergence_warnings(good, enough, chains=4, divergences=3)[0]


def test_summaries_are_those_of_all_chains() -> None:
    draws = np.arange(24.0).reshape(2, 4, 3)
    estimates = summarize(draws)
    np.testing.assert_allclose(estimates.mean, [10.5, 11.5, 12.5])
    np.testing.assert_allclose(estimates.sd, draws[..., 0].std(ddof=1))
