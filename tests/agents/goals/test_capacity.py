"""The capacity forecast where places are scarce, and where they or people change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from onward.agents.goals import ClosedRound, Prospects
from onward.agents.goals.capacity import STEPS, Capacity
from onward.agents.goals.rounds import logit, sigmoid
from onward.tests.agents.goals.limited_places import LimitedPlaces

NOBODY = {
    "own_goal": np.empty(0),
    "lag": np.empty(0, np.int64),
    "reached": np.empty(0, bool),
    "accepted": np.empty(0, bool),
}


def closed(number: int, places: int = 3) -> ClosedRound:
    """A round of ten newcomers with logits from -1 to 1, without anybody who comes back."""
    scores = sigmoid(np.linspace(-1.0, 1.0, 10))
    return ClosedRound(number, places, float(scores[-places]), scores, **NOBODY)


@pytest.mark.parametrize("places", [3, 5, 7])
def test_scarce_places_have_the_nominal_coverage_at_a_goal_far_above_the_newcomers(places):
    """Fixed draws. People may come to eight standard deviations above newcomers: the standard error is about 0.01."""
    shares = LimitedPlaces(lambda number: places, reach=8.0).coverage(Capacity(0.95, 1), 400, seed=3)
    assert np.nanmean(shares[20:]) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize(("before", "after"), [(8, 4), (4, 2), (2, 8)])
def test_after_another_number_of_places_the_coverage_comes_back(before, after, announced):
    """Fixed draws: eight programs, ten to thirty rounds after the change. The standard error is about 0.015."""
    rounds = LimitedPlaces(lambda number: before if number < 30 else after, reach=8.0, announced=announced)
    shares = [rounds.coverage(Capacity(0.95, 1), 60, seed)[40:] for seed in range(8)]
    assert np.nanmean(shares) > 0.91


def test_places_that_alternate_without_notice_have_the_coverage_on_average():
    """Fixed draws. A round with four places follows one with nine: the standard error is about 0.01."""
    shares = LimitedPlaces(lambda number: (9, 4)[number % 2], reach=8.0).coverage(Capacity(0.95, 1), 300, seed=1)
    assert np.nanmean(shares[20:]) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("jump", [5.0, -5.0])
def test_better_or_worse_newcomers_move_the_search_in_the_round_in_which_they_come(jump):
    goal = Capacity(0.95, 1)
    for number in range(20):
        goal.observe(closed(number))
        before = logit(goal.aim(Prospects(np.tile(sigmoid(1.0 - logit(goal.candidates)), (5, 1)))).score)
    goal.observe(replace(closed(20), newcomers=sigmoid(np.linspace(-1.0, 1.0, 10) + jump)))
    assert logit(goal.candidates)[len(STEPS) // 2] - before == pytest.approx(jump, abs=0.7)


@pytest.mark.parametrize(("scale", "centre"), [(0.05, 0.0), (0.05, -4.0), (3.0, 2.0)])
def test_scores_on_another_scale_have_the_same_goals_on_that_scale(scale, centre):
    """A model whose scores all lie in a narrow band, or one that is sure of everything."""

    def goals(scale: float, centre: float) -> np.ndarray:
        found, rounds = [], LimitedPlaces(lambda number: 6, centre=lambda number: centre, scale=scale)
        goal = Capacity(0.95, 1)
        aim = goal.aim
        goal.aim = lambda prospects: found.append(aim(prospects)) or found[-1]
        rounds.coverage(goal, 40, seed=2)
        return (logit(np.array([one.score for one in found])) - centre) / scale

    assert goals(scale, centre)[5:] == pytest.approx(goals(1.0, 0.0)[5:], abs=0.1)


@pytest.mark.parametrize("highest", [0.8, 0.52, 0.3])
def test_where_no_goal_in_reach_is_safe_the_goal_is_just_beyond_it(highest):
    """Twenty people can all come to the highest score that the model gives, and there is one place."""
    goal = Capacity(0.95, 1, offset=False)
    for number in range(40):
        goal.observe(closed(number, places=1))
        aim = goal.aim(Prospects(np.tile(np.where(goal.candidates <= highest, 0.9, 0.0), (20, 1))))
    assert highest < aim.score < highest + 0.05


def test_goals_come_down_again_from_scores_that_nobody_reaches_any_more():
    goal = Capacity(0.95, 1, offset=False)
    scores = []
    for number in range(40):
        goal.observe(closed(number, places=1))
        highest = 1.0 if number < 20 else 0.6
        aim = goal.aim(Prospects(np.tile(np.where(goal.candidates <= highest, 0.9, 0.0), (20, 1))))
        scores.append(aim.score)
    assert scores[19] > 0.999
    assert [0.6 < score < 0.65 for score in scores[30:]] == [True] * 10


def test_success_is_expected_at_the_score_that_is_told_with_the_offset():
    """The offset asks for more than anybody reaches, so nobody comes back; that is no sign that people give up."""
    goal = Capacity(0.95, 1)
    for number in range(30):
        goal.observe(closed(number))
        goal.offset.theta[0] = 9.0
        goal.aim(Prospects(np.tile(sigmoid(2.0 - 4.0 * logit(goal.candidates)), (8, 1))))
    assert goal.return_rates[0] > 0.8


def test_people_who_give_up_are_learned_where_the_predicted_score_is_told():
    goal = Capacity(0.95, 1, offset=False)
    for number in range(30):
        goal.observe(closed(number))
        goal.aim(Prospects(np.full((8, len(STEPS)), 0.5)))
    assert goal.return_rates[0] < 0.1
