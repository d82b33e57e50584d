"""Models of few trees, for tests of programs whose numbers do not matter: they are fitted and loaded in less time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

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
