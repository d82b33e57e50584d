"""Robust recourse under the rules of a program's features, beside all targets that the rules allow."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import Ranges
from onward.agents.candidates.components.grid import Grid, every_target
from onward.agents.promises import LpBall
from onward.benchmarks.robustness.exact import RobustLinear, rules_of
from onward.testing.spaces import scaled_space


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), p=st.sampled_from([1.0, 2.0, math.inf]))
def test_the_answer_is_the_cheapest_of_all_targets_on_the_grid(seed: int, p: float) -> None:
    random = np.random.default_rng(seed)
    mutable = (*random.choice(["any", "up", "down", "none"], 3, p=[0.4, 0.2, 0.2, 0.2]).tolist(), "any")
    most = np.append(random.choice([0.3, np.inf], 3), np.inf)
    ranges = Ranges.from_bounds(np.zeros(4), np.ones(4))._replace(largest_change=most)
    space = scaled_space(np.array([0, 1, 2, 3, 3, 3]), mutable, np.array([0.1, 0.25, 0.2, 0.0]), ranges=ranges)
    person = np.concatenate([random.integers(0, 5, 3) * [0.1, 0.25, 0.2], np.eye(3)[random.integers(3)]])
    robust = RobustLinear(random.normal(0, 2, 6), -1.5, LpBall(0.2, p))
    rules, grid = rules_of(space, person[np.newaxis]), Grid(space)
    rows = np.vstack([person, grid.targets(person, every_target(grid.limits(person), 4))])
    valid = robust.margin(rows) >= 0.3
    answers = robust.least_cost(person[np.newaxis], rules, 0.3)
    assert answers.reached[0] == valid.any()
    assert (np.abs(answers.targets - person)[0, :3] < most[:3] + 1e-9).all()
    if valid.any():
        assert abs(answers.cost[0] - np.abs(rows[valid] - person).sum(axis=1).min()) < 1e-9
        assert answers.gap[0] < 1e-8
        assert np.abs(rows - answers.targets[0]).max(axis=1).min() < 1e-9
