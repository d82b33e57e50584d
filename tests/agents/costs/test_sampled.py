from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.costs import Columns, LinearCost, MixedCost, PercentileCost, Preferences
from onward.agents.costs.preferences import prior_shares

MOVABLE = np.array([True, True, False, True])
COLUMNS = Columns(np.array([0, 1, 1, 2, 3]), MOVABLE)
"""A number, two categories, a number that may not change, and another number."""
REFERENCE = np.random.default_rng(1).integers(0, 5, (40, 5)) / 4
SAMPLES = 600
PERSON = np.array([0.25, 1.0, 0.0, 0.5, 0.75])


def costs_of(cost: MixedCost | LinearCost | PercentileCost, target: list[float]) -> np.ndarray:
    one = np.zeros(1, dtype=np.intp)
    costs: np.ndarray = cost.costs(cost.shifts(np.array([target]), PERSON[np.newaxis], one, one))[0]
    return costs


def test_a_sample_would_change_from_one_to_all_features_uniformly() -> None:
    counts = np.bincount(MixedCost(COLUMNS, REFERENCE, SAMPLES, 0).editable.sum(axis=1), minlength=4)
    assert counts.tolist() == [0, SAMPLES // 3, SAMPLES // 3, SAMPLES // 3]


def test_the_samples_costs_are_those_of_the_formula() -> None:
    cost = MixedCost(COLUMNS, REFERENCE, SAMPLES, 0)
    target = [0.5, 1.0, 0.0, 0.5, 0.25]
    draws, editable = cost._draws, cost.editable
    taste = np.where(editable, draws.taste, 0.0)
    preference = taste / taste.sum(axis=1, keepdims=True)
    expected = np.zeros(SAMPLES)
    for feature, column, linear in ((0, 0, 0.25 / 0.75), (3, 4, 0.5 / 0.75)):
        below = [(REFERENCE[:, column] <= value).mean() for value in (PERSON[column], target[column])]
        shift = draws.weight * linear + (1.0 - draws.weight) * abs(below[1] - below[0])
        expected += np.where(editable[:, feature], (1.0 - preference[:, feature]) * shift, np.inf)
    np.testing.assert_allclose(costs_of(cost, target), expected)


def test_the_mixed_cost_lies_between_the_linear_and_the_percentile_one() -> None:
    target = [0.75, 1.0, 0.0, 0.5, 0.75]
    linear, mixed, percentile = (
        costs_of(kind(COLUMNS, REFERENCE, SAMPLES, 0), target) for kind in (LinearCost, MixedCost, PercentileCost)
    )
    finite = np.isfinite(mixed)
    assert (np.isfinite(linear) == finite).all()
    weight = MixedCost(COLUMNS, REFERENCE, SAMPLES, 0)._draws.weight
    np.testing.assert_allclose(mixed[finite], (weight * linear + (1.0 - weight) * percentile)[finite])


def test_nobody_changes_what_may_not_change() -> None:
    assert np.isinf(costs_of(MixedCost(COLUMNS, REFERENCE, SAMPLES, 0), [0.25, 1.0, 0.0, 0.75, 0.75])).all()


def test_entering_a_category_costs_each_sample_a_number_of_its_own() -> None:
    costs = costs_of(MixedCost(COLUMNS, REFERENCE, SAMPLES, 0), [0.25, 0.0, 1.0, 0.5, 0.75])
    finite = costs[np.isfinite(costs)]
    assert len(np.unique(finite)) > 0.5 * len(finite)
    assert (finite <= 1.0).all()


def test_the_cap_counts_where_an_option_costs_more() -> None:
    one, target = np.zeros(1, dtype=np.intp), np.array([[0.25, 1.0, 0.0, 0.75, 0.75]])
    for cap, counts in ((0.5, 0.5), (100.0, 4.0)):
        cost = MixedCost(COLUMNS, REFERENCE, SAMPLES, 0, cap=cap)
        assert cost.of_pairs(target, PERSON[np.newaxis], one, one).tolist() == [counts]


@given(share=st.floats(0.02, 0.98), other=st.floats(0.02, 0.98))
def test_the_samples_follow_what_is_learned_and_nothing_else_of_them_changes(share: float, other: float) -> None:
    cost = MixedCost(COLUMNS, REFERENCE, SAMPLES, 0)
    known = Preferences(np.where(MOVABLE, [share, other, 0.0, 0.5], 0.0))
    learned = cost.with_shares(known.shares)
    assert learned.editable.mean(axis=0) == pytest.approx([share, other, 0.0, 0.5], abs=0.08)
    assert learned._draws is cost._draws
    # Where more people change a feature, those who did before do so still.
    more = cost.with_shares(Preferences(np.where(MOVABLE, [(1.0 + share) / 2, other, 0.0, 0.5], 0.0)).shares).editable
    assert (more[:, 0] >= learned.editable[:, 0]).all()
    assert (more[:, 1:] == learned.editable[:, 1:]).all()


def test_a_single_feature_is_changed_by_everybody() -> None:
    single = Columns(np.arange(2), np.array([True, False]))
    assert prior_shares(single.movable).tolist() == [1.0, 0.0]
    cost = MixedCost(single, REFERENCE[:, :2], 5, 0)
    assert cost.editable[:, 0].all()


def test_where_nobody_may_change_anything_all_costs_are_infinite() -> None:
    cost = MixedCost(Columns(np.arange(2), np.zeros(2, dtype=bool)), REFERENCE[:, :2], 5, 0)
    one = np.zeros(1, dtype=np.intp)
    shifts = cost.shifts(np.array([[0.5, 1.0]]), np.array([[0.5, 0.5]]), one, one)
    assert np.isinf(cost.costs(shifts)).all()
