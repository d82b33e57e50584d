"""The plan that most probably succeeds among those that reach a score of a logistic model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.competition.l2 import logit
from onward.environments.competition import Settings, World, success_probability

Floats = NDArray[np.float64]

SHARES = np.linspace(0.0, 1.0, 65)[:-1] ** 1.5
"""The steps that are tried of each feature, as shares of the way to the end of the box."""

PRICES = np.concatenate([[0.0], np.geomspace(1e-3, 300.0, 48)])
"""The values of the dual variable, in log-probability per unit of the logit score."""


class MaxSuccess:
    """For each person, the best plans at growing prices of the score: gains (n, L) and log-probabilities (n, L).

    The sum of log p over the features is maximised under a constraint on the sum of the gains w (x' - x). For a price v
    of the gain each feature is on its own: it takes the step with the largest log p + v gain.
    """

    def __init__(self, world: World, people: Floats, settings: Settings) -> None:
        self.world, self.people, self.settings = world, people, settings
        room = np.where(world.coef > 0, 1.0 - people, -people)
        self.step = room[..., None] * SHARES  # (n, D, J)
        log = self._log(people[..., None], people[..., None] + self.step, np.array(settings.difficulty)[:, None])
        gain = self.step * world.coef[:, None]
        n, features, _ = gain.shape
        self.taken = np.stack([(log + price * gain).argmax(axis=2) for price in PRICES])  # (L, n, D)
        rows, columns = np.arange(n)[:, None], np.arange(features)
        self.gains, self.logs = (values[rows, columns, self.taken].sum(axis=2).T for values in (gain, log))

    def success(self, goals: Floats) -> Floats:
        """The probability (n, G) of reaching goals (n, G), interpolated between the plans."""
        need = self._need(goals)
        logs = [np.interp(*line) for line in zip(need, self.gains, self.logs, strict=True)]
        return np.exp(logs).reshape(goals.shape)

    def targets(self, goals: Floats) -> Floats:
        """The plans (n, D) that reach goals (n,) exactly.

        Of the plans at the two prices around the goal, one feature takes what is missing or too much: the one with
        which success is most probable.
        """
        need = self._need(goals)
        above = np.minimum((self.gains < need[:, None]).sum(axis=1), len(PRICES) - 1)
        (one, first), (other, second) = (self._completed(need, at) for at in (np.maximum(above - 1, 0), above))
        targets: Floats = np.where((second > first)[:, None], other, one)
        return targets

    def _completed(self, need: Floats, at: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The plans at prices, completed, and their log-probabilities; minus infinity where no feature can."""
        n = np.arange(len(need))
        w, x = self.world.coef, self.people
        plan = x + np.take_along_axis(self.step, self.taken[at, n][..., None], axis=2)[..., 0]
        alone = plan + (need - (plan - x) @ w)[:, None] / w  # (n, D): what each feature would become
        inside = (alone >= 0) & (alone <= 1) & ((alone - x) * w >= 0)
        difficulty = np.array(self.settings.difficulty)
        now = self._log(x, plan, difficulty)
        with np.errstate(invalid="ignore"):
            value = np.where(inside, self._log(x, np.clip(alone, 0.0, 1.0), difficulty) - now, -np.inf)
        feature = value.argmax(axis=1)
        plan[n, feature] = alone[n, feature]
        return plan, np.where(inside.any(axis=1), now.sum(axis=1) + value[n, feature], -np.inf)

    def _need(self, goals: Floats) -> Floats:
        start = self.people @ self.world.coef + self.world.intercept
        gain: Floats = np.maximum(logit(goals) - (start if goals.ndim == 1 else start[:, None]), 0.0)
        return gain

    def _log(self, people: Floats, targets: Floats, difficulty: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            log: Floats = np.log(success_probability(people, targets, self.settings.beta, difficulty))
        return log
