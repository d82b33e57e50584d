"""The costs of plans, for any weights of the person who carries them out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ..arrays import Array, Indices

S = TypeVar("S")


class PlanCosts(NamedTuple):
    r"""What n plans cost a person, for any weights $w$: a sum over steps of $\max(floor, \phi \cdot w)$, plus ``stop``.

    Piecewise linear in the weights. ``coefficients`` (U, P) are the $\phi$ of U distinct steps, ``steps`` (n, K) the
    numbers of the steps of each plan, -1 after the last. ``stop`` is what ending a plan costs, and no plan costs more
    than the ``cap``.

    Examples
    --------
    >>> costs = PlanCosts(np.eye(2), np.array([[0, 1], [1, -1]]), floor=1.0, stop=1.0)
    >>> costs.totals(np.array([[0.5, 4.0], [2.0, 3.0]]))
    array([[6., 6.],
           [5., 4.]])
    """

    coefficients: Array
    steps: Indices
    floor: float = 0.0
    stop: float = 0.0
    cap: float = math.inf

    def totals(self, weights: Array) -> Array:
        """The costs (n, S) under S rows of weights (S, P)."""
        step_costs = np.maximum(self.floor, self.coefficients @ weights.T)
        step_costs = np.concatenate([step_costs, np.zeros((1, len(weights)))])
        total = np.full((len(self.steps), len(weights)), self.stop)
        for column in self.steps.T:
            total += step_costs[column]
        return np.asarray(np.minimum(total, self.cap))

    @classmethod
    def joined(cls, parts: Sequence[PlanCosts]) -> PlanCosts:
        """The costs of the plans of one or more parts, which have the same floor, stop and cap."""
        longest, steps, first = max(part.steps.shape[1] for part in parts), [], 0
        for part in parts:
            numbered = np.where(part.steps < 0, -1, part.steps + first)
            steps.append(np.pad(numbered, ((0, 0), (0, longest - numbered.shape[1])), constant_values=-1))
            first += len(part.coefficients)
        return parts[0]._replace(
            coefficients=np.concatenate([part.coefficients for part in parts]), steps=np.concatenate(steps)
        )

    def only(self, plans: Sequence[int] | Indices) -> PlanCosts:
        """The costs of some plans, with the steps that these have."""
        chosen = self.steps[np.asarray(plans, dtype=np.intp)]
        used, numbers = np.unique(chosen[chosen >= 0], return_inverse=True)
        steps = np.full_like(chosen, -1)
        steps[chosen >= 0] = numbers
        return self._replace(coefficients=self.coefficients[used], steps=steps)


class Pool(NamedTuple, Generic[S]):
    """The n plans that one person may be shown or told: what they cost, and where each leads with its first step.

    ``after_first_step`` is None where the plan then has reached its end. ``shortfall`` (n,) says by how much each is
    worse than it costs, in the unit of costs: plans may not help. None where plans are compared by cost alone.
    """

    costs: PlanCosts
    after_first_step: Sequence[S | None]
    shortfall: Array | None = None

    @property
    def picks_are_best(self) -> bool:
        """Whether the plan that a person picks is the best of those shown: they pick by cost, and all are in reach."""
        return self.shortfall is None and math.isinf(self.costs.cap)

    def only(self, plans: Indices) -> Pool[S]:
        """Some of the plans."""
        shortfall = None if self.shortfall is None else self.shortfall[plans]
        return Pool(self.costs.only(plans), [self.after_first_step[plan] for plan in plans], shortfall)

    def losses(self, costs: Array) -> Array:
        """The losses of plans that cost (n, S), (n, S): the best plan has the least."""
        return costs if self.shortfall is None else costs + self.shortfall[:, np.newaxis]
