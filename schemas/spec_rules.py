"""The rules of a program spec beyond the types of its fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from math import isclose, isfinite

from msgspec import to_builtins

from .cell import LabelReader, meaning
from .contradictions import contradiction
from .effects import effect_violations
from .encoding import columns_of
from .events import Value
from .feature_check import listed
from .feature_rules import NUMERIC, Violation, feature_violations, range_of
from .normal_form import normal_form
from .problems import did_you_mean
from .spec import FIRST_ROUND_END, Condition, ElicitationTerms, Feature, ProgramSpec, WeightPrior, Window
from .words.rules import word_violations

LONGEST_PROMISE = LONGEST_ROUND = LONGEST_DEADLINE = timedelta(days=3653)
SHORTEST_ROUND = timedelta(seconds=1)
PROBABILITIES_ROUNDED = 1e-6
"""How far the sum of written probabilities may be from 1."""
MOST_COLUMNS = 2000
"""Most encoded columns of a program."""


def violations(spec: ProgramSpec) -> Iterator[Violation]:
    """Every rule that a spec violates; where it violates none, each of the constraints that contradict each other."""
    single = list(_single_violations(spec))
    yield from single
    contradicting = {} if single else contradiction(spec)
    for path in contradicting:
        yield path, f"no values within the bounds keep {' and '.join(contradicting.values())}"


def _single_violations(spec: ProgramSpec) -> Iterator[Violation]:
    for index, feature in enumerate(spec.features):
        for path, message in feature_violations(feature):
            yield ("features", index, *path), f"{feature.name}: {message}" if path != ("name",) else message
    yield from _check_names(spec)
    yield from _check_mutable(spec)
    yield from _check_label(spec)
    yield from _check_constraints(spec)
    yield from effect_violations(spec)
    yield from _check_policy(spec)
    if spec.model.threshold == 1:
        yield ("model", "threshold"), "no score is above 1: nobody would be approved"
    if not spec.model.manifest:
        yield ("model", "manifest"), "must not be empty"
    for index, name in enumerate(spec.model.may_read or ()):
        if not any(feature.name == name and feature.protected for feature in spec.features):
            yield ("model", "may_read", index), f"{name} is not protected: name features with `protected: true`"
    for name in ("closed", "undecided"):
        if getattr(spec.retention, name) <= timedelta(0):
            yield ("retention", name), "must be longer than nothing"
    if not timedelta(0) < spec.promise.valid_for <= LONGEST_PROMISE:
        yield ("promise", "valid_for"), f"must be longer than zero and at most P{LONGEST_PROMISE.days}D, ten years"
    yield from _check_rounds(spec)
    if spec.elicitation is not None:
        yield from _check_elicitation(spec, spec.elicitation)
    for path, message in word_violations(spec):
        yield ("words", *path), message


def _check_names(spec: ProgramSpec) -> Iterator[Violation]:
    names: set[str] = set()
    columns: Counter[str] = Counter()
    for index, feature in enumerate(spec.features):
        if normal_form(feature.name) in names:
            yield ("features", index, "name"), f"the feature {feature.name} is given twice"
            continue
        names.add(normal_form(feature.name))
        named = Counter(columns_of(feature))
        for column in named:
            if columns[column] or named[column] > 1:
                field = "one_hot" if feature.one_hot else "name"
                yield ("features", index, field), f"{feature.name}: the column {column} is used twice"
        columns.update(named)
    if columns.total() > MOST_COLUMNS:
        yield ("features",), f"{columns.total()} encoded columns; a program may have {MOST_COLUMNS}"


def _check_label(spec: ProgramSpec) -> Iterator[Violation]:
    for feature in spec.features:
        if spec.label.name in (feature.name, *columns_of(feature)):
            yield ("label", "name"), f"the label {spec.label.name} is also a feature or one of its columns"
            break
    reader, earlier = LabelReader(spec.label), set[str]()
    for index, code in enumerate(spec.label.not_given):
        plain = meaning(code)
        if reader.is_desired(str(code)):
            yield ("label", "not_given", index), f"{code!r} is the desired value: take it out of one of the two"
        elif plain in earlier:
            yield ("label", "not_given", index), f"{code!r} is given twice"
        earlier.add(plain)


def _check_mutable(spec: ProgramSpec) -> Iterator[Violation]:
    mutable, most = sum(feature.may_change for feature in spec.features), spec.constraints.max_changes
    if not mutable:
        yield ("features",), "no feature is mutable: delete `mutable: none` where a person could change something"
    if most is not None and most > mutable:
        yield ("constraints", "max_changes"), f"{most} changes, but mutable features are {mutable}"


def _check_constraints(spec: ProgramSpec) -> Iterator[Violation]:
    features = {feature.name: feature for feature in spec.features}
    for index, pair in enumerate(spec.constraints.le):
        for path, message in _check_pair(pair, features):
            yield ("constraints", "le", index, *path), message
    for index, rule in enumerate(spec.constraints.rules):
        for side, condition in (("if", rule.if_), ("then", rule.then)):
            for path, message in _check_condition(condition, features):
                yield ("constraints", "rules", index, side, *path), message


def _check_pair(pair: tuple[str, str], features: Mapping[str, Feature]) -> Iterator[Violation]:
    numbers = []
    for side, name in enumerate(pair):
        feature = features.get(name)
        if feature is None:
            yield (side,), _unknown(name, features)
        elif feature.type not in NUMERIC:
            yield (side,), f"{name} is {feature.type}: le compares numbers"
        else:
            numbers.append(feature)
    if len(numbers) < len(pair):
        return
    lower, upper = map(range_of, numbers)
    if pair[0] == pair[1]:
        yield (), f"{pair[0]} is compared with itself"
    elif lower is not None and upper is not None and lower[0] > upper[1]:
        yield (), f"can never hold: {pair[0]} is at least {lower[0]:g} and {pair[1]} at most {upper[1]:g}"


def _unknown(name: str, features: Mapping[str, Feature]) -> str:
    return f"{name!r} is not a feature{did_you_mean(name, features)}"


def _check_condition(condition: Condition, features: Mapping[str, Feature]) -> Iterator[Violation]:
    operators: dict[str, Value | None] = {
        "equals": condition.equals,
        "at_least": condition.at_least,
        "at_most": condition.at_most,
    }
    operands = {name: value for name, value in operators.items() if value is not None}
    if len(operands) != 1:
        names = " and ".join(operands) or "none"
        yield (), f"exactly one of equals, at_least and at_most is needed, and {names} is given"
    feature = features.get(condition.feature)
    if feature is None:
        yield ("feature",), _unknown(condition.feature, features)
        return
    for operator, value in operands.items():
        message = _operand_violation(feature, operator, value)
        if message is not None:
            yield (operator,), f"{feature.name}: {message}"


def _operand_violation(feature: Feature, operator: str, value: Value) -> str | None:
    if feature.type not in NUMERIC:
        values = feature.values
        if operator != "equals":
            return f"{operator} compares numbers, and the feature is {feature.type}"
        if value not in values:
            return f"{value!r} is not one of {listed(values)}{did_you_mean(str(value), values)}"
        return None
    if isinstance(value, str):
        return f"{value!r} is not a number"
    bounds = range_of(feature)
    if bounds is not None and not bounds[0] <= value <= bounds[1]:
        return f"{value:g} is outside {bounds[0]:g} to {bounds[1]:g}"
    if operator == "equals" and feature.type == "integer" and not float(value).is_integer():
        return f"{value:g} is not a whole number"
    return None


def _check_policy(spec: ProgramSpec) -> Iterator[Violation]:
    window, margin = spec.policy.window, spec.policy.margin
    if isinstance(margin, float) and margin > 0 and spec.model.threshold + margin >= 1:
        reached = f"{spec.model.threshold + margin:g}"
        yield ("policy", "margin"), f"no score exceeds the threshold and the margin together, {reached}: give less"
    target = spec.policy.target
    if target is not None and margin is not None:
        yield ("policy", "target"), "a target score and a margin cannot both be given: take one of them out"
    if target is not None and target < spec.model.threshold:
        yield ("policy", "target"), f"a score of {target:g} is rejected: the threshold is {spec.model.threshold:g}"
    if spec.policy.nu is not None and spec.policy.assumed_nu is not None:
        yield ("policy", "assumed_nu"), "`nu` is known, so that nothing is assumed: take one of them out"
    yield from _check_window(window)


def _check_window(window: Window) -> Iterator[Violation]:
    in_stages = window.acted is not None or window.outcome is not None
    if not in_stages and (window.steps is None) == (window.time is None):
        count = "both are" if window.steps is not None else "neither is"
        yield ("policy", "window"), f"exactly one of steps and time is needed, and {count} given"
    if in_stages and (window.acted is None or window.outcome is None):
        yield ("policy", "window"), "a window in stages needs both `acted` and `outcome`"
    if in_stages and (window.steps is not None or window.time is not None):
        yield ("policy", "window"), "a window in stages has its two times and neither `steps` nor `time`"
    for field in ("time", "acted", "outcome"):
        length = getattr(window, field)
        if length is not None and length <= timedelta(0):
            yield ("policy", "window", field), "must be longer than zero"
    if window.acted is not None and window.outcome is not None and window.acted > window.outcome:
        yield ("policy", "window", "acted"), "is longer than `outcome`: whether it helped is known after it was done"
    if window.lateness < timedelta(0):
        yield ("policy", "window", "lateness"), "must not be negative"


def _check_elicitation(spec: ProgramSpec, elicitation: ElicitationTerms) -> Iterator[Violation]:
    """People have time to answer, the influences are a graph without a cycle, and the prior is of its weights."""
    if not timedelta(0) < elicitation.deadline <= LONGEST_DEADLINE:
        yield ("elicitation", "deadline"), f"must be longer than zero and at most P{LONGEST_DEADLINE.days}D, ten years"
    where = ("elicitation", "influences")
    faults = list(_check_influences(spec, elicitation.influences))
    yield from (((*where, *path), message) for path, message in faults)
    prior = elicitation.prior
    if isinstance(prior, str):
        yield ("elicitation", "prior"), f"{prior!r} is a path: give the prior itself"
    elif prior is not None and not faults:
        yield from _check_prior(prior, len(spec.features), len(elicitation.influences))


def _check_influences(spec: ProgramSpec, influences: Sequence[tuple[str, str]]) -> Iterator[Violation]:
    features = {feature.name: feature for feature in spec.features}
    for index, pair in enumerate(influences):
        for side, name in enumerate(pair):
            if name not in features:
                yield (index, side), _unknown(name, features)
        if pair[0] == pair[1]:
            yield (index,), f"{pair[0]} influences itself: that is its own weight"
        elif pair in influences[:index]:
            yield (index,), f"{pair[0]} influences {pair[1]} twice"
        elif features.get(pair[1]) is not None and not features[pair[1]].may_change:
            yield (index, 1), f"{pair[1]} is not mutable: nothing influences what it costs to change it"
    try:
        TopologicalSorter(_parents(influences)).prepare()
    except CycleError as error:
        cycle = dict.fromkeys(reversed(error.args[1]))
        if len(cycle) > 1:
            yield (), f"{listed([*cycle])} influence each other in a cycle"


def _parents(influences: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The features that influence each feature."""
    parents: dict[str, list[str]] = {}
    for parent, child in influences:
        parents.setdefault(child, []).append(parent)
    return parents


