"""An automaton of decision trees that says what to change next, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from onward.benchmarks.elicitation.baselines.moves import Indices, Moves
from onward.benchmarks.elicitation.planner import Person
from onward.benchmarks.elicitation.study import Array, Row, Study

START, STOP = "start", "stop"
DEPTH, FEWEST = 4, 10
"""Of a tree, and the fewest steps of plans that a leaf stands for: a rule has at most four conditions."""
ENOUGH = 99.5
"""A gain above this, in percent, is called enough."""


class Operation(NamedTuple):
    """A change of a feature to a category, or upwards or downwards (``direction`` 1 or -1)."""

    feature: str
    category: str | None
    direction: int

    def __str__(self) -> str:
        """As a rule has it."""
        if self.category is not None:
            return f"change {self.feature} to {self.category}"
        return f"{'raise' if self.direction > 0 else 'lower'} {self.feature}"


class Rule(NamedTuple):
    """The operation that a person is told next, and the conditions of which it follows.

    ``share`` is how many of the steps that were learned from under these conditions were this operation.
    """

    operation: Operation
    conditions: tuple[str, ...]
    share: float

    def __str__(self) -> str:
        """In words."""
        return f"{self.operation}, because {' and '.join(self.conditions) or 'nothing else is done'}"


class Example(NamedTuple):
    """A plan that rules are learned from: the weights (P,) that it is the cheapest under, and its operations."""

    row: Row
    weights: Array
    operations: Sequence[Operation]


class Walk:
    """One person and what was done so far.

    Parameters
    ----------
    study, row
        The data set and the person.
    weights
        (S, P), samples of what the person's weights may be.
    """

    def __init__(self, study: Study, row: Row, weights: Array) -> None:
        self._weights = weights
        self.moves = Moves(study, row)
        self.state = self.moves.start

    @property
    def situation(self) -> Array:
        """What a tree sees, (2 M,): of each movable feature the mean cost of its open actions, and what one can gain.

        The gain is the largest part of the log odds that are missing for recourse, in percent from 0 to 100. The cost
        of a feature without an open action is -1.
        """
        every = self.moves.open(self.state)
        states = np.repeat(self.state[np.newaxis], len(every), axis=0)
        cost = self.moves.cost(states, every, self._weights)
        missing = max(1e-9, -float(self.moves.log_odds(self.state[np.newaxis])[0]))
        gain = np.clip((self.moves.log_odds(self.moves.after(states, every)) + missing) / missing, 0.0, 1.0)
        owned = [self.moves.feature[every] == m for m in range(len(self.state))]
        costs = [cost[own].mean() if own.any() else -1.0 for own in owned]
        return np.array(costs + [100.0 * gain[own].max() if own.any() else 0.0 for own in owned])

    @property
    def is_accepted(self) -> bool:
        """Whether the classifier accepts the state."""
        return bool(self.moves.log_odds(self.state[np.newaxis])[0] > 0.0)

    def actions(self, operation: Operation) -> Indices:
        """The open actions of an operation, the smallest amount first."""
        return self.moves.of(self.state, operation.feature, operation.category, operation.direction)

    def least_sufficient(self, actions: Indices) -> int:
        """The first of some actions after which the classifier accepts, else the last."""
        after = self.moves.after(np.repeat(self.state[np.newaxis], len(actions), axis=0), actions)
        enough = np.flatnonzero(self.moves.log_odds(after) > 0.0)
        return int(actions[enough[0] if len(enough) else -1])

    def take(self, action: int) -> None:
        """Do an action."""
        self.state = self.moves.after(self.state[np.newaxis], np.array([action]))[0]


class Automaton:
    """What to do next: a decision tree for each feature that may have been changed last, and one for the start.

    The trees learn from plans, each step taken with the largest amount.

    Parameters
    ----------
    study
        The data set.
    examples
        Plans to learn from.
    """

    def __init__(self, study: Study, examples: Sequence[Example]) -> None:
        self._names = [action.feature for action in study.actions]
        seen: defaultdict[str, list[tuple[Array, str]]] = defaultdict(list)
        for example in examples:
            walk, node = Walk(study, example.row, example.weights[np.newaxis]), START
            for operation in example.operations:
                actions = walk.actions(operation)
                if not len(actions):
                    break
                seen[node].append((walk.situation, str(operation)))
                walk.take(int(actions[-1]))
                node = operation.feature
            else:
                seen[node].append((walk.situation, STOP))
        told = Counter(operation for example in examples for operation in example.operations)
        self._common = [operation for operation, _ in told.most_common()]
        self._operations = {str(operation): operation for operation in told}
        self._trees = {
            node: DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=FEWEST, random_state=0).fit(
                *map(np.array, zip(*steps, strict=True))
            )
            for node, steps in seen.items()
        }

    def ranked(self, node: str, situation: Array) -> list[Operation | None]:
        """The operations, and None for the stop, as often as they came next in this situation; then all others."""
        shares = self._shares(node, situation)
        own = [self._operations.get(name) for name in sorted(shares, key=shares.__getitem__, reverse=True)]
        return own + [operation for operation in self._common if operation not in own]

    def rule(self, node: str, situation: Array, operation: Operation) -> Rule:
        """Why an operation follows in a situation: the bounds on the way to the leaf, the narrowest of each side."""
        if node not in self._trees:
            return Rule(operation, (), 0.0)
        share = self._shares(node, situation).get(str(operation), 0.0)
        fitted: Any = self._trees[node].tree_
        bounds: dict[tuple[int, bool], float] = {}
        for at in self._trees[node].decision_path(situation[np.newaxis]).indices[:-1]:
            column, threshold = int(fitted.feature[at]), float(fitted.threshold[at])
            is_below = bool(np.float32(situation[column]) <= threshold)
            known = bounds.get((column, is_below), threshold)
            bounds[column, is_below] = min(known, threshold) if is_below else max(known, threshold)
        return Rule(operation, tuple(self._words(*side, threshold) for side, threshold in bounds.items()), share)

    def _shares(self, node: str, situation: Array) -> dict[str, float]:
        """How often each operation, and the stop, came next in this situation; empty at a node without a tree."""
        if node not in self._trees:
            return {}
        tree = self._trees[node]
        shares = tree.predict_proba(situation[np.newaxis])[0].tolist()
        return {str(name): share for name, share in zip(tree.classes_, shares, strict=True) if share > 0.0}

    def _words(self, column: int, is_below: bool, threshold: float) -> str:
        verb, feature = divmod(column, len(self._names))
        size = "at most" if is_below else "more than"
        if verb == 0:
            return f"changing {self._names[feature]} costs {size} {threshold:.1f}"
        if threshold > ENOUGH:
            return f"changing {self._names[feature]} once is {'not ' if is_below else ''}enough"
        return f"changing {self._names[feature]} once gains {size} {threshold:.0f} % of what is missing"


def operations_of(person: Person, levels: Indices, order: Indices) -> list[Operation]:
    """The operations of a plan's steps: its levels (M,), and the movable feature of each step (K,)."""
    found = []
    for step in person.steps(levels, order):
        if isinstance(step.after, str):
            found.append(Operation(step.feature, step.after, 0))
        else:
            found.append(Operation(step.feature, None, 1 if step.after > step.before else -1))
    return found
