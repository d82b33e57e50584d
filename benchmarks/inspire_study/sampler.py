"""The authors' sampler of cost functions (algorithms 2 to 4 of the paper), as their code has it and as printed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .data import Array, DataSet, Feature, Rows

FORBIDDEN = 99999.0
"""What the authors' code lets a change cost that a person cannot make."""
UNREACHABLE = 100.0
"""Costs of this or more hold a forbidden change."""
EPSILON = 1e-7
DIGITS = 4
"""Costs are rounded to this number of decimals before noise is added."""


class Sampling(NamedTuple):
    """How cost functions are sampled. As the authors' code does it: ``AS_CODED``; as the paper says: ``AS_PRINTED``.

    ``swaps_ends`` is whether a weight of exactly 0 gives the linear cost, and of 1 the percentile cost, though the
    weight is that of the linear cost elsewhere. ``variance`` is that of the noise. ``shares_alpha`` is whether
    the functions that are optimised for have the weight of the person's hidden function.
    """

    swaps_ends: bool
    variance: float
    shares_alpha: bool


AS_CODED = Sampling(swaps_ends=True, variance=0.001, shares_alpha=True)
AS_PRINTED = Sampling(swaps_ends=False, variance=0.01**2, shares_alpha=False)


class CostFunctions(NamedTuple):
    """M cost functions of one person: ``costs`` (V, M) is the cost of each value of each feature, one after the other.

    ``editable`` (M, F) are the features that each lets change, ``preference`` (M, F) how much they are preferred,
    ``alpha`` (M,) the weight of the linear cost.
    """

    costs: Array
    editable: NDArray[np.bool_]
    preference: Array
    alpha: Array


def draw_alpha(random: np.random.Generator, size: int | None = None) -> Array:
    """Weights of the linear cost."""
    return np.asarray(np.round(random.uniform(size=size), 2))


def sample(
    data: DataSet,
    person: Rows,
    count: int,
    alpha: Array | float,
    random: np.random.Generator,
    sampling: Sampling = AS_CODED,
    editable: NDArray[np.bool_] | None = None,
) -> CostFunctions:
    """``count`` cost functions of a person (F,), whose weights ``alpha`` are (count,) or the same for all.

    ``editable`` (count, F) takes the place of the drawn features.
    """
    if editable is None:
        editable = _draw_editable(data, count, random)
    weight = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (count,))
    preference = random.exponential(size=editable.shape) * editable
    preference /= preference.sum(axis=1, keepdims=True)
    costs = np.full((data.offsets[-1], count), FORBIDDEN)
    for number, feature in enumerate(data.features):
        own = int(person[number]) - feature.low
        block = costs[data.offsets[number] : data.offsets[number + 1]]
        block[own] = 0.0
        # Values that may not be reached cost the same in every function.
        values, chosen = _allowed(feature, own), np.flatnonzero(editable[:, number])
        mean = _mean(feature, own, values, preference[chosen, number], weight[chosen], random, sampling)
        block[np.ix_(values, chosen)] = _noisy(mean, sampling.variance, random)
    return CostFunctions(costs, editable, preference, weight)


def cost_of(data: DataSet, rows: Rows, costs: Array) -> Array:
    """What rows (R, F) cost, (R, M), by ``costs`` (V, M)."""
    places = rows - data.low + data.offsets[:-1]
    total: Array = costs[places].sum(axis=1)
    return total


def _draw_editable(data: DataSet, count: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Uniformly many of the features that are not fixed, drawn without replacement, (count, F)."""
    free = data.editable
    numbers = random.integers(1, len(free) + 1, size=count)
    ranks = random.uniform(size=(count, len(free))).argsort(axis=1).argsort(axis=1)
    editable = np.zeros((count, len(data.features)), dtype=np.bool_)
    editable[:, free] = ranks < numbers[:, np.newaxis]
    return editable


def _allowed(feature: Feature, own: int) -> NDArray[np.intp]:
    """The places of the values other than one's own that a feature may take."""
    values = np.arange(feature.values)
    if feature.kind == "fixed":
        return values[:0]
    allowed: NDArray[np.intp] = values[(values != own) & ((values - own) * feature.direction >= 0)]
    return allowed


def _mean(
    feature: Feature,
    own: int,
    values: NDArray[np.intp],
    preference: Array,
    alpha: Array,
    random: np.random.Generator,
    sampling: Sampling,
) -> Array:
    """The costs of values (v,) before noise, (v, m), for preferences and weights (m,)."""
    shape = len(values), len(alpha)
    if feature.kind == "ordered":
        room = np.where(values > own, feature.values - 1 - own, own)
        linear = np.repeat((np.abs(values - own) / room)[:, np.newaxis], shape[1], axis=1)
        percentile = np.abs(feature.percentile[values] - feature.percentile[own])[:, np.newaxis]
    else:
        linear, percentile = random.uniform(size=shape), random.uniform(size=shape)
    linear, percentile = (np.round(shift * (1.0 - preference), DIGITS) for shift in (linear, percentile))
    mean = np.round(linear * alpha + percentile * (1.0 - alpha), DIGITS)
    if sampling.swaps_ends:
        mean = np.where(alpha == 0.0, linear, np.where(alpha == 1.0, percentile, mean))
    return np.asarray(mean)


def _noisy(mean: Array, variance: float, random: np.random.Generator) -> Array:
    """Beta distributed costs of these means; a mean of 0 stays.

    A mean so near to 0 or 1 that no Beta distribution has this variance becomes all but a coin, as in the authors'
    code.
    """
    positive = mean > 0.0
    m, v = np.minimum(mean[positive] + EPSILON, 1.0 - 1.1 * EPSILON), variance + EPSILON
    first = ((1.0 - m) / v - 1.0 / m) * m**2
    first = np.where(first < 0.0, EPSILON, first)
    costs = np.zeros(mean.shape)
    costs[positive] = random.beta(first, first * (1.0 / m - 1.0))
    return costs
