from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from onward.agents.costs import L1, Cost, MaxPercentileShift, execution_probability

REFERENCE = np.random.default_rng(0).integers(0, 8, (50, 5)) / 8
COSTS = [L1(), MaxPercentileShift(REFERENCE)]


def world(seed: int, people: int, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.random((candidates, 5)), generator.random((people, 5))


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: type(cost).__name__)
@settings(max_examples=50)
@given(seed=st.integers(0, 99), people=st.integers(1, 12), candidates=st.sampled_from([1, 7, 6000]), data=st.data())
def test_a_row_does_not_depend_on_the_batch(
    cost: Cost, seed: int, people: int, candidates: int, data: st.DataObject
) -> None:
    points, rows = world(seed, people, candidates)
    batch = cost(points, rows)
    person = data.draw(st.integers(0, people - 1))
    alone = cost(points, rows[[person]])
    assert batch[person].tobytes() == alone[0].tobytes()
    nu = 1 / 5
    assert execution_probability(batch, nu)[person].tobytes() == execution_probability(alone[0], nu).tobytes()


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: type(cost).__name__)
def test_nobody_and_nothing_have_costs_of_the_right_shape(cost: Cost) -> None:
    points, people = world(0, 4, 3)
    assert cost(points, people[:0]).shape == (0, 3)
    assert cost(points[:0], people).shape == (4, 0)


@settings(max_examples=50)
@given(seed=st.integers(0, 99))
def test_l1_is_the_cityblock_distance(seed: int) -> None:
    points, people = world(seed, 6, 4)
    np.testing.assert_allclose(L1()(points, people), cdist(people, points, "cityblock"))


@settings(max_examples=50)
@given(seed=st.integers(0, 99))
def test_max_percentile_shift_counts_the_people_passed(seed: int) -> None:
    generator = np.random.default_rng(seed)
    points, people = generator.integers(-1, 10, (4, 5)) / 8, generator.integers(-1, 10, (6, 5)) / 8

    def share(value: float, column: int) -> float:
        return float((REFERENCE[:, column] <= value).mean())

    expected = [[max(abs(share(c[d], d) - share(x[d], d)) for d in range(5)) for c in points] for x in people]
    np.testing.assert_allclose(MaxPercentileShift(REFERENCE)(points, people), expected, atol=1e-15)


def test_max_percentile_shift_needs_a_population() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        MaxPercentileShift(np.empty((0, 5)))


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: type(cost).__name__)
def test_pairs_cost_the_same_bits(cost: Cost) -> None:
    points, people = world(1, 3, 4)
    whose, which = np.divmod(np.arange(12)[::-1], 4)
    assert cost.of_pairs(points, people, which, whose).tobytes() == cost(points, people)[whose, which].tobytes()
