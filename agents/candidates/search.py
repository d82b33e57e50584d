"""Search: the best allowed changes that reach the goal, for any model with a score."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from ..costs import L1
from ..goals import Goal
from ..parameters import Interval
from ..scores import WorstCase, models_in_words
from .components.aimed import AimedSearch
from .components.cheapest import CheapestSearch
from .components.explanations import Relaxed, best_rows, neighbours, smallest_relaxation
from .components.feature_sets import FeatureSets
from .components.grid import Grid, Steps
from .components.judge import BLOCK, Missed
from .components.linear_sets import LinearSets
from .components.scored import ScoredTargets
from .components.scoring_generator import ScoringGenerator, in_words
from .components.worst_case_sets import solve_worst_case
from .contract import Array, Explanation, Indices, LinearScore, Objective, Proposals, Score, Space

BASES = 4
"""Rows of the best scores from which a rule is broken, to explain why there is no option."""
NAMED = 20
"""Features that an explanation names at most, of those that may change."""
KEPT = 256
"""People without an option of whom it is kept how far the allowed changes lead, in case that it is explained."""


class _Reach(NamedTuple):
    """The best score of all allowed targets of a person, with its target, and whether both are proven.

    ``bases`` (B, M) are steps from which a rule may be broken.
    """

    best: float | None
    nearest: Array | None
    proven: bool
    bases: Steps


class _Lost(NamedTuple):
    """A person without an option: the target below the floor that helps most, (1, D), or none, (0, D), and their reach.

    The reach is None where a closed form proves that there is nothing.
    """

    missed: Array
    reach: _Reach | None


class Search(ScoringGenerator):
    """The best option of every set of features that a person could change.

    An arm is a set of features: learners learn which kinds of change help. Under an objective that aims, the options
    are those that are most probably carried out and help (``AimedSearch``); near options have arms of their own.

    People for whom this finds none, and all people where costs alone count, get the cheapest option of every set
    (``CheapestSearch``), on the grid of the features' steps, counted from the person's own values. An option that
    changes more features than another, the same ones among them, and costs no less is left out.

    Under a linear score and the l1 cost the options follow from a closed form (``LinearSets``) instead. People for whom
    one of its options breaks a cross-feature constraint are searched as under any model.

    Parameters
    ----------
    dearest
        How many times the cost of a person's best option their other options may cost, where they are to help.
    """

    name: ClassVar[str] = "search"
    knows_consequences: ClassVar[bool] = True
    uses_instances: ClassVar[bool] = False

    def __init__(
        self,
        space: Space,
        objective: Objective,
        score: Score | None = None,
        goal: Goal | None = None,
        *,
        dearest: Annotated[float, Interval(above=1)] = 3.0,
    ) -> None:
        super().__init__(space, objective, score, goal)
        self._dearest = dearest
        self._lost: dict[bytes, _Lost] = {}
        self._grid = Grid(space)
        movable = len(self._grid.features)
        self._most_changes = min(movable, space.max_changes or movable)
        self._sets = FeatureSets(self._grid, len(space.feature_of), self._most_changes)
        # In halves, so that no arm has the columns of another.
        near = self._sets.rows / 2.0 if objective.improvement is not None else self._sets.rows[:0]
        self.arms = np.concatenate([self._sets.rows, near])

    @classmethod
    def build(cls, space: Space, instances: Array, objective: Objective, **parameters: float) -> Self:
        """The generator of a program; instances are not used."""
        cls.check(parameters)
        return cls(space, objective, None, None, **parameters)

    def under(self, score: Score, goal: Goal, objective: Objective | None = None) -> Self:
        """The same sets of features under a model."""
        # Grid and sets take much longer to make than to share, and a round of limited places needs several goals.
        other = copy(self)
        other._score, other._goal, other._objective = score, goal, objective or self._objective
        other._lost = {}
        # What follows from the model is cached under the names of properties.
        for name in [name for name in vars(other) if isinstance(getattr(type(other), name, None), cached_property)]:
            delattr(other, name)
        return other

    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""
        missed = Missed.none(people, self._objective.floor)
        options, unserved = Proposals.none(people), np.arange(len(people))
        if self._aimed is not None:
            blocks = (slice(start, start + BLOCK) for start in range(0, len(people), BLOCK))
            found = (self._aimed.options(people[block], missed.subset(block), self._sets) for block in blocks)
            options = Proposals.joined([options, *found])
            unserved = np.setdiff1d(unserved, options.people)
        cheapest = self._cheapest(people, unserved, missed)
        if self._aimed is not None:
            cheapest = self._not_too_dear(people, cheapest)
        return Proposals.joined([options, cheapest]).ordered()

    def _cheapest(self, people: Array, unserved: Indices, missed: Missed) -> Proposals:
        """The cheapest options of the people with these numbers; where options are to help, in round numbers first.

        Noted are targets below the floor, and kept is how far those are led who have no option.
        """
        parts, unsolved = [Proposals.none(people)], unserved
        if self._aimed is not None:
            rounded = self._in_round_numbers
            parts += (options for _, options, _ in self._searched(people, unsolved, missed, rounded))
            unsolved = np.setdiff1d(unsolved, Proposals.joined(parts).people)
        if self._linear is not None and len(unsolved):
            solved, others = self._solved(people[unsolved], self._linear)
            parts.append(solved._replace(people=unsolved[solved.people]))
            unsolved = unsolved[others]
        reach: dict[int, _Reach] = {}
        for number, options, scored in self._searched(people, unsolved, missed, self._by_cost):
            parts.append(options)
            if not len(options.arm):
                reach[number] = self._reach(people[number], scored)
        found = Proposals.joined(parts)
        for number in np.setdiff1d(unserved, found.people).tolist():
            self._lost[people[number].tobytes()] = _Lost(missed.target(number), reach.get(number))
        for key in list(self._lost)[:-KEPT]:
            del self._lost[key]
        return found

    def _not_too_dear(self, people: Array, options: Proposals) -> Proposals:
        """The options that cost at most ``dearest`` times the person's cheapest."""
        cost = self._objective.costs(options.targets, people, options.people)
        cheapest = np.full(len(people), np.inf)
        np.minimum.at(cheapest, options.people, cost)
        return options.subset(cost <= self._dearest * cheapest[options.people])

    def reaching(self, person: Array) -> Array:
        """The targets proposed to a person (D,), else the target below the floor that helps most, (R, D)."""
        if (key := person.tobytes()) not in self._lost and len(targets := self.propose(person[np.newaxis]).targets):
            return targets
        return self._lost[key].missed

    def explain(self, person: Array) -> Explanation:
        """How far the allowed changes lead, and the smallest relaxation of the rules that would help."""
        key = person.tobytes()
        if key not in self._lost and (count := len(Search.propose(self, person[np.newaxis]).arm)):
            raise ValueError(f"{count} options are feasible for this person")
        best, nearest, proven, bases = self._lost[key].reach or self._solved_reach(person)
        limits = self._grid.limits(person)
        names = [
            self.space.feature_names[feature]
            for index, feature in enumerate(self._grid.features)
            if limits.most[index] > limits.fewest[index]
        ]
        relaxation = self._relaxation(person, bases)
        if not names:
            return Explanation("no_allowed_change", "nothing that may change has room to", relaxation)
        score, goal = self._model()
        models = models_in_words(score)
        if len(names) > NAMED:
            names = [*names[:NAMED], f"{len(names) - NAMED:,} other features"]
        changes = f"no allowed change of {', '.join(names)}" + (" reaches" if proven else " was found that reaches")
        detail = f"{changes} the required score{models}"
        if best is None:
            scores = f"a score above {goal.in_words()} is required"
            return Explanation("out_of_reach", f"{detail}; the constraints exclude all of them", relaxation, scores)
        highest, required = in_words(best, goal)
        found = "" if proven else "found "
        scores = f"a score above {required}{models} is required; the best {found}reaches {highest}{models and ' there'}"
        if best > goal.threshold:
            relaxation = "; ".join(filter(None, ("the best is enough without the margin", relaxation)))
        is_nearer = best > score(person[np.newaxis]).item()
        return Explanation("out_of_reach", detail, relaxation, scores, nearest if is_nearer else None)

    # --- options that help -------------------------------------------------------------------------------------------

    @cached_property
    def _aimed(self) -> AimedSearch | None:
        """The search for options that help, where something is known about it."""
        if not self._objective.aims or not self._most_changes:
            return None
        return AimedSearch(self._judge, self._most_changes, self._dearest)

    @cached_property
    def _in_round_numbers(self) -> CheapestSearch:
        """The search for the cheapest options on the grid of round numbers, for people of whom the other found none."""
        return self._searching(Grid(self.space, rounded=True))

    @cached_property
    def _by_cost(self) -> CheapestSearch:
        """The search for the cheapest options."""
        return self._searching(self._grid)

    def _searching(self, grid: Grid) -> CheapestSearch:
        return CheapestSearch(self._judge, grid, self._most_changes)

    # --- linear scores -----------------------------------------------------------------------------------------------

    @cached_property
    def _linear(self) -> LinearSets | None:
        """The closed form, where there is one."""
        score, goal = self._model()
        if isinstance(score, WorstCase):
            score = score.linear
        # What follows from changes is no sum of them: it is rounded, bounded and computed.
        if self.space.consequences is not None:
            return None
        if not (isinstance(score, LinearScore) and isinstance(self._objective.cost, L1) and 0.0 < goal.required < 1.0):
            return None
        return LinearSets(self._grid, score, goal.required, self._most_changes)

    def _solved(self, people: Array, linear: LinearSets) -> tuple[Proposals, Indices]:
        """The options of the people whom the closed form serves, and the numbers of the others."""
        score, goal = self._model()
        if isinstance(score, WorstCase):
            solutions, sure = solve_worst_case(people, linear, score, goal)
        else:
            solutions, sure = linear.solve(people), np.ones(len(people), dtype=np.bool_)
        options = Proposals.from_targets(solutions.people, self._sets.arms(solutions.steps), solutions.targets)
        _, good = self._judge.accepts(options.targets, people, options.people)
        solved = ~solutions.accepted & sure
        solved[options.people[~good]] = False
        cost = self._objective.cost.of_targets(options.targets, people, options.people)
        order = np.lexsort((cost, options.arm, options.people))
        # Large sets share arms: the cheapest of each counts.
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = np.diff(options.people[order]).astype(bool) | np.diff(options.arm[order]).astype(bool)
        return options.subset(order[new & solved[options.people[order]]]), np.flatnonzero(~solved)

    # --- one person --------------------------------------------------------------------------------------------------

    def _solved_reach(self, person: Array) -> _Reach:
        """How far a person is led of whom the closed form proves that there is no option."""
        assert self._linear is not None, "people who were searched for are kept"
        people, (score, _) = person[np.newaxis], self._model()
        best, missed = self._linear.solve(people).best, Missed.none(people, self._objective.floor)
        measured = self._by_cost.measured(people, missed, np.zeros(1, dtype=np.intp), best)
        reach = self._reach(person, *self._by_cost.targets(people, missed))
        # The highest worst case is not where the highest linear score is.
        if isinstance(score, WorstCase) or not measured.allowed.all():
            return reach
        return _Reach(measured.score.item(), self._grid.moved(people, best)[0], True, reach.bases)

    def _searched(
        self, people: Array, numbers: Indices, missed: Missed, search: CheapestSearch
    ) -> Iterator[tuple[int, Proposals, ScoredTargets]]:
        """Each of the people with these numbers, their cheapest target by arm, and all targets that were scored."""
        for start in range(0, len(numbers), BLOCK):
            block = numbers[start : start + BLOCK]
            for number, scored in zip(block.tolist(), search.targets(people[block], missed.subset(block)), strict=True):
                steps = scored.whole(scored.steps[scored.undominated()])
                arms, first = np.unique(self._sets.arms(steps), return_index=True)
                rows = search.grid.targets(people[number], steps[first])
                yield number, Proposals.from_targets(np.full(len(arms), number), arms, rows), scored

    def _reach(self, person: Array, scored: ScoredTargets) -> _Reach:
        """How far a person is led by the search for the cheapest options."""
        every, steps, grid = scored.all, scored.steps, self._grid
        allowed = np.flatnonzero(every.allowed)
        proven = self._by_cost.is_exhaustive(grid.limits(person))
        bases = scored.whole(best_rows(steps, every.score, self._most_changes, BASES))
        if not len(allowed):
            return _Reach(None, None, proven, bases)
        changes = (steps[allowed] != 0).sum(axis=1)
        best = allowed[np.lexsort((changes, -every.score[allowed]))[:1]]
        return _Reach(every.score[best].item(), grid.targets(person, scored.whole(steps[best]))[0], proven, bases)

    def _relaxed(self, space: Space) -> Search:
        return type(self)(space, self._objective, *self._model(), dearest=self._dearest)

    def _relaxation(self, person: Array, bases: Steps) -> str:
        """The smallest relaxation of the rules that gives the person an option, in words."""
        if not self._grid.features:
            return ""
        limits = self._grid.limits(person)
        if self._linear is not None:
            bases = np.concatenate([self._linear.solve(person[np.newaxis]).best, bases])

        def near(relaxed: Relaxed) -> Steps:
            return neighbours(bases, self._most_changes, limits, relaxed.grid.limits(person), relaxed.factor)

        def searched(relaxed: Relaxed) -> Steps:
            # Other directions lead far from the rules, where other changes may be the best beside them.
            if relaxed.space.mutable == self.space.mutable:
                return bases[:0]
            people = person[np.newaxis]
            [scored] = self._searching(relaxed.grid).targets(people, Missed.none(people, self._objective.floor))
            return scored.whole(scored.steps[scored.all.allowed & scored.all.reached])

        return smallest_relaxation(self._unserved(person), near, searched)
