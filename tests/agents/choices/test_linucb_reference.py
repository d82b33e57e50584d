"""LinUCB on the paper's worlds with stored draws: the actions of a plain loop, and the known results."""

from __future__ import annotations

import pytest

from onward.agents.choices import LinUCB
from onward.benchmarks.improvement.observed_execution import ObservedExecution
from onward.benchmarks.improvement.play import play
from onward.benchmarks.improvement.stored_worlds import from_arrays
from onward.environments.population import SPEC
from onward.schemas.specfile import load_spec
from onward.tests.support.reference_worlds import WINDOW, World, plain_loop, stored_arrays


def onward_actions(world: World, regularisation: float, noise: float) -> list[int | None]:
    """The same with Onward's LinUCB in Onward's world."""
    spec = load_spec(SPEC.parent / f"{world.data_set.lower()}.yaml").spec
    own = from_arrays(stored_arrays(world.data_set, world.seed), spec)
    linucb = LinUCB(own.points, WINDOW, regularisation=regularisation)
    played = play(own, linucb, ObservedExecution(own, noise=noise, seed=world.seed), seed=world.seed)
    return [None if k < 0 else k for k in played.actions.tolist()]


@pytest.mark.parametrize("noise", [0.0, 0.25])
@pytest.mark.parametrize("regularisation", [20.0, 30.0])
def test_equals_the_plain_loop_and_the_known_results(world: World, regularisation: float, noise: float) -> None:
    actions = onward_actions(world, regularisation, noise)
    print(world.row(f"LinUCB({regularisation:g}) {noise:g}", actions))
    assert actions == plain_loop(world, regularisation, noise)
    known = world.result(f"LinUCB lambda={regularisation:g} (common draws)", noise)
    assert world.metrics(actions) == pytest.approx(known, rel=0, abs=5e-7)
