from __future__ import annotations

import numpy as np
import pytest

from onward.agents.choices import LinUCB, Pull

POINTS = np.array([[0.9], [0.1]])
PERSON = np.array([0.5])
EXECUTION = np.array([0.5, 0.8])
BOTH = np.array([0, 1])
NEITHER = np.array([], dtype=np.intp)


def after(steps: int, **parameters: float) -> LinUCB:
    linucb = LinUCB(POINTS, 3, **parameters)
    for _ in range(steps):
        linucb.choose(PERSON, BOTH, EXECUTION, np.random.default_rng)
    return linucb


def test_a_step_without_a_feasible_candidate_counts_but_leaves_no_bonus() -> None:
    linucb = LinUCB(POINTS, 3)
    linucb.choose(PERSON, NEITHER, np.empty(0), np.random.default_rng)
    state = linucb.state()
    assert state.pop("t") == 1
    fresh = LinUCB(POINTS, 3).state()
    assert all((array == fresh[name]).all() for name, array in state.items())


def test_bonuses_are_those_of_the_last_picks_as_they_were_then() -> None:
    state = after(4, regularisation=2.0).state()
    pulls = 2.0 + 0.64 * np.arange(4)
    np.testing.assert_allclose(state["v"], [2.0, 2.0 + 4 * 0.64])
    np.testing.assert_allclose(state["bonuses"], 0.64 / pulls[-3:])


def test_what_was_never_seen_is_no_pull() -> None:
    linucb = after(1)
    linucb.forget(Pull(0, 1, 0.8))
    np.testing.assert_allclose(linucb.state()["v"], [20.0, 20.0])
    linucb.forget(Pull(1, 0, 1.0))
    assert linucb.state()["v"][0] == 20.0, "more is never taken back than was given"


def test_a_silent_pick_lowers_the_estimate() -> None:
    linucb = after(1, regularisation=1.0)
    linucb.update(Pull(0, 1, 0.8), 1.0)
    for _ in range(200):
        linucb.choose(PERSON, np.array([1]), EXECUTION[1:], np.random.default_rng)
    pick = linucb.choose(PERSON, BOTH, np.array([0.8, 0.8]), np.random.default_rng)
    assert pick is not None
    assert pick.candidate == 0


@pytest.mark.parametrize("parameters", [{"regularisation": 0.0}, {"delta": 1.0}, {"delta": 0.0}])
def test_parameters_outside_the_formula_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} is"):
        LinUCB(POINTS, 3, **parameters)
