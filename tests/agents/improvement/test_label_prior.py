"""What the label prior says where forests know one label only, and where nothing tells of the labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from onward.agents.improvement.label_prior import LabelPrior

X = np.random.default_rng(0).random((160, 3))


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray[Any, Any]]:
    fitted = LabelPrior.fit(X, (X[:, 0] > 0.5).astype(np.int64), 0)
    assert fitted is not None
    return fitted.arrays()


@pytest.mark.parametrize(("share", "odds"), [(0.0, 1 / 999), (1.0, 999)])
def test_forests_of_one_label_say_no_more_than_that_one_in_a_thousand_has_the_other(arrays, share, odds):
    first = arrays["roots"][arrays["group"] > 0][0]
    leaves = np.where(np.arange(len(arrays["value"])) < first, 0.0, share)
    alone = {"weights": np.zeros(3), "base": np.array(0.0), "forest_weight": np.array(0.5), "value": leaves}
    prior = LabelPrior.restore(arrays | alone, 3)
    np.testing.assert_allclose(prior.log_odds(X, X), arrays["group"].max() * 0.5 * math.log(odds))


@pytest.mark.parametrize(
    ("zero", "flat"), [((), False), (("weights",), False), (("value",), False), (("weights", "value"), True)]
)
def test_a_prior_is_flat_where_neither_its_trees_nor_its_regressions_tell_people_apart(arrays, zero, flat):
    prior = LabelPrior.restore(arrays | {name: np.zeros_like(arrays[name]) for name in zero}, 3)
    assert prior.is_flat is flat
    assert (np.ptp(prior.log_odds(X, X)) == 0.0) == flat
