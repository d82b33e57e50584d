"""Small worlds in which some candidates help and others do not, with all draws made beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onward.agents.choices import Choice, Pull
from onward.agents.options import Options

Floats = np.ndarray[Any, np.dtype[np.float64]]
WINDOW = 10


@dataclass(frozen=True)
class ToyWorld:
    """People (T, D), arms (K, D), their chances of improvement (K,), and the true and the observed execution
    probabilities (T, K)."""

    people: Floats
    points: Floats
    chance: Floats
    execution: Floats
    observed: Floats
    draw: Floats
    delay: np.ndarray[Any, Any]

    @classmethod
    def draw_one(cls, seed: int, noise: float = 0.0, steps: int = 500, candidates: int = 80) -> ToyWorld:
        """A world of five features, one of which is three times as hard to change as the others."""
        random = np.random.default_rng(seed)
        people, points = random.random((steps, 5)), random.random((candidates, 5))
        weights = np.array([0.6, 0.2, 0.2, 0.2, 0.2])
        execution = np.exp(-np.abs(people[:, None, :] - points[None, :, :]) @ weights)
        chance = np.clip((random.random(candidates) < 0.7) + 0.1 * random.standard_normal(candidates), 0, 1)
        observed = np.clip(execution + noise * random.standard_normal(execution.shape), 0, 1)
        return cls(people, points, chance, execution, observed, random.random(steps), random.geometric(0.2, size=steps))

    def mean_expected_reward(self, choice: Choice) -> float:
        """The mean expected reward of a learner's picks when everything is feasible for all people."""
        everything = np.arange(len(self.points))
        due: dict[int, list[Pull]] = {}
        total = 0.0
        for t, person in enumerate(self.people):
            options = Options(person, everything, self.points, everything, self.observed[t])
            pick = choice.choose(options, np.random.default_rng)
            assert pick is not None
            expected = self.chance[pick.arm] * self.execution[t, pick.arm]
            total += expected
            if self.draw[t] < expected and self.delay[t] <= WINDOW:
                due.setdefault(t + self.delay[t] - 1, []).append(Pull(t, pick.arm, pick.execution, pick.context))
            for pull in due.pop(t, ()):
                choice.update(pull, 1.0)
        return total / len(self.people)
