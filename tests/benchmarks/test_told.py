"""What the benchmark of told options counts."""

from __future__ import annotations

import numpy as np

from onward.agents.candidates import Ranges
from onward.benchmarks import face
from onward.benchmarks.told import Args, further, told
from onward.testing.spaces import scaled_space


def test_with_a_floor_and_an_end_nothing_breaks_and_nothing_is_below() -> None:
    line = ["--people", "15", "--rows", "600", "--models", "forest", "--objectives", "cost"]
    rows = {row.name.rpartition(": ")[2]: row for row in told(face.parse(Args, None, line))}
    for name in ("break when more is done", "below the floor"):
        assert rows[name].reached
        assert rows[name].reference > 0.02
    assert rows["it helps with"].value > rows["it helps with"].reference
    assert rows["cost of the best option"].value > rows["cost of the best option"].reference


def test_more_is_done_of_each_change_and_of_all_up_to_the_told_end() -> None:
    free = Ranges.from_bounds(np.zeros(3), np.ones(3))
    space = scaled_space(np.arange(3), ("any", "any", "none"), ranges=free)
    own, target = np.array([0.5, 0.5, 0.5]), np.array([0.7, 0.4, 0.5])
    rows = np.array(list(further(space, own, target, {0: 0.8})))
    assert rows.max(axis=0).round(9).tolist() == [0.8, 0.4, 0.5]
    # As much again of the second change is in steps, and random extents go to its bound.
    assert rows[:, 2].tolist() == [0.5] * len(rows)
    assert rows[:, 0].min().round(9) == 0.7
    assert 0.0 < rows[:, 1].min() < 0.1
    assert [0.8, 0.3, 0.5] in rows.round(9).tolist()
