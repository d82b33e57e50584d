"""The results that a new model would have for the open options of a program, before it is announced.

The results are those of the revalidation that the announcement begins (``revalidation.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....schemas.encoding import Problem
from ....schemas.events import Value
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from .broken_options import verdicts_of
from .promised_options import PromisedOptions

Counts = NDArray[np.int64]

RESULTS = ("cleared", "accepted", "honoured", "broken")
"""The results for an option under a new model: ``cleared`` by its certificate, or scored and ``accepted``; else
rejected, and ``honoured`` where the program judges people by older models."""
_CLEARED, _ACCEPTED, _HONOURED, _BROKEN = range(len(RESULTS))
_QUARTILES = (0.25, 0.5, 0.75)


class ResultCounts(NamedTuple):
    """How many open options have which result."""

    cleared: int = 0
    accepted: int = 0
    honoured: int = 0
    broken: int = 0

    @property
    def open(self) -> int:
        """All of them."""
        return sum(self)

    @property
    def share(self) -> float:
        """The share of the open options that would be broken; 0 where none is open."""
        return self.broken / self.open if self.open else 0.0


class OptionCounts:
    """Counts what a new model would do to open options, in all and by features of the people.

    Parameters
    ----------
    program
        The program that has promised them.
    new
        The new model.
    by
        The names of features of the program's spec. Numbers are grouped by the quartiles of the people.
    now_ms
        The event time of the announcement: an option whose time is over by then expires instead.
    """

    def __init__(self, program: Program, new: ModelBundle, by: Sequence[str], now_ms: int) -> None:
        self._program, self._new, self._now_ms = program, new, now_ms
        names = [feature.name for feature in program.spec.features]
        self._by = {name: names.index(name) for name in by}
        self._values: dict[str, list[Value]] = {name: [] for name in by}
        self._counts: list[Counts] = []
        self.people = 0
        """The people with open options."""
        self.expired = 0
        """The options whose time is over."""

    def add(self, people: Sequence[PromisedOptions], path: float) -> None:
        """Count the options of people, where the models' path has the length ``path`` once the new one is there."""
        in_time = [promise for promise in people if promise.until_ms >= self._now_ms]
        self.expired += sum(len(promise.options) for promise in people) - sum(
            len(promise.options) for promise in in_time
        )
        if not in_time:
            return
        self.people += len(in_time)
        self._counts.append(self._count(in_time, path))
        if self._by:
            for promise in in_time:
                values = self._program.codec.read(promise.features)
                assert not isinstance(values, Problem), "these features have been read before"
                for name, index in self._by.items():
                    self._values[name].append(values[index])

    @property
    def counts(self) -> ResultCounts:
        """The results of all options."""
        return _result_counts(np.concatenate([np.zeros((1, len(RESULTS)), np.int64), *self._counts]))

    def groups(self) -> dict[str, dict[str, ResultCounts]]:
        """The results by feature and group, in the order of the spec's levels, or of numbers."""
        counts = np.concatenate([np.zeros((0, len(RESULTS)), np.int64), *self._counts])
        groups: dict[str, dict[str, ResultCounts]] = {}
        for name, index in self._by.items():
            feature = self._program.spec.features[index]
            texts = feature.levels or feature.categories
            parts = _by_text(self._values[name], texts) if texts else _by_quartile(self._values[name])
            groups[name] = {label: _result_counts(counts[members]) for label, members in parts.items() if members.any()}
        return groups

    def _count(self, people: Sequence[PromisedOptions], path: float) -> Counts:
        """The options of each person by result, (n, 4)."""
        counts = np.zeros((len(people), len(RESULTS)), np.int64)
        counts[:, _HONOURED] = [sum(option.honoured for option in promise.options) for promise in people]
        options = np.array([len(promise.options) for promise in people])
        is_cleared = np.array([promise.path_limit for promise in people]) > path
        counts[is_cleared, _CLEARED] = options[is_cleared] - counts[is_cleared, _HONOURED]
        asked = np.flatnonzero(~is_cleared).tolist()
        rejected = _HONOURED if self._program.spec.promise.grandfather else _BROKEN
        verdicts = verdicts_of(self._program, self._new, [people[row] for row in asked], path)
        for row, verdict in zip(asked, verdicts, strict=True):
            counts[row, _ACCEPTED] += len(verdict.accepted)
            counts[row, rejected] += len(verdict.rejected)
        return counts


def _result_counts(counts: Counts) -> ResultCounts:
    return ResultCounts(*counts.sum(axis=0).tolist())


def _by_text(values: Sequence[Value], texts: Sequence[str]) -> Mapping[str, NDArray[np.bool_]]:
    column = np.array(values, dtype=object)
    return {text: column == text for text in texts}


def _by_quartile(values: Sequence[Value]) -> Mapping[str, NDArray[np.bool_]]:
    """Groups of numbers; fewer than four where quartiles are equal."""
    if not values:
        return {}
    column = np.array(values, dtype=np.float64)
    edges = np.unique(np.quantile(column, _QUARTILES, method="lower"))
    between = [f"over {low:g} to {high:g}" for low, high in pairwise(edges.tolist())]
    labels, places = [f"to {edges[0]:g}", *between, f"over {edges[-1]:g}"], np.searchsorted(edges, column)
    return {label: places == place for place, label in enumerate(labels)}
