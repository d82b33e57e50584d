"""What a learner is told of execution probabilities, which need not be the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .draws import draw_noise
from .world import ImprovementWorld

Floats = NDArray[np.float64]


class Told:
    """The execution probabilities of a world as a learner sees them: exp(-nu c) of the l1 cost c, whatever cost people
    act on, with noise on top.

    told = Told(world, noise=0.25, seed=3)
    told.now(t), told.clean(t)                        # (K,), (K,): with noise, and without

    With noise xi the learner sees clip(E + xi N(0, 1), 0, 1), a number of its own for each person and candidate. The
    world knows nothing of it: what comes of a suggestion does not depend on what anybody was told.

    Parameters
    ----------
    world
        Whose people and candidates.
    noise
        xi, from 0 on.
    seed
        The seed of the world; the stored reference worlds' noise is that of their seeds.
    """

    def __init__(self, world: ImprovementWorld, *, noise: float, seed: int) -> None:
        if not noise >= 0:
            raise ValueError(f"noise is {noise}: give the standard deviation of the noise, 0 or more")
        self._world = world
        self._noise = noise * draw_noise(seed, world.rejected, len(world.instances)) if noise else None

    def clean(self, t: int) -> Floats:
        """The execution probabilities of application t without noise, (K,)."""
        return self._world.told(t)

    def now(self, t: int) -> Floats:
        """Those that the learner sees, (K,)."""
        clean = self._world.told(t)
        if self._noise is None:
            return clean
        noisy: Floats = np.clip(clean + self._noise[self._world.round_of(t)], 0.0, 1.0)
        return noisy
