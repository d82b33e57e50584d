"""The changes that make joint success most likely, one person at a time, in compiled loops.

A changed feature with attainability a fails with probability exp(-theta a) (eq 8). Its *loss* is -log(1 - exp(-z)) with
z = theta a, and a plan's loss is the sum. Along the change the loss is convex at first, concave beyond a success
probability of about .8, and convex again near very large changes: descent alone would stay where it starts.

So what a person lacks is cut into equal units of gain, and dynamic programming finds the best way to share them out: a
knapsack of multiple choice, exact for whole units. From there units are halved, and few of them are moved between
features at once, again by dynamic programming, as long as a halved unit matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...arrays import Indices
from ...compiled import compiled
from ..contract import Array

UNITS = (24, 128)
"""Units of gain into which what a person lacks is cut at first; the finer ones where changes may well fail."""
CONVEX = 0.2
"""The loss of a change below which it is convex: all plans of such changes are found from any start."""
HALVINGS = 10
"""How often units are halved: the last are at most 4e-5 of what is lacking."""
MOST_MOVED = 3
"""Most units by which the gain of one feature changes between two halvings."""


class Person(NamedTuple):
    """Of each of M features, (M,): own value, sign of a helpful change, theta, the gain for a unit of change, room."""

    own: Array
    sign: Array
    theta: Array
    gain: Array
    room: Array


@compiled
def loss_of(change: float, own: float, sign: float, theta: float) -> float:
    """-log of the probability that a change succeeds (eq 7 and 8)."""
    u = change * (own + sign * change)
    if u <= 0.0:
        return 0.0
    z = theta * (1.0 / u - 1.0)
    return -math.log1p(-math.exp(-z)) if z > 0.0 else math.inf


@compiled
def loss_at(gained: float, person: Person, m: int) -> float:
    """The loss of the change of a feature that gains so much."""
    change = min(gained / person.gain[m], person.room[m])
    return loss_of(change, person.own[m], person.sign[m], person.theta[m])


@compiled
def share_out(missing: float, units: int, person: Person, gained: Array) -> None:
    """Write what each feature gains, (M,), so that the whole units are shared out at least loss.

    A change downwards succeeds more easily near its end: it may be made whole, and then gains more than is counted.
    """
    unit, count = missing / units, len(gained)
    best, chosen = np.full(units + 1, math.inf), np.zeros((count, units + 1), np.intp)
    before, loss = np.empty(units + 1), np.empty(units + 1)
    best[0] = 0.0
    for m in range(count):
        whole = person.gain[m] * person.room[m]
        most = min(units, int(whole / unit))
        for taken in range(most + 1):
            loss[taken] = loss_at(taken * unit, person, m)
        end = loss_at(whole, person, m) if person.sign[m] < 0.0 else math.inf
        before[:] = best
        for total in range(units + 1):
            best[total] = math.inf
            for taken in range(min(most, total) + 1):
                if before[total - taken] + loss[taken] < best[total]:
                    best[total], chosen[m, total] = before[total - taken] + loss[taken], taken
            # With all of it also whoever needs less has enough.
            for left in range(max(0, total - most) if end < math.inf else total + 1, total + 1):
                if before[left] + end < best[total]:
                    best[total], chosen[m, total] = before[left] + end, -1 - left
    total = units
    for m in range(count - 1, -1, -1):
        taken = chosen[m, total]
        if best[units] == math.inf:
            gained[m] = missing * person.gain[m] * person.room[m] / np.sum(person.gain * person.room)
        elif taken < 0:
            gained[m], total = person.gain[m] * person.room[m], -1 - taken
        else:
            gained[m], total = taken * unit, total - taken


@compiled
def give_back(missing: float, person: Person, gained: Array) -> None:
    """Take back what is gained too much, where a smaller change is never less likely."""
    surplus = np.sum(gained) - missing
    for m in range(len(gained)):
        if surplus > 0.0 and (person.sign[m] > 0.0 or 2.0 * gained[m] <= person.gain[m] * person.own[m]):
            back = min(gained[m], surplus)
            gained[m] -= back
            surplus -= back


@compiled
def move_units(unit: float, person: Person, gained: Array) -> None:
    """Move few units of gain between features, so that the loss is least."""
    count, reach = len(gained), MOST_MOVED * len(gained)
    best, chosen = np.full(2 * reach + 1, math.inf), np.zeros((count, 2 * reach + 1), np.intp)
    before, loss = np.empty(2 * reach + 1), np.empty(2 * MOST_MOVED + 1)
    best[reach] = 0.0
    for m in range(count):
        for move in range(-MOST_MOVED, MOST_MOVED + 1):
            new = gained[m] + move * unit
            inside = move == 0 or 0.0 <= new <= person.gain[m] * person.room[m]
            loss[move + MOST_MOVED] = loss_at(new, person, m) if inside else math.inf
        before[:] = best
        bound = min(reach, MOST_MOVED * (m + 1))
        for total in range(reach - bound, reach + bound + 1):
            best[total] = math.inf
            for move in range(-MOST_MOVED, MOST_MOVED + 1):
                if 0 <= total - move <= 2 * reach:
                    worth = before[total - move] + loss[move + MOST_MOVED]
                    if worth < best[total]:
                        best[total], chosen[m, total] = worth, move
    if best[reach] == math.inf:
        return
    total = reach
    for m in range(count - 1, -1, -1):
        move = chosen[m, total]
        gained[m] += move * unit
        total -= move


@compiled
def least_loss(missing: float, person: Person, gained: Array) -> None:
    """Write what each feature gains, (M,), in the plan of least loss. All room together gains more than is missing."""
    for units in UNITS:
        share_out(missing, units, person, gained)
        give_back(missing, person, gained)
        unit = missing / units
        for _ in range(HALVINGS):
            unit *= 0.5
            move_units(unit, person, gained)
        largest = 0.0
        for m in range(len(gained)):
            largest = max(largest, loss_at(gained[m], person, m))
        if largest < CONVEX:
            break


@compiled
def plan_people(missing: Array, people: Array, room: Array, model: tuple[Array, Array, Array], changes: Array) -> None:
    """Write each person's changes (n, D) of the largest joint success. ``model`` has sign, theta and gain by column."""
    sign, theta, gain = model
    for i in range(len(missing)):
        free: Indices = np.flatnonzero(room[i] > 0.0)
        person = Person(people[i][free], sign[free], theta[free], gain[free], room[i][free])
        if np.sum(person.gain * person.room) <= missing[i]:
            changes[i] = room[i]
            continue
        gained = np.zeros(len(free))
        least_loss(missing[i], person, gained)
        for m in range(len(free)):
            changes[i, free[m]] = min(gained[m] / person.gain[m], person.room[m])
