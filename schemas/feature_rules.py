"""The rules of a single feature of a program spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from .cell import meaning
from .feature_check import check_value
from .normal_form import normal_form
from .number_text import number
from .spec import Feature
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
SEARCHED_STEPS = 500
"""A continuous feature without a step is searched in steps of a thousandth of its range, rounded by less than half."""
MOST_STEPS = 10**9
"""Of a feature between its bounds. More are not told apart by anybody, and not exactly by floats."""


def feature_violations(feature: Feature) -> Iterator[Violation]:
    """Every rule that a feature violates, whatever the others are."""
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
    low, high = range_of(feature) or (0.0, 0.0)
    return feature.step or (high - low) / SEARCHED_STEPS


def _check_missing(feature: Feature) -> Iterator[Violation]:
    """The value for absent cells must be one that the feature takes; it is not checked where the feature is wrong."""
    if feature.missing is None or getattr(feature, REQUIRED_FIELD[feature.type]) is None:
        return
    if feature.type in NUMERIC and range_of(feature) is None:
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


def range_of(feature: Feature) -> tuple[float, float] | None:
    """The bounds, None when they are wrong: an error is not reported again where the bounds are used."""
    return feature.bounds if feature.bounds is not None and feature.bounds[0] < feature.bounds[1] else None
