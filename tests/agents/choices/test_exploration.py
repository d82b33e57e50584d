"""Exploration over every choice: exact propensities, and learners that count the replacement as their own pick."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from onward.agents.choices import Choice, Exploration, Pick, Pull, registry
from onward.agents.choices.exploration import force
from onward.agents.options import OptionBatch, Options, Outlook
from onward.tests.support.choice_artefacts import ARTEFACTS

SHARE, WINDOW, CANDIDATES = 0.5, 10, 4
POINTS = np.random.default_rng(0).random((CANDIDATES, 3))
FEASIBLE = np.array([0, 2, 3])
EXECUTION = np.array([0.4, 0.9, 0.7])


def options(t: int) -> Options:
    return Options(np.random.default_rng(100 + t).random(3), FEASIBLE, POINTS, FEASIBLE, EXECUTION)


def warm(name: str) -> Choice:
    """A learner with a success, so that none has to draw."""
    choice = registry[name](POINTS, WINDOW)
    choice.equip(**{name: ARTEFACTS[name] for name in choice.needs})
    for t in range(3):
        pick = choice.choose(options(t), lambda t=t: np.random.default_rng(t))
        choice.update(Pull(t, pick.arm, pick.execution, pick.context), float(t == 0))
    return choice


def unlike(t: int) -> Options:
    """The same options, of which the second helps much less than the others."""
    outlook = Outlook(np.array([2.0, -3.0, 1.5]), np.eye(3), np.zeros((3, 3)))
    return Options(np.random.default_rng(100 + t).random(3), FEASIBLE, POINTS, FEASIBLE, EXECUTION, outlook)


@pytest.mark.parametrize("count", [2, 3])
def test_options_that_may_not_stand_beside_each_other_are_drawn_as_others_are(count: int) -> None:
    """A right propensity is refused once in 10,000 runs (3.9 standard errors)."""
    choice, tries = warm("protoar"), 400
    before, taken, propensities = choice.state(), Counter(), {}
    for number in range(tries):
        choice.restore(before)
        coin = np.random.default_rng([2, number])
        for pick in Exploration(choice, SHARE).select(unlike(9), count, lambda: np.random.default_rng(5), coin):
            taken[pick.arm] += 1
            propensities[pick.arm] = pick.propensity
    assert set(taken) == set(FEASIBLE.tolist()), "what helps less is tried too"
    for arm, propensity in propensities.items():
        assert abs(taken[arm] / tries - propensity) <= 3.9 * (propensity * (1 - propensity) / tries) ** 0.5


@pytest.mark.parametrize("name", registry)
def test_a_batch_of_unlike_options_is_picked_from_as_one_by_one(name: str) -> None:
    one, batch = warm(name), warm(name)
    own = unlike(9)
    first, last = np.array([0]), np.array([3])
    people = OptionBatch(
        own.person[np.newaxis], first, last, own.arm, own.points, own.point, np.ones(3), own.execution, own.outlook
    )
    alone = one.select(own, 3, lambda: np.random.default_rng(5))
    [together] = batch.select_batch(people, 3, lambda _: np.random.default_rng(5))
    assert [pick.arm for pick in together] == [pick.arm for pick in alone]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", registry)
def test_every_option_is_picked_as_often_as_its_propensity_says(name: str, count: int) -> None:
    """A right propensity is refused once in 10,000 runs (3.9 standard errors)."""
    choice, tries = warm(name), 400
    before, taken, propensities = choice.state(), Counter(), {}
    for number in range(tries):
        choice.restore(before)
        coin = np.random.default_rng([1, number])
        picks = Exploration(choice, SHARE).select(options(9), count, lambda: np.random.default_rng(5), coin)
        assert len({pick.arm for pick in picks}) == count
        for pick in picks:
            taken[pick.arm] += 1
            assert propensities.setdefault(pick.arm, pick.propensity) == pick.propensity
    assert sum(propensities.values()) == pytest.approx(count)
    assert set(propensities) == set(FEASIBLE.tolist())
    for arm, propensity in propensities.items():
        error = np.sqrt(propensity * (1 - propensity) / tries)
        assert abs(taken[arm] / tries - propensity) < 3.9 * error


@pytest.mark.parametrize("name", registry)
def test_a_learner_counts_the_replacement_as_its_own_pick(name: str) -> None:
    explored, forced = warm(name), warm(name)
    for t in range(3, 40):
        generator = lambda t=t: np.random.default_rng(t)  # noqa: E731
        (pick,) = Exploration(explored, SHARE).select(options(t), 1, generator, np.random.default_rng([2, t]))
        at = FEASIBLE.tolist().index(pick.arm)
        greedy = pick.propensity > SHARE
        own = forced.choose(options(t), generator) if greedy else force(forced, options(t), [at], generator)[0]
        assert own is not None
        assert (own.arm, own.execution) == (pick.arm, pick.execution)
        for choice in (explored, forced):
            choice.update(Pull(t, pick.arm, pick.execution, pick.context), float(t % 3 == 0))
    states = explored.state(), forced.state()
    assert all(np.array_equal(states[0][array], states[1][array]) for array in states[0])


def test_a_pick_that_the_choice_drew_stays() -> None:
    choice = registry["gp_ucb"](POINTS, WINDOW)
    taken = set()
    for t in range(30):
        generator = np.random.default_rng(t)
        (pick,) = Exploration(choice, 1.0).select(
            options(t), 1, lambda generator=generator: generator, np.random.default_rng([3, t])
        )
        assert pick.propensity == 1 / 3
        taken.add(pick.arm)
    assert taken == set(FEASIBLE.tolist())


def test_a_batch_has_a_coin_for_each_person() -> None:
    arm, ends = np.array([0, 2, 3, 1]), np.array([0, 3, 3, 4])
    execution = np.array([0.4, 0.9, 0.7, 0.2])
    batch = OptionBatch(POINTS[:3], ends[:-1], ends[1:], arm, POINTS, arm, 1.0 - execution, execution)
    coins = (np.random.default_rng([4, t]) for t in range(3))
    first, nobody, last = Exploration(warm("linucb"), 1.0).select_batch(batch, 1, np.random.default_rng, coins)
    assert first[0].arm in (0, 2, 3)
    assert first[0].propensity == pytest.approx(1 / 3)
    assert nobody == ()
    assert last == (Pick(1, 1.0, 0.2),)
    assert not list(coins)
