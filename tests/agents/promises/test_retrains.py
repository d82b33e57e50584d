"""Promises by an ensemble of retrained models, for any kind of model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from onward.agents.promises import EnsembleScore, RetrainsPromise, accepting, clopper_pearson

Array = np.ndarray[Any, Any]


def shifted(shift: float) -> Any:
    return lambda X: np.clip(X.mean(axis=1) + shift, 0, 1)


@given(st.integers(1, 60), st.data())
def test_the_bound_is_where_so_many_successes_become_as_rare_as_the_confidence_says(trials: int, data: Any) -> None:
    successes = data.draw(st.integers(1, trials))
    bound = clopper_pearson(successes, trials, 0.9)
    assert binom.sf(successes - 1, trials, bound) == pytest.approx(0.1)


@given(seed=st.integers(0, 2**32), delta=st.sampled_from([0.0, 0.05, 0.29, 0.3, 0.58]))
def test_an_option_above_the_threshold_is_accepted_by_the_model_and_the_share(seed: int, delta: float) -> None:
    random = np.random.default_rng(seed)
    retrains = [shifted(shift) for shift in random.normal(0, 0.1, 100)]
    rows = random.random((50, 3))
    scores = EnsembleScore(shifted(0.0), retrains, delta)(rows)
    share, own = accepting(rows, retrains, 0.5), shifted(0.0)(rows)
    assert ((scores > 0.5) == ((share >= 1 - delta - 1e-9) & (own > 0.5))).all()


def test_a_retrain_that_gives_an_option_exactly_the_required_score_does_not_accept_it() -> None:
    retrains = [shifted(shift) for shift in (-0.25, 0.0, 0.25)]
    assert accepting(np.array([[0.5]]), retrains, 0.5).item() == pytest.approx(1 / 3)


def test_an_ensemble_without_models_or_with_another_delta_is_refused() -> None:
    with pytest.raises(ValueError, match="no retrains"):
        EnsembleScore(shifted(0.0), [], 0.1)
    with pytest.raises(ValueError, match="delta is 1"):
        EnsembleScore(shifted(0.0), [shifted(0.0)], 1.0)
    with pytest.raises(ValueError, match="no retrains"):
        RetrainsPromise().equip(choosing=[shifted(0.0)], certifying=())
    with pytest.raises(ValueError, match="3 of 2"):
        clopper_pearson(3, 2)
