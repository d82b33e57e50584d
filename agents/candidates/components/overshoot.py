"""Overshoot: whether an option still leads to a yes when a person does more than they were told.

A model with steps may accept savings of 1,200 and reject 1,500. More is probed at some points from the target on: of
each change alone, of all together, and of all but one. A change that is told is probed between all splits of a model of
trees, so that nothing between them is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...tree_walk import Boxes
from ...trees import Splits
from ..contract import Array, Indices, Mask, Space
from .followed_boxes import FollowedBoxes, Rejected

MORE = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Shares of the change that is told, by which a person may do more."""
FEW, MANY = 10, 200
"""Values between the target and the farthest one that the rules allow: of all options, and of those that are told,
where the splits of the model are not known."""
TOGETHER = 1024
"""Rows of a grid between a told target and its ends, over all its changes."""
DIGITS = 3
"""Digits of the change to an end, of a feature without a step."""
CUTS = 12
"""Ends are brought nearer at most so often; where that is not enough the targets are the ends."""


class RawChanges(NamedTuple):
    """The numbers and levels of F features that P targets change, as raw values.

    ``people`` and ``rows`` (P, D) are they and the targets, encoded, ``column`` (F,) is the first column of each
    feature, ``own`` (P, F) are the values of their people, and ``values`` (P, F) those of the targets. ``farthest``
    (P, F) are the bounds in the same directions; where a target ``changed`` (P, F) nothing, it is its own value. What
    only follows from changes is none.
    """

    space: Space
    people: Array
    rows: Array
    column: Indices
    own: Array
    values: Array
    changed: Mask
    farthest: Array

    @classmethod
    def from_targets(cls, space: Space, people: Array, rows: Array) -> RawChanges:
        """The changes of encoded targets (P, D) from their people (P, D)."""
        features = np.arange(len(space.mutable))
        column = np.searchsorted(space.feature_of, features)
        own, values = (_rounded(space, (space.low + encoded * space.scale)[..., column]) for encoded in (people, rows))
        is_number = np.bincount(space.feature_of, minlength=len(features)) == 1
        changed = is_number & (values != own)
        if space.consequences is not None:
            changed &= space.consequences.stated_changes(rows, people)[:, column]
        # To the bounds, beyond the largest change that is suggested: nobody is told of that.
        lowest, highest = space.ranges.lowest, space.ranges.highest
        farthest = np.where(values > own, np.maximum(highest, values), np.minimum(lowest, values))
        return cls(space, people, rows, column, own, values, changed, np.where(changed, farthest, values))

    def towards(self, ends: Array, between: int, splits: Splits | None = None) -> Array:
        """The raw values (P, F, K) that are probed from the targets to the ends (P, F), the nearest first.

        Those are ``MORE`` of what is told, some even ones ``between`` target and end, and of a single target the next
        one beyond each of the ``splits``.
        """
        way, change = ends - self.values, np.abs(self.values - self.own)
        beyond = np.minimum(change[..., np.newaxis] * MORE, np.abs(way)[..., np.newaxis])
        sizes = np.sort(
            np.concatenate([beyond, np.abs(way)[..., np.newaxis] * (np.arange(1, between + 1) / between)], axis=2),
            axis=2,
        )
        values = self.values[..., np.newaxis] + np.sign(way)[..., np.newaxis] * sizes
        low, high = (limit(self.values, ends)[..., np.newaxis] for limit in (np.minimum, np.maximum))
        values = np.clip(_rounded(self.space, values.swapaxes(1, 2)).swapaxes(1, 2), low, high)
        return values if splits is None else self._between_splits(values, ends, splits)

    def _between_splits(self, values: Array, ends: Array, splits: Splits) -> Array:
        """The values (1, F, K) of a single target, and the first beyond each split on the way to its ends (1, F)."""
        found = {}
        for feature in np.flatnonzero(self.changed[0]).tolist():
            start, end, column = self.values[0, feature], ends[0, feature], self.column[feature]
            unit = 10.0 ** max(self.space.digits[feature], 0)
            at = self.space.low[column] + splits.by_column[column] * self.space.scale[column]
            # A row at a split is on its lower side.
            beyond = (np.floor(at * unit) + (end > start)) / unit
            beyond = beyond[(beyond > min(start, end)) & (beyond < max(start, end))]
            all_values = np.sort(np.concatenate([values[0, feature], beyond]))
            found[feature] = all_values if end > start else all_values[::-1]
        most = max(map(len, found.values()), default=0)
        filled = np.repeat(ends[0, :, np.newaxis], most, axis=1)
        for feature, ordered in found.items():
            filled[feature, : len(ordered)] = ordered
        return filled[np.newaxis]

    def shortened(self, ends: Array) -> Array:
        """Ends (F,) of the single target, raw, brought nearer to where people would stop: at whole steps."""
        target = self.values[0]
        step, way = np.maximum(self.space.smallest_change, 0.0), np.abs(ends - self.own[0])
        digits = 10.0 ** (np.floor(np.log10(np.where(way > 0, way, 1.0))) - DIGITS + 1)
        unit = np.where(step > 0, step, np.maximum(digits, 10.0 ** -np.array(self.space.digits, dtype=float)))
        whole = np.where(ends > target, np.floor(ends / unit + 1e-9), np.ceil(ends / unit - 1e-9)) * unit
        nearer = np.where(ends > target, np.maximum(whole, target), np.minimum(whole, target))
        return _rounded(self.space, np.where(self.changed[0], nearer, ends))

    @property
    def groups(self) -> tuple[Indices, Mask]:
        """The changes that are probed together: the target of each group (G,), and its features (G, F).

        By target: each change alone, all but one, and all. So groups of fewer changes come first.
        """
        option, feature = np.nonzero(self.changed)
        alone = np.zeros((len(option), self.changed.shape[1]), dtype=np.bool_)
        alone[np.arange(len(option)), feature] = True
        count = self.changed.sum(axis=1)
        but_one, every = count[option] > 2, np.flatnonzero(count > 1)
        owner = np.concatenate([option, option[but_one], every])
        together = np.concatenate([alone, self.changed[option[but_one]] & ~alone[but_one], self.changed[every]])
        order = np.argsort(owner, kind="stable")
        return owner[order], together[order]

    def rejected(self, points: Array, rejected: Rejected) -> Indices:
        """Which of the points (P, F, K) is the first that is rejected of each group, the others being as told, (G,)."""
        owner, together = self.groups
        # Points are rounded: many are the same, and from the end on all.
        last = 1 + (points != points[..., -1:]).sum(axis=2)
        size = np.where(together, last[owner], 1).max(axis=1, initial=1)
        return self._first(self._boxes(points, owner, together - 1, size[:, np.newaxis]), rejected)

    def accepts_between(self, points: Array, rejected: Rejected) -> bool:
        """Whether a grid of rows from the single target to its ends is accepted, every change to an extent of its own.

        It is made of ``points`` (F, K), as many of each feature as fit.
        """
        changed = np.flatnonzero(self.changed[0])
        if len(changed) < 2:
            return True
        # Points go one way: equal ones follow each other.
        new = np.append(np.ones((len(points), 1), np.bool_), np.diff(points) != 0, axis=1)
        chosen = np.repeat(self.values.T, points.shape[1] + 1, axis=1)
        axis, size, left = np.full(len(points), -1), [], TOGETHER
        for number, feature in enumerate(sorted(changed, key=lambda feature: new[feature].sum())):
            values = points[feature, new[feature]]
            count = max(2, min(len(values), int(left ** (1 / (len(changed) - number)))))
            left //= count
            axis[feature] = number
            size.append(count + 1)
            chosen[feature, 1 : count + 1] = values[np.linspace(0, len(values) - 1, count).astype(np.intp)]
        grid = self._boxes(chosen[np.newaxis], np.zeros(1, np.intp), axis[np.newaxis], np.array([size]))
        return self._first(grid, rejected).item() < 0

    def _first(self, boxes: Boxes, rejected: Rejected) -> Indices:
        """The first rejected point of each of some grids, (B,), with all that follows from what is done."""
        if self.space.consequences is None:
            return rejected(boxes)
        return FollowedBoxes(boxes, self.people, self.changed, self.space.consequences).first_rejected(rejected)

    def _boxes(self, points: Array, owner: Indices, axis: Indices, size: Indices) -> Boxes:
        """Grids of raw points (P, F, K) beside the targets."""
        encoded = (points - self.space.low[self.column, np.newaxis]) / self.space.scale[self.column, np.newaxis]
        return Boxes(self.rows, self.column, encoded, owner, axis, size)


