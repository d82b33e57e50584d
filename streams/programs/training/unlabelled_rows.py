"""The rows without a label that stand beside those with one: they say what people are like, and who gets a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ....schemas.events import Value
from ....schemas.table import Table

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Approves = Callable[[Floats], NDArray[np.bool_]]
"""Which of some encoded rows (n, D) a model approves."""

SEED = 44
"""Beside that of training."""
REFERENCE_ROWS = 5000
"""Rows that are kept as the population of percentile costs."""


def others_beside(table: Table, count: int) -> Floats | None:
    """The rows without a label (m, D) beside ``count`` ones with a label; None where the spec reads none.

    They are drawn evenly, as large a share of all such rows as ``count`` is of those with a label, so that the share of
    people with a label is that of the file.
    """
    return None if table.other_X is None else table.other_X[_drawn(table, count, 0)]


def with_rejected(table: Table, approves: Approves, rejected: Floats) -> Floats:
    """Rejected people (n, D), and those whom the model rejects of the rows without a label, mixed."""
    others = table.other_X
    if others is None or not len(others):
        return rejected
    people = np.concatenate([rejected, others[~approves(others)]])
    return people[np.random.RandomState([SEED, 2]).permutation(len(people))]


def approved_others(table: Table, approves: Approves) -> list[Mapping[str, Value]]:
    """The raw rows without a label that the model approves; none where the spec reads none."""
    others = table.other_X
    if others is None or not len(others):
        return []
    return [table.others[row] for row in np.flatnonzero(approves(others)).tolist()]


def population_rows(table: Table, rows: Indices, seed: int) -> list[Mapping[str, Value]]:
    """Raw rows that say what people are like: some ``rows``, and as large a share of those without a label."""
    if not table.others:
        return [table.rows[row] for row in rows[:REFERENCE_ROWS].tolist()]
    others = [table.others[row] for row in _drawn(table, len(rows), 1).tolist()]
    people = [*(table.rows[row] for row in rows.tolist()), *others]
    order = np.random.RandomState([seed, SEED]).permutation(len(people))[:REFERENCE_ROWS]
    return [people[row] for row in order.tolist()]


def _drawn(table: Table, count: int, purpose: int) -> Indices:
    """Numbers of rows without a label: the share of them that ``count`` is of the rows with one."""
    others, labelled = len(table.others), len(table.rows)
    drawn = np.random.RandomState([SEED, purpose]).permutation(others)
    return np.sort(drawn[: round(others * count / labelled)])
