"""ProtoAR on the paper's worlds: always the easiest way, and the known results."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.choices import ProtoAR
from onward.tests.support.reference_worlds import World


def test_takes_the_smallest_cost_and_gives_the_known_results(world: World) -> None:
    protoar = ProtoAR(world.points, 10)
    picks = [protoar.choose(world.options(t, world.execution), np.random.default_rng) for t in range(len(world.people))]
    smallest = np.where(world.feasible, world.cost, np.inf).min(axis=1)
    assert [world.cost[t, pick.arm] if pick else np.inf for t, pick in enumerate(picks)] == pytest.approx(smallest)
    actions = [pick and pick.arm for pick in picks]
    print(world.row("ProtoAR 0", actions))
    assert world.metrics(actions) == pytest.approx(world.result("ProtoAR", 0.0), rel=0, abs=5e-7)
