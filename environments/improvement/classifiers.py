"""The classifiers that decide about people in ARLIM's experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

Classifier = Literal["rf", "mlp"]


def _forest(random: np.random.RandomState) -> Any:
    return RandomForestClassifier(random_state=random)


def _network(random: np.random.RandomState) -> Any:
    # scikit-learn's 200 passes are too few for small data; the stored results were made with as many as it needs.
    return MLPClassifier(max_iter=1000, random_state=random)


CLASSIFIERS: Mapping[Classifier, Callable[[np.random.RandomState], Any]] = MappingProxyType(
    {"rf": _forest, "mlp": _network}
)
"""A random forest, and a network of two layers (100 hidden units), not fitted yet."""
