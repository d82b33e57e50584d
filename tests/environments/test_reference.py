"""The worlds of the ARLIM paper: from their stored arrays, and built anew from the data."""

import heapq

import numpy as np
import pytest

from onward.agents.choices import LinUCB
from onward.environments.improvement import ImprovementWorld
from onward.environments.reference import from_arrays
from onward.environments.rounds import Point, Scoreboard
from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import read_table

NAMES = ("Credit", "Diabetes", "COMPAS")
WINDOW = 10


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NAMES)
def test_stored_worlds_come_back_bit_for_bit_in_raw_values(name, seed, stored, specs):
    arrays, fact = stored.arrays(name, seed), stored.fact(name, seed)
    world, codec = from_arrays(arrays, specs(name)), FeatureCodec(specs(name))
    people = [world.application(t)[1] for t in range(world.people)]
    assert (codec.encode_many(people) == arrays["X"]).all()
    assert (codec.encode_many(world.instances) == arrays["CF"]).all()
    assert not any(map(codec.check, [*people, *world.instances]))
    oracle = [world.oracle(t) for t in range(world.people)]
    assert np.mean(oracle) == pytest.approx(fact["oracle_MER"], abs=1e-12)
    assert oracle.count(0.0) == fact["infeasible_rounds"]
    assert not world.estimator.predict(arrays["X"]).any()
    assert world.estimator.predict(arrays["CF"]).all()


@pytest.mark.parametrize(("name", "seed"), [("Credit", 0), ("Diabetes", 1), ("Diabetes", 4), ("COMPAS", 2)])
def test_a_world_built_from_the_data_is_the_stored_one(name, seed, stored, data, specs):
    arrays, spec = stored.arrays(name, seed), specs(name)
    table = read_table(data / f"{name.lower()}.csv", spec)
    world = ImprovementWorld.from_table(table, spec, seed=seed, people=1000)
    codec = FeatureCodec(spec)
    assert (codec.encode_many(world.instances) == arrays["CF"]).all()
    assert (world.theta == arrays["theta"]).all()
    assert (world.theta_noisy == arrays["theta_noisy"]).all()
    assert (codec.encode_many([world.application(t)[1] for t in range(1000)]) == arrays["X"]).all()
    twin = from_arrays(arrays, spec)
    pairs = [(t, (7 * t) % len(world.instances)) for t in range(1000)]
    assert [world.outcome(t, k) for t, k in pairs] == [twin.outcome(t, k) for t, k in pairs]


@pytest.mark.parametrize("regularisation", [20, 30])
@pytest.mark.parametrize(("name", "seed"), [("Credit", 3), ("Diabetes", 0), ("COMPAS", 1)])
def test_linucb_in_the_world_scores_as_the_stored_results_say(name, seed, regularisation, stored, specs):
    world = from_arrays(stored.arrays(name, seed), specs(name))
    expected = stored.result(name, seed, f"LinUCB lambda={regularisation} (common draws)")
    score = play(world, LinUCB(len(world.instances), WINDOW, regularisation=float(regularisation)))
    assert score.mer == pytest.approx(expected["MER"], abs=6e-7)
    assert score.improvement == pytest.approx(expected["improvement"], abs=6e-7)
    assert score.cost == pytest.approx(expected["cost"], abs=6e-7)
    assert score.regret == pytest.approx(expected["regret"], abs=6e-7)
    assert score.oracle_mer == pytest.approx(expected["oracle_MER"], abs=6e-7)


def play(world: ImprovementWorld, learner: LinUCB) -> Point:
    """Everybody in turn, outcomes delivered when due unless the window has closed."""
    board, due = Scoreboard(world), []
    arms = range(len(world.instances))
    for t in range(world.people):
        execution = np.exp([-world.cost(t, k) / len(world.columns) for k in arms])
        feasible = np.flatnonzero([world.is_feasible(t, k) for k in arms])
        pick = learner.choose(feasible, execution[feasible], np.random.default_rng)
        board.record(t, pick and pick.candidate)
        outcome = pick and world.outcome(t, pick.candidate)
        if outcome and outcome.due < t + WINDOW:
            heapq.heappush(due, (outcome.due, t, pick.candidate, execution[pick.candidate]))
        while due and due[0][0] <= t:
            _, _, k, chance = heapq.heappop(due)
            learner.update(k, chance, 1.0)
    return board.now


def test_arrays_of_another_program_are_refused(stored, specs):
    with pytest.raises(ValueError, match="give the spec of their data"):
        from_arrays(stored.arrays("Diabetes", 0), specs("Credit"))
