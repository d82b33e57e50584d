"""Worlds whose people differ in what they find hard, which nobody is told: an option may suit one and not another."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from ...agents.arrays import Array, Indices, Mask
from ...agents.costs import Columns, SampledCost
from ...agents.costs.causal import Causal
from ...agents.costs.mixture import GaussianMixture
from .conditions import PREFERENCES, generator
from .world import Chances, TruthWorld

EASY, HARD = 0.85, 0.12
"""The shares of people who can change a feature of the easy third, and another one."""
SATISFIED = 1.0
"""People take no option that costs them more."""


def shares_of(movable: Mask, random: np.random.Generator) -> Array:
    """The share of people who can change each feature (F,): a third of the movable ones, drawn, are easy."""
    free = np.flatnonzero(movable)
    easy = random.permutation(free)[: max(1, round(len(free) / 3))]
    shares = np.where(movable, HARD, 0.0)
    shares[easy] = EASY
    return shares


class HiddenCosts:
    """What n people find hard, each in a way of their own, which nobody is told (``docs/costs.md``, "Sampled costs").

    Parameters
    ----------
    cost
        The program's cost, whose shifts of columns are used, and not its samples.
    editable
        The features that each of them can change, (n, F).
    random
        Of all draws.
    """

    def __init__(self, cost: SampledCost, editable: Mask, random: np.random.Generator) -> None:
        columns: Columns = cost.columns
        self._cost, self._feature_of = cost, columns.feature_of
        self._editable = editable
        taste = random.exponential(size=editable.shape) * editable
        total = taste.sum(axis=1, keepdims=True)
        self._ease = 1.0 - np.divide(taste, total, out=np.zeros_like(taste), where=total > 0.0)
        self._linear = random.random((len(editable), 1))
        drawn = random.random((2, len(editable), len(columns.feature_of)))
        self._entering = np.where(columns.is_ordered, 1.0, drawn)

    def of_pairs(self, persons: Indices, people: Array, targets: Array) -> Array:
        """The costs for ``persons`` (P,), encoded (P, D), to become the targets (P, D); infinite if they cannot."""
        pairs = np.arange(len(targets))
        shifts = self._cost.shifts(targets, people, pairs, pairs)
        linear, percentile, changed = np.split(shifts, np.cumsum([len(self._feature_of)] * 2), axis=1)
        weight, (by_range, by_rank) = self._linear[persons], self._entering[:, persons]
        moves = weight * linear * by_range + (1.0 - weight) * percentile * by_rank
        cost = (moves * self._ease[persons][:, self._feature_of]).sum(axis=1)
        cannot = ((changed > 0.0) & ~self._editable[persons]).any(axis=1)
        return np.where(cannot, np.inf, cost)


class HiddenWeights:
    """What n people find hard: each has weights of their own, drawn from the prior of a program's cost.

    Parameters
    ----------
    cost
        The program's cost.
    people
        Their number n.
    random
        Of all draws.
    """

    def __init__(self, cost: Causal, people: int, random: np.random.Generator) -> None:
        kind = random.choice(len(cost.prior.mass), size=people, p=cost.prior.mass)
        weights = cost.prior.weights(kind, random.standard_normal((people, cost.prior.latents)))
        certain = np.zeros((1, cost.prior.latents))
        self._costs = [
            Causal(cost.columns, cost.structure, GaussianMixture(np.ones(1), mean[np.newaxis], certain))
            for mean in weights
        ]

    def of_pairs(self, persons: Indices, people: Array, targets: Array) -> Array:
        """The costs for ``persons`` (P,), encoded (P, D), to become the targets (P, D), in their cheapest order."""
        cost = np.empty(len(targets))
        for person in np.unique(persons):
            pairs = np.flatnonzero(persons == person)
            cost[pairs] = self._costs[person].of_pairs(targets, people, pairs, pairs)
        return cost


class HiddenCostWorld(TruthWorld):
    """People who take, of several options, the one that costs them least, and none that costs more than ``most``.

    They carry it out with the probability exp(-nu cost). A subclass draws their costs before anything is suggested.
    """

    most: ClassVar[float]
    _hidden: HiddenCosts | HiddenWeights

    @property
    def rejected_applications(self) -> list[int]:
        """The applications that the program's model rejects, in their order."""
        return [t for t in range(self.people) if self.is_rejected(t)]

    def chances(self, applications: Indices, targets: Array) -> Chances:
        """What becomes of rejected applications (P,) by one target each, (P, D), if it suits them."""
        chances, hidden = super().chances(applications, targets), self._hidden_of(applications, targets)
        taken = hidden <= self.most
        execution = np.where(taken, np.exp(-self._nu * np.where(taken, hidden, 0.0)), 0.0)
        return chances._replace(execution=execution)

    def easiest(self, t: int, targets: Array) -> int:
        """The index of the option that costs application t least; the first of equals."""
        return int(self._hidden_of(np.full(len(targets), t), targets).argmin())

    def pick(self, t: int, targets: Array) -> int | None:
        """The index of the option that application t takes; None for none."""
        costs = self._hidden_of(np.full(len(targets), t), targets)
        return int(costs.argmin()) if costs.min(initial=np.inf) <= self.most else None

    def _hidden_of(self, applications: Any, targets: Array) -> Array:
        people = self.distinct[self.row_of[applications]]
        return self._hidden.of_pairs(self._rounds[applications], people, np.asarray(targets, dtype=np.float64))


