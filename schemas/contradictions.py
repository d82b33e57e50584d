"""Whether any person can keep all cross-feature constraints of a program at once.

A constraint limits what each feature may be: a *domain* of numbers between two ends, or a set of levels or categories.
``le`` carries the lower end of its first feature to the second, and the upper end back. A rule holds where its ``if``
fails or its ``then`` is met; a search tries both. Domains in which ``le`` changes nothing any more and every rule holds
hold a person, since all numbers may stand at their lower ends. So the answer is exact, both ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .spec import Condition, Feature, ProgramSpec, Rule
from .yamltree import Path

MOST_WORK = 200_000
"""Constraints looked at, after which a search gives up and takes it that they can be kept."""
MOST_NAMED = 12
"""With more constraints than these nobody looks for the few that contradict each other."""


class NumberRange(NamedTuple):
    """The numbers from ``low`` to ``high``; an end is left out where it is open."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether no number is left."""
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def __and__(self, other: NumberRange) -> NumberRange:
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, high_closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        return NumberRange(low, high, low_open, not high_closed)


Domain = NumberRange | frozenset[str]
Domains = Mapping[str, Domain]
Constraint = tuple[str, str] | Rule


def contradiction(spec: ProgramSpec) -> Mapping[Path, str]:
    """The constraints that nobody within the bounds can keep together: path -> name; none where somebody can.

    The features and each constraint alone must have passed the other checks. Of very many constraints the few are not
    told apart: the path is then that of all.
    """
    listed: dict[Path, Constraint] = {("constraints", "le", at): pair for at, pair in enumerate(spec.constraints.le)}
    listed |= {("constraints", "rules", at): rule for at, rule in enumerate(spec.constraints.rules)}
    if not listed or _can_hold(spec, list(listed.values())):
        return {}
    if len(listed) > MOST_NAMED:
        return {("constraints",): "these constraints"}
    needed = dict(listed)
    for path in listed:
        others = {other: constraint for other, constraint in needed.items() if other != path}
        if not _can_hold(spec, list(others.values())):
            needed = others
    return {path: _name(path, constraint) for path, constraint in needed.items()}


def _name(path: Path, constraint: Constraint) -> str:
    """A constraint as an answer names it; rules are counted from 1."""
    if isinstance(constraint, Rule):
        return f"rule {int(path[-1]) + 1}"
    return f"le: {constraint[0]} <= {constraint[1]}"


def _can_hold(spec: ProgramSpec, constraints: Sequence[Constraint]) -> bool:
    features = {feature.name: feature for feature in spec.features}
    pairs = [constraint for constraint in constraints if not isinstance(constraint, Rule)]
    rules = [constraint for constraint in constraints if isinstance(constraint, Rule)]
    # Each part of the domains that is to be looked at, with the number of rules that hold in it.
    waiting: list[tuple[Domains, int]] = [({name: _all(feature) for name, feature in features.items()}, 0)]
    work = 0
    while waiting:
        part, holding = waiting.pop()
        domains = _carried(part, pairs, features)
        work += len(features) + len(pairs)
        if domains is None:
            continue
        while holding < len(rules) and _holds(rules[holding], domains, features):
            holding, work = holding + 1, work + 1
        if holding == len(rules) or work > MOST_WORK:
            return True
        waiting += [(branch, holding + 1) for branch in _branches(rules[holding], domains, features)]
    return False


def _all(feature: Feature) -> Domain:
    return frozenset(feature.values) if feature.bounds is None else NumberRange(*feature.bounds)


def _carried(domains: Domains, pairs: Sequence[tuple[str, str]], features: Mapping[str, Feature]) -> Domains | None:
    """The domains with what ``le`` adds to them; None where one is empty."""
    carried = dict(domains)
    for number in range(min(len(pairs) + 2, MOST_WORK // (len(pairs) or 1))):
        before = dict(carried)
        for first, second in pairs if number % 2 else reversed(pairs):
            less, more = carried[first], carried[second]
            assert isinstance(less, NumberRange), "le compares numbers"
            assert isinstance(more, NumberRange), "le compares numbers"
            carried[second] = more & _rounded(NumberRange(less.low, math.inf, less.low_open), features[second])
            carried[first] = less & _rounded(NumberRange(-math.inf, more.high, False, more.high_open), features[first])
        if carried == before:
            break
    return None if any(map(_is_empty, carried.values())) else carried


def _is_empty(domain: Domain) -> bool:
    return domain.empty if isinstance(domain, NumberRange) else not domain


def _rounded(interval: NumberRange, feature: Feature) -> NumberRange:
    """For an integer the whole numbers of an interval, whose ends are closed."""
    if feature.type != "integer":
        return interval
    low, high = interval.low, interval.high
    if math.isfinite(low):
        low = math.floor(low) + 1 if interval.low_open else math.ceil(low)
    if math.isfinite(high):
        high = math.ceil(high) - 1 if interval.high_open else math.floor(high)
    return NumberRange(low, high)


def _holds(rule: Rule, domains: Domains, features: Mapping[str, Feature]) -> bool:
    """Whether a rule holds for everybody in the domains."""
    if not any(True for _ in _kept(rule.if_, domains, features, met=True)):
        return True
    return not any(True for _ in _kept(rule.then, domains, features, met=False))


def _branches(rule: Rule, domains: Domains, features: Mapping[str, Feature]) -> Iterator[Domains]:
    """The parts of the domains in which a rule holds: its ``if`` fails, or its ``then`` is met."""
    for condition, met in ((rule.if_, False), (rule.then, True)):
        for domain in _kept(condition, domains, features, met=met):
            yield {**domains, condition.feature: domain}


def _kept(condition: Condition, domains: Domains, features: Mapping[str, Feature], *, met: bool) -> Iterator[Domain]:
    """The parts of a feature's domain in which a condition is met, or is not; the empty ones are left out."""
    feature, domain = features[condition.feature], domains[condition.feature]
    if not isinstance(domain, NumberRange):
        equal = frozenset((str(condition.equals),))
        kept = domain & equal if met else domain - equal
        if kept:
            yield kept
        return
    for part in _parts(condition, met=met):
        left = domain & _rounded(part, feature)
        if not left.empty:
            yield left


def _parts(condition: Condition, *, met: bool) -> Iterator[NumberRange]:
    """The numbers that meet a condition, or do not."""
    if condition.equals is not None:
        value = float(condition.equals)
        if met:
            yield NumberRange(value, value)
        else:
            yield NumberRange(-math.inf, value, high_open=True)
            yield NumberRange(value, math.inf, low_open=True)
    elif condition.at_least is not None:
        least = condition.at_least
        yield NumberRange(least, math.inf) if met else NumberRange(-math.inf, least, high_open=True)
    else:
        assert condition.at_most is not None, "each condition of a checked spec has one operator"
        most = condition.at_most
        yield NumberRange(-math.inf, most) if met else NumberRange(most, math.inf, low_open=True)
