"""The best that could be told: by true execution times true help, among what the rules allow."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ...schemas.spec import Feature
from .equations import Floats, LenderPeople
from .lender import Lender
from .settings import CHANGES, THINGS

EXTENTS = np.arange(1, 9) / 8.0
"""The shares of the largest change that are tried."""
ASKED = 64
"""Options of a person about which the model is asked at once, the best first."""


class Oracle:
    """The true reward of the best option of each person.

    All changes of one or two things are tried, each by every eighth of the largest change that the spec allows: within
    its bounds, in its direction, by its ``max_change``. Of several columns of a thing it is that of the column that may
    move furthest. The model must accept who carries the option out, with all that follows. Columns that have nothing to
    do with anything are left as they are.
    """

    def __init__(self, lender: Lender) -> None:
        self._lender, equations = lender, lender.equations
        things = [
            [place for place, column in enumerate(equations.columns) if column.thing == thing]
            for thing in range(len(THINGS))
        ]
        self._things = [columns for columns in things if lender.features[columns[0]].may_change]
        self._chosen, self._extents = _grid(len(self._things))

    def __call__(self, person: LenderPeople) -> float:
        """The reward of one person's best option; 0 without one."""
        targets = self._targets(person)
        carried = self._lender.equations.carried(person.repeated(len(targets)), targets)
        rewards = carried.execution * carried.help
        best = np.argsort(-rewards, kind="stable")
        for some in np.array_split(best, range(ASKED, len(best), ASKED)):
            holds = self._lender.accepts(carried.columns[some])
            if holds.any():
                return float(rewards[some[holds.argmax()]])
        return 0.0

    def _targets(self, person: LenderPeople) -> Floats:
        """The options of a person, (P, K) in the units of the columns, but for those that change nothing."""
        current = person.columns[0]
        most = np.array([_most(feature, value) for feature, value in zip(self._lender.features, current, strict=True)])
        deviations = np.array(
            [self._lender.equations.things[column.thing].deviation for column in self._lender.equations.columns]
        )
        columns = [max(thing, key=lambda place: abs(most[place] / deviations[place])) for thing in self._things]
        targets = np.repeat(person.columns, len(self._chosen), axis=0)
        targets[:, columns] += np.where(self._chosen, np.rint(self._extents * most[columns]), 0.0)
        moved: Floats = targets[(targets != current).any(axis=1)]
        return moved


def _grid(things: int) -> tuple[NDArray[np.bool_], Floats]:
    """Which things each option changes, and by which share of the largest change, (P, T) each."""
    chosen, extents = [], []
    for count in range(1, CHANGES + 1):
        for places in combinations(range(things), count):
            for shares in product(EXTENTS, repeat=count):
                row = np.zeros(things)
                row[list(places)] = shares
                chosen.append(row > 0.0)
                extents.append(row)
    return np.array(chosen), np.array(extents)


def _most(feature: Feature, value: float) -> float:
    """The largest change that a spec allows of a value, with its sign: upwards where both ways are open."""
    if not feature.may_change or feature.bounds is None:
        return 0.0
    low, high = feature.bounds
    way = value - low if feature.mutable == "down" else high - value
    amount, share = feature.largest_change
    most = min(way, amount, share * abs(value) if math.isfinite(share) else math.inf)
    return -most if feature.mutable == "down" else most