class PreferenceWorld(HiddenCostWorld):
    """People each of whom can change some features only.

    ``know``, or ``draw``, must be called before anything is suggested.
    """

    most: ClassVar[float] = SATISFIED

    def know(self, cost: SampledCost, seed: int) -> None:
        """Draw what people find hard, in the unit of the programs' cost."""
        random = generator(seed, PREFERENCES)
        self.shares = shares_of(cost.columns.movable, random)
        self.draw(cost, random.random((self.rejected, len(self.shares))) < self.shares, random)

    def draw(self, cost: SampledCost, editable: Mask, random: np.random.Generator) -> None:
        """Draw how hard each of S rejected people finds the features ``editable`` (S, F) that they can change."""
        self._hidden = HiddenCosts(cost, editable, random)

    def with_options(self, most: int) -> Self:
        """The same world, whose programs suggest at most this number of options."""
        other = copy(self)
        other._base = msgspec.structs.replace(
            self._base, policy=msgspec.structs.replace(self._base.policy, options=most)
        )
        return other


class WeightWorld(HiddenCostWorld):
    """People with weights of their own, whatever these make of an option's cost.

    ``know`` must be called before anything is suggested, and ``offer`` before ``excess``.
    """

    most: ClassVar[float] = math.inf

    def know(self, cost: Causal, seed: int) -> None:
        """Draw people's weights from the prior of the programs' cost."""
        self._hidden = HiddenWeights(cost, self.rejected, generator(seed, PREFERENCES))
        self._cheapest: dict[int, float] = {}

    def offer(self, owner: Indices, targets: Array) -> None:
        """Say what can be suggested to whom, so that also the cheapest of it is known."""
        super().offer(owner, targets)
        for t in self.rejected_applications:
            options = targets[owner == self.row_of[t]]
            if len(options):
                cheapest = float(self._hidden_of(np.full(len(options), t), options).min())
                self._cheapest[t] = min(cheapest, self._cheapest.get(t, math.inf))

    def excess(self, t: int, target: Array) -> float | None:
        """The share by which a target (D,) costs application t more than the cheapest one that was offered.

        None where nothing was, or it costs nothing.
        """
        cheapest = self._cheapest.get(t, 0.0)
        cost = float(self._hidden_of(np.array([t]), target[np.newaxis])[0])
        return cost / cheapest - 1.0 if cheapest > 0.0 else None
