"""Raw features to the vector that models and learners see.

``continuous`` and ``integer`` features are scaled to (x - lo) / (hi - lo) by the bounds of the spec, an ``ordinal``
one is its rank / (levels - 1), a ``categorical`` one takes one column a category (one-hot).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import ge, itemgetter, le, or_
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Raw
from numpy.typing import NDArray

from .constraints import CrossFeatureRules
from .events import Value
from .problems import JSON_ERRORS
from .problems import Problem as Problem
from .spec import Feature, ProgramSpec

Vector = NDArray[np.float64]
Features = Mapping[str, Value]
Values = tuple[Value, ...]
"""The values of all features, in the order of the spec."""

NUMBERS = frozenset((int, float))
TEXTS = frozenset((str,))
EXACT = 2.0**53
"""Below this an integer is exact in a float64."""
SHOWN_ALLOWED = 20
SHOWN_CHARACTERS = 64
_KINDS = {
    bool: "a boolean",
    str: "text",
    int: "a number",
    float: "a number",
    type(None): "null",
    list: "an array",
    dict: "an object",
}

_decode_features = msgspec.json.Decoder(dict[str, Any]).decode


def columns_of(feature: Feature) -> tuple[str, ...]:
    """The names of a feature's encoded columns, which are also its columns in one-hot data files."""
    if feature.type != "categorical":
        return (feature.name,)
    return feature.one_hot or tuple(f"{feature.name}:{category}" for category in feature.categories or ())


