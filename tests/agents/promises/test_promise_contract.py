"""The laws of every promise. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.promises import Promise, in_words, registry
from onward.streams.programs.models.scoring import LogisticScore

TARGETS = np.random.default_rng(0).random((5, 3))
LINE = LogisticScore(np.array([1.0, 2.0, 0.5]), -1.5)
RETRAINS = [LogisticScore(np.array([1.0, 2.0, 0.5]) + 0.02 * k, -1.5 + 0.01 * k) for k in range(8)]
SCORES = [lambda X: X.mean(axis=1), LINE]


def equipped(name: str) -> Promise:
    promise = registry[name]()
    promise.equip(**promise.measured(LINE, RETRAINS))
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


def near(random: np.random.Generator) -> LogisticScore:
    """A linear model of three columns, near the others of its kind."""
    weights, bias = np.array([3.0, 2.0, 1.0]) + random.normal(0.0, 0.1, 3), -2.0 + random.normal(0.0, 0.1)
    return LogisticScore(weights, bias)


@pytest.mark.parametrize("name", registry)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_distance_of_models_is_a_metric(name: str, seed: int) -> None:
    promise, random = registry[name](), np.random.default_rng(seed)
    one, two, three = (near(random) for _ in range(3))
    assert promise.distance(one, one) == 0.0
    assert promise.distance(one, two) == promise.distance(two, one) > 0.0
    assert promise.distance(one, three) <= promise.distance(one, two) + promise.distance(two, three) + 1e-12
    assert promise.distance(one, lambda X: X[:, 0]) == np.inf


@pytest.mark.parametrize("name", registry)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_model_within_the_certified_distance_accepts_what_the_other_accepts(name: str, seed: int) -> None:
    promise, random = registry[name](), np.random.default_rng(seed)
    before, after, targets = near(random), near(random), random.random((20, 3))
    certain = promise.certified_distance(targets, before, 0.6) > promise.distance(before, after) + 1e-9
    assert (after(targets)[certain] > 0.6).all()
    assert (before(targets)[certain] > 0.6).all()


@pytest.mark.parametrize("name", registry)
def test_what_is_promised_can_be_told(name: str) -> None:
    promise = equipped(name)
    numbers = promise.guarantee(TARGETS[0], LINE, 0.5) or {}
    assert all(numbers.get(constant, value) == value for constant, value in promise.constants().items())
    assert promise.in_words(numbers) in (None, in_words(numbers))
    assert bool(list(promise.measured_in_words(numbers | promise.constants()))) == bool(numbers)
    assert all(isinstance(line, str) and line for line in promise.relaxations())
