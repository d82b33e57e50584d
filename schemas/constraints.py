"""The cross-feature constraints of a program, checked on one row of raw features or on many rows of codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .events import Value
from .spec import Condition, ProgramSpec


class CrossFeatureRules:
    """The ``le`` pairs and if/then rules of a spec. ``max_changes`` is not checked here: it compares two rows."""

    def __init__(self, spec: ProgramSpec) -> None:
        self._pairs = spec.constraints.le
        self._rules = spec.constraints.rules
        self._features = {feature.name: (index, feature) for index, feature in enumerate(spec.features)}
        conditions = [condition.feature for rule in self._rules for condition in (rule.if_, rule.then)]
        named = {*conditions, *(name for pair in self._pairs for name in pair)}
        self.features = tuple([index for index, feature in enumerate(spec.features) if feature.name in named])
        """The features that are asked about, by their numbers."""

    def kept(self, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows of codes, shape (n, F), keep all constraints, (n,).

        The code of a number is the number; the code of a level or category is its index.
        """
        kept = np.ones(len(codes), dtype=bool)
        for first, second in self._pairs:
            kept &= codes[:, self._features[first][0]] <= codes[:, self._features[second][0]]
        for rule in self._rules:
            kept &= ~self._met(rule.if_, codes) | self._met(rule.then, codes)
        return kept

    def _met(self, condition: Condition, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        index, feature = self._features[condition.feature]
        column = codes[:, index]
        if condition.equals is not None:
            texts = feature.values
            return np.equal(column, texts.index(str(condition.equals)) if texts else condition.equals)
        if condition.at_least is not None:
            return np.greater_equal(column, condition.at_least)
        assert condition.at_most is not None, "each condition of a checked spec has one operator"
        return np.less_equal(column, condition.at_most)

    def violated(self, features: Mapping[str, Value]) -> str | None:
        """The first constraint that raw features violate, None when all hold.

        The features must have passed the codec's check. A pair reads ``le: a <= b``; rules are counted from 1 in the
        order of the spec and read ``rule 1``.
        """
        for first, second in self._pairs:
            if features[first] > features[second]:  # type: ignore[operator]  # a checked spec pairs numbers only
                return f"le: {first} <= {second}"
        for number, rule in enumerate(self._rules, start=1):
            if _holds(rule.if_, features) and not _holds(rule.then, features):
                return f"rule {number}"
        return None


def _holds(condition: Condition, features: Mapping[str, Value]) -> bool:
    value = features[condition.feature]
    if condition.equals is not None:
        return value == condition.equals
    assert not isinstance(value, str), "a checked spec compares numbers only"
    if condition.at_least is not None:
        return value >= condition.at_least
    assert condition.at_most is not None, "each condition of a checked spec has one operator"
    return value <= condition.at_most
