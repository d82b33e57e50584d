"""The rules of a program spec beyond the types of its fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from math import isclose, isfinite

from msgspec import to_builtins

from .cell import meaning
from .contradictions import contradiction
from .encoding import columns_of
from .events import Value
from .feature_check import check_value, listed
from .normal_form import normal_form
from .number_text import number
from .problems import did_you_mean
from .spec import FIRST_ROUND_END, Condition, Elicitation, Feature, ProgramSpec, WeightPrior
from .words.rules import word_violations
from .yamltree import Path

Violation = tuple[Path, str]
"""The path of a value (as ``("features", 2, "bounds")``) and the rule that it violates."""

NUMERIC = ("continuous", "integer")
REQUIRED_FIELD = {"continuous": "bounds", "integer": "bounds", "ordinal": "levels", "categorical": "categories"}
FIELD_TYPES = {
    "bounds": NUMERIC,
    "step": NUMERIC,
    "max_change": (*NUMERIC, "ordinal"),
    "largest_step": (*NUMERIC, "ordinal"),
    "unit": NUMERIC,
    "levels": ("ordinal",),
    "categories": ("categorical",),
    "one_hot": ("categorical",),
}
MOST_GROUPS = 20
"""Each value of a feature with ``audit`` is a label of metrics."""
LARGEST_INTEGER = 2**53
LONGEST_PROMISE = LONGEST_ROUND = LONGEST_DEADLINE = timedelta(days=3653)
SHORTEST_ROUND = timedelta(seconds=1)
SEARCHED_STEPS = 500
"""A continuous feature without a step is searched in steps of a thousandth of its range, rounded by less than half."""
MOST_STEPS = 10**9
"""Of a feature between its bounds. More are not told apart by anybody, and not exactly by floats."""
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
        for path, message in _check_feature(feature):
            yield ("features", index, *path), f"{feature.name}: {message}" if path != ("name",) else message
    yield from _check_names(spec)
    yield from _check_mutable(spec)
    yield from _check_label(spec)
    yield from _check_constraints(spec)
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


def _check_feature(feature: Feature) -> Iterator[Violation]:
    if not feature.name.isprintable() or feature.name != feature.name.strip():
        yield ("name",), f"{feature.name!r} has spaces around it or characters that cannot be printed"
    for field, types in FIELD_TYPES.items():
        if getattr(feature, field) is not None and feature.type not in types:
            yield (field,), f"{field} does not belong to the type {feature.type}"
    required = REQUIRED_FIELD[feature.type]
    if getattr(feature, required) is None:
        yield ("type",), f"the type {feature.type} needs {required}"
    elif feature.type in NUMERIC:
        yield from _check_bounds(feature)
    else:
        yield from _check_values(feature, required)
    if feature.type == "categorical" and feature.mutable in ("up", "down"):
        yield ("mutable",), "categories have no order: mutable must be any or none"
    if feature.protected and feature.mutable != "none":
        yield ("protected",), "nobody is to be told to change what is protected: write `mutable: none` too"
    if feature.audit and (feature.mutable != "none" or not 0 < len(feature.values) <= MOST_GROUPS):
        yield (
            ("audit",),
            f"only groups by at most {MOST_GROUPS} values that nobody is told to change can be watched: write "
            "`mutable: none`, and give bands in place of a number",
        )
    yield from _check_not_given(feature)
    yield from _check_missing(feature)
    yield from _check_max_change(feature)
    largest, has_order = feature.largest_step, feature.type != "categorical"
    if largest is not None and has_order and largest < (smallest := _smallest_change(feature)):
        yield ("largest_step",), f"{largest:g} is below the smallest change, {smallest:g}"


def _check_max_change(feature: Feature) -> Iterator[Violation]:
    """The largest change must be one that a person could make."""
    change, share = feature.largest_change
    if feature.max_change is None or feature.type == "categorical":
        return
    if feature.type == "ordinal" and isinstance(feature.max_change, str):
        yield ("max_change",), "levels are counted: give a whole number, not a share"
    elif share == 0.0:
        yield ("max_change",), "a share of 0% lets nothing change: give mutable: none"
    elif change < (smallest := _smallest_change(feature)):
        yield ("max_change",), f"{change:g} is below the smallest change, {smallest:g}"


def _smallest_change(feature: Feature) -> float:
    """The smallest change of a feature by a spec; where it gives none for a continuous one, about what is searched."""
    if feature.type != "continuous":
        return max(1.0, feature.step or 0.0)
    low, high = _range(feature) or (0.0, 0.0)
    return feature.step or (high - low) / SEARCHED_STEPS


def _check_missing(feature: Feature) -> Iterator[Violation]:
    """The value for absent cells must be one that the feature takes; it is not checked where the feature is wrong."""
    if feature.missing is None or getattr(feature, REQUIRED_FIELD[feature.type]) is None:
        return
    if feature.type in NUMERIC and _range(feature) is None:
        return
    if meaning(feature.missing) in map(meaning, feature.not_given):
        yield ("missing",), f"missing: {feature.missing!r} stands for no value, by not_given: give a real value"
        return
    problem = check_value(feature, feature.missing)
    if problem is not None:
        yield ("missing",), f"missing: {problem.detail.removeprefix(f'{feature.name}: ')}"


def _check_not_given(feature: Feature) -> Iterator[Violation]:
    """What stands for no value cannot be a value."""
    declared, earlier = {meaning(value): value for value in feature.values}, set[str]()
    for index, code in enumerate(feature.not_given):
        plain = meaning(code)
        if isinstance(code, float) and not isfinite(code):
            yield ("not_given", index), "no number is written so"
        elif feature.type in NUMERIC and isinstance(code, str) and not isinstance(number(code), str):
            yield ("not_given", index), f"{code!r} is a number: write it without quotation marks"
        elif plain in declared:
            kind = REQUIRED_FIELD[feature.type]
            yield ("not_given", index), f"{declared[plain]!r} is one of the {kind}: take it out of one of the two"
        elif plain in earlier:
            yield ("not_given", index), f"{code!r} is given twice"
        earlier.add(plain)


def _check_bounds(feature: Feature) -> Iterator[Violation]:
    assert feature.bounds is not None
    low, high = feature.bounds
    whole = feature.type == "integer"
    if not low < high:
        yield ("bounds",), f"the lower bound {low:g} must be below the upper bound {high:g}"
        return
    if not isfinite(high - low):
        yield ("bounds",), "the bounds are too far apart"
    if whole and not (low.is_integer() and high.is_integer() and max(-low, high) <= LARGEST_INTEGER):
        yield ("bounds",), "the bounds of an integer must be whole numbers of at most 2^53"
    if feature.step is not None and feature.step > high - low:
        yield ("step",), f"a step of {feature.step:g} does not fit between {low:g} and {high:g}"
    if feature.step is not None and isfinite(high - low) and feature.step < (high - low) / MOST_STEPS:
        least = (high - low) / MOST_STEPS
        yield ("step",), f"steps of {feature.step:g} are too small: give {least:g} or more, a billion of them"
    if feature.step is not None and whole and not feature.step.is_integer():
        yield ("step",), f"the step of an integer must be a whole number, not {feature.step:g}"


def _check_values(feature: Feature, field: str) -> Iterator[Violation]:
    values: tuple[str, ...] = getattr(feature, field)
    if len(values) < 2:
        yield (field,), f"at least two {field} are needed"
    yield from (((field, index), message) for index, message in _empty_or_repeated(values))
    if feature.type == "categorical" and feature.one_hot is not None:
        columns = len(feature.one_hot)
        if columns != len(values) and not 1 < columns == len(values) - 1:
            yield ("one_hot",), f"{columns} columns for {len(values)} categories"


def _empty_or_repeated(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    earlier: set[str] = set()
    for index, value in enumerate(values):
        if not value:
            yield index, "an empty text is not a value"
        elif normal_form(value) in earlier:
            yield index, f"{value!r} is given twice"
        earlier.add(normal_form(value))


def _check_names(spec: ProgramSpec) -> Iterator[Violation]:
    names: set[str] = set()
    columns: Counter[str] = Counter()
    for index, feature in enumerate(spec.features):
        if normal_form(feature.name) in names:
            yield ("features", index, "name"), f"the feature {feature.name} is given twice"
            continue
        names.add(normal_form(feature.name))
        own = Counter(columns_of(feature))
        for column in own:
            if columns[column] or own[column] > 1:
                field = "one_hot" if feature.one_hot else "name"
                yield ("features", index, field), f"{feature.name}: the column {column} is used twice"
        columns.update(own)
    if columns.total() > MOST_COLUMNS:
        yield ("features",), f"{columns.total()} encoded columns; a program may have {MOST_COLUMNS}"


def _check_label(spec: ProgramSpec) -> Iterator[Violation]:
    for feature in spec.features:
        if spec.label.name in (feature.name, *columns_of(feature)):
            yield ("label", "name"), f"the label {spec.label.name} is also a feature or one of its columns"
            return


def _check_mutable(spec: ProgramSpec) -> Iterator[Violation]:
    mutable, most = sum(feature.mutable != "none" for feature in spec.features), spec.constraints.max_changes
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
    lower, upper = map(_range, numbers)
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
    bounds = _range(feature)
    if bounds is not None and not bounds[0] <= value <= bounds[1]:
        return f"{value:g} is outside {bounds[0]:g} to {bounds[1]:g}"
    if operator == "equals" and feature.type == "integer" and not float(value).is_integer():
        return f"{value:g} is not a whole number"
    return None


def _range(feature: Feature) -> tuple[float, float] | None:
    """The bounds, None when they are wrong: an error is not reported again where the bounds are used."""
    return feature.bounds if feature.bounds is not None and feature.bounds[0] < feature.bounds[1] else None


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
    if (window.steps is None) == (window.time is None):
        count = "both are" if window.steps is not None else "neither is"
        yield ("policy", "window"), f"exactly one of steps and time is needed, and {count} given"
    if window.time is not None and window.time <= timedelta(0):
        yield ("policy", "window", "time"), "must be longer than zero"
    if window.lateness < timedelta(0):
        yield ("policy", "window", "lateness"), "must not be negative"


def _check_elicitation(spec: ProgramSpec, elicitation: Elicitation) -> Iterator[Violation]:
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
        elif features.get(pair[1]) is not None and features[pair[1]].mutable == "none":
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
    if window.time is not None and window.time <= (promised := length * capacity.horizon):
        longer = to_builtins(promised + length)
        message = (
            f"a target score holds for {to_builtins(promised)}, and outcomes may come later: give {longer} or more"
        )
        yield ("policy", "window", "time"), message
    # In seconds: a sum of two durations may be more than a duration can hold.
    waits = length.total_seconds() + window.lateness.total_seconds()
    if spec.decisions == "model" and spec.retention.undecided.total_seconds() <= waits:
        parts = f"{to_builtins(length)} for the end of a round and {to_builtins(window.lateness)} for late records"
        yield ("retention", "undecided"), f"people who wait {parts} would be forgotten unanswered: give more than both"
