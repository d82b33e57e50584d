"""Overshoot: whether an option still leads to a yes when a person does more than they were told.

A model with steps may accept savings of 1,200 and reject 1,500. More is probed at some points from the target on: of
each change alone, of all together, and of all but one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..contract import Array, Indices, Mask, Space
from .judge import pieces

MORE = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Shares of the change that is told, by which a person may do more."""
FEW, MANY = 10, 200
"""Values between the target and the farthest one that the rules allow: of all options, and of those that are told."""
TOGETHER = 256
"""Rows of a grid between a told target and its ends, over all its changes."""
CUTS = 12
"""Ends are brought nearer at most so often; where that is not enough the targets are the ends."""

Accepts = Callable[[Array], Mask]
"""Whether each of encoded rows (n, D) is accepted, or cannot be reached by the rules, (n,)."""


class Told(NamedTuple):
    """The numbers and levels of F features that P targets change, as raw values.

    ``rows`` (P, D) are the encoded targets, ``column`` (F,) is the first column of each feature, ``own`` (P, F) are the
    values of their people, and ``values`` (P, F) those of the targets. ``farthest`` (P, F) are the bounds in the same
    directions; where a target ``changed`` (P, F) nothing, it is its own value.
    """

    space: Space
    rows: Array
    column: Indices
    own: Array
    values: Array
    changed: Mask
    farthest: Array

    @classmethod
    def of(cls, space: Space, people: Array, rows: Array) -> Told:
        """What encoded targets (P, D) change of their people (P, D)."""
        features = np.arange(len(space.mutable))
        column = np.searchsorted(space.feature_of, features)
        own, values = (_rounded(space, (space.low + each * space.scale)[..., column]) for each in (people, rows))
        is_number = np.bincount(space.feature_of, minlength=len(features)) == 1
        changed = is_number & (values != own)
        # To the bounds, beyond the largest change that is suggested: nobody is told of that.
        lowest, highest = space.ranges.lowest, space.ranges.highest
        farthest = np.where(values > own, np.maximum(highest, values), np.minimum(lowest, values))
        return cls(space, rows, column, own, values, changed, np.where(changed, farthest, values))

    def towards(self, ends: Array, between: int) -> Array:
        """The raw values (P, F, K) that are probed from the targets to the ends (P, F), the nearest first.

        Those are ``MORE`` of what is told, and some even ones ``between`` target and end."""
        way, told = ends - self.values, np.abs(self.values - self.own)
        beyond = np.minimum(told[..., np.newaxis] * MORE, np.abs(way)[..., np.newaxis])
        sizes = np.sort(
            np.concatenate([beyond, np.abs(way)[..., np.newaxis] * (np.arange(1, between + 1) / between)], axis=2),
            axis=2,
        )
        values = self.values[..., np.newaxis] + np.sign(way)[..., np.newaxis] * sizes
        low, high = (limit(self.values, ends)[..., np.newaxis] for limit in (np.minimum, np.maximum))
        return np.asarray(np.clip(_rounded(self.space, values.swapaxes(1, 2)).swapaxes(1, 2), low, high))

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

    def accepted(self, points: Array, accepts: Accepts) -> Mask:
        """Which points (P, F, K) of each group are accepted, the others being as told, (G, K)."""
        owner, together = self.groups
        if not len(owner):
            return np.empty((0, points.shape[2]), dtype=np.bool_)
        parts = pieces(len(owner), points.shape[2] * self.rows.shape[1])
        return np.concatenate([self._accepted(points, owner[part], together[part], accepts) for part in parts])

    def _accepted(self, points: Array, owner: Indices, together: Mask, accepts: Accepts) -> Mask:
        count, (group, feature) = points.shape[2], np.nonzero(together)
        encoded = (points[owner[group], feature] - self.space.low[self.column[feature], np.newaxis]) / (
            self.space.scale[self.column[feature], np.newaxis]
        )
        rows = np.repeat(self.rows[owner], count, axis=0).reshape(len(owner), count, self.rows.shape[1])
        rows[group, :, self.column[feature]] = encoded
        every = rows.reshape(-1, self.rows.shape[1])
        # Points are rounded: many are the same as the one before.
        new = np.append(True, (every[1:] != every[:-1]).any(axis=1))
        return np.asarray(accepts(every[new])[np.cumsum(new) - 1].reshape(len(owner), count))

    def accepts_between(self, ends: Array, accepts: Accepts) -> bool:
        """Whether a grid of rows from the single target to its ends (F,) is accepted, every change as far as it may."""
        changed = np.flatnonzero(self.changed[0])
        if len(changed) < 2:
            return True
        count = max(2, int(TOGETHER ** (1 / len(changed))))
        shares = np.stack(np.meshgrid(*[np.linspace(0, 1, count)] * len(changed), indexing="ij"), axis=-1)
        values = np.tile(self.values[0], (shares[..., 0].size, 1))
        values[:, changed] += shares.reshape(-1, len(changed)) * (ends - self.values[0])[changed]
        columns = self.column[changed]
        rows = np.tile(self.rows[0], (len(values), 1))
        rows[:, columns] = (_rounded(self.space, values)[:, changed] - self.space.low[columns]) / self.space.scale[
            columns
        ]
        return bool(accepts(rows).all())


def more_is_accepted(told: Told, accepts: Accepts) -> Mask:
    """Whether more of every change, of all, and of all but one, is accepted as far as the rules allow it, (P,)."""
    owner, _ = told.groups
    good = told.accepted(told.towards(told.farthest, FEW), accepts).all(axis=1)
    return np.asarray(np.bincount(owner[~good], minlength=len(told.rows)) == 0)


def ends(told: Told, accepts: Accepts) -> Mapping[int, float]:
    """The raw value at which each change of a single target must end, by feature; nothing where more is accepted.

    Between the target and these ends every probed change is accepted, alone and with the others, however far each goes.
    """
    (farthest,), (target,) = told.farthest.copy(), told.values
    _, together = told.groups
    for _ in range(CUTS):
        points = told.towards(farthest[np.newaxis], MANY)
        good = told.accepted(points, accepts)
        if good.all():
            if told.accepts_between(farthest, accepts):
                break
            farthest = _rounded(told.space, (target + farthest) / 2)
            continue
        # A change that must end alone is cut before any is cut for what it does with others.
        size = together.sum(axis=1)
        failed = np.flatnonzero(~good.all(axis=1))
        failed = failed[size[failed] == size[failed].min()]
        before = np.concatenate([target[:, np.newaxis], points[0]], axis=1)
        for group in failed.tolist():
            last = before[together[group], good[group].argmin()]
            own = farthest[together[group]]
            nearer = np.abs(last - target[together[group]]) < np.abs(own - target[together[group]])
            farthest[together[group]] = np.where(nearer, last, own)
    else:
        farthest = target
    cut = np.flatnonzero(told.changed[0] & (farthest != told.farthest[0]))
    return {feature: farthest.item(feature) for feature in cut.tolist()}


def _rounded(space: Space, values: Array) -> Array:
    """Raw values (..., F) with the digits of their features."""
    unit = 10.0 ** np.maximum(space.digits, 0)
    return np.asarray(np.rint(values * unit) / unit)
