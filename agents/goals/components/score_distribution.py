"""The scores of newcomers: how many come to a round, and how many of them reach a score."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from ...arrays import Array

POINTS = 401
"""Points of the grid."""
FINEST, FITTED, COARSEST = 32.0, 20.0, 12.0
"""Spacings of the grid in a standard deviation of the scores: at most, where the grid is fitted again, and at least."""
FARTHEST = 60.0
"""Spacings between the middle of the grid and the mean of the scores, at most."""
LEAST_DEVIATION = 1e-6
"""Scores that are nearer to each other do not make the grid finer."""

RECENT = 4
"""So many of the last rounds are held against those before."""

ALARM = 3.3
"""How many standard errors the means of recent and earlier rounds may be apart."""


class ScoreDistribution:
    """A smoothed histogram of logit scores, in which old rounds weigh less, and which follows a shift at once.

    A score adds to the two nearest points of a grid, so that its mean is kept. The grid is laid anew where the scores
    leave its middle or their spread changes, so no scale of scores is presumed. The bandwidth is Silverman's, by the
    weighted standard deviation and the weighted number of scores. The size does not depend on the number of scores.

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
        self.earlier = np.zeros(POINTS)
        self.recent = np.zeros((RECENT, POINTS))  # the last round first
        self.counts = np.zeros(2)  # newcomers and rounds, weighted
        self.grid = np.array([0.0, 1.0 / FITTED])  # its middle and its spacing, in logits

    def add(self, logits: Array) -> None:
        """Add the scores of a round's newcomers."""
        self.counts *= self.memory
        self.counts += (len(logits), 1.0)
        self.earlier *= self.memory
        self.earlier += self.recent[-1]
        self.recent[1:] = self.recent[:-1].copy()
        self.recent[0] = 0.0
        self._fit_grid(logits)
        self.recent[0] = _histogram(self._points, logits)
        self._follow_shift()

    @property
    def per_round(self) -> float:
        """The mean number of newcomers of a round; 0 before the first."""
        newcomers, rounds = self.counts.tolist()
        return newcomers / rounds if rounds else 0.0

    @property
    def mean(self) -> float:
        """The mean logit; 0 before the first newcomer."""
        return _moments(self._points, self.earlier + self.recent.sum(axis=0))[1]

    def reaching(self, logits: Array) -> Array:
        """The share (G,) of newcomers whose score is at least so high; 0 when there was none."""
        points, weights = self._points, self.earlier + self.recent.sum(axis=0)
        total, _, variance = _moments(points, weights)
        if not total:
            return np.zeros(len(logits))
        used = np.flatnonzero(weights)
        bandwidth = max(1.06 * math.sqrt(variance) * total**-0.2, self.grid[1])
        return np.asarray(ndtr((points[used] - logits[:, None]) / bandwidth) @ (weights[used] / total))

    def arrays(self) -> dict[str, Array]:
        """The arrays of its state, by name; they are written to in place."""
        return {
            "earlier_scores": self.earlier,
            "recent_scores": self.recent,
            "score_counts": self.counts,
            "score_grid": self.grid,
        }

    @property
    def _points(self) -> Array:
        middle, spacing = self.grid.tolist()
        return np.asarray(middle + spacing * (np.arange(POINTS) - POINTS // 2))

    def _fit_grid(self, logits: Array) -> None:
        """Lay the grid anew where the scores so far and these are not well on it."""
        points, (middle, spacing) = self._points, self.grid.tolist()
        weights = self.earlier + self.recent.sum(axis=0)
        total, mean, variance = _moments(
            np.concatenate([points, logits]), np.concatenate([weights, np.ones(len(logits))])
        )
        deviation = math.sqrt(variance)
        is_coarse_or_fine = deviation > LEAST_DEVIATION and not COARSEST <= deviation / spacing <= FINEST
        if total and (is_coarse_or_fine or abs(mean - middle) > FARTHEST * spacing):
            self.grid[:] = mean, deviation / FITTED if is_coarse_or_fine else spacing
            for histogram in (self.earlier, *self.recent):
                histogram[:] = _histogram(self._points, points, histogram.copy())

    def _follow_shift(self) -> None:
        """Move the earlier scores by the difference of the most significant split, if there is one."""
        points, rounds = self._points, np.vstack([self.recent, self.earlier])
        sums = rounds @ np.stack([np.ones(POINTS), points, points**2], axis=1)  # weight, and sums of scores and squares
        now = np.cumsum(sums, axis=0)[:-1]
        before = sums.sum(axis=0) - now
        usable = (now[:, 0] > 0) & (before[:, 0] > 0)
        if not usable.any():
            return
        weight, earlier = np.where(usable, now[:, 0], 1.0), np.where(usable, before[:, 0], 1.0)
        shift = now[:, 1] / weight - before[:, 1] / earlier
        variance = before[:, 2] / earlier - (before[:, 1] / earlier) ** 2
        error = np.sqrt(np.maximum(variance, self.grid[1] ** 2) * (1 / weight + 1 / earlier))
        apart = np.where(usable, np.abs(shift) / error, 0.0)
        last = int(apart.argmax())
        if apart[last] > ALARM:
            moved = _histogram(points, points + shift[last], rounds[last + 1 :].sum(axis=0))
            self.earlier[:] = moved * min(1.0, now[last, 0] / max(moved.sum(), 1e-12))
            self.recent[last + 1 :] = 0.0


def _histogram(points: Array, logits: Array, weights: Array | None = None) -> Array:
    """The weights (POINTS,) of scores at the points of a grid; 1 for each score unless ``weights`` are given."""
    place = np.clip((logits - points[0]) / (points[1] - points[0]), 0.0, POINTS - 1.0)
    left = np.minimum(place.astype(np.int64), POINTS - 2)
    part, whole = place - left, np.ones(len(logits)) if weights is None else weights
    binned = np.bincount(left, whole * (1.0 - part), POINTS) + np.bincount(left + 1, whole * part, POINTS)
    return binned.astype(np.float64)


def _moments(points: Array, weights: Array) -> tuple[float, float, float]:
    """The weight, mean and variance of weighted scores; zeros for no weight."""
    total = float(weights.sum())
    if not total:
        return 0.0, 0.0, 0.0
    mean = float(weights @ points) / total
    return total, mean, float(weights @ (points - mean) ** 2) / total
