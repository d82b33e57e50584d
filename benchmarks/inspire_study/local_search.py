"""Basic local search of the paper's table 2: a whole set is perturbed, and kept where its objective improves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .cols import EDITS
from .data import Array, DataSet, Mask, Rows
from .metrics import distance, diversity
from .sampler import FORBIDDEN, cost_of

Objective = Callable[[DataSet, Rows, Rows, Mask, Array], float]
"""What is minimised, of a person (F,), a set (N, F), which of its rows are valid, and cost functions (V, M)."""


def local_search(
    data: DataSet,
    person: Rows,
    costs: Array,
    random: np.random.Generator,
    objective: Objective,
    size: int = 10,
    budget: int = 3000,
) -> Rows:
    """The best set (N, F) that is found with a budget of model rows."""
    best = _perturbed(data, np.repeat(person[np.newaxis], size, axis=0), random)
    score = objective(data, person, best, data.accepts(best), costs)
    for _ in range(budget // size - 1):
        other = _perturbed(data, best, random)
        found = objective(data, person, other, data.accepts(other), costs)
        if found < score:
            best, score = other, found
    return best


def _perturbed(data: DataSet, rows: Rows, random: np.random.Generator) -> Rows:
    """The rows with other values of one or two features, whether they may change or not, as the authors have it."""
    size = len(rows)
    order = random.random(rows.shape).argsort(axis=1)
    edits = random.integers(1, EDITS + 1, size=size)
    drawn = data.low + (random.random(rows.shape) * (data.span + 1)).astype(np.int64)
    shift = 1 + (random.random(rows.shape) * np.maximum(data.span, 1)).astype(np.int64)
    other = np.where(data.is_integer, drawn, (rows + shift) % (data.span + 1))
    return np.where(order.argsort(axis=1) < edits[:, np.newaxis], other, rows)


def _valid(rows: Rows, valid: Mask) -> Rows:
    return np.unique(rows[valid], axis=0)


def by_diversity(data: DataSet, _: Rows, rows: Rows, valid: Mask, __: Array) -> float:
    """Diversity and validity."""
    kept = _valid(rows, valid)
    return -(diversity(data, kept) + len(kept) / len(rows)) / 2.0


def by_proximity(data: DataSet, person: Rows, rows: Rows, valid: Mask, _: Array) -> float:
    """Proximity and validity."""
    kept = _valid(rows, valid)
    near = 1.0 - distance(data, kept, person).mean() if len(kept) else -FORBIDDEN
    return -(near + len(kept) / len(rows)) / 2.0


def by_sparsity(_: DataSet, person: Rows, rows: Rows, valid: Mask, __: Array) -> float:
    """Sparsity and validity."""
    kept = _valid(rows, valid)
    few = 1.0 - (kept != person).mean() if len(kept) else 0.0
    return -(few + len(kept) / len(rows)) / 2.0


def by_emc(data: DataSet, _: Rows, rows: Rows, valid: Mask, costs: Array) -> float:
    """The mean least cost."""
    least = cost_of(data, rows[valid], costs).min(axis=0, initial=np.inf)
    return float(np.minimum(least, np.inf if valid.all() else FORBIDDEN).mean())


OBJECTIVES: Mapping[str, Objective] = {
    "diversity": by_diversity,
    "proximity": by_proximity,
    "sparsity": by_sparsity,
    "EMC": by_emc,
}
