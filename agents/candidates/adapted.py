"""Adapted: recourse instances, followed as far as this person may go and no further than needed."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..goals import Goal
from ..scores import models_in_words
from .components.explanations import Relaxed, smallest_relaxation
from .components.grid import Grid, Steps
from .components.scoring_generator import ScoringGenerator, in_words
from .contract import Array, Explanation, Indices, Mask, Objective, Proposals, Score, Space

ENOUGH = 16
"""Instances that a person's options are made from: the easiest of those that reach the goal."""
PEOPLE_AT_ONCE = 64
"""People whose options are made together, so that many small steps are few calls."""
HALVINGS = 3
"""How often a change is halved at most."""
DEAREST = 3.0
"""Where options are to help, none costs more times the best one of the same person."""
AT_ONCE = 24
"""Instances that are scored at once, from the easiest on, until there are enough."""

EMPTY = np.zeros(0, dtype=np.intp)


class _Rows(NamedTuple):
    """R targets on their way: the numbers of their people and instances (R,), steps (R, M), and which of them are fine.

    ``allowed`` are those that keep the constraints, ``valid`` those that reach the goal, ``score`` (R,) is theirs. The
    best have the least ``loss`` (R,).
    """

    owner: Indices
    arm: Indices
    steps: Steps
    score: Array
    loss: Array
    allowed: Mask
    valid: Mask

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        """All rows of the parts, in their order."""
        return cls._make(map(np.concatenate, zip(*parts, strict=True)))

    def subset(self, chosen: Indices | Mask) -> _Rows:
        """Some of the rows."""
        return _Rows._make(field[chosen] for field in self)


