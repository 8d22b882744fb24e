"""The marginal likelihood and the conditional draws against brute-force integration on a very fine grid."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytest
from pytensor.link.numba.dispatch.basic import numba_funcify_default_op_cache_key
from scipy.stats import binom, kstest, norm

import irt.marginal_likelihood
from irt.conditional import draw_block, plan_blocks
from irt.marginal import Cells, find_profiles, log_guessing, marginal_model
from irt.marginal_likelihood import MarginalLogLikelihood
from irt.quadrature import grid_for

FINE = np.linspace(-12, 12, 6_001)
STEP = FINE[1] - FINE[0]


def log_posteriors(cells: Cells, x: np.ndarray) -> np.ndarray:
    """Return log(prior × likelihood) of every integrated unit on the fine grid, (L, Q), by scipy's binomial."""
    units = []
    for unit in range(cells.correct.shape[1]):
        g = cells.guessing[unit] if cells.items_integrated else cells.guessing[:, None]
        p = g + (1 - g) / (1 + np.exp(FINE - x[:, None]))
        log_likelihood = binom.logpmf(cells.correct[:, [unit]], cells.trials[:, [unit]], p).sum(axis=0)
        units.append(norm.logpdf(FINE) + log_likelihood)
    return np.array(units)


def log_marginal(cells: Cells, x: np.ndarray) -> float:
    """Return the log posterior density of x up to a constant."""
    integrals = np.logaddexp.reduce(log_posteriors(cells, x), axis=1)
    return float(integrals.sum() + norm.logpdf(x).sum())


def make_cells(guessing: str, blanks: float, trials: int, items_integrated: bool) -> tuple[Cells, np.ndarray]:
    rng = np.random.default_rng(7)
    sampled, integrated = 5, 18
    count = integrated if items_integrated else sampled
    g = {
        "none": np.zeros(count),
        "one": np.full(count, 0.25),
        "several": rng.choice([0.0, 0.1, 0.25, 0.5], count),
    }[guessing]
    x, y = rng.normal(size=sampled), rng.normal(size=integrated)
    n = np.where(rng.random((sampled, integrated)) < blanks, 0, trials)
    g_cell = g if items_integrated else g[:, None]
    correct = rng.binomial(n, g_cell + (1 - g_cell) / (1 + np.exp(y - x[:, None])))
    correct[:, 0] = n[:, 0]  # a unit with only right answers
    correct[:, 1] = 0
    return Cells(correct.astype(float), n.astype(float), g, items_integrated), x


CASES = [
    pytest.param(guessing, blanks, trials, side, id=f"g={guessing} blanks={blanks} n={trials} {name}")
    for guessing in ("none", "one", "several")
    for blanks in (0.0, 0.25)
    for trials in (1, 100)  # posteriors nearly as wide as the prior, and very narrow ones
    for side, name in ((True, "items"), (False, "models"))
]


def compiled(cells: Cells) -> pm.Model:
    profiles = find_profiles(cells)
    return marginal_model(profiles, grid_for(profiles.trials.sum(axis=1).max()))


@pytest.mark.parametrize(("guessing", "blanks", "trials", "side"), CASES)
def test_log_density_differs_from_brute_force_by_a_constant(
    guessing: str, blanks: float, trials: int, side: bool
) -> None:
    cells, x = make_cells(guessing, blanks, trials, side)
    log_density = compiled(cells).compile_logp(mode="FAST_COMPILE")
    points = [x, x + 0.7, x * -1.5, np.zeros_like(x)]
    ours = np.array([float(log_density({"x": point})) for point in points])
    brute = np.array([log_marginal(cells, point) for point in points])
    np.testing.assert_allclose(ours - ours[0], brute - brute[0], rtol=1e-7, atol=2e-6)


