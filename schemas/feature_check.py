"""Checks one raw value against its feature, with a message for people."""

from __future__ import annotations

from collections.abc import Sequence

from .problems import Problem
from .spec import Feature

EXACT = 2.0**53
"""Below this an integer is exact in a float64."""
MAX_LISTED = 20
"""Most allowed values that a message lists."""
MAX_QUOTED_CHARACTERS = 64
"""Most characters of a text that a message quotes."""
JSON_TYPES = {
    bool: "a boolean",
    str: "text",
    int: "a number",
    float: "a number",
    type(None): "null",
    list: "an array",
    dict: "an object",
}


def check_value(feature: Feature, value: object) -> Problem | None:
    """The problem of a raw value: ``wrong_type``, ``unknown_category``, ``not_finite`` or ``out_of_bounds``.

    Numbers must be Python's own int and float: bool and numpy scalars have the wrong type.
    """
    if feature.bounds is not None:
        return _check_number(feature, value, *feature.bounds)
    return _check_text(feature, value)


def no_value(feature: Feature, cell: object) -> Problem:
    """The problem of a cell that stands for no value, of a feature without a ``missing`` one."""
    shown = "no value is given"
    if isinstance(cell, int | float | str):
        shown = f"{_masked(feature, cell)} stands for no value"
    return Problem("missing_feature", f"{feature.name}: {shown}, and the spec has no `missing` for it")


def quoted(value: str | float) -> str:
    """A value as a message shows it: texts and integers are shortened."""
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_QUOTED_CHARACTERS else value[:MAX_QUOTED_CHARACTERS] + "...")
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"
    return str(int(value) if value == int(value) and abs(value) < EXACT else value)


def listed(names: Sequence[str]) -> str:
    """Names separated by commas, the first ``MAX_LISTED`` of them."""
    text = ", ".join(names[:MAX_LISTED])
    return text if len(names) <= MAX_LISTED else f"{text}, ... ({len(names)} in all)"


def _check_number(feature: Feature, value: object, low: float, high: float) -> Problem | None:
    if type(value) is not int and type(value) is not float:
        return Problem("wrong_type", f"{feature.name}: must be a number, not {_type_of(value)}")
    if value != value or value in (float("inf"), float("-inf")):
        return Problem("not_finite", f"{feature.name}: must be a finite number")
    if not low <= value <= high:
        bounds = f"{quoted(low)} to {quoted(high)}"
        return Problem("out_of_bounds", f"{feature.name}: {_masked(feature, value)} is outside {bounds}")
    if feature.type == "integer" and type(value) is float and not value.is_integer():
        return Problem("wrong_type", f"{feature.name}: {_masked(feature, value)} is not a whole number")
    return None


def _check_text(feature: Feature, value: object) -> Problem | None:
    allowed = feature.values
    if type(value) is str and value in allowed:
        return None
    names = listed([quoted(name) for name in allowed])
    if type(value) is str:
        return Problem("unknown_category", f"{feature.name}: {_masked(feature, value)} is not one of {names}")
    kind = "levels" if feature.levels else "categories"
    return Problem("wrong_type", f"{feature.name}: must be one of the {kind} {names}, not {_type_of(value)}")


def _masked(feature: Feature, value: str | float) -> str:
    return "the value" if feature.pii else quoted(value)


def _type_of(value: object) -> str:
    return JSON_TYPES.get(type(value), type(value).__name__)
