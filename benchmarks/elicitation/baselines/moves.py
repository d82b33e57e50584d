"""The paper's actions one at a time, for many states of one user at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.elicitation.study import MOST_STEPS, Array, Row, Study

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Outcome(NamedTuple):
    """What a plan of single actions comes to: ``cost`` is that under the given weights, ``length`` counts the stop."""

    valid: bool
    cost: float
    length: int


class Moves:
    """The A actions of one user, each a feature and an argument. A state (M,) are the values of the movable features.

    Of a category the value is its number, first in the order of the classifier's inputs.

    Parameters
    ----------
    study
        The data set.
    row
        The user.
    """

    def __init__(self, study: Study, row: Row) -> None:
        self._study, self._own = study, study.own(row)
        self._inputs = study.encoded([row])[0]
        self._numbers = np.array([study.number[action.feature] for action in study.actions])
        self._features = [study.features[number] for number in self._numbers]
        self.start = np.zeros(len(self._features))
        """The state of the user as they are, (M,)."""
        parts: list[tuple[int, float]] = []
        self._codes: list[Array | None] = []
        self._names: list[list[str]] = []
        for m, (feature, action) in enumerate(zip(self._features, study.actions, strict=True)):
            own = row[feature.name]
            names = list(dict.fromkeys([*feature.categories, *action.categories, own])) if feature.categories else []
            self._names.append(names)
            if feature.categories:
                self.start[m] = names.index(own)
                self._codes.append(feature.inputs(names))
                parts += [(m, float(names.index(name))) for name in action.categories]
            else:
                self.start[m] = own
                self._codes.append(None)
                parts += [(m, float(size)) for size in (*action.rises, *-action.falls)]
        self.feature: Indices = np.array([m for m, _ in parts], np.intp)
        """The movable feature of each action, (A,)."""
        self._argument = np.array([argument for _, argument in parts])
        self._is_category = np.array([bool(feature.categories) for feature in self._features])

    def after(self, states: Array, moves: Indices) -> Array:
        """The states (n, M) after an action each, ``moves`` (n,)."""
        m, which = self.feature[moves], np.arange(len(moves))
        found = states.copy()
        found[which, m] = self._argument[moves] + np.where(self._is_category[m], 0.0, states[which, m])
        return found

    def allowed(self, states: Array, moves: Indices) -> Mask:
        """Whether an action may be taken in each of ``states`` (n, M), and changes its scaled value."""
        m, which = self.feature[moves], np.arange(len(moves))
        before, after = states[which, m], self.after(states, moves)[which, m]
        good: Mask = after != before
        for number in np.flatnonzero(~self._is_category):
            own, feature = m == number, self._features[number]
            good[own] &= self._study.actions[number].allows(after[own])
            good[own] &= feature.scaled(after[own]) != feature.scaled(before[own])
        return good

    def open(self, state: Array) -> Indices:
        """The actions that may be taken in a state (M,)."""
        every = np.arange(len(self.feature))
        return np.flatnonzero(self.allowed(np.repeat(state[np.newaxis], len(every), axis=0), every))

    def of(self, state: Array, feature: str, category: str | None, direction: int) -> Indices:
        """The actions that may be taken in a state (M,) to a category, or in a direction, the smallest amount first."""
        every = self.open(state)
        m = [each.name for each in self._features].index(feature)
        argument = self._argument[every]
        good = argument == self._names[m].index(category) if category is not None else argument * direction > 0.0
        every = every[(self.feature[every] == m) & good]
        order = np.argsort(np.abs(self._argument[every]), kind="stable")
        return np.asarray(every[order])

    def log_odds(self, states: Array) -> Array:
        """The classifier's log odds (n,) of states (n, M)."""
        return self._study.classifier.log_odds(self.inputs(states))

    def inputs(self, states: Array) -> Array:
        """The classifier's inputs (n, D) of states (n, M)."""
        inputs = np.repeat(self._inputs[np.newaxis], len(states), axis=0)
        for m, (feature, codes) in enumerate(zip(self._features, self._codes, strict=True)):
            values = states[:, m]
            inputs[:, feature.columns] = feature.inputs(values) if codes is None else codes[values.astype(np.intp)]
        return inputs

    def cost(self, states: Array, moves: Indices, weights: Array) -> Array:
        """What an action each costs (n,) in states (n, M), under weights (P,), or the mean under samples (S, P)."""
        m, which = self.feature[moves], np.arange(len(moves))
        values, after = self._scaled(states), self._scaled(self.after(states, moves))
        number = self._numbers[m]
        size = np.where(self._is_category[m], 1.0, np.abs(after - values)[which, number])
        structure = self._study.structure
        phi = structure.coefficients(number, size, values)
        return np.asarray(np.maximum(structure.floor, phi @ np.atleast_2d(weights).T).mean(axis=1))

    def distance(self, states: Array) -> Array:
        """Gower's distance (n,) of states (n, M) from the user: the mean over all features, 1 for another category."""
        change = np.abs(self._scaled(states) - self._own).sum(axis=1)
        change += (states != self.start)[:, self._is_category].sum(axis=1)
        return np.asarray(change / len(self._own))

    def outcome(self, plan: Indices, weights: Array) -> Outcome:
        """What a plan comes to under weights (P,), or samples (S, P); a plan of more than five actions is none."""
        state, cost = self.start[np.newaxis], self._study.structure.stop
        for move in plan[:, np.newaxis]:
            cost += float(self.cost(state, move, weights)[0])
            state = self.after(state, move)
        valid = 0 < len(plan) <= MOST_STEPS and bool(self.log_odds(state)[0] > 0.0)
        return Outcome(valid, cost, len(plan) + 1)

    def _scaled(self, states: Array) -> Array:
        """The scaled values (n, F) of all features, 1 for categories."""
        values = np.repeat(self._own[np.newaxis], len(states), axis=0)
        for m in np.flatnonzero(~self._is_category):
            values[:, self._numbers[m]] = self._features[m].scaled(states[:, m])
        return values
