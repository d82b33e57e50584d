"""LinUCB on the paper's worlds with stored draws: the actions of a plain loop, and the known results.

The plain loop is Algorithm 1 written number by number, with nothing of Onward's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from onward.agents.candidates import RecourseInstances
from onward.agents.choices import LinUCB
from onward.agents.costs import L1, execution_probability

if TYPE_CHECKING:
    from .conftest import World

WINDOW = 10


def plain_loop(world: World, regularisation: float, noise: float) -> list[int | None]:
    """Actions of LinUCB for every round, None where no candidate is feasible."""
    seen, clean, feasible = world.seen(noise).tolist(), world.execution.tolist(), world.feasible.tolist()
    people, candidates = len(world.people), len(world.points)
    v, b = [regularisation] * candidates, [0.0] * candidates
    bonuses: list[float] = []
    actions: list[int | None] = []
    arriving: dict[int, list[tuple[int, float]]] = {}
    for t in range(people):
        prior = candidates * regularisation
        f = math.sqrt(regularisation) + math.sqrt(
            2 * math.log(1 / 0.05) + candidates * math.log((prior + t + 1) / prior)
        )
        alpha = 2 * f + sum(bonuses[-WINDOW:])
        best, action = -math.inf, None
        for k in range(candidates):
            if feasible[t][k]:
                e = seen[t][k]
                score = b[k] / v[k] * e + alpha * (e * e / v[k])
                if score > best:
                    best, action = score, k
        actions.append(action)
        if action is not None:
            e = seen[t][action]
            bonuses.append(e * e / v[action])
            v[action] += e * e
            rewarded = world.draw[t] < world.chance[action] * clean[t][action]
            if rewarded and world.delay[t] <= WINDOW:
                arriving.setdefault(t + world.delay[t] - 1, []).append((action, clean[t][action]))
        for k, e in arriving.pop(t, []):
            b[k] += e
    return actions


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
    feasible = instances.feasible(world.people)
    execution = execution_probability(L1()(world.points, world.people), nu=1 / columns)
    seen = world.seen(noise) if noise else execution
    linucb = LinUCB(len(world.points), WINDOW, regularisation=regularisation)
    actions: list[int | None] = []
    arriving: dict[int, list[tuple[int, float]]] = {}
    for t in range(len(world.people)):
        pick = linucb.choose(seen[t], feasible[t], np.random.default_rng)
        actions.append(pick and pick.candidate)
        if pick:
            e = execution[t, pick.candidate]
            if world.draw[t] < world.chance[pick.candidate] * e and world.delay[t] <= WINDOW:
                arriving.setdefault(t + world.delay[t] - 1, []).append((pick.candidate, e))
        for k, e in arriving.pop(t, []):
            linucb.update(k, e, 1.0)
    return actions


@pytest.mark.parametrize("noise", [0.0, 0.25])
@pytest.mark.parametrize("regularisation", [20.0, 30.0])
def test_equals_the_plain_loop_and_the_known_results(world: World, regularisation: float, noise: float) -> None:
    actions = onward_actions(world, regularisation, noise)
    print(world.row(f"LinUCB({regularisation:g}) {noise:g}", actions))
    assert actions == plain_loop(world, regularisation, noise)
    known = world.result(f"LinUCB lambda={regularisation:g} (common draws)", noise)
    assert world.metrics(actions) == pytest.approx(known, rel=0, abs=5e-7)
