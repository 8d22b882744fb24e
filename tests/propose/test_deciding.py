from __future__ import annotations

import numpy as np
import pytest

from propose.candidate import ACCEPTED, REJECTED, VERIFY, Candidate, Decision
from propose.deciding import PanelAnswer, decide, strong_verifiers, suspect_key
from propose.panel_tables import CANDIDATE_PRIOR_SD
from propose.targets import Gap
from tests.propose.simulation import true_abilities
from verifier.new_item import new_item_difficulty

ABILITIES = true_abilities()
CANDIDATE = Candidate(
    id="r01-g1-p1-c1",
    round=1,
    gap=1,
    low=0.2,
    high=1.2,
    target_b=0.7,
    target_pass_rate=0.4,
    parent="q",
    prompt="",
    seed=1,
    reply="",
)
GAPS = [Gap(0.2, 1.2), Gap(-2.0, -1.2)]


def counts_at(b: float, n: int = 8) -> np.ndarray:
    return np.round(n / (1 + np.exp(b - ABILITIES.mean))).astype(int)


def decided(b: float, gaps: list[Gap] = GAPS, strong: list[PanelAnswer] | None = None) -> Decision:
    return decide(CANDIDATE, gaps, counts_at(b), np.full(12, 8), 0.0, ABILITIES, strong or [], 0.5)


def test_what_lands_in_its_gap_is_accepted_with_its_posterior() -> None:
    decision = decided(0.7)
    posterior = new_item_difficulty(
        counts_at(0.7), np.full(12, 8), 0.0, ABILITIES, prior_sd=CANDIDATE_PRIOR_SD
    )
    assert (decision.decision, decision.reason, decision.stage) == (ACCEPTED, "", VERIFY)
    assert decision.figures["b_mean"] == pytest.approx(posterior.b_mean, abs=1e-6)
    assert decision.figures["p_in_gap"] == pytest.approx(posterior.probability_in((0.2, 1.2)), abs=1e-6)
    assert decision.figures["gap"] == 1
    assert sum(decision.figures["trials"]) == 96


def test_it_may_land_in_another_target() -> None:
    assert decided(-1.6).figures["gap"] == 2
    assert decided(-1.6).decision == ACCEPTED


@pytest.mark.parametrize(("b", "reason"), [(-0.5, "too_easy"), (2.5, "too_hard")])
def test_what_misses_all_targets_is_rejected_with_the_side(b: float, reason: str) -> None:
    decision = decided(b)
    assert (decision.decision, decision.reason, decision.figures["gap"]) == (REJECTED, reason, None)


def test_less_than_half_of_the_probability_is_not_enough() -> None:
    decision = decided(0.7, [Gap(0.55, 0.85)])
    assert (decision.decision, decision.reason) == (REJECTED, "uncertain")
    assert decision.figures["p_in_gap"] < 0.5


def test_an_edge_is_not_inside() -> None:
    at_edge = new_item_difficulty(
        counts_at(0.7), np.full(12, 8), 0.0, ABILITIES, prior_sd=CANDIDATE_PRIOR_SD
    ).b_mean
    assert decided(0.7, [Gap(at_edge, 2.0)]).figures["gap"] is None
    assert decided(0.7, [Gap(at_edge - 1e-9, 2.0)]).figures["gap"] == 1


def answers(right: int, *wrong: str) -> list[PanelAnswer]:
    return [PanelAnswer(True, "7")] * right + [PanelAnswer(False, text) for text in wrong]


@pytest.mark.parametrize(
    ("given", "rival"),
    [
        (answers(0, *["12"] * 20, *map(str, range(20, 32))), "12"),
        (answers(1, *["12"] * 10, *map(str, range(20, 32))), "12"),
        (answers(0, "1/2", "0.5", r"\frac{1}{2}", r"$\dfrac12$"), "1/2"),
        (answers(0, "1,234", "1234", r"1{,}234"), "1,234"),
        (answers(0, *["1e999999999"] * 32), "1e999999999"),  # read as text: the number would never be made
        (answers(10, *["12"] * 12), None),  # the key is nearly as frequent
        (answers(0, *map(str, range(32))), None),  # scattered
        (answers(0, "12", "12"), None),  # too few to agree
        (answers(32), None),
        ([PanelAnswer(False, None)] * 32, None),  # instructions, or no answers
        ([], None),
    ],
)
def test_suspect_key(given: list[PanelAnswer], rival: str | None) -> None:
    assert suspect_key(given) == rival


def test_a_suspect_key_is_rejected_even_in_the_gap() -> None:
    decision = decided(0.7, strong=answers(1, *["12"] * 20))
    assert (decision.decision, decision.reason) == (REJECTED, "suspect_key")
    assert "12" in decision.detail


def test_the_strongest_third() -> None:
    assert strong_verifiers(ABILITIES.mean) == [8, 9, 10, 11]
    assert strong_verifiers(np.array([3.0, 1.0, 2.0])) == [0, 2]
