"""Wachter: gradient descent on the error of the score and the distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onward.agents.candidates.contract import Array
from onward.agents.candidates.recommenders.contract import Recommender, Task, gained
from onward.agents.sigmoid import LARGEST_ODDS, bounded_sigmoid

DECAY, SQUARE_DECAY = 0.9, 0.999
"""Of Adam's means of the gradient and of its square."""


class Wachter(Recommender):
    r"""Minimises $\lambda (M(x') - g)^2 + \sum_i |x'_i - x_i|$ by Adam, with a rising $\lambda$.

    The distance counts every encoded column alike: columns are scaled already, which the original does by the median
    absolute deviation. It ends below the target by up to ``tolerance``, as the original does; ``reached`` then says no.

    Parameters
    ----------
    tolerance
        The error of the score at which a person's descent ends.
    rate
        Adam's step, in encoded units.
    weight, growth
        The first $\lambda$, and its growth at every step.
    steps
        Most steps.

    Examples
    --------
    >>> people, gain, room = np.zeros((1, 2)), np.array([1.0, 2.0]), np.ones((1, 2))
    >>> task = Task(people, np.array([1.0]), gain, np.ones(2), room, np.array([0.0]))
    >>> bool(abs(Wachter().changes(task) @ task.gain - 1.0) < 0.05)
    True

    References
    ----------
    Wachter, S., Mittelstadt, B. and Russell, C. (2018). Counterfactual Explanations without Opening the Black Box.
    Harvard Journal of Law and Technology 31.
    """

    name: ClassVar[str] = "wachter"

    def __init__(
        self,
        tolerance: float = 0.005,
        rate: float = 0.01,
        weight: float = 10.0,
        growth: float = 1.02,
        steps: int = 500,
    ) -> None:
        self._tolerance, self._rate, self._weight, self._growth, self._steps = tolerance, rate, weight, growth, steps

    def changes(self, task: Task) -> Array:
        """The changes, (n, D), at which the descent ends."""
        found, weight = np.zeros_like(task.room), self._weight
        mean, square, going = np.zeros_like(found), np.zeros_like(found), np.ones(len(found), dtype=np.bool_)
        target = bounded_sigmoid(task.required, LARGEST_ODDS)
        for step in range(1, self._steps + 1):
            score = bounded_sigmoid(task.required - task.missing + gained(found, task.gain), LARGEST_ODDS)
            going &= np.abs(score - target) > self._tolerance
            if not going.any():
                break
            by_odds = 2.0 * weight * (score - target) * score * (1.0 - score)
            gradient = 1.0 + by_odds[:, np.newaxis] * task.gain
            mean = DECAY * mean + (1.0 - DECAY) * gradient
            square = SQUARE_DECAY * square + (1.0 - SQUARE_DECAY) * gradient * gradient
            scale = np.sqrt(square / (1.0 - SQUARE_DECAY**step)) + 1e-8
            moved = found - self._rate * mean / (1.0 - DECAY**step) / scale
            found = np.where(going[:, np.newaxis], np.clip(moved, 0.0, task.room), found)
            weight *= self._growth
        return found

    def price(self, task: Task, changes: Array) -> Array:
        """The changes, (n, D): their sum is the distance."""
        return changes
