"""The laws of every goal. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.goals import registry

SCORES = np.sort(np.concatenate([np.linspace(0.0, 1.0, 101), np.nextafter([0.3, 0.3], [0.0, 1.0]), [0.3]]))

every = pytest.mark.parametrize("name", registry)


@every
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_a_higher_score_reaches_whatever_a_lower_one_reaches(name: str, threshold: float) -> None:
    reached = registry[name](threshold).reached(SCORES)
    assert reached.shape == SCORES.shape
    assert reached.dtype == bool
    assert (np.diff(reached.astype(int)) >= 0).all()


@every
def test_what_the_model_rejects_never_reaches_the_goal(name: str) -> None:
    assert not registry[name](0.3).reached(SCORES[SCORES <= 0.3]).any()


@every
def test_each_score_is_compared_alone(name: str) -> None:
    goal = registry[name](0.3)
    assert goal.reached(SCORES).tolist() == [goal.reached(SCORES[i : i + 1]).item() for i in range(len(SCORES))]


@every
def test_a_goal_expires_after_the_answer_or_never(name: str) -> None:
    until = registry[name](0.3).until_ms(1_000)
    assert until is None or until > 1_000
