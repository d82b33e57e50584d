"""The targets of one person that a search for plans has scored, and what the cheapest valid ones cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..contract import Array, Indices, Mask
from .lattice import Lattice
from .plan_order import PlanTables, least_costs, lower_bounds

ScoreLevels = Callable[[Indices], tuple[Array, Mask]]
"""The log odds (R,) of targets (R, M) of a lattice, each a level of every movable feature, and which of them count."""


class PlanTargets:
    """Scores targets, and remembers the valid ones.

    Levels of a feature that cost the same are one *entry*. A target is a row (M,) of levels, or of entries where only
    its cost matters.

    Parameters
    ----------
    lattice
        What the person may become.
    tables
        What that costs under S samples.
    score
        The model and the rules.
    longest
        The most steps of a plan.
    """

    def __init__(self, lattice: Lattice, tables: PlanTables, score: ScoreLevels, longest: int) -> None:
        distinct = [_distinct(lattice, tables, m) for m in range(len(lattice.features))]
        entries = lattice.only(distinct)
        self._score, self._longest = score, longest
        self._level = lattice.places(distinct)
        self._entry, self._count = _entries(lattice, entries)
        self.levels = entries.levels
        """The entries."""
        self.tables = tables._replace(alone=tables.alone[self._level])
        """The costs of their steps."""
        self.bound = _dearest(entries, self.tables)
        """The cost of the cheapest known plan under each sample, (S,); before any is known, more than all."""
        self.rows = 0
        """How many targets were scored."""
        self._valid: list[tuple[Indices, Indices]] = []
        self.start = lattice.first[:-1].copy()
        """The person as they are: the own levels, (M,)."""

    @property
    def valid(self) -> tuple[Indices, Indices]:
        """The valid targets that were scored, each once: entries (n, M) and levels (n, M)."""
        none = np.zeros((0, len(self.start)), np.intp)
        entries, levels = map(np.concatenate, zip((none, none), *self._valid, strict=True))
        _, first = np.unique(entries, axis=0, return_index=True)
        return entries[first], levels[first]

    def entries(self, levels: Indices) -> Indices:
        """The entries of levels of any shape."""
        return self._entry[levels]

    def size(self, entries: Indices) -> Indices:
        """The number of targets (n,) that rows of entries (n, M) stand for."""
        return np.asarray(self._count[entries].prod(axis=1))

    def lower(self, levels: Indices) -> Array:
        """A lower bound of the costs of targets (R, M), (R, S)."""
        return lower_bounds(self._entry[levels], self.levels, self.tables)

    def score(self, levels: Indices) -> tuple[Array, Mask]:
        """The log odds (R,) of targets (R, M), and which are valid changes; these are remembered."""
        log_odds, valid = self._scored(levels)
        valid = valid & (levels != self.start).any(axis=1)
        if valid.any():
            order = np.argsort(-log_odds[valid], kind="stable")
            self._keep(self._entry[levels[valid]][order], levels[valid][order])
        return log_odds, valid

    def score_entries(self, entries: Indices) -> None:
        """Score all targets that rows of entries (n, M) stand for; the best of the valid ones of each row counts."""
        levels, owner = self._levels_of(entries)
        log_odds, valid = self._scored(levels)
        if not valid.any():
            return
        levels, owner, log_odds = levels[valid], owner[valid], log_odds[valid]
        order = np.lexsort((-log_odds, owner))
        first = np.append(True, np.diff(owner[order]) > 0)
        best = order[first]
        self._keep(entries[owner[best]], levels[best])

    def _scored(self, levels: Indices) -> tuple[Array, Mask]:
        self.rows += len(levels)
        return self._score(levels)

    def _levels_of(self, entries: Indices) -> tuple[Indices, Indices]:
        """The targets (R, M) that rows of entries stand for, and the row that each is of, (R,)."""
        counts = self._count[entries]
        total = counts.prod(axis=1)
        owner = np.repeat(np.arange(len(entries)), total)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)
        levels = self._level[entries][owner]
        for m in np.flatnonzero((counts > 1).any(axis=0)):
            count = counts[owner, m]
            levels[:, m] += number % count
            number //= count
        return levels, owner

    def _keep(self, entries: Indices, levels: Indices) -> None:
        """Remember valid targets, and what plans cost at most from now on."""
        self._valid.append((entries, levels))
        least = least_costs(entries, self._longest, self.levels, self.tables)
        self.bound = np.minimum(self.bound, least.min(axis=0))


def _dearest(lattice: Lattice, tables: PlanTables) -> Array:
    """More than any plan costs, (S,): the dearest level of each feature, at the dearest values of all others."""
    added = tables.base + np.maximum(tables.influence, 0.0).sum(axis=0)
    taken = np.arange(lattice.path.shape[1]) < lattice.steps[:, np.newaxis]
    dearest = np.maximum(tables.floor, tables.alone + added[lattice.feature_of][:, np.newaxis])
    of_level = (dearest * taken[:, :, np.newaxis]).sum(axis=1)
    most = np.maximum.reduceat(of_level, lattice.first[:-1]) if len(lattice.features) else of_level[:1]
    return np.asarray(1.0 + tables.stop + most.sum(axis=0))


def _distinct(lattice: Lattice, tables: PlanTables, m: int) -> Indices:
    """The levels of a movable feature that differ in what they cost; the first where all cost the same."""
    levels = np.arange(lattice.first[m] + 1, lattice.first[m + 1])
    alike = all((array[levels] == array[levels[:1]]).all() for array in (lattice.steps, lattice.path, tables.alone))
    return levels[:1] if alike else levels


def _entries(lattice: Lattice, entries: Lattice) -> tuple[Indices, Indices]:
    """The entry of each level, and how many levels each entry stands for."""
    entry, counts = np.zeros(len(lattice.steps), np.intp), np.ones(len(entries.steps), np.intp)
    for m, (start, stop) in enumerate(zip(lattice.first[:-1], lattice.first[1:], strict=True)):
        first, last = entries.first[m], entries.first[m + 1]
        if last - first == stop - start:
            entry[start:stop] = np.arange(first, last)
        else:
            entry[start], entry[start + 1 : stop] = first, first + 1
            counts[first + 1] = stop - start - 1
    return entry, counts
