"""BwO-UCB: as good as the known results, and an updated forest as good as a refitted one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from onward.agents.choices import BwOUCB, Choice, Pull
from onward.agents.choices.components.regression_forest import OnlineForest
from onward.agents.options import Options
from onward.tests.support.reference_worlds import REFERENCE, WINDOW, World, load_world

DATA_SETS = ("Credit", "Diabetes", "COMPAS")
SEEDS = 2


def play(world: World, learner: Choice, steps: int = 1000) -> list[int | None]:
    """The actions in a world's rounds; a reward of delay d arrives at the end of round t + d - 1."""
    actions: list[int | None] = []
    arriving: dict[int, list[Pull]] = {}
    unknown = np.ones(world.execution.shape)
    for t in range(steps):
        pick = learner.choose(world.options(t, unknown), lambda t=t: np.random.default_rng([world.seed, t]))
        actions.append(pick and pick.arm)
        if pick:
            k = pick.arm
            if world.draw[t] < world.chance[k] * world.execution[t, k] and world.delay[t] <= WINDOW:
                arriving.setdefault(t + int(world.delay[t]) - 1, []).append(Pull(t, k, pick.execution))
        for pull in arriving.pop(t, []):
            learner.update(pull, 1.0)
    return actions


@pytest.mark.parametrize("data_set", DATA_SETS)
def test_agrees_with_the_known_results_within_their_scatter(data_set: str) -> None:
    found = []
    for seed in range(SEEDS):
        world = load_world(data_set, seed)
        actions = play(world, BwOUCB(world.points, WINDOW))
        print(world.row("BwO-UCB 0", actions))
        found.append(world.metrics(actions)["MER"])
    rows = json.loads((REFERENCE / "results.json").read_text())["rerun"]
    (known,) = (row for row in rows if (row["dataset"], row["method"]) == (data_set, "BwOUCB"))
    error = known["MER_std"] * np.sqrt(1 / SEEDS + 1 / known["n"])
    assert np.mean(found) == pytest.approx(known["MER"], abs=3 * error)


@pytest.mark.parametrize("data_set", DATA_SETS)
def test_the_updated_forest_predicts_as_a_refitted_one(data_set: str) -> None:
    """Its distance from a forest fitted on the same rows is at most 1.3 times that of another such forest."""
    world = load_world(data_set, 0)
    kept = BwOUCB(world.points, WINDOW)
    play(world, kept, 400)
    fitted = [OnlineForest(kept.trees, kept.memory, kept.bag) for _ in range(2)]
    for number, forest in enumerate(fitted):
        for tree in range(kept.trees):
            forest.regrow(tree, kept._rows, np.random.default_rng([number, tree]))
    people, candidates = world.people[400:700], world.points[np.arange(300) % len(world.points)]
    pairs = np.concatenate([people, candidates - people], axis=1)
    own, one, other = (forest.score(pairs) for forest in (kept._forest, *fitted))
    for kind in range(2):
        usual = np.abs(one[kind] - other[kind]).mean()
        assert np.abs(own[kind] - one[kind]).mean() < 1.3 * usual


def everything(person: float, points: np.ndarray) -> Options:
    arms = np.arange(len(points))
    return Options(np.array([person]), arms, points, arms, np.ones(len(points)))


def test_an_arm_that_stops_succeeding_is_left_without_feedback() -> None:
    """One success, then none: the pulls count as failures although no reward of 0 is reported."""
    points = np.array([[0.0], [0.5], [1.0]])
    learner = BwOUCB(points, WINDOW, memory=50)
    picks = []
    for step in range(200):
        pick = learner.choose(everything(0.2, points), lambda step=step: np.random.default_rng(step))
        assert pick is not None
        picks.append(pick.arm)
        if step == 0:
            learner.update(Pull(0, pick.arm, 1.0), 1.0)
    assert len(set(picks[60:])) == 3


def test_draws_until_something_succeeds() -> None:
    points = np.zeros((4, 1))
    learner, options = BwOUCB(points, WINDOW), everything(0.0, points)
    picks = [learner.choose(options, lambda step=step: np.random.default_rng(step)) for step in range(60)]
    assert {pick.propensity for pick in picks if pick} == {0.25}
    assert {pick.arm for pick in picks if pick} == {0, 1, 2, 3}
