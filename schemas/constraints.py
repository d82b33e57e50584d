"""The cross-feature constraints of a program, checked on one row of raw features."""

from __future__ import annotations

from collections.abc import Mapping

from .events import Value
from .spec import Condition, ProgramSpec


class CrossFeatureRules:
    """The ``le`` pairs and if/then rules of a spec. ``max_changes`` is not checked here: it compares two rows."""

    def __init__(self, spec: ProgramSpec) -> None:
        self._pairs = spec.constraints.le
        self._rules = spec.constraints.rules

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
