"""Adapted: recourse instances, followed as far as this person may go and no further than needed."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..costs import Cost
from ..goals import Goal
from .contract import Array, Explanation, Indices, Mask, Proposals, Score, Space
from .grid import Grid, Steps
from .scoring_generator import OTHER, ScoringGenerator, either_way, help_by_changes, help_by_direction, in_words

ENOUGH = 16
"""Instances that a person's options are made from: the easiest of those that reach the goal."""
HALVINGS = 3
"""How often a change is halved at most."""
AT_ONCE = 24
"""Instances that are scored at once, from the easiest on, until there are enough."""


class _Rows(NamedTuple):
    """R targets on their way: the numbers of their instances (R,), steps (R, M), and which of them are fine.

    ``allowed`` are those that keep the constraints, ``valid`` those that reach the goal, ``score`` (R,) is theirs.
    """

    arm: Indices
    steps: Steps
    score: Array
    allowed: Mask
    valid: Mask

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        """All rows of the parts, in their order."""
        return cls._make(map(np.concatenate, zip(*parts, strict=True)))

    def at(self, which: Mask) -> _Rows:
        """Some of the rows."""
        return _Rows._make(field[which] for field in self)


class Adapted(ScoringGenerator):
    """Instances as examples: each is an arm, and its option for a person goes only where the person may.

    Every feature moves towards the instance's value, in whole steps from the person's own, as far as its direction and
    bounds allow. Then changes are given back, the dearest first, wherever the goal is reached without them, and what is
    left of them is made smaller. So a person reads a few changes in the direction of an example, not the example.

    The work per person is bounded: of the instances that reach the goal only the ``ENOUGH`` easiest are used. Of
    instances that lead to changes of the same features the easiest counts.

    Parameters
    ----------
    space
        The rules of the features.
    instances
        Encoded rows that the program's first model accepts, (K, D).
    cost
        What makes an instance easy and a change dear.
    score, goal
        The current model, and what its score must reach.
    """

    name: ClassVar[str] = "adapted"

    def __init__(
        self, space: Space, instances: Array, cost: Cost, score: Score | None = None, goal: Goal | None = None
    ) -> None:
        super().__init__(space, cost, score, goal)
        self.arms = instances
        self._grid = Grid(space)
        self._most_changes = space.max_changes or len(self._grid.features)

    @classmethod
    def build(cls, space: Space, instances: Array, cost: Cost) -> Self:
        """The generator of a program."""
        return cls(space, instances, cost)

    def under(self, score: Score, goal: Goal) -> Self:
        """The same instances under a model."""
        return type(self)(self.space, self.arms, self._cost, score, goal)

    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""
        made = [self._options(person) for person in people]
        order = [np.argsort(rows.arm) for rows in made]
        arms = [rows.arm[by_arm] for rows, by_arm in zip(made, order, strict=True)]
        targets = [
            self._grid.targets(person, rows.steps[by_arm])
            for person, rows, by_arm in zip(people, made, order, strict=True)
        ]
        whose = np.repeat(np.arange(len(people)), [len(arm) for arm in arms])
        points = np.concatenate([people[:0], *targets])
        return Proposals(whose, np.concatenate([whose[:0], *arms]), points, np.arange(len(points)))

    def explain(self, person: Array) -> Explanation:
        """How far the instances lead, and the smallest relaxation of the rules that would help.

        Raises
        ------
        ValueError
            When the person has an option.
        """
        options = self._options(person)
        if len(options.arm):
            raise ValueError(f"{len(options.arm)} options are feasible for this person")
        if not len(self.arms):
            return Explanation("no_candidates", "the model came without recourse instances")
        steps = self._grid.toward(person, self.arms)
        names = [self.space.feature_names[self._grid.features[m]] for m in np.flatnonzero(steps.any(axis=0))]
        if not names:
            return Explanation("no_allowed_change", "nothing that may change has room to move towards an instance")
        _, goal = self._model()
        rows = self._scored(person, np.arange(len(steps)), steps)
        best = rows.score[rows.allowed].max(initial=-np.inf)
        reached = "the constraints exclude all of them"
        if np.isfinite(best):
            reached = f"the best reaches {in_words(best)}"
            if goal.reached(best):
                reached += f", with more than {self._most_changes} changes"
        detail = f"no change of {', '.join(names)} towards one of {len(steps)} instances is an option: a score "
        return Explanation(
            "out_of_reach", f"{detail}above {goal.in_words} is required, {reached}{self._relaxation(person)}"
        )

    # --- one person --------------------------------------------------------------------------------------------------

    def _options(self, person: Array) -> _Rows:
        """The options, the easiest first."""
        rows = self._smaller(person, self._fewer(person, self._reaching(person)))
        rows = rows.at(rows.valid & rows.allowed & ((rows.steps != 0).sum(axis=1) <= self._most_changes))
        costs = self._costs(person, rows.steps)
        order = np.argsort(costs, kind="stable")
        _, first = np.unique(rows.steps[order] != 0, axis=0, return_index=True)
        return _Rows._make(field[order[np.sort(first)]] for field in rows)

    def _reaching(self, person: Array) -> _Rows:
        """The easiest instances that reach the goal as far as the person may follow them."""
        steps = self._grid.toward(person, self.arms)
        order = np.argsort(self._costs(person, steps), kind="stable")
        order = order[(steps[order] != 0).any(axis=1)]
        parts = [self._scored(person, order[:0], steps[:0])]
        for start in range(0, len(order), AT_ONCE):
            chosen = order[start : start + AT_ONCE]
            parts.append(self._scored(person, chosen, steps[chosen]))
            if sum(int(part.valid.sum()) for part in parts) >= ENOUGH:
                break
        rows = _Rows.joined(parts)
        return _Rows._make(field[:ENOUGH] for field in rows.at(rows.valid))

    def _fewer(self, person: Array, rows: _Rows) -> _Rows:
        """Give changes back, one feature of every row at a time, the dearest first."""
        for which in self._by_cost(person, rows.steps):
            rows, _ = self._replaced(person, rows, which, np.zeros(len(which), dtype=np.int64))
        return rows

    def _smaller(self, person: Array, rows: _Rows) -> _Rows:
        """Halve the distance to the fewest steps that are enough, one number of every row at a time.

        The category of a one-hot feature has no half way: it stays the instance's.
        """
        changes = int((rows.steps != 0).sum(axis=1).max(initial=0))
        for which in self._by_cost(person, rows.steps)[:changes]:
            too_few = np.zeros(len(which), dtype=np.int64)
            for _ in range(HALVINGS):
                own = rows.steps[np.arange(len(which)), which]
                half = np.where(self._grid.is_number[which], (too_few + own) // 2, own)
                rows, taken = self._replaced(person, rows, which, half)
                too_few = np.where(taken, too_few, half)
        return rows

    def _by_cost(self, person: Array, steps: Steps) -> Steps:
        """Which feature of each of R rows is the dearest, which the next, and so on: (M, R)."""
        costs = np.stack([self._costs(person, _only(steps, m)) for m in range(steps.shape[1])])
        return np.argsort(-costs, axis=0, kind="stable")

    def _replaced(self, person: Array, rows: _Rows, which: Indices, by: Steps) -> tuple[_Rows, Mask]:
        """The rows with other steps of one feature each, where the goal is then reached; and where it is."""
        steps = rows.steps.copy()
        steps[np.arange(len(steps)), which] = by
        tried = np.flatnonzero((steps != rows.steps).any(axis=1) & steps.any(axis=1))
        found = self._scored(person, rows.arm[tried], steps[tried])
        taken = np.zeros(len(steps), dtype=np.bool_)
        better = found.valid & (found.allowed | ~rows.allowed[tried])
        taken[tried[better]] = True
        fields = [field.copy() for field in rows]
        for field, new in zip(fields, found, strict=True):
            field[tried[better]] = new[better]
        return _Rows._make(fields), taken

    def _scored(self, person: Array, arm: Indices, steps: Steps) -> _Rows:
        score, goal = self._model()
        targets = self._grid.targets(person, steps)
        scores = score(targets)
        return _Rows(arm, steps, scores, np.asarray(self.space.allowed(targets), dtype=bool), goal.reached(scores))

    def _costs(self, person: Array, steps: Steps) -> Array:
        targets, none = self._grid.targets(person, steps), np.zeros(len(steps), dtype=np.intp)
        return self._cost.of_pairs(targets, person[np.newaxis], np.arange(len(steps)), none)

    def _relaxation(self, person: Array) -> str:
        """The first single relaxation of the rules that gives the person an option, in words."""
        space, score, goal = self.space, *self._model()

        def helps(relaxed: Space) -> bool:
            return bool(len(type(self)(relaxed, self.arms, self._cost, score, goal)._options(person).arm))

        for feature, rule in enumerate(space.mutable):
            if rule in OTHER and helps(either_way(space, feature)):
                return help_by_direction(space, feature)
        more = self._most_changes + 1
        if more <= len(self._grid.features) and helps(space._replace(max_changes=more)):
            return help_by_changes(more)
        return ""


def _only(steps: Steps, feature: int) -> Steps:
    """The steps of one feature."""
    only = np.zeros_like(steps)
    only[:, feature] = steps[:, feature]
    return only
