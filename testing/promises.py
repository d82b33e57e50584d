"""The contract of promises as laws."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..agents.promises import Promise, in_words
from ..agents.scores import Score
from ..streams.programs.models.scoring import LogisticScore
from .laws import Contract, name_of, refuses, require

PROMISE: Contract[type[Promise]] = Contract()
"""The laws of every promise."""

TARGETS = np.random.default_rng(0).random((5, 3))
LINE = LogisticScore(np.array([1.0, 2.0, 0.5]), -1.5)
RETRAINS = [LogisticScore(np.array([1.0, 2.0, 0.5]) + 0.02 * k, -1.5 + 0.01 * k) for k in range(8)]
SCORES: dict[str, Score] = {"a model that is not linear": lambda X: X.mean(axis=1), "a linear model": LINE}


def check_promise(kind: type[Promise], *, seeds: Iterable[int] | None = None) -> None:
    """Check every law of promises; raise ``ContractError`` at the first that is broken.

    ``seeds`` are those of every law, by default as many as it needs.
    """
    PROMISE.hold(name_of(kind, Promise), kind, seeds)


@PROMISE.law()
def a_guarantee_is_finite_numbers_and_always_the_same(kind: type[Promise]) -> None:
    """``guarantee`` gives finite numbers by name, the same ones each time, and leaves the target as it is."""
    for words, score in SCORES.items():
        for target in TARGETS:
            before = target.copy()
            one, other = (equipped(kind).guarantee(target, score, 0.5) for _ in range(2))
            require(one == other, f"under {words} a target has {one}, and then {other}")
            require(np.array_equal(target, before), f"under {words} it changes the target {before}")
            finite = all(isinstance(key, str) and np.isfinite(value) for key, value in (one or {}).items())
            require(finite, f"under {words} it gives {one}")


@PROMISE.law()
def a_model_that_fits_is_guaranteed_something(kind: type[Promise]) -> None:
    """``misfit`` is None exactly where ``guarantee`` gives numbers; else it says why. That needs no ``equip``."""
    promise = equipped(kind)
    for words, score in SCORES.items():
        misfit, found = promise.misfit(score), promise.guarantee(TARGETS[0], score, 0.5)
        text = f"under {words} `misfit` says {misfit!r}, and `guarantee` gives {found}"
        require(kind.name == "none" or (misfit is None) == (found is not None), text)
        require(misfit is None or misfit, f"under {words} `misfit` is an empty text")
        early = kind().misfit(score)
        require(early == misfit, f"under {words} `misfit` says {early!r} before `equip`, and {misfit!r} after it")


@PROMISE.law()
def options_searched_on_the_robust_score_keep_it(kind: type[Promise]) -> None:
    """``robust`` is nowhere above the model's score, and a target above the required one under it keeps the promise.

    A ``margin`` among the numbers is then not negative, and a ``share`` is above one half.
    """
    promise, rows = equipped(kind), np.random.default_rng(1).random((300, 3))
    for words, score in SCORES.items():
        robust = promise.robust(score)(rows)
        above = (robust - score(rows)).max()
        require(above <= 1e-15, f"under {words} the robust score is {above} above the score")
        for row in rows[robust > 0.55]:
            found = promise.guarantee(row, score, 0.55) or {}
            kept = found.get("margin", 0.0) >= -1e-12 and found.get("share", 1.0) > 0.5
            require(kept, f"under {words} {row} is above 0.55 under the robust score, and it is guaranteed {found}")


@PROMISE.law()
def what_it_does_not_take_is_refused(kind: type[Promise]) -> None:
    """``ValueError`` is raised for artefacts that it does not need, unknown parameters and values that are not allowed.

    The defaults are allowed.
    """
    with refuses("an artefact that it does not need", f"{kind.name} needs"):
        kind().equip(nonsense=1)
    with refuses("a parameter that it does not have", "no parameter 'nonsense'"):
        kind.check({"nonsense": 1.0})
    for parameter, declared in kind.parameters().items():
        require(declared.allows(declared.default), f"the default {declared.default} of {parameter} is not allowed")
        with refuses(f"{parameter} 'nonsense'", f"{parameter} is nonsense: {kind.name} needs "):
            kind(**{parameter: "nonsense"})


@PROMISE.law(draws=100)
def the_distance_of_models_is_a_metric(kind: type[Promise], seed: int) -> None:
    """``distance`` is 0 from a model to itself, symmetric and no longer than a detour, and infinite to another kind."""
    promise, random = kind(), np.random.default_rng(seed)
    one, two, three = (near(random) for _ in range(3))
    itself, there, back = promise.distance(one, one), promise.distance(one, two), promise.distance(two, one)
    require(itself == 0.0, f"a model is {itself} from itself")
    require(there == back > 0.0, f"two models are {there} apart, and {back} the other way round")
    direct, detour = promise.distance(one, three), there + promise.distance(two, three)
    require(direct <= detour + 1e-12, f"a model is {direct} from another, and {detour} by way of a third")
    other = promise.distance(one, lambda X: X[:, 0])
    require(other == np.inf, f"a model that is not linear is {other} from a linear one")


@PROMISE.law(draws=100)
def a_model_within_the_certified_distance_accepts_the_same(kind: type[Promise], seed: int) -> None:
    """A later model that is nearer than ``certified_distance`` accepts every target that the model accepts."""
    promise, random = kind(), np.random.default_rng(seed)
    before, after, targets = near(random), near(random), random.random((20, 3))
    distance = promise.distance(before, after)
    certain = targets[promise.certified_distance(targets, before, 0.6) > distance + 1e-9]
    for words, score in (("the model itself", before), (f"a model at a distance of {distance:.4f}", after)):
        rejected = certain[score(certain) <= 0.6]
        require(not len(rejected), f"{words} rejects {rejected[:1]}, which is certified beyond that distance")


@PROMISE.law()
def it_can_be_told(kind: type[Promise]) -> None:
    """Numbers that are the same for all are ``constants``; there are words for people, operators and owners."""
    promise = equipped(kind)
    numbers = promise.guarantee(TARGETS[0], LINE, 0.5) or {}
    for name, value in promise.constants().items():
        require(numbers.get(name, value) == value, f"{name} is {value} in `constants`, and a target has {numbers}")
    words, all_words = promise.in_words(numbers), in_words(numbers)
    is_same = words is None or all_words in (None, words)  # None of a promise that is not registered
    require(is_same, f"the words of {numbers} are {words!r}, and those of another promise {all_words!r}")
    lines = list(promise.measured_in_words(numbers | promise.constants()))
    require(bool(lines) == bool(numbers), f"`measured_in_words` gives {lines} for {numbers}")
    advice = list(promise.relaxations())
    require(all(isinstance(line, str) and line for line in advice), f"`relaxations` gives {advice}")


def equipped(kind: type[Promise]) -> Promise:
    """A promise with what it measured."""
    promise = kind()
    promise.equip(**promise.measured(LINE, RETRAINS))
    return promise


def near(random: np.random.Generator) -> LogisticScore:
    """A linear model of three columns, near the others of its kind."""
    weights, bias = np.array([3.0, 2.0, 1.0]) + random.normal(0.0, 0.1, 3), -2.0 + random.normal(0.0, 0.1)
    return LogisticScore(weights, bias)
