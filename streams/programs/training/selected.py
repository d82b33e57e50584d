"""What rows without a label are for: they say what people are like, who gets a label, and whom the model approves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....agents.goals import accepted
from ....schemas.events import Value
from ..selected_labels import APPROVED, OTHERS_APPROVED
from .fitted_model import Trained
from .others import SEED, drawn

Floats = NDArray[np.float64]

REFERENCE_ROWS = 5000
"""Rows that are kept as the population of percentile costs."""


def with_rejected_others(trained: Trained, rejected: Floats) -> Floats:
    """Rejected people (n, D), and those whom the model rejects of the rows without a label, mixed."""
    others = trained.table.other_X
    if others is None or not len(others):
        return rejected
    people = np.concatenate([rejected, others[~_approves(trained, others)]])
    return people[np.random.RandomState([SEED, 2]).permutation(len(people))]


def approved_others(trained: Trained) -> list[Mapping[str, Value]]:
    """The raw rows without a label that the model approves; none where the spec reads none."""
    others, rows = trained.table.other_X, trained.table.others
    if others is None or not len(others):
        return []
    return [rows[row] for row in np.flatnonzero(_approves(trained, others)).tolist()]


def _approves(trained: Trained, X: Floats) -> NDArray[np.bool_]:
    return np.asarray(accepted(trained.model.score(X), trained.loaded.spec.model.threshold))


def population_rows(trained: Trained, seed: int) -> list[Mapping[str, Value]]:
    """Raw rows that say what people are like: of those with a label, and as large a share of those without one."""
    table, split = trained.table, trained.split
    if not table.others:
        return trained.raw(split.population[:REFERENCE_ROWS])
    others = [table.others[row] for row in drawn(table, len(split.population), 1).tolist()]
    rows = [*trained.raw(split.population), *others]
    order = np.random.RandomState([seed, SEED]).permutation(len(rows))[:REFERENCE_ROWS]
    return [rows[row] for row in order.tolist()]


def approved_shares(trained: Trained) -> dict[str, float]:
    """Which share of the people with and without a label the model approves; nothing where none are read."""
    others = trained.table.other_X
    if others is None or not len(others):
        return {}
    of_others = float(_approves(trained, others).mean())
    return {APPROVED: float(trained.approves(trained.split.judged).mean()), OTHERS_APPROVED: of_others}