class FeatureCodec:
    """Checks and encodes the features of one program; D is the number of encoded columns.

    The result for a row does not depend, bit for bit, on the form called nor on the other rows of a batch.
    Numbers must be Python's own int and float (bool and numpy scalars are other types).
    """

    def __init__(self, spec: ProgramSpec) -> None:
        self.spec = spec
        blocks = [columns_of(feature) for feature in spec.features]
        self.columns: tuple[str, ...] = tuple(chain.from_iterable(blocks))
        self.dimension = len(self.columns)
        self.feature_of: NDArray[np.intp] = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        """(D,) index into ``spec.features`` of each encoded column."""
        self.low = np.zeros(self.dimension)
        self.scale = np.ones(self.dimension)
        """(D,) what the whole range of an encoded column is in raw units: hi - lo, levels - 1, or 1 for a category."""
        self._by_name = {feature.name: feature for feature in spec.features}
        self._rules = CrossFeatureRules(spec)
        self._lay_out(blocks)
        for array in (self.feature_of, self.low, self.scale):
            array.setflags(write=False)

    def _lay_out(self, blocks: Sequence[Sequence[str]]) -> None:
        """Numbers and texts are read and encoded apart: numbers by arithmetic, texts by tables."""
        columns: list[int] = []
        bounds: list[tuple[float, float]] = []
        self._tables: list[_TextTable] = []
        start = 0
        for feature, block in zip(self.spec.features, blocks, strict=True):
            if feature.bounds is not None:
                columns.append(start)
                bounds.append(feature.bounds)
                self.low[start], self.scale[start] = feature.bounds[0], feature.bounds[1] - feature.bounds[0]
            else:
                self._tables.append(_TextTable(feature, start))
                self.scale[start : start + len(block)] = max(len(feature.levels or ()) - 1, 1)
            start += len(block)
        features = list(enumerate(self.spec.features))
        numbers = [(at, feature) for at, feature in features if feature.bounds is not None]
        self._values: Callable[[Features], Values] = _getter([feature.name for _, feature in features])
        self._numbers = _getter([at for at, _ in numbers])
        self._texts = _getter([at for at, feature in features if feature.bounds is None])
        self._integers = _getter([at for at, feature in numbers if feature.type == "integer"])
        self._integer_columns = np.flatnonzero([feature.type == "integer" for _, feature in numbers])
        self._decode = _decoder(self.spec.features, _any_kind)
        self._decode_sound = _decoder(self.spec.features, _sound_kind)
        self._columns = np.array(columns, dtype=np.intp)
        self._lows = tuple(low for low, _ in bounds)
        self._highs = tuple(high for _, high in bounds)
        self._low = self.low[self._columns]
        self._scale = self.scale[self._columns]

    def check(self, features: Features) -> Problem | None:
        """What is wrong with raw features, or None. Says ``missing_feature`` and ``unknown_feature`` first, then the
        first feature in the order of the spec that has a ``wrong_type``, ``unknown_category``, is ``not_finite`` or
        ``out_of_bounds``."""
        for name in self._by_name:
            if name not in features:
                return Problem("missing_feature", f"{name}: missing")
        for name in features:
            if name not in self._by_name:
                return Problem("unknown_feature", f"{_shown(name)}: not a feature of program {self.spec.program}")
        problems = (_problem(feature, features[name]) for name, feature in self._by_name.items())
        return next((problem for problem in problems if problem is not None), None)

    def encode(self, features: Features) -> Vector:
        """(D,) encoded features. They must have passed ``check``."""
        values = self._values(features)
        return self._vector(np.array(self._numbers(values), dtype=np.float64), self._texts(values))

    def try_encode(self, features: Features) -> Vector | Problem:
        """``check`` and ``encode`` in one pass."""
        try:
            values = self._values(features)
        except KeyError:
            return self._explained(features)
        numbers, texts = self._numbers(values), self._texts(values)
        types = set(map(type, numbers))
        if (
            len(features) != len(self._by_name)
            or not types <= NUMBERS
            or False in map(le, self._lows, numbers)
            or False in map(ge, self._highs, numbers)
            or (float in types and not self._whole(values))
            or (self._tables and not self._known(texts))
        ):
            return self._explained(features)
        return self._vector(np.array(numbers, dtype=np.float64), texts)

    def encode_many(self, rows: Sequence[Features]) -> Vector:
        """(n, D) encoded rows. They must have passed ``check``."""
        values = list(map(self._values, rows))
        return self._matrix(self._number_matrix(values), list(map(self._texts, values)))

    def encode_checked(self, rows: Sequence[Features]) -> tuple[Vector, list[Problem | None]]:
        """(n, D) encoded rows, NaN where a row has a problem, and the problem of each row."""
        shaped = self._shaped(rows)
        if len(shaped) == len(rows):
            return self._encode_values(list(map(self._values, rows)))
        encoded = np.full((len(rows), self.dimension), np.nan)
        problems: list[Problem | None] = list(map(self.check, rows))
        encoded[shaped], _ = self._encode_values([self._values(rows[i]) for i in shaped])
        return encoded, problems

    def read(self, features: bytes | Raw) -> Values | Problem:
        """The values in a JSON object of features, or what is wrong with them: what ``check`` says, or why they cannot
        be read."""
        try:
            values = self._decode_sound(features)
        except JSON_ERRORS:
            return self._read_carefully(features)
        if self._tables and not self._known(self._texts(values)):
            return self._read_carefully(features)
        return values

    def named(self, values: Values) -> dict[str, Value]:
        """Values by the name of their feature."""
        return dict(zip(self._by_name, values, strict=True))

    def encode_read(self, rows: Sequence[Values]) -> Vector:
        """(n, D) encoded values that ``read`` has given."""
        return self._matrix(self._number_matrix(rows), list(map(self._texts, rows)))

    def _encode_values(self, rows: Sequence[Values]) -> tuple[Vector, list[Problem | None]]:
        numbers, texts, sound = self._judged(rows)
        problems: list[Problem | None] = [None] * len(rows)
        if sound.all():
            return self._matrix(numbers, texts), problems
        encoded, good = np.full((len(rows), self.dimension), np.nan), np.flatnonzero(sound)
        encoded[good] = self._matrix(numbers[good], [texts[i] for i in good])
        for i in np.flatnonzero(~sound).tolist():
            result = self.try_encode(self.named(rows[i]))
            if isinstance(result, Problem):
                problems[i] = result
            else:
                encoded[i] = result
        return encoded, problems

    def _judged(self, rows: Sequence[Values]) -> tuple[Vector, list[tuple[Any, ...]], NDArray[np.bool_]]:
        """The numbers and texts of rows, and of which of them it is certain that they pass."""
        texts = list(map(self._texts, rows))
        try:
            numbers = self._number_matrix(rows)
        except OverflowError:
            return np.empty((len(rows), len(self._columns))), texts, np.zeros(len(rows), dtype=np.bool_)
        return numbers, texts, self._sound(numbers, texts)

    def violated_constraint(self, features: Features) -> str | None:
        """The first cross-feature constraint that checked raw features break, as ``le: a <= b`` or ``rule 1``."""
        return self._rules.violated(features)

    def _read_carefully(self, features: bytes | Raw) -> Values | Problem:
        try:
            values = self._decode(features)
        except JSON_ERRORS as error:
            return self._misfit(features, error) or Problem("malformed_json", f"features: {error}")
        problem = self.check(self.named(values))
        return values if problem is None else problem

    def _misfit(self, features: bytes | Raw, error: Exception) -> Problem | None:
        """What is wrong with an object of any values; ``error`` tells of what is none, or cannot be held."""
        try:
            return self.check(_decode_features(features))
        except (msgspec.ValidationError, RecursionError):
            return Problem("wrong_type", f"features: {error}")
        except JSON_ERRORS:
            return None

    def _explained(self, features: Features) -> Problem:
        problem = self.check(features)
        assert problem is not None, "try_encode refuses only what check refuses"
        return problem

    def _whole(self, values: Values) -> bool:
        return all(value.is_integer() for value in self._integers(values) if type(value) is float)

    def _known(self, texts: tuple[Any, ...]) -> bool:
        typed = TEXTS.issuperset(map(type, texts))
        return typed and all(text in table.codes for table, text in zip(self._tables, texts, strict=True))

    def _shaped(self, rows: Sequence[Features]) -> Sequence[int]:
        """The rows that have exactly the program's features with values of the right types."""
        return [i for i, row in enumerate(rows) if self._is_shaped(row)]

    def _is_shaped(self, row: Features) -> bool:
        if len(row) != len(self._by_name) or not all(name in row for name in self._by_name):
            return False
        values = self._values(row)
        numbers, texts = self._numbers(values), self._texts(values)
        return NUMBERS.issuperset(map(type, numbers)) and TEXTS.issuperset(map(type, texts))

    def _sound(self, numbers: Vector, texts: list[tuple[Any, ...]]) -> NDArray[np.bool_]:
        """(n,) rows of which it is certain that they pass. An integer that float64 cannot hold is not certain."""
        # A signalling NaN makes numpy warn; it is refused like any other.
        with np.errstate(invalid="ignore"):
            inside = (numbers >= self._lows) & (numbers <= self._highs) & (np.abs(numbers) < EXACT)
            integers = numbers[:, self._integer_columns]
            sound: NDArray[np.bool_] = inside.all(axis=1) & (integers == np.floor(integers)).all(axis=1)
        for table, column in zip(self._tables, zip(*texts, strict=True), strict=False):
            sound &= np.fromiter((text in table.codes for text in column), dtype=np.bool_, count=len(column))
        return sound

    def _number_matrix(self, rows: Sequence[Values]) -> Vector:
        count = len(rows) * len(self._columns)
        numbers = np.fromiter(chain.from_iterable(map(self._numbers, rows)), dtype=np.float64, count=count)
        return numbers.reshape(len(rows), len(self._columns))

    def _vector(self, numbers: Vector, texts: tuple[Any, ...]) -> Vector:
        numbers -= self._low
        numbers /= self._scale
        if not self._tables:
            return numbers
        encoded = np.empty(self.dimension)
        encoded[self._columns] = numbers
        for table, text in zip(self._tables, texts, strict=True):
            encoded[table.columns] = table.block[table.codes[text]]
        return encoded

    def _matrix(self, numbers: Vector, texts: list[tuple[Any, ...]]) -> Vector:
        scaled = numbers - self._low
        scaled /= self._scale
        if not self._tables:
            return scaled
        encoded = np.empty((len(numbers), self.dimension))
        encoded[:, self._columns] = scaled
        for table, column in zip(self._tables, zip(*texts, strict=True), strict=False):
            encoded[:, table.columns] = table.block[[table.codes[text] for text in column]]
        return encoded


