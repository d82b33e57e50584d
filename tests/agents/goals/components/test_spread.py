from __future__ import annotations

import numpy as np
import pytest

from onward.agents.goals.components.spread import Spread


def seen(rounds: list[np.ndarray]) -> float:
    spread = Spread()
    for scores in rounds:
        spread.add(scores)
    return spread.logits


@pytest.mark.parametrize("newcomers", [1, 2, 10])
@pytest.mark.parametrize("deviation", [0.02, 1.0, 5.0])
def test_learns_the_standard_deviation_from_rounds_of_any_size(newcomers, deviation):
    """Fixed draws. 150 rounds weigh as much as 48: the standard error is a tenth with one newcomer a round."""
    random = np.random.default_rng(newcomers)
    rounds = [random.normal(3.0, deviation, newcomers) for _ in range(150)]
    assert seen(rounds) == pytest.approx(deviation, rel=0.2)


def test_a_change_of_all_scores_together_counts_once():
    rounds = [np.array([-1.0, 0.0, 1.0]) + (0.0 if number < 50 else 4.0) for number in range(100)]
    assert seen(rounds) == pytest.approx(seen(rounds[:50]), rel=0.1)
    assert seen(rounds[:51]) > seen(rounds[:50])


def test_is_1_before_two_newcomers_and_small_but_not_0_where_all_are_equal():
    assert seen([]) == 1.0
    assert seen([np.zeros(0), np.array([2.0])]) == 1.0
    assert 0 < seen([np.zeros(5)] * 20) < 0.05


def test_two_means_differ_as_much_as_their_numbers_let_them():
    """By the F distribution's numerator: (mean - mean)^2 / (1/m + 1/n), with the prior's thousandth."""
    assert seen([np.array([0.0, 0.0]), np.array([3.0])]) == pytest.approx(np.sqrt(6.001 / 1.98), rel=0.01)


def test_follows_when_scores_lie_nearer_together():
    random = np.random.default_rng(4)
    assert seen([random.normal(0.0, 1.0 if number < 100 else 0.1, 5) for number in range(400)]) < 0.13
