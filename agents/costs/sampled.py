"""Sampled costs: a person's cost function is unknown, so options cost something else in each of several samples."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from typing import Annotated, NamedTuple, Self

import numpy as np

from ..arrays import Mask
from ..compiled import compiled
from ..parameters import Interval
from .contract import Array, Columns, Cost, Indices
from .preferences import STRENGTH, Preferences, prior_shares
from .shifts import Percentile

FORBIDDEN = 1e9
"""What a change of a feature costs that a sample would not change, before it is infinite."""

POPULATIONS = 16
"""How many populations are kept for which the weights of the samples are known: some shards, and what each believes."""


class Draws(NamedTuple):
    """The numbers from which S samples of a person are made, whatever is believed of the population.

    A sample would change a feature where its ``place`` (S, F), uniform between 0 and 1, is below the share of people
    who would. ``taste`` (S, F) are exponential: their shares among the features that it would change are Dirichlet
    distributed. ``weight`` (S,) is uniform, that of the linear cost in a mixed one. ``entering`` (2, S, D) is what it
    costs, at most 1, to enter a category, as a linear and as a percentile cost.
    """

    place: Array
    taste: Array
    weight: Array
    entering: Array


class SampledCost(Cost):
    r"""A distribution of cost functions, given by samples of it that are the same for everybody.

    In a sample the change of feature $f$ costs $(1 - p_f)(\alpha\, l_f + (1 - \alpha)\, q_f)$ where the sample would
    change it, else infinitely much. $l_f$ is the share of the way to the end of the feature's range, $q_f$ the share of
    the population that is passed; entering a category costs a number that is drawn. $p$ is Dirichlet distributed over
    the features that the sample would change. Before anything is learned their number is uniform, from 1 to all.

    So the costs of options in all samples are their shifts (P, K) times ``weights`` (K, S). The cost of an option is
    the mean over the samples, of which none counts more than the ``cap``.

    Parameters
    ----------
    columns
        The encoded columns of the features.
    reference
        The population, encoded, shape (N, D) with N at least 1.
    samples
        Number S of samples.
    seed
        Of the draws.
    cap
        What counts where an option costs more, as where it cannot be carried out; at most the number of features, which
        no option that can be carried out costs more than.
    strength
        The number of picks that the prior of ``Preferences`` counts as, which learn whom the samples stand for.
    memory
        The number of picks after which an older one counts as 1/e; by default none is forgotten.

    References
    ----------
    Yadav, P., Hase, P. and Bansal, M. (2024). Low-Cost Algorithmic Recourse for Users With Uncertain Cost Functions.
    TMLR.
    Section 3.1 and algorithms 2 to 4; ``docs/costs.md`` numbers the differences.
    """

    def __init__(
        self,
        columns: Columns,
        reference: Array,
        samples: int,
        seed: int,
        cap: Annotated[float, Interval(above=0)] = math.inf,
        strength: Annotated[float, Interval(above=0)] = STRENGTH,
        memory: Annotated[float, Interval(above=0)] = math.inf,
    ) -> None:
        features = len(columns.movable)
        self.columns, self.cap = columns, min(cap, float(features))
        self._learning = {"strength": strength, "memory": memory}
        self._percentiles = Percentile(reference)
        self._draws = _draw(columns, samples, seed)
        self._layout = columns.feature_of, columns.is_ordered, self._percentiles.columns
        self._learned: dict[bytes, Self] = {}
        self._believe(prior_shares(columns.movable))

    @classmethod
    def build(cls, columns: Columns, reference: Array, samples: int, seed: int, **parameters: float) -> Self:
        """The distribution of a program."""
        cls.check(parameters)
        return cls(columns, reference, samples, seed, **parameters)

    @staticmethod
    @abstractmethod
    def linear_share(weight: Array) -> Array:
        """The share of the linear cost in each sample, by its uniform weight (S,); the rest is percentile."""

    def preferences(self) -> Preferences:
        """The beliefs about the population before anybody has picked an option."""
        return Preferences(prior_shares(self.columns.movable), **self._learning)

    def with_shares(self, shares: Array) -> Self:
        """The same samples of a population of which these shares (F,) would change each feature.

        The last few are kept: between two picks of a population all its people share one.
        """
        key = shares.tobytes()
        other = self._learned.pop(key, None)
        if other is None:
            other = copy(self)
            other._believe(shares)
        self._learned[key] = other
        if len(self._learned) > POPULATIONS:
            del self._learned[next(iter(self._learned))]
        return other

    def _believe(self, shares: Array) -> None:
        """Let the samples stand for a population of which these shares (F,) would change each feature."""
        draws, feature_of, is_ordered = self._draws, self.columns.feature_of, self.columns.is_ordered
        self.editable: Mask = draws.place < shares
        """Which features each sample would change, (S, F)."""
        taste = draws.taste * self.editable
        total = taste.sum(axis=1, keepdims=True)
        reluctance = 1.0 - np.divide(taste, total, out=np.zeros_like(taste), where=total > 0.0)
        linear = self.linear_share(draws.weight)
        kinds = np.stack([linear, 1.0 - linear])[:, :, np.newaxis]
        entering = np.where(is_ordered, 1.0, draws.entering)
        shifts = kinds * entering * reluctance[:, feature_of]
        forbidden = np.where(self.editable, 0.0, FORBIDDEN)
        self.weights = np.ascontiguousarray(np.concatenate([*shifts, forbidden], axis=1).T)
        """The cost of each shift in each sample, (K, S)."""

    def shifts(self, candidates: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """The shifts (P, K) of candidates ``index`` (P,) of (M, D) for people ``owner`` (P,) of (n, D).

        They are the linear and the percentile shift of each column, D each, and which of the F features change. A
        category that is entered has a shift of 1.
        """
        shifts = np.zeros((len(index), len(self.weights)))
        candidates, people = np.ascontiguousarray(candidates), np.ascontiguousarray(people)
        shift_pairs(candidates, people, index, owner, self._layout, shifts)
        return shifts

    def costs(self, shifts: Array) -> Array:
        """The costs of options with these shifts (P, K) in all samples, (P, S); infinite where a sample would not."""
        costs = np.zeros((len(shifts), self.weights.shape[1]))
        weigh(shifts, self.weights, costs)
        return costs

    def mean(self, costs: Array) -> Array:
        """The mean of costs (P, S) over the samples, (P,), none of which counts more than the cap."""
        mean = np.empty(len(costs))
        mean_of_capped(costs, self.cap, mean)
        return mean

    def of_pairs(self, candidates: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """Mean costs of shape (P,) of candidates ``index`` (P,) for people ``owner`` (P,)."""
        return self.mean(self.costs(self.shifts(candidates, people, index, owner)))


def _draw(columns: Columns, samples: int, seed: int) -> Draws:
    """The draws, in layers: their numbers of features and their weights are spread evenly."""
    random = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, samples])))
    features, free = len(columns.movable), np.flatnonzero(columns.movable)
    count = len(free)
    number = 1 + np.arange(samples) % max(1, count)
    ranks = random.random((samples, count)).argsort(axis=1).argsort(axis=1)
    # A sample would change the first ``number`` of its features: those whose depth is below 0. The place is the depth's
    # distribution function, so that the places of one sample depend on each other and yet each is uniform.
    depth = (ranks + random.random((samples, count)) - number[:, np.newaxis]) / max(1, count)
    place = np.ones((samples, features))
    place[:, free] = np.mean([(depth + k / count).clip(0.0, 1.0) for k in range(1, count + 1)] or depth, axis=0)
    return Draws(
        place,
        random.exponential(size=(samples, features)),
        (random.permutation(samples) + random.random(samples)) / samples,
        random.random((2, samples, len(columns.feature_of))),
    )


Layout = tuple[Indices, Mask, Array]
"""The feature of each column (D,), whether it has an order (D,), and the sorted values of the population (D, N)."""


@compiled
def shift_pairs(
    candidates: Array, people: Array, index: Indices, owner: Indices, layout: Layout, shifts: Array
) -> None:
    """Put the shifts of pairs into ``shifts`` (P, 2 D + F), which are 0."""
    feature_of, is_ordered, population = layout
    columns = len(feature_of)
    for pair in range(len(index)):
        for d in range(columns):
            start, end = people[owner[pair], d], candidates[index[pair], d]
            if start == end:
                continue
            shifts[pair, 2 * columns + feature_of[d]] = 1.0
            if is_ordered[d]:
                room = 1.0 - start if end > start else start
                shifts[pair, d] = min(1.0, abs(end - start) / room) if room > 0.0 else 1.0
                passed = np.searchsorted(population[d], end, side="right")
                passed -= np.searchsorted(population[d], start, side="right")
                shifts[pair, columns + d] = abs(passed) / population.shape[1]
            elif end > start:
                shifts[pair, d] = shifts[pair, columns + d] = 1.0


@compiled
def weigh(shifts: Array, weights: Array, costs: Array) -> None:
    """Put the costs of options with these shifts (P, K) into ``costs`` (P, S), which are 0.

    A matrix product whose rows do not depend on the others, to the last bit.
    """
    for option in range(len(shifts)):
        cost = costs[option]
        for k in range(len(weights)):
            shift = shifts[option, k]
            if shift != 0.0:
                for i in range(len(cost)):
                    cost[i] += shift * weights[k, i]
        for i in range(len(cost)):
            if cost[i] >= FORBIDDEN:
                cost[i] = np.inf


@compiled
def mean_of_capped(costs: Array, cap: float, mean: Array) -> None:
    """Put the mean of each row of costs (P, S), of which none counts more than the cap, into ``mean`` (P,)."""
    for option in range(len(costs)):
        total = 0.0
        for cost in costs[option]:
            total += min(cost, cap)
        mean[option] = total / costs.shape[1]
