"""The metrics of the paper (section 4.1) of a set of rows for one person, and their means over people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .data import Array, DataSet, Rows
from .sampler import UNREACHABLE, cost_of

THRESHOLDS = (0.5, 1.0, 2.0, 3.0)
"""The k of FS@k; table 1 has k = 1."""


class Measures(NamedTuple):
    """Of one set: the shares of the hidden cost functions that it satisfies (FS, by ``THRESHOLDS``) and covers.

    ``cost`` is the sum of the least costs of those that are covered, by the number of all. The EMC and the measures of
    distance follow.
    """

    satisfied: Array
    covered: float
    cost: float
    emc: float
    diversity: float
    proximity: float
    sparsity: float
    validity: float


def measure(data: DataSet, person: Rows, rows: Rows, hidden: Array, costs: Array, size: int) -> Measures:
    """The measures of ``rows`` (R, F) as a set of at most ``size`` for a person (F,).

    ``hidden`` (V, H) are the cost functions that are judged by, ``costs`` (V, M) those of the EMC. Only the different
    rows count that the classifier accepts.
    """
    rows = np.unique(rows, axis=0) if len(rows) else rows.reshape(0, len(person))
    rows = rows[data.accepts(rows)] if len(rows) else rows
    least = cost_of(data, rows, hidden).min(axis=0, initial=np.inf)
    covered = least < UNREACHABLE
    sampled = cost_of(data, rows, costs).min(axis=0, initial=np.inf)
    return Measures(
        satisfied=np.array([(least <= threshold).mean() for threshold in THRESHOLDS]),
        covered=float(covered.mean()),
        cost=float(least[covered].sum() / len(least)),
        emc=float(np.where(sampled < UNREACHABLE, sampled, len(person)).mean()),
        diversity=diversity(data, rows),
        proximity=float(1.0 - distance(data, rows, person).mean()) if len(rows) else np.nan,
        sparsity=float(1.0 - (rows != person).mean()) if len(rows) else np.nan,
        validity=len(rows) / size,
    )


def distance(data: DataSet, rows: Rows, other: Rows) -> Array:
    """The distance of rows (R, F) from another (F,): the mean over the features, whose ranges have the length 1."""
    unit = np.where(data.is_integer, data.span, 1)
    shift = np.where(data.is_integer, np.abs(rows - other), rows != other)
    mean: Array = (shift / unit).mean(axis=1)
    return mean


def diversity(data: DataSet, rows: Rows) -> float:
    """The mean distance of two rows; 0 of fewer."""
    pairs = [distance(data, rows[number + 1 :], row) for number, row in enumerate(rows[:-1])]
    return float(np.concatenate(pairs).mean()) if pairs else 0.0


def summary(measures: Sequence[Measures], threshold: float = 1.0) -> dict[str, tuple[float, float]]:
    """The means over people and their standard errors, by the names that the paper uses; shares are in per cent.

    PAC is the mean least cost of all covered pairs of a person and a cost function.
    """
    at = THRESHOLDS.index(threshold)
    covered = np.array([one.covered for one in measures])
    paid = np.array([one.cost for one in measures])
    pac = paid.sum() / covered.sum() if covered.any() else np.nan
    columns = {
        f"FS@{threshold:g}": 100.0 * np.array([one.satisfied[at] for one in measures]),
        "Cov": 100.0 * covered,
        "Div": 100.0 * np.array([one.diversity for one in measures]),
        "Prox": 100.0 * np.array([one.proximity for one in measures]),
        "Spars": 100.0 * np.array([one.sparsity for one in measures]),
        "Val": 100.0 * np.array([one.validity for one in measures]),
        "EMC": np.array([one.emc for one in measures]),
    }
    found = {name: (_mean(column), _standard_error(column)) for name, column in columns.items()}
    deviations = (paid - pac * covered) / covered.mean() if covered.any() else paid
    return found | {"PAC": (float(pac), _standard_error(deviations))}


def _mean(values: Array) -> float:
    """The mean of the values that are known; not a number where none is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _standard_error(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
