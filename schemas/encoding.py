"""Raw features to the vector that models and learners see.

number       (x - low) / (high - low), with the bounds of the spec, or the wider ones that a model was trained with
ordinal      rank / (levels - 1)
categorical  one column a category, 1 for the value's own and 0 for the others
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec import Raw
from msgspec.structs import replace
from numpy.typing import NDArray

from .cell import codes_within
from .constraints import CrossFeatureRules
from .events import Value
from .feature_check import check_value, no_value, quoted
from .feature_reader import FeatureReader, Features
from .feature_reader import FilledValues as FilledValues
from .feature_reader import Values as Values
from .problems import Problem as Problem
from .spec import Feature, ProgramSpec

SIGNIFICANT_DIGITS = 12
"""Of the bounds of a feature: fewer than a float holds, so that the errors of encoding and decoding are rounded off."""

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


def columns_of(feature: Feature) -> tuple[str, ...]:
    """The names of a feature's encoded columns."""
    if feature.type != "categorical":
        return (feature.name,)
    categories, one_hot = feature.categories or (), feature.one_hot or ()
    unnamed = categories[: len(categories) - len(one_hot)]
    return (*(f"{feature.name}:{category}" for category in unnamed), *one_hot)


def data_columns_of(feature: Feature) -> tuple[str, ...]:
    """The names of a feature's one-hot columns in data files: one less than encoded ones where a category has none."""
    return feature.one_hot or columns_of(feature)


