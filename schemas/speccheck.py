"""What must hold in a program spec beyond the types of its fields."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from math import isfinite

from .encoding import SHOWN_ALLOWED, columns_of
from .events import Value
from .spec import Condition, Feature, ProgramSpec
from .yamltree import Path

Fault = tuple[Path, str]
"""Where in the spec (as ``("features", 2, "bounds")``) and what is wrong."""

NUMERIC = ("continuous", "integer")
REQUIRED = {"continuous": "bounds", "integer": "bounds", "ordinal": "levels", "categorical": "categories"}
BELONGS = {
    "bounds": NUMERIC,
    "step": NUMERIC,
    "unit": NUMERIC,
    "levels": ("ordinal",),
    "categories": ("categorical",),
    "one_hot": ("categorical",),
}
LARGEST_INTEGER = 2**53
MOST_COLUMNS = 2000
"""Most encoded columns of a program."""
NAME_CHARACTERS = 100
MOST_COMPARED = 1000
"""Names longer than that are not compared with others, and not with more than so many."""


def nearest(name: str, names: Iterable[str]) -> str:
    """`` (did you mean ...?)`` when one of the names is close to this one, else nothing."""
    if len(name) > NAME_CHARACTERS:
        return ""
    close = difflib.get_close_matches(name, list(islice(names, MOST_COMPARED)), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def faults(spec: ProgramSpec, others: Collection[str] | None = ()) -> Iterator[Fault]:
    """Everything that is wrong with a spec, in the order of its fields.

    ``others`` are the names of features that belong to the program and cannot be judged, None when their names are not
    known: nothing is said that one of them could make untrue.
    """
    for index, feature in enumerate(spec.features):
        for path, message in _feature_faults(feature):
            yield ("features", index, *path), f"{feature.name}: {message}" if path != ("name",) else message
    yield from _name_faults(spec)
    if others is not None and not others:
        yield from _mutable_faults(spec)
    yield from _label_faults(spec)
    yield from _constraint_faults(spec, others)
    yield from _policy_faults(spec)
    if not spec.model.manifest:
        yield ("model", "manifest"), "must not be empty"
    for name in ("closed", "undecided"):
        if getattr(spec.retention, name) <= timedelta(0):
            yield ("retention", name), "must be longer than nothing"
    if spec.capacity is not None and spec.capacity.round <= timedelta(0):
        yield ("capacity", "round"), "must be longer than zero"


def _feature_faults(feature: Feature) -> Iterator[Fault]:
    if not feature.name.isprintable() or feature.name != feature.name.strip():
        yield ("name",), f"{feature.name!r} has spaces around it or characters that cannot be printed"
    for field, types in BELONGS.items():
        if getattr(feature, field) is not None and feature.type not in types:
            yield (field,), f"{field} does not belong to the type {feature.type}"
    required = REQUIRED[feature.type]
    if getattr(feature, required) is None:
        yield ("type",), f"the type {feature.type} needs {required}"
    elif feature.type in NUMERIC:
        yield from _bounds_faults(feature)
    else:
        yield from _values_faults(feature, required)
    if feature.type == "categorical" and feature.mutable in ("up", "down"):
        yield ("mutable",), "categories have no order: mutable must be any or none"


def _bounds_faults(feature: Feature) -> Iterator[Fault]:
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
    if feature.step is not None and whole and not feature.step.is_integer():
        yield ("step",), f"the step of an integer must be a whole number, not {feature.step:g}"


def _values_faults(feature: Feature, field: str) -> Iterator[Fault]:
    values: tuple[str, ...] = getattr(feature, field)
    if len(values) < 2:
        yield (field,), f"at least two {field} are needed"
    yield from (((field, index), message) for index, message in _repeats(values))
    if feature.type == "categorical" and feature.one_hot is not None and len(feature.one_hot) != len(values):
        yield ("one_hot",), f"{len(feature.one_hot)} columns for {len(values)} categories"


def _repeats(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        if not value:
            yield index, "an empty text is not a value"
        elif value in seen:
            yield index, f"{value!r} is given twice"
        seen.add(value)


def _name_faults(spec: ProgramSpec) -> Iterator[Fault]:
    names: set[str] = set()
    columns: Counter[str] = Counter()
    for index, feature in enumerate(spec.features):
        if feature.name in names:
            yield ("features", index, "name"), f"the feature {feature.name} is given twice"
            continue
        names.add(feature.name)
        own = Counter(columns_of(feature))
        for column in own:
            if columns[column] or own[column] > 1:
                field = "one_hot" if feature.one_hot else "name"
                yield ("features", index, field), f"{feature.name}: the column {column} is used twice"
        columns.update(own)
    if columns.total() > MOST_COLUMNS:
        yield ("features",), f"{columns.total()} encoded columns; a program may have {MOST_COLUMNS}"


def _label_faults(spec: ProgramSpec) -> Iterator[Fault]:
    for feature in spec.features:
        if spec.label.name in (feature.name, *columns_of(feature)):
            yield ("label", "name"), f"the label {spec.label.name} is also a feature or one of its columns"
            return


def _mutable_faults(spec: ProgramSpec) -> Iterator[Fault]:
    mutable, most = sum(feature.mutable != "none" for feature in spec.features), spec.constraints.max_changes
    if not mutable:
        yield ("features",), "no feature is mutable: there is nothing that a person could change"
    if most is not None and most > mutable:
        yield ("constraints", "max_changes"), f"{most} changes, but mutable features are {mutable}"


class _Known:
    """The features that constraints may name: those that can be judged, and the others."""

    def __init__(self, features: Iterable[Feature], others: Collection[str] | None) -> None:
        self._features = {feature.name: feature for feature in features}
        self._others = others

    def get(self, name: str) -> Feature | None:
        return self._features.get(name)

    def fault(self, name: str) -> str | None:
        """Why no feature can be meant by a name that cannot be judged."""
        if self._others is None or name in self._others:
            return None
        return f"{name!r} is not a feature{nearest(name, [*self._features, *self._others])}"


def _constraint_faults(spec: ProgramSpec, others: Collection[str] | None) -> Iterator[Fault]:
    known = _Known(spec.features, others)
    for index, pair in enumerate(spec.constraints.le):
        for path, message in _pair_faults(pair, known):
            yield ("constraints", "le", index, *path), message
    for index, rule in enumerate(spec.constraints.rules):
        for side, condition in (("if", rule.if_), ("then", rule.then)):
            for path, message in _condition_faults(condition, known):
                yield ("constraints", "rules", index, side, *path), message


def _pair_faults(pair: tuple[str, str], known: _Known) -> Iterator[Fault]:
    numbers = []
    for side, name in enumerate(pair):
        feature = known.get(name)
        if feature is None:
            if fault := known.fault(name):
                yield (side,), fault
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


def _condition_faults(condition: Condition, known: _Known) -> Iterator[Fault]:
    operators: dict[str, Value | None] = {
        "equals": condition.equals,
        "at_least": condition.at_least,
        "at_most": condition.at_most,
    }
    given = {name: value for name, value in operators.items() if value is not None}
    if len(given) != 1:
        names = " and ".join(given) or "none"
        yield (), f"exactly one of equals, at_least and at_most is needed, and {names} is given"
    feature = known.get(condition.feature)
    if feature is None:
        if fault := known.fault(condition.feature):
            yield ("feature",), fault
        return
    for operator, value in given.items():
        message = _operand_fault(feature, operator, value)
        if message is not None:
            yield (operator,), f"{feature.name}: {message}"


def _operand_fault(feature: Feature, operator: str, value: Value) -> str | None:
    if feature.type not in NUMERIC:
        values = feature.levels or feature.categories or ()
        if operator != "equals":
            return f"{operator} compares numbers, and the feature is {feature.type}"
        if value not in values:
            return f"{value!r} is not one of {_listed(values)}{nearest(str(value), values)}"
        return None
    if isinstance(value, str):
        return f"{value!r} is not a number"
    bounds = _range(feature)
    if bounds is not None and not bounds[0] <= value <= bounds[1]:
        return f"{value:g} is outside {bounds[0]:g} to {bounds[1]:g}"
    if operator == "equals" and feature.type == "integer" and not float(value).is_integer():
        return f"{value:g} is not a whole number"
    return None


def _listed(values: Sequence[str]) -> str:
    names = ", ".join(values[:SHOWN_ALLOWED])
    return names if len(values) <= SHOWN_ALLOWED else f"{names}, ... ({len(values)} in all)"


def _range(feature: Feature) -> tuple[float, float] | None:
    """The bounds, unless they are wrong themselves: one error is not reported again where its value is used."""
    return feature.bounds if feature.bounds is not None and feature.bounds[0] < feature.bounds[1] else None


def _policy_faults(spec: ProgramSpec) -> Iterator[Fault]:
    window = spec.policy.window
    if (window.steps is None) == (window.time is None):
        given = "both are" if window.steps is not None else "neither is"
        yield ("policy", "window"), f"exactly one of steps and time is needed, and {given} given"
    if window.time is not None and window.time <= timedelta(0):
        yield ("policy", "window", "time"), "must be longer than zero"
    if window.lateness < timedelta(0):
        yield ("policy", "window", "lateness"), "must not be negative"
