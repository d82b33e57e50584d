"""Models of few trees, for tests of programs whose numbers do not matter: they are fitted and loaded in less time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from onward.agents.improvement.components import bagged_fit
from onward.environments.improvement import people, world
from onward.streams.programs.training.train import ESTIMATORS

TREES = 10


@contextmanager
def small_worlds() -> Iterator[None]:
    """Let forests of few trees decide in worlds that are built. Each process that serves one reads it from a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "train", partial(people.train, build=_forest))
        yield


@contextmanager
def small_forests() -> Iterator[None]:
    """Let forests that are trained have few trees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "random_forest", _forest)
        yield


@contextmanager
def small_boosters() -> Iterator[None]:
    """Let boosters that are trained have few trees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "gradient_boosting", _booster)
        yield


@contextmanager
def short_networks() -> Iterator[None]:
    """Let networks that are trained stop early."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "mlp", _network)
        yield


@contextmanager
def small_priors() -> Iterator[None]:
    """Let each bag of a label prior have few trees."""
    families = bagged_fit.FAMILIES

    def small(family: int) -> bagged_fit.Build:
        return lambda random, rows: families[family](random, rows).set_params(n_estimators=TREES)

    with pytest.MonkeyPatch.context() as patch:
        regression = families[bagged_fit.REGRESSION]
        patch.setattr(bagged_fit, "FAMILIES", (small(bagged_fit.BOOSTER), small(bagged_fit.FOREST), regression))
        yield


def _forest(random: np.random.RandomState) -> Any:
    return RandomForestClassifier(TREES, random_state=random)


def _booster(random: np.random.RandomState) -> Any:
    return HistGradientBoostingClassifier(max_iter=TREES, random_state=random)


def _network(random: np.random.RandomState) -> Any:
    return MLPClassifier(early_stopping=True, n_iter_no_change=5, random_state=random)
