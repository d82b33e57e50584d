"""The population of a bundle, feature by feature: costs in percentiles need no more, and no row of it is a
person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ....schemas.events import Value
from ....schemas.problems import JSON_ERRORS
from ....schemas.spec import FeatureType

QUANTILES = 200
"""Most values of a number that are kept. A cost in percentiles is right to half a per cent."""
LARGEST_SIZE = 1000
NUMBERS: frozenset[FeatureType] = frozenset({"continuous", "integer"})


class KeptPopulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The quantiles of each number, evenly spaced, and how many people have each level of the other features."""

    numbers: dict[str, list[int | float]]
    levels: dict[str, dict[str, Annotated[int, Meta(ge=0, le=1 << 40)]]]
    size: Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]

    def rows(self) -> list[dict[str, Value]]:
        """Rows with these values, ``size`` in all: every feature is sorted on its own."""
        columns: dict[str, Sequence[Value]] = {}
        for name, values in self.numbers.items():
            columns[name] = [values[row * len(values) // self.size] for row in range(self.size)]
        for name, counts in self.levels.items():
            ends = [*accumulate(counts.values())]
            places = (np.arange(self.size) + 0.5) * (ends[-1] / max(self.size, 1))
            names = list(counts)
            columns[name] = [names[place] for place in np.searchsorted(ends, places, side="right").tolist()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def population_of(rows: Sequence[Mapping[str, Value]], types: Mapping[str, FeatureType]) -> KeptPopulation:
    """The population that raw rows are a sample of."""
    size = len(rows)
    kept = [int((number + 0.5) * size / min(size, QUANTILES)) for number in range(min(size, QUANTILES))]
    numbers: dict[str, list[int | float]] = {}
    levels: dict[str, dict[str, int]] = {}
    for name, kind in types.items():
        if kind in NUMBERS:
            values = sorted(value for row in rows if not isinstance(value := row[name], str))
            numbers[name] = [values[place] for place in kept]
        else:
            levels[name] = dict(sorted(Counter(str(row[name]) for row in rows).items()))
    return KeptPopulation(numbers, levels, min(size, LARGEST_SIZE))


def read_population(content: bytes, types: Mapping[str, FeatureType]) -> list[dict[str, Value]]:
    """The rows of a population's file, features in the order of ``types``. Raises ValueError for another file."""
    try:
        population = msgspec.json.decode(content, type=KeptPopulation)
    except JSON_ERRORS as error:
        raise ValueError(f"not a population: {error}") from None
    for name, kind in types.items():
        values = population.numbers.get(name) if kind in NUMBERS else population.levels.get(name)
        if values is None or (
            population.size and not sum(values.values() if isinstance(values, dict) else [len(values)])
        ):
            raise ValueError(f"it tells nothing of {name}")
    return [{name: row[name] for name in types} for row in population.rows()]
