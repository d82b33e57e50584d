"""Which contributions are principal reasons."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.reasons import MOST_REASONS, principal_reasons

NONE = np.zeros(6, dtype=bool)
CONTRIBUTIONS = st.lists(st.floats(-1, 1), min_size=6, max_size=6)


def reasons(contributions, barred=NONE):
    [principal] = principal_reasons(np.array([contributions], dtype=float), barred)
    return principal


def test_there_are_four_at_most_the_foremost_first():
    assert reasons([-0.1, -0.5, -0.3, 0.9, -0.2, -0.4]).stated == (1, 5, 2, 4)


def test_what_hardly_lowers_the_score_is_none():
    assert reasons([-1.0, -0.04, 0.0, 0.0, 0.0, -0.06]).stated == (0, 5)


def test_somebody_whose_score_nothing_lowers_has_none():
    assert reasons([0.0, 0.1, 0.2, 0.0, 0.0, 0.0]) == ((), ())


def test_the_next_ones_move_up_where_a_feature_is_barred():
    barred = np.array([True, False, False, False, False, True])
    assert reasons([-0.6, -0.5, -0.4, -0.3, -0.2, -0.1], barred) == ((1, 2, 3, 4), (0,))


@given(CONTRIBUTIONS, st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_barred_feature_is_never_a_reason(contributions, barred):
    principal = reasons(contributions, np.array(barred))
    assert len(principal.stated) <= MOST_REASONS
    assert not set(principal.stated) & set(principal.withheld)
    assert not any(barred[feature] for feature in principal.stated)
    assert all(barred[feature] for feature in principal.withheld)
    assert all(contributions[feature] < 0.0 for feature in (*principal.stated, *principal.withheld))
