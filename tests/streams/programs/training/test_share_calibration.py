"""What is stated of options, by trials on rows kept aside; and the plain margin that is as valid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from onward.streams.programs.training.equal_margin import equal_margin
from onward.streams.programs.training.kept_aside import MARGINS, CheapestOptions, SplitTrial
from onward.streams.programs.training.share_calibration import stated

T, MODELS = 20, 10
NOBODY = CheapestOptions(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))


def trial(certified: Any, accepted: Any, promised: CheapestOptions = NOBODY, plain: Any = ()) -> SplitTrial:
    return SplitTrial(np.asarray(certified, dtype=np.intp), np.asarray(accepted, dtype=float), MODELS, promised, plain)


def groups(seed: int, overstated: float) -> list[list[SplitTrial]]:
    """Four halvings; models of other rows accept options less often than the retrains, by about ``overstated``."""
    random, found = np.random.default_rng(seed), []
    for _ in range(4):
        accident = random.normal(0, 0.5)
        both = []
        for sign in (1.0, -1.0):
            certified = random.binomial(T, random.beta(18, 2, 40))
            odds = np.log((certified + 0.5) / (T - certified + 0.5)) - overstated + sign * accident
            both.append(trial(certified, random.binomial(MODELS, 1 / (1 + np.exp(-odds))) / MODELS))
        found.append(both)
    return found


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), overstated=st.floats(-1, 3))
def test_shares_grow_with_the_accepting_retrains_and_are_on_average_not_above_what_was_found(
    seed: int, overstated: float
) -> None:
    found = groups(seed, overstated)
    shares, bounds = stated(found, T)
    assert len(shares) == len(bounds) == T + 1
    assert (np.diff(shares) >= 0).all()
    assert (np.diff(bounds) >= 0).all()
    assert ((bounds >= 0) & (bounds <= shares) & (shares < 1)).all()
    trials = [each for both in found for each in both]
    mean = np.mean([each.accepted.mean() for each in trials])
    told = np.mean([shares[each.certified].mean() for each in trials])
    assert mean - 0.15 < told <= mean + 1e-3
    held = np.concatenate([bounds[each.certified] <= each.accepted for each in trials])
    assert held.mean() > 0.85


def test_the_share_is_lower_by_one_standard_error_and_both_halves_count_once() -> None:
    """All options alike: the means of the halvings are .9, .8 and .7, whatever their halves are."""
    halvings = [
        [trial([T] * 5, [high] * 5), trial([T] * 5, [low] * 5)] for high, low in ((1, 0.8), (1, 0.6), (0.7, 0.7))
    ]
    shares, bounds = stated(halvings, T)
    assert shares[T] == pytest.approx(0.8 - 0.1 / np.sqrt(3), abs=1e-3)
    odds = np.log(shares[T] / (1 - shares[T]))
    missed = odds - np.array([np.log(found / (11 - found)) for found in (10.5, 8.5, 10.5, 6.5, 7.5, 7.5)])
    limit = missed.mean() + t.ppf(0.95, 5) * missed.std(ddof=1) * np.sqrt(1 + 1 / 6)
    assert bounds[T] == pytest.approx(1 / (1 + np.exp(limit - odds)), abs=1e-6)


def test_models_that_all_accept_show_no_certainty_and_models_that_all_reject_no_hope() -> None:
    everything = [[trial([2] * 4, [1.0] * 4)] for _ in range(2)]
    shares, bounds = stated(everything, 2)
    assert shares.tolist() == pytest.approx([20.5 / 21] * 3)
    assert (bounds < shares).all()
    shares, bounds = stated([[trial([2] * 4, [0.0] * 4)] for _ in range(2)], 2)
    assert shares.tolist() == bounds.tolist() == [0, 0, 0]


def offer(people: Any, cost: float, accepted: float) -> CheapestOptions:
    return CheapestOptions(
        np.asarray(people, dtype=np.intp), np.full(len(people), cost), np.full(len(people), accepted)
    )


def margins(*accepted_and_cost: tuple[float, float], people: int = 10) -> list[CheapestOptions]:
    return [offer(range(people), cost, accepted) for accepted, cost in accepted_and_cost]


def test_the_margin_of_equal_validity_lies_between_two_that_were_tried() -> None:
    promised = offer(range(10), 0.4, 0.9)
    found = equal_margin([trial([1], [0.9], promised, margins((0.6, 0.2), (0.8, 0.3), (1.0, 0.5)))])
    assert found is not None
    assert found.margin == pytest.approx((MARGINS[1] + MARGINS[2]) / 2)
    assert (found.cost, found.promised_cost, found.accepted) == (pytest.approx(0.4), pytest.approx(0.4), 0.9)


def test_costs_are_compared_of_people_who_have_both_options() -> None:
    """The people whom only the promise serves are the dear ones."""
    promised = CheapestOptions(np.arange(10), np.array([0.4] * 9 + [4.0]), np.full(10, 0.9))
    found = equal_margin([trial([1], [0.9], promised, margins((0.95, 0.3), people=9))])
    assert found is not None
    assert found.margin == 0
    assert found.cost / found.promised_cost == pytest.approx(0.3 / 0.4)


def test_no_margin_is_as_valid_where_too_many_are_left_without_an_option() -> None:
    promised = offer(range(10), 0.4, 0.9)
    assert equal_margin([trial([1], [0.9], promised, margins((0.7, 0.2), (0.8, 0.3)))]) is None
    few = [*margins((0.7, 0.2)), *margins((0.95, 0.3), people=8)]
    assert equal_margin([trial([1], [0.9], promised, few)]) is None