@pytest.mark.parametrize(("guessing", "blanks", "trials", "side"), CASES)
def test_gradient_is_that_of_the_log_density(guessing: str, blanks: float, trials: int, side: bool) -> None:
    cells, x = make_cells(guessing, blanks, trials, side)
    model = compiled(cells)
    log_density, gradient = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")
    steps = 1e-5 * np.eye(len(x))
    numeric = [(log_density({"x": x + step}) - log_density({"x": x - step})) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient({"x": x}), numeric, rtol=1e-5, atol=1e-5)


def test_nutpie_and_pymc_see_the_same_density() -> None:
    """The numba kernel that NUTS calls is compiled apart from the one that PyMC's own functions call."""
    cells, x = make_cells("several", 0.25, 4, True)
    model = compiled(cells)
    plain = model.compile_logp(mode="FAST_COMPILE")({"x": x})
    assert model.compile_logp(mode="NUMBA")({"x": x}) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("extreme", [-40.0, 40.0, 800.0])
@pytest.mark.parametrize("guessing", ["none", "one"])
def test_density_stays_finite_far_outside(extreme: float, guessing: str) -> None:
    """A first NUTS step can land anywhere; a NaN there ends the chain."""
    cells, x = make_cells(guessing, 0.0, 4, True)
    model = compiled(cells)
    point = {"x": x + extreme}
    assert np.isfinite(model.compile_logp(mode="FAST_COMPILE")(point))
    assert np.isfinite(model.compile_dlogp(mode="FAST_COMPILE")(point)).all()


