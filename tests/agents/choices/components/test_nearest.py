from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.choices.components.nearest import BLOCK, nearest_others


def by_brute_force(points: np.ndarray) -> np.ndarray:
    """Every point compared with every other, summed up column by column; the first among equals."""
    if len(points) == 1:
        return np.zeros(1, dtype=int)
    distances = np.zeros((len(points), len(points)))
    for column in points.T:
        distances += np.abs(column[:, None] - column[None, :])
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(axis=1)


@st.composite
def candidates(draw: st.DrawFn) -> np.ndarray:
    """Candidates of which each column may be continuous, have few levels, or always be the same."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.sampled_from([1, 2, BLOCK, BLOCK + 1, 3 * BLOCK + 5, 700]))
    levels = draw(st.lists(st.sampled_from([0, 1, 2, 3, 10, 1 << 52]), min_size=1, max_size=14))
    points = np.stack([random.integers(0, level + 1, count) / max(level, 1) for level in levels], axis=1)
    again = random.integers(0, count, count)
    return points[again] if draw(st.booleans()) else points


@given(points=candidates())
def test_neighbours_are_those_that_comparing_all_with_all_finds(points):
    np.testing.assert_array_equal(nearest_others(points), by_brute_force(points))


@given(points=candidates())
def test_groups_of_columns_of_which_one_is_set_have_many_ties(points):
    one_hot = np.eye(4)[(3 * points).round().astype(int)].reshape(len(points), -1)
    np.testing.assert_array_equal(nearest_others(one_hot), by_brute_force(one_hot))


def mixed(random: np.random.Generator, count: int) -> np.ndarray:
    groups = [np.eye(levels)[random.integers(0, levels, count)] for levels in (4, 3)]
    return np.concatenate([random.random((count, 6)), *groups], axis=1)


@pytest.mark.parametrize("kind", ["mixed", "equal", "one-hot"])
def test_the_time_does_not_grow_with_the_square(kind):
    """The least of three runs each; comparing all with all would take 64 times as long for eight times as many."""
    random = np.random.default_rng(0)
    make = {
        "mixed": lambda count: mixed(random, count),
        "equal": lambda count: np.full((count, 13), 0.5),
        "one-hot": lambda count: np.eye(13)[random.integers(0, 13, count)],
    }[kind]

    def seconds(count: int) -> float:
        points, least = make(count), np.inf
        for _ in range(3):
            started = time.process_time()
            nearest_others(points)
            least = min(least, time.process_time() - started)
        return least

    nearest_others(make(10))
    assert seconds(16_000) < 40 * seconds(2000)
