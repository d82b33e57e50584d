"""Overshoot: whether an option still leads to a yes when a person does more than they were told.

A model with steps may accept savings of 1,200 and reject 1,500. More is probed at some points from the target on: of
each change alone, and of all together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..contract import Array, Indices, Mask, Space

MORE = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Shares of the change that is told, by which a person may do more."""
TO_THE_END = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of the way from the target to the farthest value that the rules allow."""
CUTS = 8
"""Ends are brought nearer at most so often; where that is not enough the targets are the ends."""

Accepts = Callable[[Array], Mask]
"""Whether each of encoded rows (n, D) is accepted, or cannot be reached by the rules, (n,)."""


class Told(NamedTuple):
    """The numbers and levels of F features that P targets of one person change, as raw values.

    ``rows`` (P, D) are the encoded targets, ``column`` (F,) is the first column of each feature, ``own`` (F,) are the
    person's values, and ``values`` (P, F) those of the targets. ``farthest`` (P, F) are the values that lie as far in
    the same directions as the rules allow; where a target ``changed`` (P, F) nothing, it is its own value.
    """

    space: Space
    rows: Array
    column: Indices
    own: Array
    values: Array
    changed: Mask
    farthest: Array

    @classmethod
    def of(cls, space: Space, person: Array, rows: Array) -> Told:
        """What encoded targets (P, D) of a person (D,) change."""
        features = np.arange(len(space.mutable))
        column = np.searchsorted(space.feature_of, features)
        own, values = (_rounded(space, (space.low + each * space.scale)[..., column]) for each in (person, rows))
        is_number = np.bincount(space.feature_of, minlength=len(features)) == 1
        changed = is_number & (values != own)
        fall, rise = space.ranges.room(own)
        farthest = np.where(values > own, np.maximum(own + rise, values), np.minimum(own - fall, values))
        return cls(space, rows, column, own, values, changed, np.where(changed, farthest, values))

    def towards(self, ends: Array) -> Array:
        """The raw values (P, F, K) that are probed from the targets to the ends (P, F), the nearest first."""
        way, told = ends - self.values, np.abs(self.values - self.own)
        beyond = np.minimum(told[..., np.newaxis] * MORE, np.abs(way)[..., np.newaxis])
        sizes = np.sort(np.concatenate([beyond, np.abs(way)[..., np.newaxis] * TO_THE_END], axis=2), axis=2)
        values = self.values[..., np.newaxis] + np.sign(way)[..., np.newaxis] * sizes
        low, high = (limit(self.values, ends)[..., np.newaxis] for limit in (np.minimum, np.maximum))
        return np.asarray(np.clip(_rounded(self.space, values.swapaxes(1, 2)).swapaxes(1, 2), low, high))

    def accepted(self, points: Array, accepts: Accepts) -> tuple[Mask, Mask]:
        """Which points (P, F, K) are accepted, each alone, (P, F, K), and those of all features together, (P, K)."""
        first, scale = self.space.low[self.column], self.space.scale[self.column]
        encoded = (points - first[:, np.newaxis]) / scale[:, np.newaxis]
        count = points.shape[2]
        option, feature = np.nonzero(self.changed)
        alone = np.repeat(self.rows[option], count, axis=0)
        alone[np.arange(len(alone)), np.repeat(self.column[feature], count)] = encoded[option, feature].ravel()
        together = np.repeat(self.rows, count, axis=0)
        whose, which = np.repeat(option, count), np.repeat(feature, count)
        place = whose * count + np.tile(np.arange(count), len(option))
        together[place, self.column[which]] = encoded[option, feature].ravel()
        verdict = accepts(np.concatenate([alone, together]))
        each = np.ones(points.shape, dtype=np.bool_)
        each[option, feature] = verdict[: len(alone)].reshape(-1, count)
        return each, verdict[len(alone) :].reshape(-1, count)


def more_is_accepted(told: Told, accepts: Accepts) -> Mask:
    """Whether more of every change, and of all, is accepted as far as the rules allow it, (P,)."""
    each, together = told.accepted(told.towards(told.farthest), accepts)
    return np.asarray(each.all(axis=(1, 2)) & together.all(axis=1))


def ends(told: Told, accepts: Accepts) -> Mapping[int, float]:
    """The raw value at which each change of a single target must end, by feature; nothing where more is accepted.

    Between the target and these ends every probed change is accepted, alone and with the others.
    """
    farthest = told.farthest.copy()
    for _ in range(CUTS):
        points = told.towards(farthest)
        each, together = told.accepted(points, accepts)
        if each.all() and together.all():
            break
        if each.all():
            each = np.repeat(together[:, np.newaxis], points.shape[1], axis=1)
        before = np.concatenate([told.values[..., np.newaxis], points], axis=2)
        last = np.where(each.all(axis=2), points.shape[2], each.argmin(axis=2))
        farthest = np.take_along_axis(before, last[..., np.newaxis], axis=2)[..., 0]
    else:
        farthest = told.values
    cut = np.flatnonzero(told.changed[0] & (farthest[0] != told.farthest[0]))
    return {feature: farthest[0].item(feature) for feature in cut.tolist()}


def _rounded(space: Space, values: Array) -> Array:
    """Raw values (..., F) with the digits of their features."""
    unit = 10.0 ** np.maximum(space.digits, 0)
    return np.asarray(np.rint(values * unit) / unit)