def test_profiles_beyond_one_block_of_the_kernel() -> None:
    """The kernel works through 64 profiles at a time; row numbers must go on where the last block ended."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=4), rng.normal(size=400)
    g = rng.choice([0.0, 0.25], 400)
    n = rng.integers(0, 3, (4, 400))
    correct = rng.binomial(n, g + (1 - g) / (1 + np.exp(y - x[:, None])))
    cells = Cells(correct.astype(float), np.asarray(n, dtype=float), np.asarray(g, dtype=float), True)
    profiles = find_profiles(cells)
    assert (np.diff(profiles.group_start) > 64).all() and profiles.units.max() > 1
    log_density = compiled(cells).compile_logp(mode="FAST_COMPILE")
    ours = float(log_density({"x": x})) - float(log_density({"x": -x}))
    assert ours == pytest.approx(log_marginal(cells, x) - log_marginal(cells, -x), rel=1e-7)
    gradient = compiled(cells).compile_dlogp(mode="FAST_COMPILE")({"x": x})
    steps = 1e-5 * np.eye(4)
    numeric = [(log_density({"x": x + step}) - log_density({"x": x - step})) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-4)


def test_a_changed_kernel_is_not_answered_from_the_cache() -> None:
    """PyTensor looks compiled code up by a number that must change with the source."""
    compiled_and_salt: Any = numba_funcify_default_op_cache_key(MarginalLogLikelihood(), node=None)
    source = Path(irt.marginal_likelihood.__file__).read_bytes()
    assert compiled_and_salt[1] == zlib.crc32(source) != zlib.crc32(source + b"#")


@pytest.mark.parametrize("prior_sd", [1.0, 2.0])
@pytest.mark.parametrize("guessing", ["none", "several"])
def test_moments_average_over_draws_of_the_sampled_side(guessing: str, prior_sd: float) -> None:
    """The spread of x widens y, and the grid must hold for the x farthest out."""
    cells, centre = make_cells(guessing, 0.25, 100, True)
    x = centre + np.random.default_rng(5).normal(scale=0.7, size=(60, len(centre)))
    other_prior = FINE**2 / 2 - (FINE / prior_sd) ** 2 / 2
    densities = np.exp([log_posteriors(cells, row) + other_prior for row in x])
    densities /= densities.sum(axis=2, keepdims=True)
    mean = (densities @ FINE).mean(axis=0)
    sd = np.sqrt((densities @ FINE**2).mean(axis=0) - mean**2)
    profiles = find_profiles(cells)
    for plan in plan_blocks(x, profiles, seed=3, prior_sd=prior_sd):
        block = draw_block(x, profiles, plan)
        np.testing.assert_allclose(block.mean, mean[block.units], atol=1e-4)
        np.testing.assert_allclose(block.sd, sd[block.units], rtol=1e-4)


@pytest.mark.parametrize(("guessing", "blanks", "trials", "side"), CASES)
def test_conditional_moments_and_draws_are_those_of_the_posterior(
    guessing: str, blanks: float, trials: int, side: bool
) -> None:
    cells, x = make_cells(guessing, blanks, trials, side)
    profiles = find_profiles(cells)
    density = np.exp(log_posteriors(cells, x))
    density /= density.sum(axis=1, keepdims=True)
    mean = density @ FINE
    sd = np.sqrt(density @ FINE**2 - mean**2)
    distribution = density.cumsum(axis=1) - density / 2
    repeated = np.repeat(x[None], 2000, axis=0)
    seen = []
    for plan in plan_blocks(repeated, profiles, seed=3):
        block = draw_block(repeated, profiles, plan)
        np.testing.assert_allclose(block.mean, mean[block.units], atol=1e-5)
        np.testing.assert_allclose(block.sd, sd[block.units], rtol=1e-4)
        for column, unit in enumerate(block.units):
            uniform = np.interp(block.draws[:, column], FINE, distribution[unit])
            assert kstest(uniform, "uniform").pvalue > 1e-4
        seen.extend(block.units.tolist())
    assert sorted(seen) == list(range(cells.correct.shape[1]))


def test_draws_of_units_with_equal_answers_are_independent() -> None:
    """They share one distribution function; a shared uniform number would tie them together."""
    cells = Cells(np.ones((3, 400)), np.full((3, 400), 2.0), np.zeros(400), True)
    x = np.zeros((500, 3))
    profiles = find_profiles(cells)
    assert len(profiles.units) == 1
    blocks = [draw_block(x, profiles, plan) for plan in plan_blocks(x, profiles, seed=0)]
    draws = np.concatenate([block.draws for block in blocks], axis=1)
    correlation = np.corrcoef(draws.T)
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 5.5 / np.sqrt(500)
    assert np.ptp(np.concatenate([block.mean for block in blocks])) < 1e-12


def test_profiles_without_guessing_are_the_totals() -> None:
    rng = np.random.default_rng(0)
    correct = rng.integers(0, 3, (4, 300)).astype(float)
    profiles = find_profiles(Cells(correct, np.full((4, 300), 2.0), np.zeros(300), True))
    totals = correct.sum(axis=0)
    assert len(profiles.units) == len(set(totals))
    np.testing.assert_array_equal(profiles.counts.sum(axis=1)[profiles.of_unit], totals)
    assert profiles.units.sum() == 300


def test_log_of_no_guessing_is_finite_and_of_guessing_exact() -> None:
    values = log_guessing(np.array([0.0, 0.25]))
    assert np.isfinite(values).all()
    assert values[0] < -700
    assert values[1] == np.log(0.25)


@pytest.mark.parametrize("trials", [1, 9, 12, 47, 430, 3100])
def test_grid_holds_for_the_most_extreme_unit(trials: int) -> None:
    """All right and all wrong, with every model three prior sds away: a saturated benchmark with one bad key."""
    grid = grid_for(trials)
    for ability in (-3.0, 0.0, 3.0):
        right = trials * (ability - grid.nodes - np.logaddexp(0, ability - grid.nodes))
        wrong = -trials * np.logaddexp(0, ability - grid.nodes)
        for log_likelihood in (right, wrong):
            log_mass = grid.log_weights + log_likelihood
            edge = max(log_mass[0], log_mass[-1]) - np.logaddexp.reduce(log_mass)
            assert edge < np.log(1e-7)
