"""The laws of every cost. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.costs import Columns, Cost, SampledCost, registry
from onward.agents.objective import Objective

COLUMNS = Columns(np.array([0, 1, 1, 1, 2, 3]), np.array([True, True, True, False]))
"""A number, three categories, a number, and a number that may not change."""
REFERENCE = np.random.default_rng(0).integers(0, 9, (50, 6)) / 8
SAMPLES = 7

every = pytest.mark.parametrize("name", registry)
sampled = pytest.mark.parametrize("name", [name for name in registry if issubclass(registry[name], SampledCost)])


def built(name: str, samples: int = SAMPLES) -> Cost:
    return registry[name].build(COLUMNS, REFERENCE, samples, seed=3)


def rows(seed: int, count: int) -> np.ndarray:
    """Encoded rows, of one category each."""
    random = np.random.default_rng(seed)
    encoded = random.integers(0, 9, (count, 6)) / 8
    encoded[:, 1:4] = np.eye(3)[random.integers(0, 3, count)]
    return encoded


@every
@settings(max_examples=30)
@given(seed=st.integers(0, 99), people=st.integers(1, 9), candidates=st.sampled_from([1, 5, 300]), data=st.data())
def test_a_row_does_not_depend_on_the_batch(
    name: str, seed: int, people: int, candidates: int, data: st.DataObject
) -> None:
    cost, points, crowd = built(name), rows(seed, candidates), rows(seed + 1, people)
    person = data.draw(st.integers(0, people - 1))
    batch, again, alone = cost(points, crowd), built(name)(points, crowd), cost(points, crowd[[person]])
    assert batch.tobytes() == again.tobytes()
    assert batch[person].tobytes() == alone[0].tobytes()
    assert (batch >= 0.0).all()


@every
@settings(max_examples=30)
@given(seed=st.integers(0, 99))
def test_pairs_cost_the_same_bits(name: str, seed: int) -> None:
    cost, points, crowd = built(name), rows(seed, 4), rows(seed + 1, 3)
    whose, which = np.divmod(np.arange(12)[::-1], 4)
    assert cost.of_pairs(points, crowd, which, whose).tobytes() == cost(points, crowd)[whose, which].tobytes()


@every
def test_no_change_costs_nothing_and_nobody_has_costs_of_the_right_shape(name: str) -> None:
    cost, crowd = built(name), rows(0, 5)
    assert (np.diag(cost(crowd, crowd)) == 0.0).all()
    assert cost(crowd, crowd[:0]).shape == (0, 5)
    assert cost(crowd[:0], crowd).shape == (5, 0)


@every
@given(seed=st.integers(0, 99))
def test_the_options_of_a_batch_are_those_of_single_people(name: str, seed: int) -> None:
    objective = Objective(built(name), nu=0.3)
    crowd, points = rows(seed, 3), rows(seed + 1, 9)
    whose, each = np.repeat(np.arange(3), 3), np.arange(9)
    together = objective.options(crowd, whose, each, points, each, COLUMNS.feature_of)
    for person in range(3):
        own = slice(3 * person, 3 * person + 3)
        alone = objective.options(
            crowd[[person]], np.zeros(3, dtype=np.intp), each[own], points, each[own], COLUMNS.feature_of
        )
        assert together.of(person).execution.tobytes() == alone.of(0).execution.tobytes()
        assert together.cost[own].tobytes() == alone.cost.tobytes()


@sampled
@given(seed=st.integers(0, 99))
def test_a_sampled_cost_is_the_mean_of_its_samples(name: str, seed: int) -> None:
    cost, points, crowd = built(name), rows(seed, 6), rows(seed + 1, 6)
    assert isinstance(cost, SampledCost)
    each = np.arange(6)
    costs = cost.costs(cost.shifts(points, crowd, each, each))
    assert costs.shape == (6, SAMPLES)
    assert (costs[np.isfinite(costs)] <= len(COLUMNS.movable)).all()
    expected = np.minimum(costs, cost.cap).mean(axis=1)
    np.testing.assert_allclose(cost.of_pairs(points, crowd, each, each), expected, rtol=1e-14)


@every
def test_a_parameter_outside_its_interval_is_refused(name: str) -> None:
    for parameter in registry[name].parameters():
        with pytest.raises(ValueError, match=parameter):
            registry[name].build(COLUMNS, REFERENCE, SAMPLES, 0, **{parameter: 0.0})
    with pytest.raises(ValueError, match="no parameter"):
        registry[name].build(COLUMNS, REFERENCE, SAMPLES, 0, unheard_of=1.0)
