"""A model that is refitted on the outcomes of suggestions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.environments.improvement.people import approves

Mask = NDArray[np.bool_]


class ModelUpdates:
    """The model of a world, refitted every ``every`` rounds on its training rows and the outcomes observed so far.

    updates = ModelUpdates(world, every=50, seed=3)
    mask = updates.valid                              # (K,): the candidates that the current model accepts
    updates.suggested(t, k)                           # in every round; k may be None

    A suggestion is observed when its delay has passed, improved or not and however late: as a person with the
    suggested features, labelled with whether they improved. The training rows stay. As in the paper, people are not
    decided on again: all who arrive are rejected.

    The same suggestions give the same models: every fit has a seed of its own, and nothing else is drawn.
    """

    def __init__(self, world: StudiedWorld, *, every: int, seed: int) -> None:
        if every < 1:
            raise ValueError(f"every is {every}: give a number of rounds, 1 or more")
        if world.training is None:
            raise ValueError("this world does not hold its training rows: build it from its data")
        self._world, self._every, self._seed = world, every, seed
        self._X, self._y = world.training
        self._due: dict[int, list[tuple[int, int]]] = {}
        self.observations: list[tuple[int, int]] = []
        """The observations so far: candidates, and whether the people to whom they were suggested improved."""
        self.models = 1
        """The number of models so far, the first included."""
        self.valid: Mask = np.ones(len(world.instances), dtype=bool)
        """Which candidates the current model accepts, (K,)."""

    def suggested(self, t: int, k: int | None) -> None:
        """End round t, in which k was suggested (None: nothing).

        The outcomes that are due are observed; the model is refitted when it is time and rounds remain.
        """
        here = self._world.round_of(t)
        if k is not None:
            due = here + self._world.delay(t) - 1
            self._due.setdefault(due, []).append((k, int(self._world.improves(t, k))))
        self.observations += self._due.pop(here, [])
        if (here + 1) % self._every == 0 and here + 1 < self._world.rejected:
            self._fit()

    def _fit(self) -> None:
        random = np.random.RandomState([self._seed, self.models])
        estimator: Any = clone(self._world.estimator).set_params(random_state=random)
        candidates, labels = np.array(self.observations, dtype=np.intp).reshape(-1, 2).T
        X, y = np.concatenate([self._X, self._world.points[candidates]]), np.concatenate([self._y, labels])
        self.valid = approves(estimator.fit(X, y), self._world.points)
        self.models += 1
