"""Where costs are sampled, a set is picked of which one suits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.choices import EMC, Choice, registry
from onward.agents.choices.components.min_cost import expected_min_cost
from onward.agents.costs import Columns, Lesson, MixedCost
from onward.agents.objective import Objective
from onward.agents.options import Options
from onward.tests.support.choice_artefacts import ARTEFACTS

FEATURES, OPTIONS = 4, 6
COLUMNS = Columns(np.arange(FEATURES), np.ones(FEATURES, dtype=bool))
NU = 0.4

samplers = pytest.mark.parametrize("name", [name for name in registry if registry[name].takes_samples()])


def options_of(seed: int, samples: int = 40) -> Options:
    """Options of one person, each with a few changes."""
    random = np.random.default_rng(seed)
    person = random.random((1, FEATURES))
    changed = random.random((OPTIONS, FEATURES)) < 0.4
    changed[np.arange(OPTIONS), random.integers(0, FEATURES, OPTIONS)] = True
    points = np.where(changed, random.random((OPTIONS, FEATURES)), person)
    cost, each = MixedCost(COLUMNS, random.random((30, FEATURES)), samples, seed), np.arange(OPTIONS)
    batch = Objective(cost, NU).options(
        person, np.zeros(OPTIONS, dtype=np.intp), each, points, each, np.arange(FEATURES)
    )
    return batch.options_of(0)


def learner(name: str) -> Choice:
    choice = registry[name](np.eye(OPTIONS, FEATURES), 5)
    choice.equip(**{need: {**ARTEFACTS, "features": FEATURES}[need] for need in choice.needs})
    return choice


def plain(options: Options) -> Options:
    return Options(*options[:6])


@samplers
@given(seed=st.integers(0, 200), most=st.integers(1, OPTIONS))
def test_one_sample_gives_the_picks_of_a_known_cost(name: str, seed: int, most: int) -> None:
    options = options_of(seed, samples=1)
    one, other = learner(name), learner(name)
    for step in range(3):
        picked = one.select(options, most, generator(step))
        assert picked == other.select(plain(options), most, generator(step))
        assert len(picked) == most
    states = one.state(), other.state()
    assert all(states[0][key].tobytes() == states[1][key].tobytes() for key in states[0])


@samplers
@given(seed=st.integers(0, 200), most=st.integers(1, OPTIONS + 2))
def test_all_places_are_filled_with_different_options_as_long_as_there_are_some(
    name: str, seed: int, most: int
) -> None:
    picks = learner(name).select(options_of(seed), most, generator(0))
    assert len({pick.arm for pick in picks}) == len(picks) == min(most, OPTIONS)


@given(seed=st.integers(0, 200))
def test_each_pick_adds_most_to_those_before_it(seed: int) -> None:
    options, choice = options_of(seed), learner("protoar")
    assert options.samples is not None
    worth = options.samples.execution
    picks = choice.select(options, 3, generator(0))
    best = np.zeros(worth.shape[1])
    for pick in picks:
        at = int(options.arm.searchsorted(pick.arm))
        gains = np.maximum(worth - best, 0.0).mean(axis=1)
        assert gains[at] == pytest.approx(gains.max())
        best = np.maximum(best, worth[at])


@given(seed=st.integers(0, 200), most=st.integers(1, 4))
def test_no_exchange_lowers_the_emc_of_a_set(seed: int, most: int) -> None:
    options = options_of(seed)
    assert options.samples is not None
    costs, cap = options.samples.costs, options.samples.cost.cap
    picks = learner("emc").select(options, most, generator(0))
    chosen = np.array([int(options.arm.searchsorted(pick.arm)) for pick in picks])
    weights = np.ones(costs.shape[1])
    emc = expected_min_cost(costs, weights, cap, chosen)
    for place in range(len(chosen)):
        for other in set(range(OPTIONS)) - set(chosen.tolist()):
            exchanged = np.where(np.arange(len(chosen)) == place, other, chosen)
            assert expected_min_cost(costs, weights, cap, exchanged) >= emc - 1e-9


def test_what_is_learned_of_a_population_changes_what_its_people_are_offered() -> None:
    options = options_of(5)
    assert options.samples is not None
    preferences = options.samples.cost.preferences()
    for _ in range(500):
        preferences.learn(Lesson(np.eye(FEATURES)[0], np.ones(FEATURES)))
    learned = Options(*options[:6], options.samples.with_preferences(preferences))
    picks = [EMC(np.eye(OPTIONS, FEATURES), 5).select(each, 2, generator(0)) for each in (options, learned)]
    assert [pick.arm for pick in picks[0]] != [pick.arm for pick in picks[1]]


def generator(step: int) -> Callable[[], np.random.Generator]:
    return lambda: np.random.default_rng(step)