def _check_prior(prior: WeightPrior, features: int, influences: int) -> Iterator[Violation]:
    where = ("elicitation", "prior")
    needed, count = features + influences, f"{features} features and {influences} influences"
    for index, component in enumerate(prior.components):
        for name, numbers in (("mean", component.mean), ("sd", component.sd)):
            if isinstance(numbers, tuple) and len(numbers) != needed:
                yield where, f"component {index}: {len(numbers)} numbers in {name}: {count} need {needed}"
            if not all(map(isfinite, numbers if isinstance(numbers, tuple) else (numbers,))):
                yield where, f"component {index}: a number in {name} is not finite"
    total = sum(component.probability for component in prior.components)
    if not isclose(total, 1.0, abs_tol=PROBABILITIES_ROUNDED):
        yield where, f"the probabilities of the components add up to {total:g}, not to 1"


def _check_rounds(spec: ProgramSpec) -> Iterator[Violation]:
    """The calendar of rounds, and the times that are too short for it."""
    capacity, window = spec.capacity, spec.policy.window
    if capacity is None:
        return
    if (length := capacity.round) is None:
        if capacity.start != FIRST_ROUND_END:
            yield ("capacity", "start"), "events announce rounds that have no length: give `round` too, or take it out"
        return
    if not SHORTEST_ROUND <= length <= LONGEST_ROUND:
        yield ("capacity", "round"), f"must be at least a second and at most P{LONGEST_ROUND.days}D, ten years"
        return
    if window.length is not None and window.length <= (promised := length * capacity.horizon):
        longer = to_builtins(promised + length)
        message = (
            f"a target score holds for {to_builtins(promised)}, and outcomes may come later: give {longer} or more"
        )
        yield ("policy", "window", "time" if window.outcome is None else "outcome"), message
    # In seconds: a sum of two durations may be more than a duration can hold.
    waits = length.total_seconds() + window.lateness.total_seconds()
    if spec.decisions == "model" and spec.retention.undecided.total_seconds() <= waits:
        parts = f"{to_builtins(length)} for the end of a round and {to_builtins(window.lateness)} for late records"
        yield ("retention", "undecided"), f"people who wait {parts} would be forgotten unanswered: give more than both"
