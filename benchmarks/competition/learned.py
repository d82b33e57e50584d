"""Difficulties learned in a competition, from what those who come back have achieved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onward.agents.costs import DifficultyPosterior, attainability
from onward.environments.competition import Applications, CompetitionRules

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

UNCHANGED = 1e-12
"""A difference that comes from rounding."""


class Learner:
    """Believes in the mean of a posterior that is uniform at first. It sees one episode, the applications alone."""

    def __init__(self, settings: CompetitionRules) -> None:
        self._settings = settings
        self._posterior = DifficultyPosterior(len(settings.difficulty), settings.beta)
        self._promised: dict[int, tuple[Floats, Floats]] = {}

    @property
    def believed(self) -> CompetitionRules:
        """The settings with the difficulties learned so far."""
        return replace(self._settings, difficulty=tuple(self._posterior.difficulty.tolist()))

    def observe(self, applications: Applications) -> None:
        """Learn from those who come back: a change succeeded when it reached its target."""
        for person, row, new in zip(applications.person.tolist(), applications.people, applications.new, strict=True):
            if new or person not in self._promised:
                continue
            before, target = self._promised.pop(person)
            changed = np.flatnonzero(np.abs(target - before) > UNCHANGED)
            reached = (row - target)[changed] * np.sign(target - before)[changed] >= -UNCHANGED
            self._posterior.update(changed, attainability(before[changed], target[changed]), reached)

    def promise(self, persons: Indices, people: Floats, targets: Floats) -> None:
        """Keep what people (n, D) were told to become, (n, D)."""
        self._promised.update(zip(persons.tolist(), zip(people, targets, strict=True), strict=True))
