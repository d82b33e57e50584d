"""The search of a goal: how far it looks, and what it takes."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.goals.components.search import FIRST_WIDENING, STEPS, GoalRange, between_candidates
from onward.agents.goals.components.spread import Spread
from onward.agents.sigmoid import LARGEST_LOGIT

POSSIBLE = np.full((3, len(STEPS)), 0.5)
"""Three people who may reach any candidate."""


def radius(search: GoalRange) -> float:
    return float(search.candidates[-1] - search.candidates[0]) / 2


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_the_range_doubles_at_either_end_up_to_all_scores_and_halves_elsewhere(way):
    search = GoalRange(Spread())
    first = least = radius(search)
    for number in range(5):
        end = float(search.candidates[-1 if way > 0 else 0])
        search.take(way * 100.0, POSSIBLE)
        assert search.centre[0] == pytest.approx(np.clip(end, -LARGEST_LOGIT, LARGEST_LOGIT))
        assert radius(search) == pytest.approx(min(first * 2.0 ** (number + 1), LARGEST_LOGIT))
    for _ in range(9):
        search.take(float(search.centre[0]) - way, POSSIBLE)
        least = min(least, radius(search))
    assert least == pytest.approx(first / FIRST_WIDENING)


def test_a_goal_within_reach_is_taken_as_it_is_also_where_all_are_sure_of_a_higher_one():
    search = GoalRange(Spread())
    for goal, success in ((-0.3, POSSIBLE), (-0.5, np.ones((3, len(STEPS))))):
        search.take(goal, success)
        assert search.centre[0] == goal


def test_no_goal_is_lower_than_what_all_are_sure_of_where_any_will_do():
    search = GoalRange(Spread())
    sure = np.where(np.arange(len(STEPS)) < 2, 1.0, POSSIBLE)
    second = search.candidates[1]
    search.take(float(search.candidates[0]), sure)
    assert search.centre[0] == second


def test_success_between_candidates_is_that_at_them_and_falls_from_one_to_the_next():
    success = np.array([[0.999, 0.9, 0.7, 0.5, 0.3, 0.1, 0.001]])
    fine = between_candidates(success)
    assert fine[0, [0, 20, -1]] == pytest.approx(success[0, [0, 3, -1]])
    assert (np.diff(fine) < 0).all()
    assert between_candidates(np.empty((0, len(STEPS)))).shape == (0, fine.shape[1])
