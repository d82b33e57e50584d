"""The laws of every promise. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.promises import registry

TARGETS = np.random.default_rng(0).random((5, 3))


def score(X: np.ndarray) -> np.ndarray:
    return X.mean(axis=1)


@pytest.mark.parametrize("name", registry)
def test_a_guarantee_is_finite_numbers_by_name_and_always_the_same(name: str) -> None:
    for target in TARGETS:
        before = target.copy()
        one, other = (registry[name]().guarantee(target, score) for _ in range(2))
        assert one == other
        assert np.array_equal(target, before)
        assert one is None or all(isinstance(key, str) and np.isfinite(value) for key, value in one.items())
