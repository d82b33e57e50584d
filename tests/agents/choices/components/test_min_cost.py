from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from onward.agents.choices.components.min_cost import expected_min_cost, greedy, swaps

Array = NDArray[np.float64]
Case = tuple[Array, Array, float, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Few options with equal, infinite and useless costs among them."""
    options, samples = draw(st.integers(1, 7)), draw(st.integers(1, 8))
    cost = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.3, 7.0, np.inf])
    costs = np.array([[draw(cost) for _ in range(samples)] for _ in range(options)])
    weights = np.array([draw(st.sampled_from([0.0, 0.3, 1.0, 2.5])) for _ in range(samples)])
    weights[0] = 1.0
    return costs, weights, draw(st.sampled_from([0.0, 1.5, 5.0])), draw(st.integers(0, 8))


def emc(case: Case, chosen: tuple[int, ...]) -> float:
    """The definition, by numpy."""
    costs, weights, cap, _ = case
    least = np.minimum(cap, costs[list(chosen)].min(axis=0, initial=np.inf))
    return float(weights @ least / weights.sum())


@given(cases())
def test_the_emc_is_the_weighted_mean_of_the_least_costs(case: Case) -> None:
    costs, weights, cap, size = case
    chosen = tuple(range(min(size, len(costs))))
    assert expected_min_cost(costs, weights, cap, np.array(chosen, dtype=np.intp)) == pytest.approx(emc(case, chosen))


@given(cases())
def test_each_greedy_pick_is_the_first_of_those_that_add_most(case: Case) -> None:
    costs, weights, cap, size = case
    chosen, gains = greedy(costs, weights, cap, size)
    assert len(chosen) == min(size, len(costs))
    assert len(set(chosen.tolist())) == len(chosen)
    assert (np.diff(gains) <= 0.0).all()
    least = np.full(len(weights), cap)
    rest = list(range(len(costs)))
    for pick, gain in zip(chosen.tolist(), gains.tolist(), strict=True):
        added = [sum(w * max(0.0, a - c) for w, a, c in zip(weights, least, costs[p], strict=True)) for p in rest]
        assert pick == rest[int(np.argmax(added))]
        assert gain == max(added)
        least = np.minimum(least, costs[pick])
        rest.remove(pick)


@given(cases())
def test_greedy_has_its_share_of_the_best_gain_and_swaps_end_where_none_helps(case: Case) -> None:
    costs, weights, cap, size = case
    chosen, _ = greedy(costs, weights, cap, size)
    swapped = swaps(costs, weights, cap, chosen)
    before, after = emc(case, tuple(chosen)), emc(case, tuple(swapped))
    optimum = min(emc(case, every) for every in combinations(range(len(costs)), len(chosen)))
    assert cap - before >= (1.0 - 1.0 / np.e) * (cap - optimum) - 1e-9
    assert after <= before
    for place in range(len(swapped)):
        for other in set(range(len(costs))) - set(swapped.tolist()):
            exchanged = (*swapped[:place].tolist(), other, *swapped[place + 1 :].tolist())
            assert emc(case, exchanged) >= after - 1e-9


def test_swaps_find_a_pair_that_no_greedy_pick_leads_to() -> None:
    costs = np.array([[2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 5.0, 5.0], [5.0, 5.0, 0.0, 0.0]])
    chosen, _ = greedy(costs, np.ones(4), 5.0, 2)
    assert swaps(costs, np.ones(4), 5.0, chosen).tolist() == [2, 1]


def test_the_gain_of_utilities_is_the_mean_of_the_best_of_the_set() -> None:
    utility = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    chosen, gains = greedy(-utility, np.full(2, 0.5), 0.0, 2)
    assert sorted(chosen.tolist()) == [0, 1]
    assert gains.sum() == pytest.approx(0.85)