class _TextTable:
    """The encoded columns of an ordinal or categorical feature: ``block[codes[value]]``."""

    def __init__(self, feature: Feature, start: int) -> None:
        if feature.levels is not None:
            values = feature.levels
            self.block = (np.arange(len(values)) / (len(values) - 1)).reshape(-1, 1)
        else:
            values = feature.categories or ()
            self.block = np.eye(len(values))
        self.codes = {value: code for code, value in enumerate(values)}
        self.columns = slice(start, start + self.block.shape[1])


def _getter(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """What stands under these keys, as a tuple, also when there are fewer than two of them."""
    if not keys:
        return lambda _: ()
    if len(keys) == 1:
        key = keys[0]
        return lambda items: (items[key],)
    return itemgetter(*keys)


def _decoder(features: Sequence[Feature], kind: Callable[[Feature], Any]) -> Callable[[bytes | Raw], Values]:
    """Reads a JSON object of features. A type made for them is several times as fast as a dict: no name is made."""
    fields = [(f"f{at}", kind(feature)) for at, feature in enumerate(features)]
    rename = {f"f{at}": feature.name for at, feature in enumerate(features)}
    row = msgspec.defstruct("Row", fields, rename=rename, forbid_unknown_fields=True, gc=False)
    decode = msgspec.json.Decoder(row).decode
    return lambda data: msgspec.structs.astuple(decode(data))


def _any_kind(feature: Feature) -> Any:
    return int | float if feature.bounds is not None else str


def _sound_kind(feature: Feature) -> Any:
    """Of which it is certain that it passes; texts apart. What does not fit may still be right: 3.0 is an integer."""
    if feature.bounds is None:
        return str
    low, high = max(feature.bounds[0], 1 - EXACT), min(feature.bounds[1], EXACT - 1)
    kinds: list[Any] = []
    if math.ceil(low) <= math.floor(high):
        kinds.append(Annotated[int, Meta(ge=math.ceil(low), le=math.floor(high))])
    if feature.type != "integer" or not kinds:
        kinds.append(Annotated[float, Meta(ge=low, le=high)])
    return reduce(or_, kinds)


def _problem(feature: Feature, value: object) -> Problem | None:
    if feature.bounds is not None:
        return _number_problem(feature, value, *feature.bounds)
    allowed = feature.levels or feature.categories or ()
    kind = "levels" if feature.levels else "categories"
    if type(value) is not str:
        return Problem(
            "wrong_type", f"{feature.name}: must be one of the {kind} {_listed(allowed)}, not {_kind(value)}"
        )
    if value not in allowed:
        return Problem("unknown_category", f"{feature.name}: {_value(feature, value)} is not one of {_listed(allowed)}")
    return None


def _number_problem(feature: Feature, value: object, low: float, high: float) -> Problem | None:
    if type(value) is not int and type(value) is not float:
        return Problem("wrong_type", f"{feature.name}: must be a number, not {_kind(value)}")
    if value != value or value in (float("inf"), float("-inf")):
        return Problem("not_finite", f"{feature.name}: must be a finite number")
    if not low <= value <= high:
        bounds = f"{_shown(low)} to {_shown(high)}"
        return Problem("out_of_bounds", f"{feature.name}: {_value(feature, value)} is outside {bounds}")
    if feature.type == "integer" and type(value) is float and not value.is_integer():
        return Problem("wrong_type", f"{feature.name}: {_value(feature, value)} is not a whole number")
    return None


def _value(feature: Feature, value: str | float) -> str:
    return "the value" if feature.pii else _shown(value)


def _shown(value: str | float) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN_CHARACTERS else value[:SHOWN_CHARACTERS] + "...")
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"
    return str(int(value) if value == int(value) and abs(value) < EXACT else value)


def _listed(allowed: Sequence[str]) -> str:
    names = ", ".join(map(_shown, allowed[:SHOWN_ALLOWED]))
    return names if len(allowed) <= SHOWN_ALLOWED else f"{names}, ... ({len(allowed)} in all)"


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)
