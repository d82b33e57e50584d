"""LinUCB on the paper's worlds with stored draws: the actions of a plain loop, and the known results."""

from __future__ import annotations

import numpy as np
import pytest
from reference_worlds import WINDOW, World, plain_loop

from onward.agents.candidates import RecourseInstances
from onward.agents.choices import LinUCB, Pull
from onward.agents.costs import L1, execution_probability


def onward_actions(world: World, regularisation: float, noise: float) -> list[int | None]:
    """The same with Onward's candidates, cost, execution probability and LinUCB."""
    columns = world.points.shape[1]
    instances = RecourseInstances(
        points=world.points,
        feature_of=np.arange(columns),
        mutable=["none" if fixed else "any" for fixed in world.immutable],
        smallest_change=np.zeros(columns),
        valid=np.ones(len(world.points), dtype=bool),
    )
    pairs = instances.feasible(world.people)
    feasible = [pairs.candidates[pairs.people == t] for t in range(len(world.people))]
    execution = execution_probability(L1()(world.points, world.people), nu=1 / columns)
    seen = world.seen(noise) if noise else execution
    linucb = LinUCB(world.points, WINDOW, regularisation=regularisation)
    actions: list[int | None] = []
    arriving: dict[int, list[Pull]] = {}
    for t in range(len(world.people)):
        pick = linucb.choose(world.people[t], feasible[t], seen[t, feasible[t]], np.random.default_rng)
        actions.append(pick and pick.candidate)
        if pick:
            e = execution[t, pick.candidate]
            if world.draw[t] < world.chance[pick.candidate] * e and world.delay[t] <= WINDOW:
                arriving.setdefault(t + world.delay[t] - 1, []).append(Pull(t, pick.candidate, e))
        for pull in arriving.pop(t, []):
            linucb.update(pull, 1.0)
    return actions


@pytest.mark.parametrize("noise", [0.0, 0.25])
@pytest.mark.parametrize("regularisation", [20.0, 30.0])
def test_equals_the_plain_loop_and_the_known_results(world: World, regularisation: float, noise: float) -> None:
    actions = onward_actions(world, regularisation, noise)
    print(world.row(f"LinUCB({regularisation:g}) {noise:g}", actions))
    assert actions == plain_loop(world, regularisation, noise)
    known = world.result(f"LinUCB lambda={regularisation:g} (common draws)", noise)
    assert world.metrics(actions) == pytest.approx(known, rel=0, abs=5e-7)
