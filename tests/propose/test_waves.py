from __future__ import annotations

import numpy as np
import pytest

from propose.panel_tables import CANDIDATE_PRIOR_SD, draw_counts, panel_tables
from propose.targets import Gap, meets_rule
from propose.waves import order_of_verifiers, predictive_probability
from tests.propose.simulation import true_abilities
from verifier.new_item import new_item_difficulties

ABILITIES = true_abilities()
GAPS = [Gap(0.2, 1.0), Gap(-2.0, -1.3)]


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_tables_give_the_posteriors_that_decide(guessing: float) -> None:
    tables = panel_tables(ABILITIES, 4, guessing)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, size=(50, 12))
    exact = new_item_difficulties(counts, 4, guessing, ABILITIES, prior_sd=CANDIDATE_PRIOR_SD)
    density = np.exp(tables.log_posterior(counts))
    density /= density.sum(axis=1, keepdims=True)
    assert density @ tables.nodes == pytest.approx(exact.b_mean, abs=2e-3)
    inside = density @ tables.weights([(0.2, 1.0)])[:, 0]
    assert inside == pytest.approx(exact.probability_in((0.2, 1.0)), abs=0.01)


def test_drawn_counts_have_the_panels_probabilities() -> None:
    tables = panel_tables(ABILITIES, 6, 0.0)
    rng = np.random.default_rng(2)
    node = int(np.searchsorted(tables.nodes, 0.5))
    drawn = draw_counts(tables, np.full(20_000, node), rng.random((20_000, 12)), np.arange(12))
    expected = np.exp(tables.log_likelihood[:, :, node]) @ np.arange(7)
    assert drawn.mean(axis=0) == pytest.approx(expected, abs=0.06)


def test_the_nearest_verifiers_come_first_and_all_come() -> None:
    tables = panel_tables(ABILITIES, 4, 0.0)
    order = order_of_verifiers(tables, [Gap(-1.6, -1.2)])
    assert sorted(order) == list(range(12))
    assert set(order[:3]) == {0, 1, 2}
    assert order_of_verifiers(tables, [Gap(2.0, 2.4)])[-1] == 0


def test_far_gaps_share_the_first_verifiers() -> None:
    order = order_of_verifiers(panel_tables(ABILITIES, 4, 0.0), [Gap(-1.9, -1.3), Gap(1.6, 2.2)])
    first = ABILITIES.mean[order[:4]]
    assert (first < -0.5).sum() == 2
    assert (first > 0.5).sum() == 2


def with_counts(rng: np.random.Generator, b: np.ndarray, n: int) -> np.ndarray:
    theta = ABILITIES.mean + ABILITIES.sd * rng.normal(size=(len(b), 12))
    return rng.binomial(n, 1 / (1 + np.exp(b[:, None] - theta)))


def test_predicted_acceptance_is_as_frequent_as_it_says() -> None:
    """Candidates miss their aim by Normal(0, 1): of those with a prediction near p, about p are accepted."""
    rng = np.random.default_rng(3)
    n, tables = 4, panel_tables(ABILITIES, 4, 0.0)
    aims = np.full(500, 0.6)
    full = with_counts(rng, aims + rng.normal(size=500), n)
    met = meets_rule(tables, tables.log_posterior(full), [(gap.low, gap.high) for gap in GAPS], 0.5)
    order = order_of_verifiers(tables, GAPS)
    for waves in (1, 7):
        so_far = np.full_like(full, -1)
        so_far[:, order[:waves]] = full[:, order[:waves]]
        ids = [f"{waves}-{number}" for number in range(500)]
        predicted = predictive_probability(ids, aims.tolist(), so_far, GAPS, tables, 0.5)
        assert predicted.mean() == pytest.approx(met.mean(), abs=0.05)
        for low, high in ((0.0, 0.1), (0.1, 0.4), (0.4, 0.7), (0.7, 1.01)):
            some = (predicted >= low) & (predicted < high)
            if some.sum() > 30:
                error = 3 * np.sqrt(0.25 / some.sum())
                assert met[some].mean() == pytest.approx(predicted[some].mean(), abs=error)


def test_a_prediction_depends_on_the_candidate_alone() -> None:
    tables = panel_tables(ABILITIES, 4, 0.0)
    counts = np.full((3, 12), -1)
    counts[:, :3] = [[4, 4, 4], [2, 2, 3], [0, 1, 0]]
    together = predictive_probability(["a", "b", "c"], [0.6] * 3, counts, GAPS, tables, 0.5)
    alone = [
        predictive_probability([name], [0.6], counts[place : place + 1], GAPS, tables, 0.5)[0]
        for place, name in enumerate("abc")
    ]
    assert together.tolist() == alone
    assert predictive_probability([], [], counts[:0], GAPS, tables, 0.5).shape == (0,)


def test_with_all_answers_but_one_the_prediction_is_nearly_sure() -> None:
    tables = panel_tables(ABILITIES, 8, 0.0)
    rng = np.random.default_rng(4)
    counts = with_counts(rng, np.array([0.6, 3.0]), 8)
    counts[:, 0] = -1  # the weakest, who knows little of the gap
    inside, far = predictive_probability(["in", "out"], [0.6, 0.6], counts, GAPS, tables, 0.5)
    assert inside > 0.9
    assert far < 0.02
