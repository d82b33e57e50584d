"""The comparison of one person's options: by how hard they are, and how probably they help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .arrays import Array, Indices, Mask
from .consequences import Consequences
from .costs import Cost, SampledCost, execution_probability
from .costs.effort import assumed_effort
from .improvement import Improvement
from .options import CostSamples, OptionBatch, Outlook
from .sigmoid import scalar_logit, scalar_sigmoid

LEAST_NU = 1e-6
"""Where nu is less, costs count this little beside what helps."""

Predict = Callable[[Array, Array], Array]
"""Predicts the probabilities (P,) that people carry out their targets, both encoded, (P, D)."""


class Floor(NamedTuple):
    """What an option must be worth, so that a person is told of it.

    By the ``improvement`` the wanted outcome has the probability ``least_help`` or more after the change, and is more
    probable by ``least_gain`` or more than for the person as they are. With ``deviations`` the first is asked of the
    log odds less so many of their standard deviations, which the improvement must know.
    """

    improvement: Improvement
    least_help: float = 0.0
    least_gain: float = 0.0
    deviations: float = 0.0

    def least_odds(self, people: Array) -> Array:
        """The log odds of the wanted outcome that an option of each of encoded people (n, D) must reach, (n,)."""
        chances = self.improvement(people, people).tolist()
        return np.array([scalar_logit(max(self.least_help, chance + self.least_gain)) for chance in chances])

    def reached(self, targets: Array, people: Array, owner: Indices) -> Mask:
        """Which targets (P, D) of people (n, D), by their numbers (P,), reach those, (P,)."""
        distinct, number = np.unique(owner, return_inverse=True)
        log_odds = self.improvement.log_odds(targets, people[owner])
        return self.passed(log_odds, self.least_odds(people[distinct])[number], targets, people[owner])

    def passed(self, log_odds: Array, least: Array, targets: Array, people: Array) -> Mask:
        """Which targets (P, D) of people (P, D) are not below it, (P,), by their log odds and ``least_odds``, (P,)."""
        passed = np.asarray(log_odds >= least)
        if self.deviations and passed.any():
            deviation = self.improvement.deviation(targets[passed], people[passed])
            assert deviation is not None, "a floor of a lower end has an improvement that knows it"
            lower = log_odds[passed] - self.deviations * deviation
            passed[passed] = lower >= scalar_logit(self.least_help)
        return passed


class Objective(NamedTuple):
    """A cost alone; or, with an ``improvement``, the probability that a person carries an option out and it helps.

    The second is exp(-nu cost) p(x' | x). ``nu`` is 0 or more. ``looks_ahead`` says whether options come with an
    outlook, which takes as long as all else: not where nobody reads it. Targets below the ``floor`` are no options.
    Targets are the states in which people will be. Where there are ``consequences``, what is hard is only what people
    do themselves.

    Examples
    --------
    >>> from onward.agents.costs import L1
    >>> Objective(L1()).aims
    False
    >>> Objective(L1(), nu=1.0).value(np.array([0.0, 4.0]), np.array([0.1, 0.5])).round(2)
    array([-0.79, -0.52])
    """

    cost: Cost
    nu: float = 0.0
    improvement: Improvement | None = None
    looks_ahead: bool = True
    floor: Floor | None = None
    consequences: Consequences | None = None

    @property
    def aims(self) -> bool:
        """Whether options are to help, and something is known about what helps."""
        return self.improvement is not None and not self.improvement.is_flat

    @property
    def by_cost(self) -> Objective:
        """The cost alone, with the same floor."""
        return Objective(self.cost, floor=self.floor, consequences=self.consequences)

    def worth(self, targets: Array, person: Array) -> Mask:
        """Whether targets (n, D) of a person (D,) are not below the floor, (n,)."""
        return self.worth_of_pairs(targets, person[np.newaxis], np.zeros(len(targets), dtype=np.intp))

    def worth_of_pairs(self, targets: Array, people: Array, owner: Indices) -> Mask:
        """The same of targets (P, D), each of one of the people (n, D) by its number, (P,)."""
        if self.floor is None or not len(targets):
            return np.ones(len(targets), dtype=np.bool_)
        return self.floor.reached(targets, people, owner)

    def costs(self, targets: Array, people: Array, owner: Indices) -> Array:
        """The costs (P,) of targets (P, D) for the people ``owner`` (P,) of (n, D)."""
        return self.cost.of_targets(self.acted(targets, people[owner]), people, owner)

    def costs_of_pairs(self, targets: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """The costs (P,) of the targets ``index`` (P,) of (M, D) for the people ``owner`` (P,) of (n, D)."""
        if self.consequences is None:
            return self.cost.of_pairs(targets, people, index, owner)
        return self.costs(targets[index], people, owner)

    def acted(self, targets: Array, people: Array) -> Array:
        """The rows (P, D) that change alone what people (P, D) do themselves to reach their targets (P, D)."""
        return targets if self.consequences is None else self.consequences.actions(targets, people)

    def value(self, log_odds: Array, cost: Array) -> Array:
        """The logarithm of that probability, of any shape, from the log odds that it helps, and the cost."""
        return -np.logaddexp(0.0, -log_odds) - self.nu * cost

    def loss_of_pairs(self, targets: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """The loss of each pair, (P,): the cost, or the negative value. The best options have the least.

        The pairs are the targets ``index`` (P,) of (M, D), for the people ``owner`` (P,) of (n, D).
        """
        cost = self.costs_of_pairs(targets, people, index, owner)
        if self.improvement is None or not self.aims:
            return cost
        return -self.value(self.improvement.log_odds(targets[index], people[owner]), cost)

    def shortfall(self, targets: Array, person: Array) -> Array:
        """By how much targets (n, D) of a person (D,) are worse than their costs, as they may not help, (n,).

        It is in the unit of the cost: one more of it is as bad as a cost that is higher by as much. 0 by cost alone.
        """
        if self.improvement is None or not self.aims:
            return np.zeros(len(targets))
        log_odds = self.improvement.log_odds(targets, np.broadcast_to(person, targets.shape))
        return np.logaddexp(0.0, -log_odds) / max(self.nu, LEAST_NU)

    def options(
        self,
        people: Array,
        owner: Indices,
        arm: Indices,
        points: Array,
        point: Indices,
        feature_of: Indices,
        predict: Predict | None = None,
    ) -> OptionBatch:
        """The options of n people (n, D) with all that is expected of them, from what a generator proposes.

        ``owner`` (P,), which ascends, ``arm`` (P,), ``points`` (M, D) and ``point`` (P,) are those of ``Proposals``.
        ``feature_of`` (D,) is the feature of each column. Execution probabilities are those of ``predict``, or follow
        from the cost.
        """
        samples, acts, does, rows = None, None, points, point
        if self.consequences is not None:
            does, rows = self.acted(points[point], people[owner]), np.arange(len(point))
            acts = does != people[owner]
        if isinstance(self.cost, SampledCost):
            samples = CostSamples(self.cost.shifts(does, people, rows, owner), self.cost, self.nu)
            cost = self.cost.mean(samples.costs)
        else:
            cost = self.cost.of_pairs(does, people, rows, owner)
        if predict is not None:
            execution = predict(people[owner], does[rows])
        elif samples is not None:
            execution = samples.execution.mean(axis=1)
        else:
            execution = execution_probability(cost, self.nu)
        ends = np.searchsorted(owner, np.arange(len(people) + 1))
        outlook = self.outlook(people, points[point], ends, execution, feature_of)
        return OptionBatch(people, ends[:-1], ends[1:], arm, points, point, cost, execution, outlook, samples, acts)

    def outlook(
        self, people: Array, targets: Array, ends: Indices, execution: Array, feature_of: Indices
    ) -> Outlook | None:
        """The outlook of the options of n people (n, D); None without an improvement, or where nobody reads it.

        ``targets`` (P, D) are by person, those of person i from ``ends[i]`` to ``ends[i + 1]``, with the execution
        probabilities (P,). ``feature_of`` (D,) is the feature of each column.
        """
        if self.improvement is None or not self.looks_ahead:
            return None
        features = int(feature_of[-1]) + 1
        option_owner = np.repeat(np.arange(len(people)), np.diff(ends))
        own, does = people[option_owner], self.acted(targets, people[option_owner])
        shift = np.abs(does - own) @ (feature_of[:, np.newaxis] == np.arange(features))
        option, feature = np.nonzero(shift)
        # What follows from a change belongs to the feature that is changed.
        stated = targets if self.consequences is None else np.where(does != own, targets, own)
        without = np.where(feature_of == feature[:, np.newaxis], own[option], stated[option])
        if self.consequences is not None:
            without = self.consequences.states_after(without, own[option])
        rows, owner = np.concatenate([targets, without]), np.concatenate([option_owner, option_owner[option]])
        log_odds = self._log_odds(people, rows, owner)
        effects = np.zeros_like(shift)
        effects[option, feature] = log_odds[option] - log_odds[len(targets) :]
        total = shift.sum(axis=1, keepdims=True)
        share = np.divide(shift, total, out=np.zeros_like(shift), where=total > 0.0)
        effort = assumed_effort(execution)
        return Outlook(log_odds[: len(targets)], effects, share * effort[:, np.newaxis])

    def helps(self, batch: OptionBatch, options: Sequence[int], owner: Sequence[int]) -> list[float]:
        """The probabilities that options of a batch help once carried out, by their indices and the rows of people.

        They are the same with an outlook and without.
        """
        if batch.outlook is not None:
            return [batch.outlook.probability(option) for option in options]
        assert self.improvement is not None, "without an improvement nothing is expected"
        log_odds = self.improvement.log_odds(batch.points[batch.point[options]], batch.people[owner])
        return [scalar_sigmoid(odds) for odds in log_odds.tolist()]

    def deviations_of_help(
        self, batch: OptionBatch, options: Sequence[int], owner: Sequence[int]
    ) -> list[float] | None:
        """The standard deviations of their log odds, of options as in ``helps``; None where nothing tells them."""
        assert self.improvement is not None, "without an improvement nothing is expected"
        found = self.improvement.deviation(batch.points[batch.point[options]], batch.people[owner])
        return None if found is None else found.tolist()

    def _log_odds(self, people: Array, rows: Array, owner: Indices) -> Array:
        """The log odds of the rows (R, D) of people, in the order of people: rows that agree are quick together."""
        assert self.improvement is not None
        log_odds, order = np.empty(len(rows)), np.argsort(owner, kind="stable")
        log_odds[order] = self.improvement.log_odds(rows[order], people[owner[order]])
        return log_odds
