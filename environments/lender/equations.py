"""A world of linear structural equations: what people are, what follows from a change, and what then helps.

What people change are *things*, such as their savings. Files hold *columns*, each a measure of one thing with an error
of its own that a person keeps. A change of a column is a change of its thing by as much; all things that follow from
it, and all other columns of these things, move with it, and every residual stays (abduction, action, prediction).

References
----------
Pearl, J. (2009). Causality. Section 7.1: the three steps of a counterfactual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.sigmoid import sigmoid
from ...schemas.spec import Mutable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Thing:
    """One variable, in standard deviations from its mean.

    Parameters
    ----------
    name
        That of its column, where it has one.
    mean, deviation
        Of its columns, in their unit.
    mutable
        Which way people can change it.
    parents
        By how many deviations it follows each earlier thing.
    hidden
        By how many it follows the hidden cause.
    noise
        The standard deviation of its residual.
    weight
        What it adds to the log odds of the desired outcome, where it is near its mean.
    hard
        The effort of a change by one deviation.
    """

    name: str
    mean: float
    deviation: float
    mutable: Mutable = "none"
    parents: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    hidden: float = 0.0
    noise: float = 1.0
    weight: float = 0.0
    hard: float = 0.0


class MeasureColumn(NamedTuple):
    """A measure of a thing: the thing's place, and the standard deviation of its error in those of the thing."""

    name: str
    thing: int
    error: float


class LenderPeople(NamedTuple):
    """N people: their things (N, J), the hidden cause (N,), their pace (N, J), and their columns in whole units (N, K).

    ``pace`` is how many times as hard as for others a change of each thing is for a person.
    """

    things: Floats
    hidden: Floats
    pace: Floats
    columns: Floats

    def only(self, chosen: NDArray[np.intp] | NDArray[np.bool_] | slice) -> LenderPeople:
        """Some of them."""
        return LenderPeople(*(part[chosen] for part in self))

    def repeated(self, times: int) -> LenderPeople:
        """Each of them as many times."""
        return LenderPeople(*(np.repeat(part, times, axis=0) for part in self))


class Carried(NamedTuple):
    """What P changes lead to: things (P, J) and columns (P, K) after them, and the probabilities (P,) that the person
    carries the change out (``execution``) and then has the desired outcome (``help``)."""

    things: Floats
    columns: Floats
    execution: Floats
    help: Floats


@dataclass(frozen=True)
class Equations:
    """The things in their causal order, the columns that are seen of them, and the label's log odds.

    The log odds are ``level`` + ``hidden`` U + the sum of weight 2 tanh(z / 2) over the things z. ``spread`` is the
    standard deviation of the logarithm of people's pace.
    """

    things: Sequence[Thing]
    columns: Sequence[MeasureColumn]
    level: float
    hidden: float = 0.0
    spread: float = 0.6

    def draw(self, number: int, random: np.random.Generator) -> LenderPeople:
        """Draw people."""
        hidden = random.normal(size=number)
        values = np.zeros((number, len(self.things)))
        for place, thing in enumerate(self.things):
            residual = thing.noise * random.normal(size=number)
            values[:, place] = residual + thing.hidden * hidden + self._follows(place, values)
        pace = np.exp(self.spread * random.normal(size=values.shape))
        errors = random.normal(size=(number, len(self.columns))) * [column.error for column in self.columns]
        measured = self._means + self._deviations * (values[:, self._thing_of] + errors)
        return LenderPeople(values, hidden, pace, np.maximum(np.rint(measured), 0.0))

    def help(self, things: Floats, hidden: Floats) -> Floats:
        """The probability (P,) of the desired outcome of people with these things (P, J) and this hidden cause (P,)."""
        weights = np.array([thing.weight for thing in self.things])
        return sigmoid(self.level + self.hidden * hidden + (2.0 * np.tanh(things / 2.0)) @ weights)

    def carried(self, people: LenderPeople, targets: Floats) -> Carried:
        """What comes of P people (one a row) whose columns are to be ``targets`` (P, K), in their units.

        Of several changed columns of a thing the largest change counts: who does enough for that one has done enough
        for the others, or more.
        """
        shift = self._shift(people, targets)
        things = self._things_after(people.things, shift)
        moved = self._deviations * (things - people.things)[:, self._thing_of]
        columns = np.maximum(np.rint(people.columns + moved), 0.0)
        hard = np.array([thing.hard for thing in self.things])
        execution = np.exp(-(people.pace * np.abs(shift)) @ hard)
        return Carried(things, columns, execution, self.help(things, people.hidden))

    def _shift(self, people: LenderPeople, targets: Floats) -> Floats:
        """By how much each thing is changed on purpose, (P, J); 0 where it only follows."""
        by_column = (targets - people.columns) / self._deviations
        shift = np.zeros_like(people.things)
        for place in range(len(self.things)):
            of_thing = by_column[:, self._thing_of == place]
            if of_thing.shape[1]:
                largest = np.abs(of_thing).argmax(axis=1)
                shift[:, place] = of_thing[np.arange(len(of_thing)), largest]
        return shift

    def _things_after(self, things: Floats, shift: Floats) -> Floats:
        """All things (P, J) after some are changed on purpose; a thing that is changed follows no other."""
        after = things.copy()
        for place in range(len(self.things)):
            followed = self._follows(place, after - things)
            after[:, place] += np.where(shift[:, place] != 0.0, shift[:, place], followed)
        return after

    def _follows(self, place: int, values: Floats) -> Floats:
        """What a thing is moved by its parents, (N,), of values (N, J)."""
        weights = [self.things[place].parents.get(thing.name, 0.0) for thing in self.things]
        followed: Floats = values @ np.array(weights)
        return followed

    @property
    def _thing_of(self) -> NDArray[np.intp]:
        return np.array([column.thing for column in self.columns], dtype=np.intp)

    @property
    def _means(self) -> Floats:
        return np.array([thing.mean for thing in self.things])[self._thing_of]

    @property
    def _deviations(self) -> Floats:
        return np.array([thing.deviation for thing in self.things])[self._thing_of]
