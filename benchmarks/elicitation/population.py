"""Rows of a population in the place of the authors' training split, which is not at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.elicitation.planner import reachable
from onward.benchmarks.elicitation.study import Row, Study

MOVED = 1.0 / 3.0
"""The probability that a movable feature of a row is moved."""


def population(study: Study, users: Sequence[Row], count: int, random: np.random.Generator) -> list[Row]:
    """Rows whose fixed features are those of one user, and whose movable features are those of another one.

    All users are rejected. So that some rows are accepted, each movable feature is moved to a value that the actions
    reach, with probability ``MOVED``.
    """
    movable = [action.feature for action in study.actions]
    reached = [_reached(study, user) for user in users]
    fixed_of, movable_of = random.integers(len(users), size=(2, count))
    moved, place = random.random((count, len(movable))) < MOVED, random.random((count, len(movable)))
    rows: list[Row] = []
    for number, (fixed, other) in enumerate(zip(fixed_of, movable_of, strict=True)):
        row = dict(users[fixed])
        for at, name in enumerate(movable):
            values = reached[other][at]
            chosen = moved[number, at] and len(values)
            row[name] = values[int(place[number, at] * len(values))] if chosen else users[other][name]
        rows.append(row)
    return rows


def _reached(study: Study, user: Row) -> list[NDArray[np.generic]]:
    """The values that each action's feature can reach from those of a user."""
    found = []
    for action in study.actions:
        levels = reachable(action, study.features[study.number[action.feature]], user[action.feature])
        found.append(levels.raw[np.arange(len(levels.steps)), levels.steps - 1])
    return found
