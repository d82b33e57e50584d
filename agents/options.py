"""Options: what people could change, as arrays.

An *arm* is what a choice learns about, say a recourse instance. An *option* is what one person reads: an arm with a
target, a cost and an execution probability of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Options(NamedTuple):
    """The F options of one person (D,), by ascending ``arm`` (F,).

    The target of option i is ``points[point[i]]``, with ``points`` (M, D) and ``point`` (F,). ``execution`` (F,) are
    the execution probabilities, in [0, 1]. All arrays are C-contiguous: compiled loops read them.
    """

    person: Array
    arm: Indices
    points: Array
    point: Indices
    execution: Array

    def __len__(self) -> int:
        """The number F of options."""
        return len(self.arm)

    def only(self, *indices: int) -> Options:
        """Only the options at these indices, which ascend."""
        at = list(indices)
        return Options(self.person, self.arm[at], self.points, self.point[at], self.execution[at])

    def without(self, arm: int) -> Options:
        """The options but that of an arm."""
        others = self.arm != arm
        return Options(self.person, self.arm[others], self.points, self.point[others], self.execution[others])

    @property
    def targets(self) -> Array:
        """What the person would become, (F, D)."""
        return self.points[self.point]


class OptionBatch(NamedTuple):
    """The options of n people (n, D). Those of person i are ``first[i] : last[i]`` of the arrays of shape (P,).

    ``arm``, ``point`` and ``execution`` are as in ``Options``, ``cost`` is in the unit of the program's cost.
    """

    people: Array
    first: Indices
    last: Indices
    arm: Indices
    points: Array
    point: Indices
    cost: Array
    execution: Array

    def __len__(self) -> int:
        """The number of people n."""
        return len(self.first)

    def of(self, person: int) -> Options:
        """The options of one person."""
        people, first, last, arm, points, point, _, execution = self
        own = slice(first[person], last[person])
        arms = arm[own]
        fields = (people[person], arms, points, arms if point is arm else point[own], execution[own])
        return tuple.__new__(Options, fields)  # twice as fast as Options(*fields), once a step

    def select(self, rows: Indices | slice) -> OptionBatch:
        """The same for some of the people only, in the order of ``rows``; the option arrays are shared."""
        return OptionBatch(self.people[rows], self.first[rows], self.last[rows], *self[3:])
