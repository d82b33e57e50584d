"""A season plays the competition that its answers make, and sends what its people do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from onward.agents.candidates import recommenders
from onward.environments.competition import Advice, Competition, CompetitionRules, Episode, draw_world, feature_names
from onward.environments.competition.season import mean_of_rounds

WORLD = replace(draw_world(0), decimals=3)
GOAL, ROUNDS = 0.7, 6


def season(**settings):
    return Episode(WORLD, CompetitionRules(**settings), rounds=ROUNDS, seed=3)


def best_plan(person, goal=GOAL):
    """The changes that most probably lead a person (D,) to the goal, by name."""
    theta = CompetitionRules().beta / np.array(CompetitionRules().difficulty)
    box = recommenders.Bounds(np.zeros(1), np.ones(1))
    plan = recommenders.MaximalSuccess(theta).recommend(WORLD.linear, person[np.newaxis], np.array([goal]), box)
    return dict(zip(feature_names(WORLD), plan.targets[0].tolist(), strict=True))


def play_round(played, answer=lambda person: Advice(GOAL, {"1": best_plan(person)})):
    """Close a round by scores; return who applied, who was accepted, and what was taken up."""
    arrivals = played.open()
    people = np.array([list(arrival.features.values()) for arrival in arrivals])
    best = set(np.argsort(-WORLD.score(people))[: played.places].tolist())
    accepted = {arrivals[index].application for index in best}
    answers = {
        arrival.application: answer(person)
        for arrival, person in zip(arrivals, people, strict=True)
        if arrival.application not in accepted
    }
    return arrivals, accepted, played.close(accepted, answers)


def test_it_plays_the_same_rounds_as_the_competition():
    played, pure = season(horizon=2), Competition(WORLD, CompetitionRules(horizon=2), episodes=1, seed=3)
    for t in range(ROUNDS):
        arrivals, applications = played.open(), pure.arrivals(t)
        assert [list(arrival.features.values()) for arrival in arrivals] == applications.people.tolist()
        names, best = [arrival.application for arrival in arrivals], pure.best(t, applications)
        plans = [best_plan(person) for person in applications.people]
        answers = {name: Advice(GOAL, {"1": plan}) for name, plan in zip(names, plans, strict=True)}
        played.close({name for name, has_place in zip(names, best, strict=True) if has_place}, answers)
        targets = np.array([list(plan.values()) for plan in plans])
        outcomes = pure.close(t, best, np.full(len(targets), GOAL), targets)
        assert played.outcomes[t].feasibility == pytest.approx(outcomes.feasibility, nan_ok=True)
    assert mean_of_rounds([one.feasibility for one in played.outcomes]) > 0.5


def test_who_comes_back_names_the_earlier_application_and_the_option_they_tried():
    played = season()
    first, accepted, _ = play_round(played)
    second = played.open()
    back = [arrival for arrival in second if arrival.previous is not None]
    assert 0 < len(back) <= len(first) - len(accepted)
    person = {arrival.application: arrival.applicant for arrival in first}
    for arrival in back:
        assert arrival.previous not in accepted
        assert (arrival.taken, arrival.applicant) == ("1", person[arrival.previous])
        assert arrival.reached == (WORLD.score(np.array([list(arrival.features.values())]))[0] >= GOAL - 1e-9)
    assert {arrival.reached for arrival in back} == {True, False}
    assert len({arrival.application for arrival in (*first, *second)}) == len(first) + len(second)


def test_of_several_options_the_easiest_is_taken():
    played = season()

    def answer(person):
        hard = dict.fromkeys(feature_names(WORLD), 1.0)
        return Advice(GOAL, {"hard": hard, "easy": best_plan(person)})

    _, _, taken = play_round(played, answer)
    assert all(one.success > 0.3 for one in taken)
    assert {arrival.taken for arrival in played.open()} == {None, "easy"}


def test_answers_are_worth_the_chance_of_success_and_no_plan_is_better_than_the_oracle():
    played = season()
    _, _, taken = play_round(played)
    for t, one in enumerate(taken):
        assert one.reaches
        assert 0 < played.worth(t, one).reward == pytest.approx(played.oracle(t))
    short = play_round(season(), lambda person: Advice(GOAL, {"1": best_plan(person, 0.6)}))[2]
    assert {season().worth(0, one).reward for one in short if not one.reaches} == {0.0}


def test_without_a_way_forward_nothing_is_taken_and_without_a_change_nothing_is_counted():
    played = season()
    arrivals, accepted, taken = play_round(played, lambda person: Advice(None))
    assert taken == [None] * (len(arrivals) - len(accepted))
    assert played.oracle(0) == 0.0
    assert play_round(season(), lambda person: Advice(0.1))[2] == []


def test_rounds_are_closed_when_they_are_open():
    with pytest.raises(ValueError, match="not open"):
        season().close(set(), {})
