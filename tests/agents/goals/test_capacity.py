"""The capacity forecast where places are scarce, and where they or people change."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.goals import ClosedRound, Prospects
from onward.agents.goals.capacity import CapacityGoal
from onward.agents.goals.components.search import FINE_STEPS, STEPS
from onward.agents.sigmoid import bounded_logit, bounded_sigmoid
from onward.tests.agents.goals.limited_places import LimitedPlaces

NOBODY = {
    "own_goal": np.empty(0),
    "lag": np.empty(0, np.int64),
    "reached": np.empty(0, bool),
    "accepted": np.empty(0, bool),
}


def closed(number: int, places: int = 3) -> ClosedRound:
    """A round of ten newcomers with logits from -1 to 1, without anybody who comes back."""
    scores = bounded_sigmoid(np.linspace(-1.0, 1.0, 10))
    return ClosedRound(number, places, float(scores[-places]), scores, **NOBODY)


@pytest.mark.parametrize("places", [3, 5, 7])
def test_scarce_places_have_the_nominal_coverage_at_a_goal_far_above_the_newcomers(places):
    """Fixed draws. People may come to eight standard deviations above newcomers: the standard error is about 0.01."""
    shares = LimitedPlaces(lambda number: places, reach=8.0).coverage(CapacityGoal(0.95, 1), 400, seed=3)
    assert np.nanmean(shares[20:]) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize(("before", "after"), [(8, 4), (4, 2), (2, 8)])
def test_after_another_number_of_places_the_coverage_comes_back(before, after, announced):
    """Fixed draws: eight programs, ten to thirty rounds after the change. The standard error is about 0.015."""
    rounds = LimitedPlaces(lambda number: before if number < 30 else after, reach=8.0, announced=announced)
    shares = [rounds.coverage(CapacityGoal(0.95, 1), 60, seed)[40:] for seed in range(8)]
    assert np.nanmean(shares) > 0.91


def test_places_that_alternate_without_notice_have_the_coverage_on_average():
    """Fixed draws. A round with four places follows one with nine: the standard error is about 0.01."""
    shares = LimitedPlaces(lambda number: (9, 4)[number % 2], reach=8.0).coverage(CapacityGoal(0.95, 1), 300, seed=1)
    assert np.nanmean(shares[20:]) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("announced", [0, 8])
@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("places", [(9, 9, 9, 0), (9, 11, 13, 13, 13, 11, 9, 7, 5, 5, 5, 7)])
def test_pauses_and_seasons_have_the_nominal_coverage_after_the_first_one(places, horizon, announced):
    """Fixed draws: eight programs; a tenth of those who succeed comes a round late. The standard error is about 0.005.

    Seasons are told where places are not announced.
    """
    rounds = LimitedPlaces(lambda number: places[number % len(places)], announced=announced, late=0.1)
    shares = []
    for seed in range(8):
        goal = CapacityGoal(0.95, horizon)
        if not announced:
            goal.repeat_places(len(places))
        shares.append(rounds.coverage(goal, 80, seed)[len(places) :])
    assert np.nanmean(shares) == pytest.approx(0.95, abs=0.03)


def test_a_long_pause_of_a_large_program_takes_no_more_memory_than_its_newcomers():
    goal = CapacityGoal(0.95, 1)
    goal.observe(replace(closed(0), newcomers=np.random.default_rng(0).random(50_000)))
    chance = np.full((100, len(goal.candidates)), 0.5)
    tracemalloc.start()
    goal.aim(Prospects(chance, 400.0, places=[0] * 60))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 50_000 * len(FINE_STEPS) * 8


def after(places: list[int], announced: int | None = None, newcomers: list[int] | None = None) -> float:
    """The goal after rounds with so many places, of so many newcomers where they are not always ten."""
    goal = CapacityGoal(0.95, 1, offset=False)
    for number, count in enumerate(places):
        one = closed(number, max(count, 1))
        people = 10 if newcomers is None else newcomers[number]
        goal.observe(replace(one, places=count, newcomers=one.newcomers[:: 10 // people][:people]))
    return goal.aim(
        Prospects(
            np.tile(bounded_sigmoid(3.0 - bounded_logit(goal.candidates)), (8, 1)),
            places=() if announced is None else (announced,),
        )
    ).score


def test_unannounced_places_are_those_of_the_last_rounds_that_had_any_and_of_the_last_one_most():
    assert after([6] * 9) == after([6] * 9, announced=6)
    assert after([6] * 9) < after([6] * 9, announced=0), "all who come meanwhile meet in the round after a pause"
    assert after([6, 9] + [6] * 8) == after([6] * 10)
    assert after([6] * 10 + [0] * 9) == pytest.approx(after([6] * 10), abs=1e-3)
    assert after([9] * 8, announced=4) > after([9] * 7 + [4]) > after([9] * 6 + [4, 9]) > after([9] * 8)
    assert after([4] * 4 + [9] * 4, announced=9) < after([4] * 4 + [9] * 4) < after([4] * 4 + [9] * 4, announced=4)


def test_newcomers_count_by_their_mean_number_also_where_it_is_a_part_of_a_person():
    few, more, between = (
        after([2] * 40, newcomers=[1, 1] * 20),
        after([2] * 40, newcomers=[2, 2] * 20),
        after([2] * 40, newcomers=[2, 1] * 20),
    )
    assert few < between < more


@pytest.mark.parametrize("jump", [5.0, -5.0])
def test_better_or_worse_newcomers_move_the_search_in_the_round_in_which_they_come(jump):
    goal = CapacityGoal(0.95, 1)
    for number in range(20):
        goal.observe(closed(number))
        before = bounded_logit(
            goal.aim(Prospects(np.tile(bounded_sigmoid(1.0 - bounded_logit(goal.candidates)), (5, 1)))).score
        )
    goal.observe(replace(closed(20), newcomers=bounded_sigmoid(np.linspace(-1.0, 1.0, 10) + jump)))
    assert bounded_logit(goal.candidates)[len(STEPS) // 2] - before == pytest.approx(jump, abs=0.7)


@pytest.mark.parametrize(("scale", "centre"), [(0.05, 0.0), (0.05, -4.0), (3.0, 2.0)])
def test_scores_on_another_scale_have_the_same_goals_on_that_scale(scale, centre):
    """A model whose scores all lie in a narrow band, or one that is sure of everything."""

    def goals(scale: float, centre: float) -> np.ndarray:
        found, rounds = [], LimitedPlaces(lambda number: 6, centre=lambda number: centre, scale=scale)
        goal = CapacityGoal(0.95, 1)
        aim = goal.aim
        goal.aim = lambda prospects: found.append(aim(prospects)) or found[-1]
        rounds.coverage(goal, 40, seed=2)
        return (bounded_logit(np.array([one.score for one in found])) - centre) / scale

    assert goals(scale, centre)[5:] == pytest.approx(goals(1.0, 0.0)[5:], abs=0.1)


@pytest.mark.parametrize("highest", [0.8, 0.52, 0.3])
def test_where_no_goal_in_reach_is_safe_the_goal_is_just_beyond_it(highest):
    """Twenty people can all come to the highest score that the model gives, and there is one place."""
    goal = CapacityGoal(0.95, 1, offset=False)
    for number in range(40):
        goal.observe(closed(number, places=1))
        aim = goal.aim(Prospects(np.tile(np.where(goal.candidates <= highest, 0.9, 0.0), (20, 1))))
    assert highest < aim.score < highest + 0.05


def test_goals_come_down_again_from_scores_that_nobody_reaches_any_more():
    goal = CapacityGoal(0.95, 1, offset=False)
    scores = []
    for number in range(40):
        goal.observe(closed(number, places=1))
        highest = 1.0 if number < 20 else 0.6
        aim = goal.aim(Prospects(np.tile(np.where(goal.candidates <= highest, 0.9, 0.0), (20, 1))))
        scores.append(aim.score)
    assert scores[19] > 0.999
    assert [0.6 < score < 0.65 for score in scores[30:]] == [True] * 10


def test_a_goal_that_all_are_sure_of_does_not_fall_away_where_there_are_places_for_all():
    goal = CapacityGoal(0.95, 1, offset=False)
    for number in range(40):
        goal.observe(closed(number))
        aim = goal.aim(Prospects(np.ones((8, len(STEPS))), places=(50,)))
    assert aim.score > 0.05
    assert goal.aim(Prospects(np.ones((8, len(STEPS))), places=(3,))).score > 0.5


def test_a_sample_whose_people_stand_for_ten_has_the_goal_of_ten_times_as_many_people():
    def goals(people: int, weight: float) -> float:
        goal = CapacityGoal(0.95, 1, offset=False)
        goal.observe(closed(0))
        return goal.aim(
            Prospects(np.tile(bounded_sigmoid(1.0 - bounded_logit(goal.candidates)), (people, 1)), weight)
        ).score

    assert goals(20, 10.0) == pytest.approx(goals(200, 1.0), abs=0.005)
    assert goals(20, 1.0) < goals(200, 1.0) - 0.015


def test_success_is_expected_at_the_score_that_is_told_with_the_offset():
    """The offset asks for more than anybody reaches, so nobody comes back; that is no sign that people give up."""
    goal = CapacityGoal(0.95, 1)
    for number in range(30):
        goal.observe(closed(number))
        goal.offset.theta[0] = 9.0
        goal.aim(Prospects(np.tile(bounded_sigmoid(2.0 - 4.0 * bounded_logit(goal.candidates)), (8, 1))))
    assert goal.return_rates[0] > 0.8


def test_people_who_give_up_are_learned_where_the_predicted_score_is_told():
    goal = CapacityGoal(0.95, 1, offset=False)
    for number in range(30):
        goal.observe(closed(number))
        goal.aim(Prospects(np.full((8, len(STEPS)), 0.5)))
    assert goal.return_rates[0] < 0.1


@pytest.mark.parametrize(("stay", "late", "offset"), [(0.3, 0.0, False), (0.6, 0.4, False), (1.0, 0.6, True)])
def test_the_coverage_is_kept_where_people_give_up_or_come_late(stay, late, offset):
    """Fixed draws. The predictions say that all come back in the next round: the standard error is about 0.01."""
    rounds = LimitedPlaces(lambda number: 6, reach=3.0, stay=stay, late=late)
    shares = rounds.coverage(CapacityGoal(0.9, 2, offset=offset), 500, seed=4)
    assert np.nanmean(shares[50:]) == pytest.approx(0.9, abs=0.03)


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_return_rates_are_those_of_an_account_of_all_rounds(seed, horizon):
    """After some rounds only open promises are expected, after others nobody. A round weighs 0.9 of the next."""
    random, goal = np.random.default_rng(seed), CapacityGoal(0.9, horizon, memory=0.9)
    returned, predicted, next_round = np.zeros(horizon), np.zeros(horizon), np.zeros(horizon)
    for number in range(12):
        lag, reached = random.integers(1, horizon + 1, 4), random.random(4) < 0.5
        goal.observe(replace(closed(number), own_goal=np.full(4, 0.6), lag=lag, reached=reached, accepted=reached))
        for after in range(horizon):
            returned[after] = 0.9 * returned[after] + (reached & (lag == after + 1)).sum()
            predicted[after] = 0.9 * predicted[after] + next_round[after]
        expected = (returned + 5.0 * (np.arange(horizon) == 0)) / (predicted + 5.0)
        assert goal.return_rates == pytest.approx(expected)
        waiting, waits, next_round = random.random(5), random.integers(1, horizon + 1, 5), np.zeros(horizon)
        np.add.at(next_round, waits - 1, waiting)
        way = random.choice(["aim", "nobody turned down", "not asked"], p=[0.6, 0.2, 0.2])
        if way == "aim":
            chance, weight = random.random(3), float(random.choice([1.0, 7.0]))
            goal.aim(Prospects(np.tile(chance[:, None], len(STEPS)), weight, random.random(5), waits, waiting))
            next_round[0] += weight * chance.sum()
        elif way == "nobody turned down":
            goal.expect_returns(Prospects(open_goal=random.random(5), open_lag=waits, open_success=waiting))
        else:
            next_round[:] = 0.0


def told(returned: bool, open_goal: float | None, success: float = 1.0, beyond: float = 0.0) -> float:
    """The goal of a round, with three promises of the round before that are still open; by default of the last goal.

    In ten rounds before it people came back after one round and after two, or after one. The promised score is
    ``beyond`` the open goal.
    """
    goal, three = CapacityGoal(0.9, 2, offset=False), np.ones(3)
    for number in range(10):
        back = np.array([1, 1, 1, 2, 2, 2] if returned else [1, 1, 1], np.int64)
        reached = np.ones(len(back), bool)
        goal.observe(
            replace(closed(number), own_goal=np.full(len(back), 0.6), lag=back, reached=reached, accepted=reached)
        )
        waits = np.full(3, 0.6), np.full(3, 2), three
        goal.aim(Prospects(np.tile(bounded_sigmoid(1.0 - bounded_logit(goal.candidates)), (6, 1)), 1.0, *waits))
    goal.observe(closed(10))
    chance = np.tile(bounded_sigmoid(1.0 - bounded_logit(goal.candidates)), (6, 1))
    promised = (goal.candidates[len(STEPS) // 2] if open_goal is None else open_goal) + beyond
    return goal.aim(Prospects(chance, 1.0, promised * three, np.full(3, 2), success * three)).score


def test_promises_of_higher_goals_that_are_still_open_raise_the_goal_and_lower_ones_do_not():
    without = told(returned=True, open_goal=0.999, success=0.0)
    assert told(returned=True, open_goal=0.999) > without + 0.01
    assert told(returned=True, open_goal=0.999, success=0.25) < told(returned=True, open_goal=0.999)
    assert told(returned=True, open_goal=0.01) == without


def test_who_was_promised_the_same_goal_is_not_ahead_of_those_who_are_told_it_now():
    lower, same, rounded, higher = (
        told(returned=True, open_goal=None, beyond=beyond) for beyond in (-1e-6, 0.0, 1e-12, 1e-6)
    )
    assert lower == same == rounded < higher


def test_nobody_is_expected_a_round_late_before_anybody_came_late():
    assert told(returned=False, open_goal=0.999) == told(returned=False, open_goal=0.999, success=0.0)
