"""The smallest change in the Euclidean norm that reaches a score of a logistic model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.environments.competition import World

Floats = NDArray[np.float64]


def logit(score: Floats) -> Floats:
    """The logit of scores between 0 and 1."""
    odds: Floats = np.log(score / (1.0 - score))
    return odds


def l2_targets(world: World, people: Floats, goals: Floats) -> Floats:
    """The nearest points (n, D) of the box [0, 1]^D at which the model's score is that of the goals (n,).

    x' = clip(x + v w) with one number v a person: the gain w . (x' - x) grows linearly between the values of v at which
    a feature meets the end of the box. A person who has reached the goal changes nothing.
    """
    w = world.coef
    need = np.maximum(logit(goals) - world.intercept - people @ w, 0.0)
    room = np.where(w > 0, 1.0 - people, people)
    strength = np.abs(w)
    ends = room / strength
    order = np.argsort(ends, axis=1)
    sorted_ends = np.take_along_axis(ends, order, axis=1)
    square = np.broadcast_to(strength**2, people.shape)
    slope = np.cumsum(np.take_along_axis(square, order, axis=1)[:, ::-1], axis=1)[:, ::-1]
    steps = np.diff(sorted_ends, axis=1, prepend=0.0) * slope
    gains = np.cumsum(steps, axis=1)
    at = np.minimum((gains < need[:, None]).sum(axis=1), len(w) - 1)
    rows = np.arange(len(people))
    before = np.where(at > 0, gains[rows, at - 1], 0.0)
    start = np.where(at > 0, sorted_ends[rows, at - 1], 0.0)
    v = start + (need - before) / slope[rows, at]
    targets: Floats = np.clip(people + v[:, None] * w, 0.0, 1.0)
    return targets
