"""A plan in whole steps: the continuous plan rounded down, and completed by the steps that are best value."""

from __future__ import annotations

import numpy as np

from ...rounding import ROUNDING
from ..components.grid import Steps
from ..contract import Array
from .contract import Recommender, Task, gained


def whole_steps(task: Task, recommender: Recommender, size: Array, most: Steps) -> Steps:
    """The numbers of steps (n, D) of each person, who reaches the target score with all ``most`` (n, D) steps.

    The recommender's changes are rounded down. Then single steps are added, those of the smallest price for what they
    gain of the missing rest, until it is closed. At last steps that are not needed are taken back, from the dearest
    change on. The result is close to the best plan in whole steps, not always equal to it.

    Parameters
    ----------
    task
        Of n people and D features. The room need not be a whole number of steps.
    size
        The size of each feature's step, (D,), in encoded units.
    most
        The most steps.
    """
    changes = recommender.changes(task)
    steps: Steps = np.minimum(np.floor(changes / size + ROUNDING).astype(np.int64), most)
    task = task._replace(room=most * size)
    _add(task, recommender, size, most, steps)
    _take_back(task, recommender, size, steps)
    return steps


def _add(task: Task, recommender: Recommender, size: Array, most: Steps, steps: Steps) -> None:
    """Add steps until nothing is missing."""
    gain = size * task.gain
    while True:
        rest = task.missing - gained(steps * size, task.gain)
        rows = np.flatnonzero((rest > 0.0) & (steps < most).any(axis=1))
        if not len(rows):
            return
        is_left = np.zeros(len(rest), dtype=np.bool_)
        is_left[rows] = True
        unfinished = task.only(is_left)
        price, dearer = (
            recommender.price(unfinished, steps[rows] * size),
            recommender.price(unfinished, (steps[rows] + 1) * size),
        )
        useful = np.minimum(gain, rest[rows, np.newaxis])
        # The next step after one of an infinite price has none.
        with np.errstate(divide="ignore", invalid="ignore"):
            more = dearer - price
            value = np.where((steps[rows] < most[rows]) & (gain > 0.0), more / useful, np.inf)
        value[np.isnan(value)] = np.inf
        # Where all prices are infinite, any step that is left.
        blocked = np.isinf(value).all(axis=1)
        value[blocked] = np.where(steps[rows[blocked]] < most[rows[blocked]], -gain, np.inf)
        steps[rows, value.argmin(axis=1)] += 1


def _take_back(task: Task, recommender: Recommender, size: Array, steps: Steps) -> None:
    """Take back the steps that are not needed."""
    gain = size * task.gain
    order = np.argsort(-recommender.price(task, steps * size), axis=1, kind="stable")
    rows = np.arange(len(steps))
    surplus = gained(steps * size, task.gain) - task.missing
    for feature in order.T:
        step_gain = gain[feature]
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = np.where(step_gain > 0.0, np.floor(surplus / step_gain), 0.0)
        back = np.clip(spare, 0, steps[rows, feature]).astype(np.int64)
        steps[rows, feature] -= back
        surplus -= back * step_gain
