"""The execution probabilities that a learner observes, which need not be the true ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.environments.improvement.people import draw, generator

Floats = NDArray[np.float64]


class ObservedExecution:
    """Observed execution probabilities in a world: exp(-nu c) of the l1 cost c, whatever the true cost, plus noise.

    observation = ObservedExecution(world, noise=0.25, seed=3)
    observation.noisy(t), observation.exact(t)        # (K,), (K,): with noise, and without

    With noise xi the learner observes clip(E + xi N(0, 1), 0, 1), with one draw for each person and candidate. The
    noise does not change the world: outcomes do not depend on it.

    Parameters
    ----------
    world
        Its people and candidates.
    noise
        xi, from 0 on.
    seed
        The seed of the world; the stored reference worlds' noise is that of their seeds.
    """

    def __init__(self, world: StudiedWorld, *, noise: float, seed: int) -> None:
        if not noise >= 0:
            raise ValueError(f"noise is {noise}: give the standard deviation of the noise, 0 or more")
        self._world = world
        self._noise = noise * draw_noise(seed, world.rejected, len(world.instances)) if noise else None

    def exact(self, t: int) -> Floats:
        """The execution probabilities of application t without noise, (K,)."""
        return self._world.execution(t)

    def noisy(self, t: int) -> Floats:
        """The execution probabilities that the learner observes, (K,)."""
        exact = self._world.execution(t)
        if self._noise is None:
            return exact
        noisy: Floats = np.clip(exact + self._noise[self._world.round_of(t)], 0.0, 1.0)
        return noisy


def draw_noise(seed: int, rounds: int, candidates: int) -> Floats:
    """Standard normal noise (S, K) on the execution probabilities of each rejected person and each candidate."""
    random = generator(seed)
    draw(random, rounds)
    return random.randn(rounds, candidates)
