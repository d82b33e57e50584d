"""Plans: sequences of steps that reach the goal, each step priced in the state before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from ..costs import Cost, SampledCost
from ..costs.plan_costs import PlanCosts, Pool
from ..goals import Goal
from ..objective import LEAST_NU
from ..parameters import Interval
from .components.aimed import AimedSearch
from .components.effects import log_odds
from .components.grid import Steps
from .components.plan_levels import PlanLevels, levels_to, plan_levels
from .components.plan_order import cheapest_order, costs_of_steps
from .components.plan_search import MOST_PLANS, Plans, SearchBudget, distinct_leaders, find_plans, plans_to
from .components.scored import without_parts
from .components.targets import LEAST_GAIN
from .contract import Array, Explanation, Indices, Mask, Objective, PlanSteps, Proposals, Score, Space
from .search import Search

PASSES = 16
"""Over the targets of one promise. Where features are many and fine each finds few, and hundreds would take seconds."""


KEPT = 256
"""People whose plans are kept, in case that they are asked again: at most 40 kB each."""


class PersonPlans(NamedTuple):
    """n plans of one person: their targets, encoded (n, D), their arms (n,), and what each is expected to cost, (n,).

    ``shortfall`` (n,) is that of ``Pool``. ``found`` are the same as levels and orders of steps of ``levels``.
    """

    targets: Array
    arm: Indices
    cost: Array
    shortfall: Array
    found: Plans
    levels: PlanLevels

    def rows_after(self, plan: int) -> Array:
        """The encoded rows (k, D) after each step of a plan."""
        return self.levels.rows_after(self.found.levels[plan], self.found.order[plan])

    def only(self, plans: Indices | Mask) -> PersonPlans:
        """Some of the plans."""
        selected = self.found._replace(
            levels=self.found.levels[plans], order=self.found.order[plans], costs=self.found.costs[plans]
        )
        kept = self.targets[plans], self.arm[plans], self.cost[plans], self.shortfall[plans]
        return PersonPlans(*kept, selected, self.levels)


class PlanGenerator(Search):
    """Plans to the targets that help a person most, or the cheapest ones, by a cost that depends on order.

    Where options are to help, the targets are those of ``Search``. A plan that helps less counts as dearer
    (``Objective.shortfall``).

    By cost alone, and for people for whom no such target is found, plans are the cheapest of every set of features that
    a person could change. The levels of a person's features form a lattice: all categories, and near and far numbers in
    whole steps. Its targets are scored the cheapest first (``find_plans``), until none can be cheaper or enough rows
    were scored.

    A plan has its steps in the order that costs least. Where the cost is a distribution, plans are sought that are the
    best for some kind of person; an option is the plan of its set that is expected to be the best. A change above a
    feature's ``largest_step`` takes several steps. People for whom no plan is found have the options of ``Search``.

    Parameters
    ----------
    steps
        The most steps of a plan.
    rows
        About how many rows are scored for a person.
    """

    name: ClassVar[str] = "plans"

    def __init__(
        self,
        space: Space,
        objective: Objective,
        score: Score | None = None,
        goal: Goal | None = None,
        *,
        steps: Annotated[float, Interval(above=0, below=9)] = 5.0,
        rows: Annotated[float, Interval(above=0)] = 5000.0,
    ) -> None:
        super().__init__(space, objective, score, goal)
        self._longest, self._rows = round(max(1.0, steps)), round(rows)

    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""
        planned = [self._best_of_sets(person) for person in people]
        proposals = (
            Proposals.from_targets(np.full(len(p.arm), number), p.arm, p.targets) for number, p in enumerate(planned)
        )
        return self._completed(people, Proposals.joined([Proposals.none(people), *proposals]), super().propose)

    def explain(self, person: Array) -> Explanation:
        """How far the allowed changes lead, and the smallest relaxation of the rules that would help."""
        if count := len(self._best_of_sets(person).arm):
            raise ValueError(f"{count} options are feasible for this person")
        return super().explain(person)

    def plans(self, person: Array) -> PersonPlans:
        """The plans of an encoded person (D,) that are the best, or nearly, for some kind of person."""
        return self._kept(person.tobytes())

    @cached_property
    def _kept(self) -> Callable[[bytes], PersonPlans]:
        """The plans of a person by the bytes of their row, kept for the people who came last."""
        return lru_cache(KEPT)(lambda person: self._find(np.frombuffer(person).copy()))

    def _find(self, person: Array) -> PersonPlans:
        helping = None if self._aimed is None else self._helping(person, self._aimed)
        return self._cheapest_plans(person) if helping is None or not len(helping.arm) else helping

    def _helping(self, person: Array, aimed: AimedSearch) -> PersonPlans:
        """The best plans, or nearly, to the targets that the search for options that help has measured."""
        measured = aimed.targets(person[np.newaxis])
        measured = measured.subset(measured.accepted)
        rows, steps = aimed.rows(person[np.newaxis], measured), aimed.steps(measured)
        levels, chosen = levels_to(self.space, person, rows)
        short = levels.lattice.steps[chosen].sum(axis=1) <= self._longest
        tables, probability = levels.tables(self._objective.cost)
        owner, plans = plans_to(levels.lattice, tables, chosen[short])
        targets, arm = rows[short][owner], self._sets.arms(steps[short])[owner]
        cost = self._objective.cost
        # What a sample cannot do counts as the cap here: an option that it rules out may be the best of all the same.
        expected = np.minimum(plans.costs, cost.cap if isinstance(cost, SampledCost) else np.inf) @ probability
        shortfall = self._objective.shortfall(targets, person)
        losses = np.column_stack([plans.costs, expected]) + shortfall[:, np.newaxis]
        best = distinct_leaders(losses, MOST_PLANS, LEAST_GAIN / max(self._objective.nu, LEAST_NU))
        return PersonPlans(targets, arm, expected, shortfall, plans, levels).only(best)

    def _cheapest_plans(self, person: Array) -> PersonPlans:
        levels, judge = plan_levels(self.space, self._grid, person, self._longest), self._judge

        def scored(rows: Indices) -> tuple[Array, Mask]:
            owner = np.zeros(len(rows), dtype=np.intp)
            scores, valid = judge.accepts(levels.rows(rows), person[np.newaxis], owner)
            return log_odds(scores), valid

        tables, probability = levels.tables(self._objective.cost)
        budget = SearchBudget(
            self._longest,
            self._most_changes,
            self._rows,
            targets=2 * self._rows,
            partial=4 * self._rows,
            passes=PASSES,
        )
        plans = find_plans(levels.lattice, tables, scored, budget)
        arm = self._sets.arms(_changed(levels, plans.levels))
        targets, cost = levels.rows(plans.levels), plans.costs @ probability
        return PersonPlans(targets, arm, cost, self._objective.shortfall(targets, person), plans, levels)

    def pool(self, person: Array) -> Pool[Array]:
        """The plans of an encoded person (D,), to ask which they would take.

        Raise ``ValueError`` where the cost is the same for everybody.
        """
        return self.pool_of(self.plans(person))

    def pool_of(self, plans: PersonPlans) -> Pool[Array]:
        """The same of plans that were made before."""
        costs = plans.levels.costs(self._objective.cost, plans.found.levels, plans.found.order)
        after = [plans.rows_after(plan) for plan in range(len(plans.arm))]
        shortfall = plans.shortfall if self._objective.aims else None
        return Pool(costs, [rows[0] if len(rows) > 1 else None for rows in after], shortfall)

    def _best_of_sets(self, person: Array) -> PersonPlans:
        """The best plan of each set of features, without those that a part of it replaces."""
        plans = self.plans(person)
        changed = _changed(plans.levels, plans.found.levels)
        order = np.lexsort((changed.sum(axis=1), plans.cost + plans.shortfall))
        order = order[without_parts(changed[order])]
        _, first = np.unique(plans.arm[order], return_index=True)
        return plans.only(np.sort(order[first]))

    def steps_to(self, person: Array, target: Array) -> PlanSteps:
        """The steps in the order that is the cheapest for most people."""
        return cheapest_steps(self.space, self._objective.cost, person, target)

    def _relaxed(self, space: Space) -> Search:
        # Where `Search` proposes something there is an option, at the latest its own.
        return Search(space, self._objective.by_cost, *self._model())


def _changed(levels: PlanLevels, chosen: Indices) -> Steps:
    """1 for each movable feature that targets (n, M) change, (n, M)."""
    return np.asarray((chosen != levels.lattice.first[:-1]).astype(np.int64))


def cheapest_steps(space: Space, cost: Cost, person: Array, target: Array) -> PlanSteps:
    """The steps to a target of any generator, in the order that is expected to cost least.

    A change that is larger than the feature's ``largest_step`` takes several nearly equal steps. Under a cost that does
    not depend on order, features are changed in theirs, and costs of steps are those of single changes.
    """
    levels, [last] = levels_to(space, person, target[np.newaxis])
    order = _in_order(levels, last, cost)
    tables, probability = levels.tables(cost)
    parts = costs_of_steps(last, order, levels.lattice.levels, tables) @ probability
    return PlanSteps(levels.lattice.features[order], levels.rows_after(last, order), parts)


def costs_of_targets(space: Space, cost: Cost, person: Array, targets: Array) -> PlanCosts:
    """The costs of targets (n, D) for a person (D,) under any weights, each by the steps of ``cheapest_steps``."""
    parts = []
    for target in targets:
        levels, [last] = levels_to(space, person, target[np.newaxis])
        order = _in_order(levels, last, cost)
        parts.append(levels.costs(cost, last[np.newaxis], order[np.newaxis]))
    return PlanCosts.joined(parts)


def _in_order(levels: PlanLevels, last: Indices, cost: Cost) -> Indices:
    """The steps to levels (M,), in the order that is expected to cost least, (K,)."""
    tables, probability = levels.tables(cost)
    order = np.empty(levels.lattice.steps[last].sum(), np.intp)
    cheapest_order(last, levels.lattice.levels, tables, probability, order)
    return order