class FeatureCodec:
    """Checks and encodes the features of one program; D is the number of encoded columns.

    The encoding of a row does not depend, bit for bit, on the other rows of a batch.

    Parameters
    ----------
    spec
        The program's spec.
    bounds
        By the names of features, the bounds that they are encoded with where the spec's are narrower: those that the
        program's first model was trained with. Values within them are read; ``outside`` tells which the spec refuses.
    """

    def __init__(self, spec: ProgramSpec, bounds: Mapping[str, tuple[float, float]] | None = None) -> None:
        self.spec = spec
        wider = bounds or {}
        self.features: tuple[Feature, ...] = tuple(
            [replace(feature, bounds=wider.get(feature.name, feature.bounds)) for feature in spec.features]
        )
        """The features of the spec, with the bounds that they are encoded with."""
        blocks = [columns_of(feature) for feature in spec.features]
        self.columns: tuple[str, ...] = tuple(chain.from_iterable(blocks))
        self.dimension = len(self.columns)
        self.feature_of: NDArray[np.intp] = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        """(D,) index into ``spec.features`` of each encoded column."""
        barred = spec.barred
        self.barred = np.array([feature.name in barred for feature in spec.features], dtype=bool)[self.feature_of]
        """(D,) whether an encoded column is one of a feature that the program's models may not read."""
        self.low = np.zeros(self.dimension)
        self.scale = np.ones(self.dimension)
        """(D,) the raw range of an encoded column: hi - lo, levels - 1, or 1 for a category."""
        self._features = {feature.name: feature for feature in self.features}
        self._narrowed = [
            (index, feature) for index, feature in enumerate(spec.features) if feature != self.features[index]
        ]
        self._codes = [
            (index, sorted(codes)) for index, feature in enumerate(spec.features) if (codes := codes_within(feature))
        ]
        """The features that have codes for no value within their bounds, with these."""
        self._missing = {feature.name: feature.missing for feature in spec.features if feature.missing is not None}
        self.keys: int | None = None if self._missing else len(self._features)
        """The number of keys of a JSON object of features; None where features may be left out."""
        self._rules = CrossFeatureRules(spec)
        self._ruled = sorted({*self._rules.features, *(index for index, _ in (*self._narrowed, *self._codes))})
        """The features that rows may break a rule by."""
        self._reader = FeatureReader(self.features, self.check)
        self._lay_out()
        for array in (self.feature_of, self.barred, self.low, self.scale):
            array.setflags(write=False)

    def _lay_out(self) -> None:
        """Numbers are encoded by arithmetic, all at once; each feature of texts by its table."""
        features = self.features
        starts = self._starts = np.searchsorted(self.feature_of, np.arange(len(features))).tolist()
        self.digits = [_digits(feature) for feature in features]
        """Decimal places to which raw numbers are rounded when they are computed from encoded ones."""
        numbers = [index for index, feature in enumerate(features) if feature.bounds is not None]
        texts = [index for index, feature in enumerate(features) if feature.bounds is None]
        for index in numbers:
            low, high = features[index].bounds or (0.0, 1.0)
            self.low[starts[index]], self.scale[starts[index]] = low, high - low
        self._tables = [_TextTable(features[index], starts[index]) for index in texts]
        for table in self._tables:
            self.scale[table.columns] = table.scale
        self._row = _tuple_getter([feature.name for feature in features])
        self._numbers, self._texts = _tuple_getter(numbers), _tuple_getter(texts)
        self._number_columns = np.array([starts[index] for index in numbers], dtype=np.intp)
        self._low, self._scale = self.low[self._number_columns], self.scale[self._number_columns]

    def readable(self, X: Vector) -> Vector:
        """Encoded rows (n, D) as the program's models may be fitted on them: barred columns are 0 in every row."""
        return np.where(self.barred, 0.0, X) if self.barred.any() else X

    def check(self, features: Features) -> Problem | None:
        """The first problem of raw features: ``missing_feature``, then ``unknown_feature``, then that of a value, in
        the order of the spec. A feature with a ``missing`` value in the spec may be absent or None."""
        features = self.completed(features)
        for name, feature in self._features.items():
            if name not in features:
                return Problem("missing_feature", f"{name}: missing")
            if features[name] is None:
                return no_value(feature, None)
        for name in features:
            if name not in self._features:
                return Problem("unknown_feature", f"{quoted(name)}: not a feature of program {self.spec.program}")
        problems = (check_value(feature, features[name]) for name, feature in self._features.items())
        return next((problem for problem in problems if problem is not None), None)

    @property
    def is_narrowed(self) -> bool:
        """Whether the spec refuses values that can be encoded."""
        return bool(self._narrowed)

    def outside(self, features: bytes | Raw) -> Problem | None:
        """The first value of a JSON object of features that can be encoded and is outside the spec's bounds."""
        if not self._narrowed:
            return None
        values = self.read(features)
        if isinstance(values, Problem):
            return None
        problems = (check_value(feature, values[index]) for index, feature in self._narrowed)
        return next((problem for problem in problems if problem is not None), None)

    def completed(self, features: Features) -> Mapping[str, Value]:
        """Checked features with the spec's ``missing`` value for each that is absent or None and has one."""
        absent = {name: value for name, value in self._missing.items() if features.get(name) is None}
        return cast(Mapping[str, Value], {**features, **absent} if absent else features)

    def violated_constraint(self, features: Features) -> str | None:
        """The first cross-feature constraint that checked raw features violate, as ``le: a <= b`` or ``rule 1``."""
        return self._rules.violated(self.completed(features))

    def broken_constraints(self, people: Iterable[Features]) -> Mapping[str, int]:
        """How many of the people, with checked raw features, break a cross-feature constraint first, by constraint."""
        return Counter(broken for broken in map(self.violated_constraint, people) if broken is not None)

    def keep_rules(self, encoded: Vector) -> NDArray[np.bool_]:
        """Whether encoded rows (n, D) keep the cross-feature constraints and the spec's bounds, (n,).

        A row with a number that stands for no value does not. People have none: theirs is read as ``missing``.
        """
        if not (self.spec.constraints.le or self.spec.constraints.rules or self._narrowed or self._codes):
            return np.ones(len(encoded), dtype=bool)
        codes = self._codes_of(encoded, self._ruled)
        kept = self._rules.kept(codes)
        for index, feature in self._narrowed:
            low, high = feature.bounds or (-math.inf, math.inf)
            kept &= (low <= codes[:, index]) & (codes[:, index] <= high)
        for index, not_given in self._codes:
            kept &= ~np.isin(codes[:, index], not_given)
        return kept

    def codes(self, encoded: Vector) -> Vector:
        """The raw numbers of encoded rows, (n, F) from (n, D); of a level or category its index.

        Numbers are rounded to ``digits``, so that a number of no more digits is the one that was encoded.
        """
        return np.ascontiguousarray(self._codes_of(encoded, range(len(self._starts))))

    def _codes_of(self, encoded: Vector, features: Iterable[int]) -> Vector:
        """The codes of some features; those of the others are left open."""
        codes: Vector = np.empty((len(self._starts), len(encoded)))
        for index in features:
            start, categories = self._starts[index], self.spec.features[index].categories
            if categories is not None:
                codes[index] = encoded[:, start : start + len(categories)].argmax(axis=1)
            else:
                raw = self.low[start] + encoded[:, start] * self.scale[start]
                codes[index] = raw.round(self.digits[index])
        return codes.T

    def value(self, index: int, code: float) -> Value:
        """The raw value of a feature's code."""
        feature = self.spec.features[index]
        if feature.values:
            return feature.values[round(code)]
        return round(code) if feature.type == "integer" else code

    def encoded(self, index: int, value: Value) -> Vector:
        """The encoded columns (c,) of one value of a feature."""
        start = self._starts[index]
        for table in self._tables:
            if table.columns.start == start:
                return np.asarray(table.encoded[table.codes[cast(str, value)]])
        return np.array([(cast(float, value) - self.low[start]) / self.scale[start]])

    def changed_codes(self, people: Vector, targets: Vector) -> ChangedCodes:
        """The ``codes`` of n encoded targets (n, D) where they differ from encoded people (n, D)."""
        changed = np.logical_or.reduceat(people != targets, self._starts, axis=1)
        rows, features = np.nonzero(changed)
        ends = np.searchsorted(rows, np.arange(len(targets) + 1))
        return ChangedCodes(ends, features, self.codes(targets)[rows, features])

    def changed_values(self, changed: ChangedCodes, row: int) -> list[tuple[int, Value]]:
        """The features that a target changes, in the order of the spec, each with its raw value."""
        changes = slice(changed.ends.item(row), changed.ends.item(row + 1))
        features, codes = changed.features[changes].tolist(), changed.codes[changes].tolist()
        return [(feature, self.value(feature, code)) for feature, code in zip(features, codes, strict=True)]

    def read(self, features: bytes | Raw) -> Values | Problem:
        """The values of a JSON object of features, or its problem: one of ``check``, or why it cannot be decoded."""
        return self._reader.read(features)

    def encode_many(self, rows: Sequence[Features]) -> Vector:
        """(n, D) encoded rows. They must have passed ``check``."""
        return self.encode_read(list(map(self._row, map(self.completed, rows) if self._missing else rows)))

    def encode_read(self, rows: Sequence[Values]) -> Vector:
        """(n, D) encoded values, which ``read`` has returned."""
        count = len(rows) * len(self._number_columns)
        of_rows = map(self._numbers, rows) if self._tables else rows
        numbers = np.fromiter(chain.from_iterable(of_rows), dtype=np.float64, count=count)
        scaled = (numbers.reshape(len(rows), len(self._number_columns)) - self._low) / self._scale
        if not self._tables:
            return scaled
        encoded = np.empty((len(rows), self.dimension))
        encoded[:, self._number_columns] = scaled
        for table, column in zip(self._tables, zip(*map(self._texts, rows), strict=True), strict=False):
            encoded[:, table.columns] = table.encoded[[table.codes[text] for text in column]]
        return encoded


