"""The paper's actions as a lattice, and the plans of its users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.components.lattice import FeatureLevels, lattice_of
from onward.agents.candidates.components.plan_order import cheapest_order
from onward.agents.candidates.components.plan_search import Plans, SearchBudget, find_plans
from onward.agents.candidates.components.plan_tables import plan_costs, plan_tables
from onward.agents.candidates.components.plan_targets import ScoreLevels
from onward.agents.costs.causal import CostStructure
from onward.agents.costs.plan_costs import PlanCosts
from onward.benchmarks.elicitation.study import MOST_STEPS, Action, Array, Feature, Row, Study

Indices = NDArray[np.intp]

BUDGET = SearchBudget(steps=MOST_STEPS, changes=MOST_STEPS, rows=30_000)
THOROUGH = BUDGET._replace(rows=100_000)
"""For the optimum under the true weights."""


class Levels(NamedTuple):
    """What a feature can reach besides the own value: ``raw`` (n, K) values after each of ``steps`` (n,) steps."""

    raw: NDArray[Any]
    steps: NDArray[np.int64]


class Step(NamedTuple):
    """A step of a plan: the feature, and its value before and after."""

    feature: str
    before: Any
    after: Any


def reachable(action: Action, feature: Feature, own: Any) -> Levels:
    """The levels of an action's feature. Repeated steps go in one direction and are as equal as the arguments allow.

    Equal steps cost least: a step's cost is convex in its size. Steps that change no scaled value are left out.
    """
    if feature.categories:
        others = [name for name in action.categories if name != own]
        return Levels(np.array(others, dtype=object).reshape(-1, 1), np.ones(len(others), np.int64))
    parts = [
        _repeated(action, feature, own, sizes, count)
        for sizes in (action.rises, -action.falls)
        if len(sizes)
        for count in range(1, MOST_STEPS + 1)
    ]
    none = Levels(np.zeros((0, MOST_STEPS)), np.zeros(0, np.int64))
    return Levels(*map(np.concatenate, zip(none, *parts, strict=True)))


def _repeated(action: Action, feature: Feature, own: float, sizes: Array, count: int) -> Levels:
    """The levels of ``count`` steps of nearly equal sizes: all sums of the evenly spaced ``sizes``."""
    total = np.arange((len(sizes) - 1) * count + 1)
    small, larger = np.divmod(total, count)
    raw, value = np.full((len(total), MOST_STEPS), own), np.full(len(total), own)
    good = np.ones(len(total), dtype=np.bool_)
    for step in range(count):
        before = value
        value = before + sizes[small + (step >= count - larger)]
        good &= action.allows(value) & (feature.scaled(value) != feature.scaled(before))
        raw[:, step] = value
    return Levels(raw[good], np.full(int(good.sum()), count))


class Person:
    """One user, and what they may become.

    Parameters
    ----------
    study
        The data set.
    row
        The user's features.
    actions
        What may be done.
    """

    def __init__(self, study: Study, row: Row, actions: Sequence[Action] | None = None) -> None:
        self._study, self.row = study, row
        actions = study.actions if actions is None else actions
        self._numbers = [study.number[action.feature] for action in actions]
        self._features = [study.features[number] for number in self._numbers]
        self._levels = [
            reachable(action, feature, row[feature.name])
            for action, feature in zip(actions, self._features, strict=True)
        ]
        own = study.own(row)
        parts = [
            FeatureLevels(own[number], levels.steps, feature.scaled(levels.raw), bool(feature.categories))
            for number, feature, levels in zip(self._numbers, self._features, self._levels, strict=True)
        ]
        self.lattice = lattice_of(self._numbers, parts, own)

    def cheapest(self, weights: Array, structure: CostStructure | None = None, budget: SearchBudget = BUDGET) -> Plans:
        """The plans that are the cheapest, or nearly, under each row of weights (S, P)."""
        tables = plan_tables(structure or self._study.structure, self.lattice, weights)
        return find_plans(self.lattice, tables, self._scores(), budget)

    def costs(self, plans: Plans, structure: CostStructure | None = None) -> PlanCosts:
        """What plans cost under any weights."""
        return self.costs_of(plans.levels, plans.order, structure)

    def costs_of(self, levels: Indices, order: Indices, structure: CostStructure | None = None) -> PlanCosts:
        """The same of plans by their levels (n, M) and the movable feature of each step (n, K)."""
        return plan_costs(structure or self._study.structure, self.lattice, levels, order)

    def nearest(self, row: Row) -> Indices:
        """The levels (M,) of at most one step each that are nearest to another row."""
        found = self.lattice.first[:-1].copy()
        for m, (feature, levels) in enumerate(zip(self._features, self._levels, strict=True)):
            single = np.flatnonzero(levels.steps == 1)
            raw, wanted, own = levels.raw[single, 0], row[feature.name], self.row[feature.name]
            if feature.categories:
                best = single[raw == wanted]
            else:
                far = np.abs(feature.scaled(raw) - feature.scaled(wanted))
                closer = far < np.abs(feature.scaled(own) - feature.scaled(wanted))
                best = single[[int(np.argmin(far))]] if closer.any() else single[:0]
            found[m] += best[0] + 1 if len(best) else 0
        return found

    def cheapest_order(self, levels: Indices, weights: Array) -> Indices:
        """The order of the steps to a target (M,) that costs least under weights (P,), (1, K)."""
        tables = plan_tables(self._study.structure, self.lattice, weights[np.newaxis])
        order = np.empty(max(1, int(self.lattice.steps[levels].sum())), np.intp)
        cheapest_order(levels, self.lattice.levels, tables, np.ones(1), order)
        return order[np.newaxis]

    def steps(self, levels: Indices, order: Indices) -> list[Step]:
        """The steps of a plan: its levels (M,), and the movable feature of each step (K,), -1 after the last."""
        done, found = np.zeros(len(self._features), np.intp), []
        for m in order[order >= 0]:
            path = [self.row[self._features[m].name], *self._raw(levels, m)]
            found.append(Step(self._features[m].name, path[done[m]], path[done[m] + 1]))
            done[m] += 1
        return found

    def target(self, levels: Indices) -> Row:
        """The features of the user after the steps to these levels (M,)."""
        changed = {f.name: raw[-1] for m, f in enumerate(self._features) if len(raw := self._raw(levels, m))}
        return {**self.row, **changed}

    def _raw(self, levels: Indices, m: int) -> Sequence[Any]:
        """The values of a movable feature after each step to its level."""
        level = int(levels[m] - self.lattice.first[m])
        if not level:
            return ()
        values: Sequence[Any] = self._levels[m].raw[level - 1, : self._levels[m].steps[level - 1]].tolist()
        return values

    def _scores(self) -> ScoreLevels:
        own = self._study.encoded([self.row])[0]
        blocks = []
        for feature, levels in zip(self._features, self._levels, strict=True):
            last = levels.raw[np.arange(len(levels.steps)), levels.steps - 1] if len(levels.steps) else levels.raw[:, 0]
            inputs = np.concatenate([own[np.newaxis, feature.columns], feature.inputs(last)])
            blocks.append((feature.columns, inputs))
        return self._study.classifier.on(own, blocks, self.lattice.first)
