"""The laws of every promise. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onward.agents.promises import Promise, registry
from onward.streams.programs.models.scoring import LogisticScore

TARGETS = np.random.default_rng(0).random((5, 3))
ARTEFACTS: dict[str, Any] = {
    "radius": 0.1,
    "covariance": 0.01 * np.eye(4),
    "choosing": [LogisticScore(np.full(3, 1.0 + 0.1 * k), -1.5) for k in range(5)],
    "certifying": [LogisticScore(np.full(3, 0.9 + 0.1 * k), -1.5) for k in range(7)],
}
SCORES = [lambda X: X.mean(axis=1), LogisticScore(np.array([1.0, 2.0, 0.5]), -1.5)]


def equipped(name: str) -> Promise:
    promise = registry[name]()
    promise.equip(**{need: ARTEFACTS[need] for need in promise.needs})
    return promise


@pytest.mark.parametrize("name", registry)
def test_a_guarantee_is_finite_numbers_by_name_and_always_the_same(name: str) -> None:
    for score in SCORES:
        for target in TARGETS:
            before = target.copy()
            one, other = (equipped(name).guarantee(target, score, 0.5) for _ in range(2))
            assert one == other
            assert np.array_equal(target, before)
            assert one is None or all(isinstance(key, str) and np.isfinite(value) for key, value in one.items())


@pytest.mark.parametrize("name", registry)
def test_a_model_that_fits_is_guaranteed_something_and_another_is_told_why(name: str) -> None:
    promise = equipped(name)
    for score in SCORES:
        misfit, found = promise.misfit(score), promise.guarantee(TARGETS[0], score, 0.5)
        assert name == "none" or (misfit is None) == (found is not None)
        assert misfit is None or misfit


@pytest.mark.parametrize("name", registry)
def test_options_searched_on_the_robust_score_keep_the_promise(name: str) -> None:
    promise, rows = equipped(name), np.random.default_rng(1).random((300, 3))
    for score in SCORES:
        robust = promise.robust(score)(rows)
        assert (robust <= score(rows) + 1e-15).all()
        for row in rows[robust > 0.55]:
            found = promise.guarantee(row, score, 0.55) or {}
            assert found.get("margin", 0.0) >= -1e-12
            assert found.get("share", 1.0) > 0.5


@pytest.mark.parametrize("name", registry)
def test_artefacts_and_parameters_that_it_does_not_take_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} needs"):
        registry[name]().equip(nonsense=1)
    with pytest.raises(ValueError, match="no parameter 'nonsense'"):
        registry[name].check({"nonsense": 1.0})
    for parameter, declared in registry[name].parameters().items():
        assert declared.allows(declared.default)
        with pytest.raises(ValueError, match=f"{parameter} is nonsense: {name} needs "):
            registry[name](**{parameter: "nonsense"})


@pytest.mark.parametrize("name", registry)
def test_what_cannot_carry_a_promise_is_known_before_anything_is_measured(name: str) -> None:
    for score in SCORES:
        assert registry[name]().misfit(score) == equipped(name).misfit(score)
