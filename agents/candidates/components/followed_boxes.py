"""Grids of rows along which other features follow those that are moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...consequences import Consequences
from ...tree_walk import Boxes
from ..contract import Array, Indices, Mask

Rejected = Callable[[Boxes], Indices]
"""The number, in each of B grids, of the first point that is rejected and that the rules allow; -1 for none, (B,)."""


class FollowedBoxes(NamedTuple):
    """Grids of F features that P people move: the points of ``boxes`` are what they do, and others follow.

    ``people`` (P, D) are those of the rows of the boxes, ``acted`` (P, F) the features that they move themselves. What
    follows is that of the ``consequences``.
    """

    boxes: Boxes
    people: Array
    acted: Mask
    consequences: Consequences

    def first_rejected(self, rejected: Rejected) -> Indices:
        """The first rejected point of each of B grids, (B,), after all that follows; -1 for none."""
        boxes, axes = self.boxes, self._axes()
        fits = (axes >= -1).all(axis=1)
        values = self._values(axes)
        fits &= _go_one_way(values, axes, boxes.size)
        found, along = np.full(len(fits), -1), np.flatnonzero(fits)
        if len(along):
            rows, numbers = boxes.rows[boxes.owner[along]], np.arange(len(along))
            found[along] = rejected(Boxes(rows, boxes.columns, values[along], numbers, axes[along], boxes.size[along]))
        for grid in np.flatnonzero(~fits).tolist():
            hits = np.flatnonzero(rejected(self._one_by_one(grid)) >= 0)
            found[grid] = hits[0] if len(hits) else -1
        return found

    def _axes(self) -> Indices:
        """The axis along which each feature moves or follows, (B, F); -1 for none, -2 for several."""
        boxes = self.boxes
        moves = np.where(boxes.axis >= 0, 1 << np.maximum(boxes.axis, 0), 0)
        acted = self.acted[boxes.owner]
        for link in self.consequences.links:
            of_parents = np.bitwise_or.reduce(moves[:, list(link.parents)], axis=1)
            moves[:, link.child] = np.where(acted[:, link.child], moves[:, link.child], of_parents)
        alone = np.rint(np.log2(np.maximum(moves, 1))).astype(np.intp)
        return np.where(moves == 0, -1, np.where(moves & (moves - 1), -2, alone))

    def _values(self, axes: Indices) -> Array:
        """The encoded values of the features of each grid along its axes, (B, F, K)."""
        boxes, values = self.boxes, self.boxes.values[self.boxes.owner]
        places = values.shape[2]
        for axis in range(boxes.size.shape[1]):
            follows = (axes == axis) & (boxes.axis != axis)
            grids = np.flatnonzero(follows.any(axis=1))
            if not len(grids):
                continue
            people, targets = self._stated_targets(grids)
            targets = np.repeat(targets[:, np.newaxis], places, axis=1)
            moved = boxes.axis[grids] == axis
            for feature in np.flatnonzero(moved.any(axis=0)).tolist():
                chosen = moved[:, feature]
                targets[chosen, :, boxes.columns[feature]] = values[grids[chosen], feature]
            people, targets = np.repeat(people, places, axis=0), targets.reshape(-1, targets.shape[2])
            states = self.consequences.states_after(targets, people).reshape(len(grids), places, -1)
            for feature in np.flatnonzero(follows.any(axis=0)).tolist():
                chosen = follows[grids, feature]
                values[grids[chosen], feature] = states[chosen][:, :, boxes.columns[feature]]
        return values

    def _stated_targets(self, grids: Indices) -> tuple[Array, Array]:
        """The people of some grids, and what they are told, which changes alone what they do, (G, D) each."""
        boxes, owner = self.boxes, self.boxes.owner[grids]
        people, targets = self.people[owner], self.boxes.rows[owner].copy()
        for feature in self.consequences.followers.tolist():
            column, follows = boxes.columns[feature], ~self.acted[owner, feature]
            targets[follows, column] = people[follows, column]
        return people, targets

    def _one_by_one(self, grid: int) -> Boxes:
        """The points of a grid, each a grid of its own."""
        boxes = self.boxes
        first = boxes.first[grid : grid + 2]
        rows = boxes.points(np.arange(*first))
        person = self.people[boxes.owner[grid]]
        for feature in self.consequences.followers.tolist():
            if not self.acted[boxes.owner[grid], feature]:
                rows[:, boxes.columns[feature]] = person[boxes.columns[feature]]
        states = self.consequences.states_after(rows, np.repeat(person[np.newaxis], len(rows), axis=0))
        none, single = np.full((len(states), 1), -1), np.ones((len(states), 1), np.intp)
        column = boxes.columns[:1]
        return Boxes(states, column, states[:, column][:, :, np.newaxis], np.arange(len(states)), none, single)


def _go_one_way(values: Array, axes: Indices, size: Indices) -> Mask:
    """Whether values (B, F, K) ascend or descend along the axes (B, F) of grids, which have so many places (B, A)."""
    places = np.where(axes >= 0, np.take_along_axis(size, np.maximum(axes, 0), axis=1), 1)
    within = np.arange(1, values.shape[2]) < places[:, :, np.newaxis]
    step = np.where(within, np.diff(values, axis=2), 0.0)
    ascends, descends = np.all(step >= 0.0, axis=2), np.all(step <= 0.0, axis=2)
    return np.asarray(np.all(ascends | descends, axis=1))
