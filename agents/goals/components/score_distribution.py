"""The scores of newcomers: how many come to a round, and how many of them reach a score."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]

GRID = np.linspace(-10.0, 10.0, 401)
SPACING = 20.0 / 400
POWERS = np.stack([np.ones_like(GRID), GRID, GRID**2], axis=1)

RECENT = 4
"""So many of the last rounds are held against those before."""

ALARM = 3.3
"""How many standard errors the means of recent and earlier rounds may be apart."""


class ScoreDistribution:
    """A smoothed histogram of logit scores, in which old rounds weigh less, and which follows a shift at once.

    A score adds to the two nearest points of a fixed grid, so that its mean is kept. The bandwidth is Silverman's, by
    the weighted standard deviation and the weighted number of scores. The size does not depend on the number of scores.

    After each round the means of the last 1, 2, 3 and 4 rounds are held against that of the earlier ones. Where one is
    more than ``ALARM`` standard errors away, the earlier scores are moved by the difference, and from then on weigh no
    more than the recent ones: the shape of the distribution is kept, its location learned again.

    Parameters
    ----------
    memory
        The weight of a round relative to that of the next.
    """

    def __init__(self, memory: float) -> None:
        self.memory = memory
        self.earlier = np.zeros(len(GRID))
        self.recent = np.zeros((RECENT, len(GRID)))  # the last round first
        self.counts = np.zeros(2)  # newcomers and rounds, weighted

    def add(self, logits: Array) -> None:
        """Add the scores of a round's newcomers."""
        self.counts *= self.memory
        self.counts += (len(logits), 1.0)
        self.earlier *= self.memory
        self.earlier += self.recent[-1]
        self.recent[1:] = self.recent[:-1].copy()
        self.recent[0] = _histogram(logits)
        self._follow_shift()

    @property
    def per_round(self) -> float:
        """The mean number of newcomers of a round; 0 before the first."""
        newcomers, rounds = self.counts.tolist()
        return newcomers / rounds if rounds else 0.0

    @property
    def mean(self) -> float:
        """The mean logit; 0 before the first newcomer."""
        total, first, _ = (self.earlier + self.recent.sum(axis=0)) @ POWERS
        return float(first / total) if total else 0.0

    def reaching(self, logits: Array) -> Array:
        """The share (G,) of newcomers whose score is at least so high; 0 when there was none."""
        weights = self.earlier + self.recent.sum(axis=0)
        total, first, second = weights @ POWERS
        if not total:
            return np.zeros(len(logits))
        deviation = math.sqrt(max(second / total - (first / total) ** 2, 0.0))
        used = np.flatnonzero(weights)
        bandwidth = max(1.06 * deviation * total**-0.2, SPACING)
        above: Array = ndtr((GRID[used] - logits[:, None]) / bandwidth) @ (weights[used] / total)
        return above

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The arrays of its state, by name; they are written to in place."""
        return {"earlier_scores": self.earlier, "recent_scores": self.recent, "score_counts": self.counts}

    def _follow_shift(self) -> None:
        """Move the earlier scores by the difference of the most significant split, if there is one."""
        rounds = np.vstack([self.recent, self.earlier])
        sums = rounds @ POWERS  # (RECENT + 1, 3): weight, and sums of scores and squares
        now = np.cumsum(sums, axis=0)[:-1]
        before = sums.sum(axis=0) - now
        usable = (now[:, 0] > 0) & (before[:, 0] > 0)
        if not usable.any():
            return
        weight, earlier = np.where(usable, now[:, 0], 1.0), np.where(usable, before[:, 0], 1.0)
        shift = now[:, 1] / weight - before[:, 1] / earlier
        variance = before[:, 2] / earlier - (before[:, 1] / earlier) ** 2
        error = np.sqrt(np.maximum(variance, SPACING**2) * (1 / weight + 1 / earlier))
        apart = np.where(usable, np.abs(shift) / error, 0.0)
        last = int(apart.argmax())
        if apart[last] > ALARM:
            moved = np.interp(GRID - shift[last], GRID, rounds[last + 1 :].sum(axis=0), 0.0, 0.0)
            self.earlier[:] = moved * min(1.0, now[last, 0] / max(moved.sum(), 1e-12))
            self.recent[last + 1 :] = 0.0


def _histogram(logits: Array) -> Array:
    place = (np.clip(logits, GRID[0], GRID[-1]) - GRID[0]) / SPACING
    left = np.minimum(place.astype(np.int64), len(GRID) - 2)
    part = place - left
    weights = np.bincount(left, 1.0 - part, len(GRID)) + np.bincount(left + 1, part, len(GRID))
    return weights.astype(np.float64)
