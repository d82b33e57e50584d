from __future__ import annotations

import numpy as np
import pytest

from onward.agents.choices import LinUCB, Pull
from onward.agents.options import Options

POINTS = np.array([[0.9], [0.1]])
PERSON = np.array([0.5])


def options(*arms: int, execution: tuple[float, float] = (0.5, 0.8)) -> Options:
    feasible = np.array(arms, dtype=np.intp)
    return Options(PERSON, feasible, POINTS, feasible, np.array(execution)[feasible])


def after(steps: int, **parameters: float) -> LinUCB:
    linucb = LinUCB(POINTS, 3, **parameters)
    for _ in range(steps):
        linucb.choose(options(0, 1), np.random.default_rng)
    return linucb


def test_a_step_without_options_counts_but_leaves_no_bonus() -> None:
    linucb = LinUCB(POINTS, 3)
    linucb.choose(options(), np.random.default_rng)
    state = linucb.state()
    assert state.pop("t") == 1
    fresh = LinUCB(POINTS, 3).state()
    assert all((array == fresh[name]).all() for name, array in state.items())


def test_bonuses_are_those_of_the_last_picks_as_of_the_pick() -> None:
    state = after(4, regularisation=2.0).state()
    pulls = 2.0 + 0.64 * np.arange(4)
    np.testing.assert_allclose(state["v"], [2.0, 2.0 + 4 * 0.64])
    np.testing.assert_allclose(state["bonuses"], 0.64 / pulls[-3:])


def test_a_forgotten_pull_leaves_no_trace_in_v() -> None:
    linucb = after(1)
    linucb.retract(Pull(0, 1, 0.8))
    np.testing.assert_allclose(linucb.state()["v"], [20.0, 20.0])
    linucb.retract(Pull(1, 0, 1.0))
    assert linucb.state()["v"][0] == 20.0, "v never falls below lambda"


def test_a_pull_without_reward_lowers_the_estimate() -> None:
    linucb = after(1, regularisation=1.0)
    linucb.update(Pull(0, 1, 0.8), 1.0)
    for _ in range(200):
        linucb.choose(options(1), np.random.default_rng)
    pick = linucb.choose(options(0, 1, execution=(0.8, 0.8)), np.random.default_rng)
    assert pick is not None
    assert pick.arm == 0


@pytest.mark.parametrize("parameters", [{"regularisation": 0.0}, {"delta": 1.0}, {"delta": 0.0}])
def test_parameters_outside_the_formula_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} is"):
        LinUCB(POINTS, 3, **parameters)