class Adapted(ScoringGenerator):
    """Instances as examples: each is an arm, and its option for a person goes only where the person may.

    Every feature moves towards the instance's value, in whole steps from the person's own, as far as its direction and
    bounds allow. Then changes are given back, the most expensive first, wherever the goal is reached without them, and
    what is left of them is made smaller. So a person reads a few changes in the direction of an example, not the
    example. Under an objective that aims, only what does not help is given back, targets are round numbers, and no
    option costs more than ``DEAREST`` times the best. People for whom this leads nowhere get the cheapest options.

    The work per person is bounded: of the instances that reach the goal only the ``ENOUGH`` easiest are used. Of
    instances that lead to changes of the same features the easiest counts.

    Parameters
    ----------
    instances
        Encoded rows that the program's first model accepts, (K, D).
    objective
        Which instances are best. Its cost is what makes a change expensive.
    """

    name: ClassVar[str] = "adapted"

    def __init__(
        self,
        space: Space,
        instances: Array,
        objective: Objective,
        score: Score | None = None,
        goal: Goal | None = None,
    ) -> None:
        super().__init__(space, objective, score, goal)
        self.arms = instances
        self._grid = Grid(space, rounded=objective.aims)
        self._most_changes = space.max_changes or len(self._grid.features)

    @classmethod
    def build(cls, space: Space, instances: Array, objective: Objective, **parameters: float) -> Self:
        """The generator of a program."""
        cls.check(parameters)
        return cls(space, instances, objective)

    def under(self, score: Score, goal: Goal, objective: Objective | None = None) -> Self:
        """The same instances under a model."""
        return type(self)(self.space, self.arms, objective or self._objective, score, goal)

    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""
        blocks = range(0, len(people), PEOPLE_AT_ONCE)
        made = [self._options(people[start : start + PEOPLE_AT_ONCE]) for start in blocks]
        owner = np.concatenate([EMPTY, *(rows.owner + start for rows, start in zip(made, blocks, strict=True))])
        arm = np.concatenate([EMPTY, *(rows.arm for rows in made)])
        steps = np.concatenate([np.zeros((0, len(self._grid.features)), np.int64), *(rows.steps for rows in made)])
        options = Proposals.from_targets(owner, arm, self._grid.moved(people[owner], steps))
        if not self._objective.aims:
            return options.ordered()
        return self._completed(people, options, lambda others: self._by_cost().propose(others))

    def explain(self, person: Array) -> Explanation:
        """How far the instances lead, and the smallest relaxation of the rules that would help."""
        options = self._options(person[np.newaxis])
        if len(options.arm):
            raise ValueError(f"{len(options.arm)} options are feasible for this person")
        if self._objective.aims:
            return self._by_cost().explain(person)
        if not len(self.arms):
            return Explanation("no_candidates", "the model came without recourse instances")
        steps = self._grid.toward(person, self.arms)
        names = [self.space.feature_names[self._grid.features[m]] for m in np.flatnonzero(steps.any(axis=0))]
        if not names:
            detail = "nothing that may change has room to move towards an instance"
            return Explanation("no_allowed_change", detail, self._relaxation(person))
        score, goal = self._model()
        models = models_in_words(score)
        none = np.zeros(len(steps), dtype=np.intp)
        rows = self._scored(person[np.newaxis], none, np.arange(len(steps)), steps)
        allowed = np.flatnonzero(rows.allowed)
        best = rows.score[allowed].max(initial=-np.inf)
        reached, required, scores = "the constraints exclude all of them", goal.in_words(), ""
        if np.isfinite(best):
            highest, required = in_words(float(best), goal)
            reached, scores = f"none reaches the required score{models}", f"; the best reaches {highest}"
            if goal.reached(best):
                reached = f"the best needs more than {self._most_changes} changes"
        detail = f"no change of {', '.join(names)} towards one of {len(steps)} instances is an option: {reached}"
        required = f"a score above {required}{models} is required"
        is_nearer = best > score(person[np.newaxis]).item()
        nearest = self._grid.targets(person, steps[allowed[[rows.score[allowed].argmax()]]])[0] if is_nearer else None
        return Explanation("out_of_reach", detail, self._relaxation(person), required + scores, nearest)

    def _by_cost(self) -> Adapted:
        """The same by cost alone."""
        return Adapted(self.space, self.arms, self._objective.by_cost, *self._model())

    # --- some people -------------------------------------------------------------------------------------------------

    def _options(self, people: Array) -> _Rows:
        """The options of people (n, D), by person, the easiest first."""
        rows = self._smaller(people, self._fewer(people, self._reaching(people)))
        rows = rows.subset(rows.valid & rows.allowed & ((rows.steps != 0).sum(axis=1) <= self._most_changes))
        order = np.lexsort((rows.loss, rows.owner))
        sets = np.column_stack((rows.owner, rows.steps != 0))[order]
        _, first = np.unique(sets, axis=0, return_index=True)
        options = rows.subset(order[np.sort(first)])
        return options.subset(self._near_enough(people, options)) if self._objective.aims else options

    def _near_enough(self, people: Array, options: _Rows) -> Mask:
        """The options, by person and best first, that cost at most ``DEAREST`` times the person's best."""
        cost = self._costs(people, options.owner, options.steps)
        return cost <= DEAREST * cost[np.searchsorted(options.owner, options.owner)]

    def _reaching(self, people: Array) -> _Rows:
        """Each person's easiest instances that reach the goal as far as the person may follow them."""
        count, arms, movable = len(people), len(self.arms), len(self._grid.features)
        steps = np.stack([self._grid.toward(person, self.arms) for person in people])
        losses = self._losses(people, np.repeat(np.arange(count), arms), steps.reshape(count * arms, movable))
        losses = np.where((steps != 0).any(axis=2), losses.reshape(count, arms), np.inf)
        order, useful = np.argsort(losses, axis=1, kind="stable"), np.isfinite(losses).sum(axis=1)
        reaching, parts = np.zeros(count, dtype=np.intp), [self._scored(people, EMPTY, EMPTY, steps[0, :0])]
        for start in range(0, arms, AT_ONCE):
            chosen = (reaching < ENOUGH)[:, np.newaxis] & (
                np.arange(start, min(start + AT_ONCE, arms)) < useful[:, np.newaxis]
            )
            owner, place = np.nonzero(chosen)
            arm = order[owner, start + place]
            part = self._scored(people, owner, arm, steps[owner, arm])
            parts.append(part.subset(part.valid))
            reaching += np.bincount(part.owner[part.valid], minlength=count)
        rows = _Rows.joined(parts)
        rows = rows.subset(np.argsort(rows.owner, kind="stable"))
        rank = np.arange(len(rows.owner)) - np.searchsorted(rows.owner, rows.owner)
        return rows.subset(rank < ENOUGH)

    def _fewer(self, people: Array, rows: _Rows) -> _Rows:
        """Give changes back, one feature of every row at a time, the most expensive first."""
        for feature in self._dearest_first(people, rows):
            rows, _ = self._replaced(people, rows, feature, np.zeros(len(feature), dtype=np.int64))
        return rows

    def _smaller(self, people: Array, rows: _Rows) -> _Rows:
        """Halve the distance to the fewest steps that are enough, one number of every row at a time.

        The category of a one-hot feature has no half way: it stays the instance's.
        """
        changes = int((rows.steps != 0).sum(axis=1).max(initial=0))
        for feature in self._dearest_first(people, rows)[:changes]:
            too_few = np.zeros(len(feature), dtype=np.int64)
            for _ in range(HALVINGS):
                steps = rows.steps[np.arange(len(feature)), feature]
                half = np.where(self._grid.is_number[feature], (too_few + steps) // 2, steps)
                rows, taken = self._replaced(people, rows, feature, half)
                too_few = np.where(taken, too_few, half)
        return rows

    def _dearest_first(self, people: Array, rows: _Rows) -> Steps:
        """The features of each of R rows, the most expensive first, (M, R)."""
        costs = np.empty(rows.steps.T.shape)
        for feature in range(len(costs)):
            costs[feature] = self._costs(people, rows.owner, _only(rows.steps, feature))
        return np.argsort(-costs, axis=0, kind="stable")

    def _replaced(self, people: Array, rows: _Rows, feature: Indices, moved: Steps) -> tuple[_Rows, Mask]:
        """The rows with other steps of one feature each, where the goal is then reached; and where it is."""
        steps = rows.steps.copy()
        steps[np.arange(len(steps)), feature] = moved
        tried = np.flatnonzero((steps != rows.steps).any(axis=1) & steps.any(axis=1))
        scored = self._scored(people, rows.owner[tried], rows.arm[tried], steps[tried])
        taken = np.zeros(len(steps), dtype=np.bool_)
        better = scored.valid & (scored.allowed | ~rows.allowed[tried])
        if self._objective.aims:
            few = (rows.steps[tried] != 0).sum(axis=1) <= self._most_changes
            better &= (scored.loss <= rows.loss[tried]) | ~rows.allowed[tried] | ~few
        taken[tried[better]] = True
        fields = [field.copy() for field in rows]
        for field, new in zip(fields, scored, strict=True):
            field[tried[better]] = new[better]
        return _Rows._make(fields), taken

    def _scored(self, people: Array, owner: Indices, arm: Indices, steps: Steps) -> _Rows:
        score, goal = self._model()
        targets = self._grid.moved(people[owner], steps)
        scores = score(targets)
        allowed = self.space.allowed(targets)
        loss = self._objective.loss_of_pairs(targets, people, np.arange(len(steps)), owner)
        valid = goal.reached(scores)
        valid[valid] = self._objective.worth_of_pairs(targets[valid], people, owner[valid])
        return _Rows(owner, arm, steps, scores, loss, allowed, valid)

    def _costs(self, people: Array, owner: Indices, steps: Steps) -> Array:
        targets = self._grid.moved(people[owner], steps)
        return self._objective.cost.of_targets(targets, people, owner)

    def _losses(self, people: Array, owner: Indices, steps: Steps) -> Array:
        targets = self._grid.moved(people[owner], steps)
        return self._objective.loss_of_pairs(targets, people, np.arange(len(steps)), owner)

    def _relaxed(self, space: Space) -> Adapted:
        return type(self)(space, self.arms, self._objective, *self._model())

    def _relaxation(self, person: Array) -> str:
        """The smallest relaxation of the rules that gives the person an option, in words."""

        def near(relaxed: Relaxed) -> Steps:
            """The ways to the instances, of which one feature goes farther than the rules allow."""
            steps = self._grid.toward(person, self.arms) * relaxed.factor
            farther = relaxed.grid.toward(person, self.arms)
            example, feature = np.nonzero(steps != farther)
            rows: Steps = steps[example]
            rows[np.arange(len(rows)), feature] = farther[example, feature]
            return rows

        return smallest_relaxation(self._unserved(person), near)


def _only(steps: Steps, feature: int) -> Steps:
    """The steps of one feature."""
    only = np.zeros_like(steps)
    only[:, feature] = steps[:, feature]
    return only
