"""The laws of every goal for rounds with limited places. The registry finds the classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.goals import ClosedRound, Prospects, RoundGoal, round_registry
from onward.agents.goals.sac import Sac, goal_policy
from onward.agents.sigmoid import bounded_logit, bounded_sigmoid
from onward.tests.support.goal_policies import untrained


class UntrainedSac(Sac):
    """The learned goal with a policy."""

    def __init__(self, coverage: float, horizon: int, *, offset: bool = False) -> None:
        super().__init__(coverage, horizon, offset=offset)
        self.equip(goal_policy=goal_policy(untrained(0)))


KINDS: dict[str, type[RoundGoal]] = {**round_registry, "sac": UntrainedSac}

every = pytest.mark.parametrize("name", KINDS)
kinds = st.sampled_from([(name, offset) for name in KINDS for offset in (False, True)])


def random_round(random: np.random.Generator, number: int, horizon: int) -> ClosedRound:
    """A round with any number of people and places, often none, and scores that are often equal."""
    new, back = random.integers(0, 12), random.integers(0, 6)
    scores = (
        bounded_sigmoid(random.normal(size=new))
        if random.random() < 0.7
        else np.full(new, random.choice([0.0, 0.5, 1.0]))
    )
    reached = random.random(back) < 0.6
    return ClosedRound(
        number=number,
        places=int(random.integers(0, 8)),
        threshold=float(random.choice([0.0, 1.0, 0.5, random.random()])),
        newcomers=scores,
        own_goal=random.random(back),
        lag=random.integers(1, horizon + 1, back),
        reached=reached,
        accepted=reached & (random.random(back) < 0.8),
    )


def random_prospects(random: np.random.Generator, goal: RoundGoal, horizon: int) -> Prospects:
    people, promises = random.integers(0, 9), random.integers(0, 5)
    success = np.sort(random.random((people, len(goal.candidates))), axis=1)[:, ::-1]
    return Prospects(
        success,
        weight=float(random.choice([1.0, 30.0])),
        open_goal=random.random(promises),
        open_lag=random.integers(1, horizon + 1, promises),
        open_success=random.random(promises),
        places=[(None, 0, 3)[choice] for choice in random.integers(0, 3, random.integers(0, 4))],
    )


def play(goal: RoundGoal, seed: int, first: int, last: int, horizon: int) -> list[float]:
    """The goals of random rounds; each round has a generator of its own."""
    aims = []
    for number in range(first, last):
        random = np.random.default_rng([seed, number])
        goal.observe(random_round(random, number * 2, horizon))
        aims.append(goal.aim(random_prospects(random, goal, horizon)).score)
    return aims


@given(kinds, st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_degenerate_rounds_leave_a_goal_between_0_and_1_and_a_state_of_the_same_size(kind, seed, horizon):
    name, offset = kind
    goal = KINDS[name](0.9, horizon, offset=offset)
    sizes = {name: (array.shape, array.dtype) for name, array in goal.state().items()}
    assert all(0 <= score <= 1 for score in play(goal, seed, 0, 12, horizon))
    assert {name: (array.shape, array.dtype) for name, array in goal.state().items()} == sizes
    assert all(np.isfinite(array).all() for array in goal.state().values())


@given(kinds, st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_a_restored_goal_goes_on_exactly_as_the_other_one(kind, seed, horizon):
    name, offset = kind
    goal, other = (KINDS[name](0.9, horizon, offset=offset) for _ in range(2))
    play(goal, seed, 0, 6, horizon)
    other.restore(goal.state())
    assert play(goal, seed, 6, 12, horizon) == play(other, seed, 6, 12, horizon)
    assert all((array == other.state()[name]).all() for name, array in goal.state().items())


@given(kinds, st.integers(0, 2**32), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_a_higher_coverage_never_asks_for_less(kind, seed, one, other):
    """In the first round: later the goals differ, and with them what is seen."""
    name, offset = kind
    low, high = (KINDS[name](coverage, 1, offset=offset) for coverage in sorted((one, other)))
    assert play(low, seed, 1, 2, 1)[0] <= play(high, seed, 1, 2, 1)[0] + 1e-12


@every
def test_a_state_of_another_goal_or_a_damaged_one_is_refused(name):
    goal = KINDS[name](0.9, 2)
    with pytest.raises(ValueError, match="it is another's"):
        goal.restore({"wizard": np.zeros(1)})
    damaged = {name: array.astype(array.dtype) for name, array in KINDS[name](0.9, 2, offset=True).state().items()}
    damaged["offset_theta"][0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        KINDS[name](0.9, 2, offset=True).restore(damaged)


@every
def test_a_score_that_the_model_does_not_approve_is_never_told_nor_held_against_the_next_threshold(name):
    goal, random = KINDS[name](0.9, 1, offset=True), np.random.default_rng(1)
    goal.observe(replace(random_round(random, 0, 1), places=3, threshold=0.5, newcomers=np.full(5, 0.5)))
    aim = goal.aim(replace(random_prospects(random, goal, 1), least_score=0.999999))
    assert aim.score == 0.999999 > aim.forecast
    before, nobody = goal.state()["offset_theta"].item(), np.empty(0)
    back = {"own_goal": nobody, "lag": nobody.astype(int), "reached": nobody > 0, "accepted": nobody > 0}
    goal.observe(ClosedRound(1, 3, 0.999999, np.full(5, 0.5), **back))
    assert goal.state()["offset_theta"].item() < before


@pytest.mark.parametrize("name", ["conformal", "last_threshold"])
@pytest.mark.parametrize(("places", "threshold"), [(0, 0.9), (3, 0.0)])
def test_rounds_without_places_or_without_anybody_turned_down_tell_nothing_of_thresholds(name, places, threshold):
    goal, nobody = KINDS[name](0.9, 1, offset=False), np.empty(0)
    back = {"own_goal": nobody, "lag": nobody.astype(int), "reached": nobody > 0, "accepted": nobody > 0}
    goal.observe(ClosedRound(0, 3, 0.6, np.full(5, 0.5), **back))
    goal.observe(ClosedRound(1, places, threshold, np.full(5, 0.5), **back))
    assert goal.aim(Prospects()).score == pytest.approx(0.6)


def test_the_conformal_goal_is_the_mean_of_the_logits_of_thresholds_of_which_a_round_weighs_less_than_the_next():
    goal, nobody = KINDS["conformal"](0.9, 1, offset=False, memory=0.5), np.empty(0)
    back = {"own_goal": nobody, "lag": nobody.astype(int), "reached": nobody > 0, "accepted": nobody > 0}
    for number, odds in enumerate([1.0, -2.0, 0.5]):
        goal.observe(ClosedRound(number, 3, float(bounded_sigmoid(odds)), np.full(5, 0.5), **back))
    assert bounded_logit(goal.aim(Prospects()).score) == pytest.approx((0.25 * 1.0 + 0.5 * -2.0 + 0.5) / 1.75)


@every
def test_rounds_are_observed_once_and_in_order(name):
    goal, random = KINDS[name](0.9, 3), np.random.default_rng(0)
    goal.observe(random_round(random, 7, 3))
    assert goal.aim(replace(random_prospects(random, goal, 3), places=(2, 3))).until == 10
    with pytest.raises(ValueError, match="round 7 comes after round 7"):
        goal.observe(random_round(random, 7, 3))


@every
def test_a_goal_is_promised_for_as_many_rounds_with_places_as_the_horizon_says(name):
    goal, random = KINDS[name](0.9, 3), np.random.default_rng(0)
    goal.observe(random_round(random, 7, 3))
    aim = goal.aim(replace(random_prospects(random, goal, 3), places=(0, 2, None, 0, 0)))
    assert (aim.until, aim.without) == (13, (8, 11, 12))


@every
def test_a_season_that_is_told_says_which_rounds_have_no_places_unless_others_were_announced(name):
    goal, random = KINDS[name](0.9, 2), np.random.default_rng(0)
    goal.repeat_places(3)
    for number in range(4):
        goal.observe(replace(random_round(random, number, 2), places=0 if number == 2 else 5))
    aims = [goal.aim(replace(random_prospects(random, goal, 2), places=places)) for places in ((), (None, 4), (0,))]
    assert [(aim.until, aim.without) for aim in aims] == [(6, (5,)), (5, ()), (7, (4, 5))]
    other = KINDS[name](0.9, 2)
    other.repeat_places(3)
    other.restore(goal.state())
    assert other.aim(replace(random_prospects(random, goal, 2), places=())).without == (5,)


@every
@pytest.mark.parametrize(("coverage", "horizon"), [(0.0, 1), (1.0, 1), (0.9, 0)])
def test_a_goal_without_a_share_or_a_horizon_is_refused(name, coverage, horizon):
    with pytest.raises(ValueError, match="give a"):
        KINDS[name](coverage, horizon)


@every
def test_parameters_are_checked_by_name_and_interval(name):
    with pytest.raises(ValueError, match="has no parameter 'wizard'"):
        KINDS[name].check({"wizard": 1.0})
    for parameter, declared in KINDS[name].parameters().items():
        assert declared.allows(declared.default)
        with pytest.raises(ValueError, match=f"{parameter} is 1.0"):
            KINDS[name](0.9, 1, **{parameter: 1.0})


ROUNDS, PLACES, NEWCOMERS, TRIERS = 600, 9, 10, 8


def stationary_coverage(goal: RoundGoal, seed: int) -> float:
    """The mean accepted share of those who reach their goal, in rounds of people who are the same all the time.

    Of eight people turned down, each reaches a goal of logit z with the probability sigmoid(2 - z) in the next round.
    """
    random, told, shares = np.random.default_rng(seed), 0.5, []
    for number in range(ROUNDS):
        newcomers = bounded_sigmoid(random.normal(size=NEWCOMERS))
        success = (
            random.random(TRIERS) < bounded_sigmoid(2.0 - bounded_logit(told)) if number else np.zeros(TRIERS, bool)
        )
        score = np.concatenate([newcomers, np.full(success.sum(), told), np.full((~success).sum(), 0.01)])
        order = np.lexsort((random.random(len(score)), -score))
        place = np.zeros(len(score), bool)
        place[order[:PLACES]] = True
        reached = np.repeat([True, False], [success.sum(), (~success).sum()])
        back = (np.full(TRIERS, told), np.ones(TRIERS, np.int64), reached, place[NEWCOMERS:])
        goal.observe(ClosedRound(number, PLACES, float(score[place].min()), newcomers, *back))
        if number and success.any():
            shares.append(place[NEWCOMERS:][reached].mean())
        chance = np.tile(bounded_sigmoid(2.0 - bounded_logit(goal.candidates)), (TRIERS, 1))
        told = goal.aim(Prospects(chance) if goal.needs_prospects else Prospects()).score
    return float(np.mean(shares))


@every
@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_the_offset_keeps_the_coverage_of_any_goal_in_the_long_run(name, coverage):
    """Fixed draws. The standard error of the share of 600 rounds is about 0.01, the offset's part less."""
    goal = KINDS[name](coverage, 1, offset=True)
    assert stationary_coverage(goal, seed=5) == pytest.approx(coverage, abs=0.03)


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_the_capacity_forecast_keeps_the_coverage_where_its_predictions_are_right(coverage):
    goal = KINDS["capacity"](coverage, 1, offset=False)
    assert stationary_coverage(goal, seed=6) == pytest.approx(coverage, abs=0.03)
