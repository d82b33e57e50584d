from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from onward.agents.goals.components.score_distribution import ScoreDistribution


def filled(seed: int, rounds: int, mean: float = 0.0) -> ScoreDistribution:
    random, scores = np.random.default_rng(seed), ScoreDistribution(0.98)
    for _ in range(rounds):
        scores.add(random.normal(mean, 1.0, 10))
    return scores


def test_learns_how_many_newcomers_reach_a_score():
    """Fixed draws. 45 rounds weigh as much as 600 scores; smoothing adds about 0.02 to the error."""
    logits = np.array([-1.0, 0.0, 1.0, 2.0])
    assert filled(0, 60).reaching(logits) == pytest.approx(1 - ndtr(logits), abs=0.06)


def test_follows_a_shift_of_one_standard_deviation_in_a_few_rounds():
    random = np.random.default_rng(1)
    scores = filled(1, 60)
    for _ in range(4):
        scores.add(random.normal(1.0, 1.0, 10))
    assert scores.mean == pytest.approx(1.0, abs=0.4)


@pytest.mark.parametrize(("centre", "scale"), [(0.0, 0.02), (-6.0, 0.02), (-6.0, 1.0), (12.0, 4.0)])
def test_no_scale_of_scores_is_presumed(centre, scale):
    random, usual, other = np.random.default_rng(5), ScoreDistribution(0.98), ScoreDistribution(0.98)
    logits = np.linspace(-3.0, 3.0, 7)
    for _ in range(40):
        drawn = random.normal(0.0, 1.0, 10)
        usual.add(drawn)
        other.add(centre + scale * drawn)
        assert other.mean == pytest.approx(centre + scale * usual.mean, abs=0.02 * scale)
        assert other.reaching(centre + scale * logits) == pytest.approx(usual.reaching(logits), abs=0.02)


def test_follows_newcomers_that_are_spread_more_or_less_than_before():
    random, scores = np.random.default_rng(6), filled(6, 30)
    for scale in (0.01, 3.0):
        for _ in range(400):
            scores.add(random.normal(0.0, scale, 10))
        assert scores.reaching(np.array([-1.0, 0.0, 1.0]) * scale) == pytest.approx([0.84, 0.5, 0.16], abs=0.08)


def test_after_a_shift_what_was_before_weighs_no_more_than_what_has_come_since():
    """One round is 3.5 higher, and from then on rounds are 3 higher: too little to be a second shift."""
    scores, usual = ScoreDistribution(0.98), np.linspace(-1.5, 1.5, 10)
    for number in range(65):
        scores.add(usual + (0.0 if number < 60 else 3.5 if number == 60 else 3.0))
    assert scores.mean < 3.25


def test_follows_newcomers_whose_scores_rise_slowly_beyond_all_that_were_seen():
    random, scores = np.random.default_rng(7), ScoreDistribution(0.98)
    for number in range(400):
        scores.add(random.normal(0.1 * number, 1.0, 10))
    assert scores.mean == pytest.approx(40.0, abs=1.5)


def test_the_number_of_newcomers_follows_when_more_come():
    scores = filled(8, 60)
    for _ in range(200):
        scores.add(np.zeros(30))
    assert scores.per_round == pytest.approx(30.0, abs=0.5)


def test_counts_the_newcomers_of_a_round_and_knows_nothing_at_first():
    assert ScoreDistribution(0.9).per_round == 0.0
    assert ScoreDistribution(0.9).reaching(np.zeros(2)).tolist() == [0.0, 0.0]
    assert filled(2, 5).per_round == pytest.approx(10.0)
