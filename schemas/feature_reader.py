"""Reads the JSON object of an application's features into checked values.

A feature with a ``missing`` value in the spec is read as that value where it is absent, null, or not given otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Raw

from .cell import CellReader, codes_within
from .events import Value
from .feature_check import EXACT, no_value
from .normal_form import normal_form
from .problems import JSON_ERRORS, Problem
from .spec import Feature

Features = Mapping[str, Value | None]
"""Raw features by name, as an application gives them."""
Values = tuple[Value, ...]
"""The values of all features, in the order of the spec."""


class FilledValues(tuple[Value, ...]):
    """The values of all features, some of which an application did not give: those have the spec's ``missing`` value.

    ``absent`` are the numbers of these features.
    """

    absent: frozenset[int]


Check = Callable[[Features], Problem | None]

_decode_any_object = msgspec.json.Decoder(dict[str, Any]).decode


class FeatureReader:
    """Decodes features of one program. ``check`` decides about every object that is not certain to be valid.

    Names, levels and categories are those of the spec, whatever their Unicode normal form in the JSON.
    """

    def __init__(self, features: Sequence[Feature], check: Check) -> None:
        self._features = {feature.name: feature for feature in features}
        self._cells = {feature.name: CellReader(feature) for feature in features}
        self._names = list(self._cells)
        self._missing: list[Any] = [feature.missing for feature in features]
        self._may_lack = any(value is not None for value in self._missing)
        self._spelling = spelling(features)
        self._check = check
        self._codes = [(index, codes) for index, feature in enumerate(features) if (codes := codes_within(feature))]
        self._decode_valid = _row_decoder(features, _valid_type)
        self._decode_typed = _row_decoder(features, _type_of)

    def read(self, data: bytes | Raw) -> Values | Problem:
        """The values of a JSON object, or its problem: one of ``check``, or why it cannot be decoded."""
        try:
            values = self._decode_valid(data)
        except JSON_ERRORS:
            return self._read_slowly(data)
        if any(values[index] in codes for index, codes in self._codes):
            return self._read_slowly(data)
        return self._filled(values) if self._may_lack and None in values else values

    def _read_slowly(self, data: bytes | Raw) -> Values | Problem:
        """Values that ``_valid_type`` leaves out may still be valid: 3.0 is an integer, null may have a value."""
        try:
            values = self._decode_typed(data)
        except JSON_ERRORS as error:
            return self._read_any(data, error)
        return self._read_meant(dict(zip(self._names, values, strict=True)))

    def _read_any(self, data: bytes | Raw, error: Exception) -> Values | Problem:
        """The values or the problem of features that are not of the types. ``error`` is msgspec's, used where no
        feature is at fault."""
        try:
            features = _decode_any_object(data)
        except (msgspec.ValidationError, RecursionError):
            return Problem("wrong_type", f"features: {error}")
        except JSON_ERRORS:
            return Problem("malformed_json", f"features: {error}")
        return self._read_meant(features)

    def _read_meant(self, features: Features) -> Values | Problem:
        """The values of features by what they mean, or their first problem; with the spec's spelling of names and
        texts where that cures it."""
        meant = self._as_meant(features)
        problem = self._check(meant)
        if problem is not None:
            respelled = respell(features, self._spelling)
            meant = meant if respelled == features else self._as_meant(respelled)
            if respelled == features or self._check(meant) is not None:
                return self._as_sent(problem, features, meant)
        return self._filled([meant.get(name) for name in self._names])

    def _as_sent(self, problem: Problem, features: Features, meant: Features) -> Problem:
        """The problem of features, which names what was sent in the place of a value that is missing."""
        absent = (name for name in self._names if meant.get(name) is None and self._features[name].missing is None)
        name = next(absent, None)
        return no_value(self._features[name], features[name]) if name is not None and name in features else problem

    def _as_meant(self, features: Features) -> Features:
        """Features by what they mean: 1.0 may be a category, and a text or a code stand for no value."""
        cells = self._cells
        return {
            name: cast("Value | None", cells[name].value(value)) if name in cells else value
            for name, value in features.items()
        }

    def _filled(self, values: Sequence[Value | None]) -> Values:
        """The values, with those of the spec for what is missing."""
        absent = frozenset(number for number, value in enumerate(values) if value is None)
        complete = (other if value is None else value for value, other in zip(values, self._missing, strict=True))
        if not absent:
            return tuple(complete)
        filled = FilledValues(complete)
        filled.absent = absent
        return filled


def spelling(features: Iterable[Feature]) -> dict[str, str]:
    """The spec's spelling of names, levels and categories, by their Unicode normal form C."""
    names = (name for feature in features for name in (feature.name, *feature.values))
    return {normal_form(name): name for name in names}


def respell(features: Mapping[str, Value | None], spelling: Mapping[str, str]) -> dict[str, Value | None]:
    """Features with every name and text that equals one of ``spelling`` in normal form C spelled like it."""

    def as_spelled(value: Value | None) -> Value | None:
        return spelling.get(normal_form(value), value) if isinstance(value, str) else value

    return {str(as_spelled(name)): as_spelled(value) for name, value in features.items()}


def _row_decoder(
    features: Sequence[Feature], type_of: Callable[[Feature], Any]
) -> Callable[[bytes | Raw], tuple[Any, ...]]:
    """Decodes a JSON object of features; what may be absent and is gives None.

    A struct is several times as fast as a dict: no keys are created.
    """
    fields: list[Any] = [
        (f"f{index}", type_of(feature), *(() if feature.missing is None else (None,)))
        for index, feature in enumerate(features)
    ]
    rename = {f"f{index}": feature.name for index, feature in enumerate(features)}
    row = msgspec.defstruct("Row", fields, rename=rename, forbid_unknown_fields=True, gc=False, kw_only=True)
    decode = msgspec.json.Decoder(row).decode
    return lambda data: msgspec.structs.astuple(decode(data))


def _type_of(feature: Feature) -> Any:
    known: Any = int | float if feature.bounds is not None else str
    return known if feature.missing is None else known | None


def _valid_type(feature: Feature) -> Any:
    """A type whose every value is valid."""
    if feature.bounds is None:
        return Literal[feature.values]
    low, high = max(feature.bounds[0], 1 - EXACT), min(feature.bounds[1], EXACT - 1)
    types: list[Any] = []
    if math.ceil(low) <= math.floor(high):
        types.append(Annotated[int, Meta(ge=math.ceil(low), le=math.floor(high))])
    if feature.type != "integer" or not types:
        types.append(Annotated[float, Meta(ge=low, le=high)])
    return reduce(or_, types)
