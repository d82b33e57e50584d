"""Screens that save scores give what is given without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.promises import EnsembleScore, LpBall
from onward.agents.scores import Score
from onward.benchmarks.robustness.open_options import OpenOptions
from onward.benchmarks.robustness.screened_score import ScreenedScore

Array = np.ndarray[Any, Any]
seeds = st.integers(0, 2**32)
norms = st.sampled_from([1.0, 1.5, 2.0, 7.0, np.inf])


def shifted(shift: float) -> Score:
    return lambda X: np.clip(X[:, 0] - shift, 0.0, 1.0)


@given(seed=seeds, p=norms, intercept=st.booleans())
def test_the_screen_finds_exactly_the_broken_options(seed: int, p: float, intercept: bool) -> None:
    random = np.random.default_rng(seed)
    points, weights = random.normal(size=(60, 3)), random.normal(size=3)
    options = OpenOptions(points, LpBall(0.0, p, intercept), weights, 0.5, 0.2)
    moved = random.normal(0, random.choice([0.0, 0.01, 0.3]), 3)
    bias = 0.5 + random.normal(0, 0.05) * random.integers(2)
    broken = np.flatnonzero(points @ (weights + moved) + bias <= 0.2)
    assert options.broken(weights + moved, bias).tolist() == broken.tolist()
    asked = options.uncertain(weights + moved, bias)
    assert asked >= len(broken)
    if not moved.any() and bias == 0.5:
        assert asked == (options.alpha_max <= 0).sum()


@given(seed=seeds, delta=st.sampled_from([0.0, 0.05, 0.29]))
def test_above_the_screen_are_the_same_rows(seed: int, delta: float) -> None:
    random = np.random.default_rng(seed)
    retrains = [shifted(shift) for shift in random.normal(0, 0.1, 100)]
    rows = random.random((50, 3))
    scores = EnsembleScore(shifted(0.0), retrains, delta)(rows)
    screened = ScreenedScore(shifted(0.0), retrains, delta, 0.5)(rows)
    assert ((screened > 0.5) == (scores > 0.5)).all()
    assert (screened >= scores).all()


def test_the_screen_saves_the_scores_of_rows_that_the_model_rejects() -> None:
    asked = list[int]()

    def counted(X: Array) -> Array:
        asked.append(len(X))
        return np.ones(len(X))

    ScreenedScore(shifted(0.0), [counted], 0.0, 0.5)(np.array([[0.2], [0.9], [0.5]]))
    assert asked == [1]
