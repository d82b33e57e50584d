"""FACE: an accepted row of the population at the end of a path between similar rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onward.benchmarks.elicitation.baselines.moves import Indices, Outcome
from onward.benchmarks.elicitation.planner import Person
from onward.benchmarks.elicitation.population import population
from onward.benchmarks.elicitation.study import Array, Row, Study
from onward.benchmarks.peers.similar_rows import path_lengths

ROWS = 2_000
"""Of the population, a tenth of the training split of Adult as in the authors' program."""
HOPS = 4
"""A row is a candidate where a path of at most so many edges leads to it."""
CANDIDATES = 100
"""The nearest of these are priced."""


class FeasiblePaths:
    """FACE on a population of generated rows: the training split is not at hand.

    A candidate is what the user can become with one action a feature that is nearest to an accepted row, if it is
    accepted too. The one with the least expected cost is recommended, in the order of its actions that is expected to
    cost least. It may have more than five actions, as theirs.

    Parameters
    ----------
    study
        The data set.
    users
        The n users.
    everybody
        All users that the population is made from.
    weights
        (P,), what actions are expected to cost.
    random
        Draws the population.

    References
    ----------
    Poyiadzi, R. et al. (2020). FACE: Feasible and Actionable Counterfactual Explanations. AIES.
    """

    def __init__(
        self,
        study: Study,
        users: Sequence[Row],
        everybody: Sequence[Row],
        weights: Array,
        random: np.random.Generator,
    ) -> None:
        self._study, self._weights = study, weights
        self._rows = [*users, *population(study, everybody, ROWS, random)]
        inputs = study.encoded(self._rows)
        self._is_accepted = study.classifier.log_odds(inputs) > 0.0
        movable = {action.feature for action in study.actions}
        names = [feature.name for feature in study.features if feature.name not in movable]
        fixed = np.array([[str(row[name]) for name in names] for row in self._rows])
        self._hops = path_lengths(inputs, fixed, len(users), unweighted=True)

    def outcome(self, user: int, own: Array) -> Outcome:
        """What a user is told, by number, and what that comes to under their weights ``own`` (P,)."""
        person = Person(self._study, self._rows[user])
        hops = np.where(self._is_accepted, self._hops[user], np.inf)
        order = np.argsort(hops, kind="stable")[:CANDIDATES]
        near = [person.nearest(self._rows[row]) for row in order[hops[order] <= HOPS]]
        near = [levels for levels in near if self._reaches(person.target(levels))]
        if not near:
            return Outcome(False, np.nan, 0)
        levels = min(near, key=lambda levels: self._cost(person, levels, self._weights))
        return Outcome(True, self._cost(person, levels, own), int(person.lattice.steps[levels].sum()) + 1)

    def _reaches(self, row: Row) -> bool:
        return bool(self._study.classifier.log_odds(self._study.encoded([row]))[0] > 0.0)

    def _cost(self, person: Person, levels: Indices, weights: Array) -> float:
        """What the steps to a target cost under weights, in the order that is expected to cost least."""
        order = person.cheapest_order(levels, self._weights)
        return float(person.costs_of(levels[np.newaxis], order).totals(weights[np.newaxis])[0, 0])
