"""A Gaussian process with a radial kernel and prior variance 1, by the inverse Cholesky factor, extended row by row.

The matrix products are loops here: a linear algebra library divides them among threads, the rounding depends on the
number of threads, and between equal arms the rounding decides.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onward.agents.compiled import compiled

Array = NDArray[np.float64]


@compiled
def factorise(known: int, rows: Array, reach: float, noise: float, inverse: Array) -> None:
    """Extend ``inverse`` W, lower triangular, in place, so that W (covariance + noise) W' is the identity.

    The first ``known`` of the ``rows`` (n, columns) are in it already.
    """
    solved = np.empty(len(rows))
    for i in range(known, len(rows)):
        shared = covariance(rows[:i], rows[i : i + 1], reach)[:, 0]
        squares = 0.0
        for k in range(i):
            solved[k] = dot(inverse[k], shared, k + 1)
            squares += solved[k] * solved[k]
            inverse[i, k] = 0.0
        scale = math.sqrt(1.0 + noise - squares)
        for k in range(i):
            share = solved[k] / scale
            for j in range(k + 1):
                inverse[i, j] -= share * inverse[k, j]
        inverse[i, i] = 1.0 / scale


@compiled
def predict(inverse: Array, rows: Array, labels: Array, queries: Array, reach: float) -> tuple[Array, Array]:
    """Mean and variance at ``queries`` (F, columns) from ``labels`` (n,) of prior mean 0: (F,) each."""
    shared = covariance(rows, queries, reach)
    mean, variance, solved = np.zeros(len(queries)), np.ones(len(queries)), np.empty(len(queries))
    for i in range(len(rows)):
        solved[:] = 0.0
        for k in range(i + 1):
            weight = inverse[i, k]
            for f in range(len(queries)):
                solved[f] += weight * shared[k, f]
        residual = dot(inverse[i], labels, i + 1)
        for f in range(len(queries)):
            mean[f] += residual * solved[f]
            variance[f] -= solved[f] * solved[f]
    return mean, variance


@compiled
def covariance(some: Array, others: Array, reach: float) -> Array:
    """exp(-distance^2 / (2 reach^2)) of n rows with F others, (n, F); ``reach`` is the length scale."""
    found = np.empty((len(some), len(others)))
    for i in range(len(some)):
        for f in range(len(others)):
            distance = 0.0
            for d in range(some.shape[1]):
                difference = some[i, d] - others[f, d]
                distance += difference * difference
            found[i, f] = math.exp(distance / (-2.0 * reach * reach))
    return found


@compiled
def dot(some: Array, others: Array, count: int) -> float:
    """The product of the first ``count`` numbers, in four sums that a processor computes in parallel."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        one += some[i] * others[i]
        two += some[i + 1] * others[i + 1]
        three += some[i + 2] * others[i + 2]
        four += some[i + 3] * others[i + 3]
    for i in range(whole, count):
        one += some[i] * others[i]
    return (one + two) + (three + four)
