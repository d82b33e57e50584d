"""What robust recourse is asked, and what it answers."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.contract import Array, Indices, Mask


class Status(IntEnum):
    """What became of a person's problem."""

    FOUND = 0
    """The target is the optimum, within the gap."""
    ENOUGH = 1
    """The person's own row is the optimum: nothing needs to change."""
    OUT_OF_REACH = 2
    """No allowed point has the required worst-case log odds. The target is the one that comes nearest."""
    OUTSIDE = 3
    """The bounds exclude the person."""
    CONTRADICTION = 4
    """A lowest value is above the highest."""
    NOT_ONE_HOT = 5
    """A one-hot group of the person has not exactly one 1."""
    NOT_FINITE = 6
    """The person has a value that is no finite number."""


class Rules(NamedTuple):
    """Where n people may go, (n, D) or what broadcasts to it.

    A column that may not change has the person's own value as both bounds, one that may only rise as the lowest. A
    column with a ``step`` (D,) above 0 changes by whole steps. ``groups`` are the columns of one-hot features that may
    change, one array each: exactly one of their columns is 1, and bounds of 0 exclude a category.
    """

    lowest: Array
    highest: Array
    step: Array | None = None
    groups: tuple[Indices, ...] = ()


class Answers(NamedTuple):
    """What is recommended to n people.

    ``targets`` (n, D) are the person's own row where there is a fault. ``margin`` (n,) are worst-case log odds,
    ``cost`` (n,) is that of the changes. The ``objective`` (n,) is never below ``bound`` (n,), which a
    model within the ball proves: where they are equal the target is an optimum. ``best`` (n,) is an upper bound of the
    worst-case log odds within reach where the required ones are not, infinite elsewhere.
    """

    targets: Array
    status: NDArray[np.int8]
    margin: Array
    cost: Array
    objective: Array
    bound: Array
    best: Array

    @property
    def reached(self) -> Mask:
        """Who has a target, (n,)."""
        return np.asarray(self.status <= Status.ENOUGH)

    @property
    def gap(self) -> Array:
        """How far the objective may be above the least, (n,); infinite where there is no target."""
        with np.errstate(invalid="ignore"):
            return np.where(self.reached, np.maximum(self.objective - self.bound, 0.0), np.inf)