def more_is_accepted(changes: RawChanges, rejected: Rejected) -> Mask:
    """Whether more of every change, of all, and of all but one, is accepted as far as the rules allow it, (P,)."""
    owner, _ = changes.groups
    good = changes.rejected(changes.towards(changes.farthest, FEW), rejected) < 0
    return np.asarray(np.bincount(owner[~good], minlength=len(changes.rows)) == 0)


def ends(changes: RawChanges, rejected: Rejected, splits: Splits | None = None) -> Mapping[int, float]:
    """The raw value at which each change of a single target must end, by feature; nothing where more is accepted.

    Between the target and these ends every probed change is accepted, alone and with the others, however far each goes.
    ``splits`` are those of the model, by encoded column.
    """
    # Where others follow, they come to splits of their own between those of the feature.
    between = MANY if splits is None or changes.space.consequences is not None else FEW
    (farthest,), (target,) = changes.farthest.copy(), changes.values
    _, together = changes.groups
    for _ in range(CUTS):
        points = changes.towards(farthest[np.newaxis], between, splits)
        first = changes.rejected(points, rejected)
        failed = np.flatnonzero(first >= 0)
        if not len(failed):
            if changes.accepts_between(points[0], rejected):
                break
            farthest = _rounded(changes.space, (target + farthest) / 2)
            continue
        # A change that must end alone is cut before any is cut for what it does with others.
        size = together.sum(axis=1)
        failed = failed[size[failed] == size[failed].min()]
        before = np.concatenate([target[:, np.newaxis], points[0]], axis=1)
        for group in failed.tolist():
            last = before[together[group], first[group]]
            current = farthest[together[group]]
            nearer = np.abs(last - target[together[group]]) < np.abs(current - target[together[group]])
            farthest[together[group]] = np.where(nearer, last, current)
    else:
        farthest = target
    cut = np.flatnonzero(changes.changed[0] & (farthest != changes.farthest[0]))
    last = changes.shortened(farthest)
    return {feature: last.item(feature) for feature in cut.tolist()}


def _rounded(space: Space, values: Array) -> Array:
    """Raw values (..., F) with the digits of their features."""
    unit = 10.0 ** np.maximum(space.digits, 0)
    return np.asarray(np.rint(values * unit) / unit)
