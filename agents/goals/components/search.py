"""The search of a goal: at which scores it is looked for, and which of them is taken."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...sigmoid import LARGEST_LOGIT
from .spread import Spread

STEPS = np.array([-1.0, -0.4, -0.125, 0.0, 0.125, 0.4, 1.0])
"""The logits of the candidates, from the last goal, in radii of the search. Success between them is interpolated."""

FINE_STEPS = np.linspace(-1.0, 1.0, 41)
"""The same where the rejected share is computed."""

LEAST_RADIUS = 1.4
"""How far goals are searched around the last one at least, in standard deviations of newcomers' logits."""

FIRST_WIDENING = 4.0
"""So many times the least radius is the first one."""

LEAST_PROBABILITY = 1e-9

NEGLIGIBLE = 1e-6
"""Who succeeds less probably cannot; who fails less probably is sure."""


class GoalRange:
    """A range of logits around the last goal, which widens where a goal lies at its end and narrows elsewhere.

    Parameters
    ----------
    spread
        That of newcomers' scores, the unit of the range.
    """

    def __init__(self, spread: Spread) -> None:
        self._spread = spread
        self.centre, self.widening = np.zeros(1), np.full(1, FIRST_WIDENING)

    @property
    def candidates(self) -> Array:
        """The logits (G,) at which the success of people is asked for, ascending."""
        return self._logits(STEPS)

    @property
    def fine(self) -> Array:
        """The logits (F,) at which the rejected share is computed, ascending."""
        return self._logits(FINE_STEPS)

    def _logits(self, steps: Array) -> Array:
        return np.asarray(self.centre[0] + self.widening[0] * LEAST_RADIUS * self._spread.logits * steps)

    def take(self, logit: float, success: Array) -> None:
        """Take this goal, or the nearest in reach, by the success (n, G) at the candidates; it is the next centre.

        The reach ends at the first candidate that nobody can reach: no option leads to it, and none farther up would be
        any safer. It begins where all are sure of the goal, if the lowest one will do.
        """
        candidates = np.clip(self.candidates, -LARGEST_LOGIT, LARGEST_LOGIT)
        sure = np.flatnonzero(success.min(axis=0) >= 1.0 - NEGLIGIBLE)
        possible = np.flatnonzero(success.max(axis=0) > NEGLIGIBLE)
        highest = min(int(possible[-1]) + 1, len(STEPS) - 1) if len(possible) else 0
        lowest = min(int(sure[-1]), highest, len(STEPS) // 2) if len(sure) and logit <= candidates[0] else 0
        self.centre[0] = np.clip(logit, candidates[lowest], candidates[highest])
        factor = 2.0 if self.centre[0] in (candidates[0], candidates[-1]) else 0.5
        widest = max(LARGEST_LOGIT / (LEAST_RADIUS * self._spread.logits), 1.0)
        self.widening[0] = np.clip(self.widening[0] * factor, 1.0, widest)

    def arrays(self) -> dict[str, Array]:
        """The arrays of its state, by name; they are written to in place."""
        return {"centre": self.centre, "widening": self.widening}


def between_candidates(success: Array) -> Array:
    """The probabilities (n, F) at the fine logits, of those (n, G) at the candidates.

    log(-log p) is linear between candidates.
    """
    if len(success) == 0:
        return np.empty((0, len(FINE_STEPS)))
    loss = np.log(-np.log(np.clip(success, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)))
    right = np.clip(np.searchsorted(STEPS, FINE_STEPS), 1, len(STEPS) - 1)
    part = (FINE_STEPS - STEPS[right - 1]) / (STEPS[right] - STEPS[right - 1])
    return np.asarray(np.exp(-np.exp(loss[:, right - 1] * (1.0 - part) + loss[:, right] * part)))


def lowest(logits: Array, share: Array, alpha: float) -> float:
    """The logit at which the share (F,) falls to alpha for good, linear between the logits (F,).

    Examples
    --------
    >>> lowest(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.2, 0.0]), alpha=0.1)
    1.5
    """
    above = np.flatnonzero(share > alpha)
    if len(above) == 0:
        return float(logits[0])
    at = int(above[-1])
    if at == len(logits) - 1:
        return float(logits[-1])
    part = (share[at] - alpha) / (share[at] - share[at + 1])
    return float(logits[at] + part * (logits[at + 1] - logits[at]))
