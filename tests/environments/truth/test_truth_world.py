"""People in a world with a known truth, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pytest

from onward.benchmarks.truth.conditions import StudiedConditions
from onward.environments.population import SPEC, Population
from onward.environments.rounds import Scoreboard
from onward.environments.truth import Conditions, Repayment, TruthWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Change, Option
from onward.schemas.specfile import load_spec

LOAN = load_spec(SPEC).spec
PEOPLE = 1000


@pytest.fixture(scope="module")
def table():
    return Population(seed=3).table(LOAN, size=1500)


def build(table, **changes) -> TruthWorld:
    return TruthWorld(LOAN, table, Repayment(FeatureCodec(LOAN)), **{"seed": 3, "people": PEOPLE, **changes})


@pytest.fixture(scope="module")
def world(table) -> TruthWorld:
    return build(table, approved_share=0.3)


def option(number, **changes) -> Option:
    return Option("0", tuple(Change(name, 0, value) for name, value in changes.items()), 0.1, 0.9, 1.0, str(number))


def suggestions(world, t) -> np.ndarray:
    return world.targets(t, [option(1, savings=35_000), option(2, card_utilisation=0.0, years_in_job=10)])


def arrivals(world) -> list[int]:
    return [t for t in range(world.people) if world.is_rejected(t)]


def outcomes(world) -> list[object]:
    return [world.outcome(t, suggestions(world, t)) for t in arrivals(world)[:100]]


def test_the_same_seed_gives_the_same_outcomes_and_another_seed_others(table, world):
    assert outcomes(world) == outcomes(build(table, approved_share=0.3))
    assert outcomes(world) != outcomes(build(table, approved_share=0.3, seed=4))


def test_the_targets_are_the_person_with_the_changes_of_each_option(world):
    t = arrivals(world)[0]
    row = dict(world.application(t)[1])
    changed = [{**row, "savings": 35_000}, {**row, "card_utilisation": 0.0, "years_in_job": 10}]
    assert (suggestions(world, t) == world.codec.encode_many(changed)).all()


def test_people_take_up_the_option_that_is_easiest_for_them_and_the_outcome_names_it(world):
    taken = [world.easiest(t, suggestions(world, t)) for t in arrivals(world)[:300]]
    assert 0 < np.mean(taken) < 1, "people differ"
    for t, own in zip(arrivals(world)[:100], taken[:100], strict=True):
        targets = suggestions(world, t)
        chances = world.chances(np.array([t, t]), targets)
        assert chances.execution.argmax() == own
        assert world.expected_reward(t, targets) == chances.improvement[own] * chances.execution[own]
        outcome = world.outcome(t, targets)
        assert outcome is None or (outcome.option, outcome.application) == (own, world.application(t)[0])


def test_people_improve_as_often_as_expected(world):
    """Fixed draws; for other draws a right world would fail once in a million times (4.9 standard errors)."""
    chance = np.array([world.expected_reward(t, suggestions(world, t)) for t in arrivals(world)])
    improved = sum(world.outcome(t, suggestions(world, t)) is not None for t in arrivals(world))
    assert abs(improved - chance.sum()) < 4.9 * np.sqrt((chance * (1 - chance)).sum())


def test_the_oracle_is_the_best_of_what_was_offered_and_nothing_without_an_offer(table):
    world = build(table, people=50)
    distinct = world.distinct
    targets = np.concatenate([distinct[1:], distinct[1:]])
    targets[: len(distinct) - 1, 3] = 1.0
    targets[len(distinct) - 1 :, 9] = 0.0
    whose = np.tile(np.arange(1, len(distinct)), 2)
    order = np.argsort(whose, kind="stable")
    world.offer(whose[order], targets[order])
    for t in range(world.people):
        own = targets[whose == world.row_of[t]]
        single = [world.expected_reward(t, target[np.newaxis]) for target in own]
        assert world.oracle(t) == max(single, default=0.0)
    assert {world.row_of[t] for t in range(50) if world.oracle(t) == 0} <= {0}


def test_drift_changes_the_second_half_only_and_no_other_draw(table):
    steady, drifting = (build(table, conditions=StudiedConditions(drift=share)) for share in (0.0, 0.9))
    rounds = np.arange(PEOPLE)
    targets = np.concatenate([steady.targets(t, [option(1, savings=4_000, card_utilisation=5.0)]) for t in rounds])
    before, after = steady.chances(rounds, targets), drifting.chances(rounds, targets)
    half = PEOPLE // 2
    assert (before.improvement[:half] == after.improvement[:half]).all()
    assert before.improvement[half:].mean() > after.improvement[half:].mean() + 0.05
    assert (before.execution == after.execution).all()
    assert [steady.reward_delay(t, 1.0) for t in rounds] == [drifting.reward_delay(t, 1.0) for t in rounds]


def test_a_scoreboard_scores_a_slate_by_the_option_that_is_taken_up(table):
    world = build(table, people=5)
    world.offer(np.array([0]), world.distinct[:1])
    board = Scoreboard(world)
    board.record(0, suggestions(world, 0))
    board.record(1, None)
    assert board.now.mer == world.expected_reward(0, suggestions(world, 0)) / 2
    assert board.now.improvement == world.worth(0, suggestions(world, 0)).improvement


def test_a_feature_stops_helping_at_the_shift_and_not_before(table):
    steady, shifted = (build(table, conditions=Conditions(shift_at=0.25)) for _ in range(2))
    shifted.make_inert("savings", from_the_shift=True)
    rounds = np.arange(PEOPLE)
    targets = np.concatenate([steady.targets(t, [option(1, savings=4_000)]) for t in rounds])
    before, after = steady.chances(rounds, targets), shifted.chances(rounds, targets)
    assert shifted.shift == PEOPLE // 4
    assert (before.improvement[: shifted.shift] == after.improvement[: shifted.shift]).all()
    assert before.improvement[shifted.shift :].mean() > after.improvement[shifted.shift :].mean() + 0.05


def test_the_oracle_keeps_the_best_of_several_offers(table):
    world = build(table, people=20)
    everybody, nobody = np.arange(len(world.distinct)), np.arange(0)
    saved = np.where(np.arange(world.distinct.shape[1]) == 3, 1.0, world.distinct)
    world.offer(everybody, saved)
    best = [world.oracle(t) for t in range(20)]
    assert max(best) > 0
    world.offer(nobody, saved[:0])
    assert [world.oracle(t) for t in range(20)] == best
