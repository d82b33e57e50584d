"""Training of the SAC goal in rounds that are played for it. Needs torch: the extra ``rl``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..soft_actor_critic import Learning, SoftActorCritic, load_checkpoint, save_checkpoint
from .closed_round import Array, ClosedRound
from .sac import INPUTS, RecentRounds

LEAST_SHARE = 0.05
"""Shares below it count as this in the reward, so that it is finite."""


class PlayedRounds(NamedTuple):
    """The outcome of goals in E episodes: the round that is closed next, and the shares RR and RF (E,) in it.

    A share is NaN where nobody reached a goal, or nobody was turned down.
    """

    closed: list[ClosedRound]
    reliability: Array
    feasibility: Array


class Practice(Protocol):
    """Rounds of several independent episodes, in which goals can be tried."""

    def start(self, number: int) -> list[ClosedRound]:
        """Begin new episodes, the same for the same number; return their first rounds."""

    def step(self, goals: Array) -> PlayedRounds:
        """Tell the goals (E,) to those who are turned down, and play on to the next round."""


class LessonSettings(NamedTuple):
    """The settings of the training.

    The reward of a goal is alpha (1 + .9 log RR) + tau (1 + .9 log RF) of the next round, a term without its share left
    out. alpha and tau are those of the paper's figure 4. The paper's 7,000 steps are here ``lessons`` of ``rounds``
    rounds each. Before the policy is asked, ``warm_up`` lessons have random goals. ``updates`` are made after each
    round.
    """

    alpha: float = 7.0
    tau: float = 5.0
    lessons: int = 140
    rounds: int = 50
    warm_up: int = 2
    updates: int = 2
    learning: Learning = Learning(discount=0.9)


class LessonProgress(NamedTuple):
    """The mean reward, RR and RF of a lesson, and how many lessons are over."""

    lesson: int
    reward: float
    reliability: float
    feasibility: float


class SacTraining:
    """Trains the goal by soft actor-critic, all episodes by one round at a time.

    Everything random comes from the seed and the practice, so two trainings of one seed on one machine are equal, and
    one that was saved between lessons and resumed is equal to one that was not. ``history`` tells how each lesson went.

        training = SacTraining(practice, seed=0)
        for progress in training.run():
            training.save(path)
        arrays = training.export()
    """

    def __init__(self, practice: Practice, seed: int, settings: LessonSettings | None = None) -> None:
        import torch

        self._torch, self._practice, self.settings = torch, practice, settings or LessonSettings()
        self._learner = SoftActorCritic(INPUTS, 1, 1, seed, self.settings.learning)
        self.lesson, self.history = 0, list[LessonProgress]()

    def run(self, lessons: int | None = None) -> Iterator[LessonProgress]:
        """Train to the end, or ``lessons`` lessons, and tell after each how it went."""
        last = self.settings.lessons
        last = last if lessons is None else min(last, self.lesson + lessons)
        while self.lesson < last:
            shares = np.array([*self._teach()])  # (rounds, 3, E)
            self.lesson += 1
            self.history.append(
                LessonProgress(self.lesson, *(float(np.nanmean(shares[:, number])) for number in range(3)))
            )
            yield self.history[-1]

    def export(self) -> dict[str, NDArray[np.float64]]:
        """The actor as plain arrays, for ``Sac``."""
        return self._learner.export()

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        lessons = [list(progress) for progress in self.history]
        save_checkpoint(path, {"lesson": self.lesson, "history": lessons, "learner": self._learner.state()})

    def resume(self, path: Path) -> None:
        """Continue where the training of a checkpoint stood; it had the same practice, seed and settings."""
        state = load_checkpoint(path)
        self._learner.restore(state["learner"])
        self.lesson, self.history = state["lesson"], [LessonProgress(*lesson) for lesson in state["history"]]

    def _teach(self) -> Iterator[Array]:
        """Play one lesson and learn from it; yield the reward, RR and RF (3, E) of each round."""
        torch, settings = self._torch, self.settings
        closed = self._practice.start(self.lesson)
        recent = [RecentRounds() for _ in closed]
        seen = self._observe(recent, closed)
        for _ in range(settings.rounds):
            warm = self.lesson >= settings.warm_up
            action = self._learner.act(seen) if warm else self._random_actions(len(recent))
            goals = np.array([episode.goal(a) for episode, a in zip(recent, action[:, 0].tolist(), strict=True)])
            played = self._practice.step(goals)
            earned = reward(played.reliability, played.feasibility, settings)
            after = self._observe(recent, played.closed)
            # An episode goes on after a lesson's last round as before, so no step is an end.
            terms = torch.tensor(earned[:, np.newaxis], dtype=torch.float32)
            self._learner.remember(seen, action, terms, after, torch.zeros(len(recent)))
            seen = after
            for _ in range(settings.updates if warm else 0):
                self._learner.learn(self._scaled)
            yield np.stack([earned, played.reliability, played.feasibility])

    def _observe(self, recent: list[RecentRounds], closed: list[ClosedRound]) -> Any:
        for episode, result in zip(recent, closed, strict=True):
            episode.observe(result)
        return self._torch.tensor(np.concatenate([episode.seen for episode in recent]), dtype=self._torch.float32)

    def _random_actions(self, count: int) -> Any:
        return 2.0 * self._torch.rand((count, 1), generator=self._learner.noise) - 1.0

    def _scaled(self, terms: Any) -> Any:
        """Rewards of a size near 1, for the critics."""
        return terms[:, 0] / (self.settings.alpha + self.settings.tau)


def reward(reliability: Array, feasibility: Array, settings: LessonSettings) -> Array:
    """The rewards (E,) of goals after which RR and RF (E,) were met; a NaN has no part in them."""
    terms = [
        np.nan_to_num(weight * (1.0 + 0.9 * np.log(np.maximum(share, LEAST_SHARE))))
        for weight, share in ((settings.alpha, reliability), (settings.tau, feasibility))
    ]
    return terms[0] + terms[1]