class ChangedCodes(NamedTuple):
    """The features that n targets change, ascending, and their codes, both (C,).

    Those of target i stand from ``ends[i]`` to ``ends[i + 1]``.
    """

    ends: Indices
    features: Indices
    codes: Vector


def _digits(feature: Feature) -> int:
    if feature.type != "continuous" or feature.bounds is None:
        return 0
    return max(0, SIGNIFICANT_DIGITS - math.ceil(math.log10(max(map(abs, feature.bounds)))))


class _TextTable:
    """The encoding of an ordinal or categorical feature: ``encoded[codes[value]]`` for the slice ``columns``."""

    def __init__(self, feature: Feature, start: int) -> None:
        count = len(feature.values)
        if feature.levels is not None:
            self.scale = count - 1
            self.encoded = (np.arange(count) / self.scale).reshape(-1, 1)
        else:
            self.scale = 1
            self.encoded = np.eye(count)
        self.codes = {value: code for code, value in enumerate(feature.values)}
        self.columns = slice(start, start + self.encoded.shape[1])


def _tuple_getter(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """``itemgetter`` that returns a tuple for fewer than two keys as well."""
    if not keys:
        return lambda _: ()
    if len(keys) == 1:
        key = keys[0]
        return lambda items: (items[key],)
    return itemgetter(*keys)
