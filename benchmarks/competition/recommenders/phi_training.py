"""Training of phi by soft actor-critic against people drawn from a world. Needs torch: the extra ``rl``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.contract import Array, LinearScore
from onward.agents.soft_actor_critic import (
    Learning,
    SoftActorCritic,
    load_checkpoint,
    save_checkpoint,
)
from onward.benchmarks.competition.recommenders.phi import GAP_SCALE, MOST_STEP, STEPS

Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
"""Encoded people (n, D) below their targets (n,), drawn from a world."""

REWARD_SCALE = 1.0 / 30.0
"""Keeps values near 1, for the critics."""


class Settings(NamedTuple):
    """How phi is trained. The first three are the paper's, the others are not printed there.

    The reward of a step is -psi max(0, e - epsilon), and from phase 2 on also -phi c, with the score's error e and the
    cost c = sum d |change| of the step. ``phase_1`` and ``phase_2`` are numbers of updates.
    """

    epsilon: float = 0.01
    phi: float = 10.0
    psi: float = 300.0
    phase_1: int = 3000
    phase_2: int = 20_000
    people: int = 64
    learning: Learning = Learning()


class Progress(NamedTuple):
    """The means of the last steps of training: the score's error, and the cost of a step."""

    update: int
    error: float
    cost: float


class PhiTraining:
    """Trains the recommender by soft actor-critic, all people by one step of changes at a time.

    Everything random comes from the seed, so two trainings of one seed on one machine are equal, and one that was saved
    and resumed is equal to one that was not.

        training = PhiTraining(draw, score, difficulty, seed=0)
        for progress in training.run(every=500):
            training.save(path)
        arrays = training.export()

    Parameters
    ----------
    draw
        Draws people and targets.
    score
        The linear score whose target is to be reached; only its values are used.
    difficulty
        d (D,).
    seed
        Of the weights, the people and the exploration.
    """

    def __init__(
        self, draw: Draw, score: LinearScore, difficulty: Array, seed: int, settings: Settings | None = None
    ) -> None:
        import torch

        self._torch, self._draw, self.settings = torch, draw, settings or Settings()
        self._random = np.random.default_rng(seed)
        self._weights, self._bias = torch.tensor(score.weights, dtype=torch.float32), float(score.bias)
        self._sign = torch.where(self._weights < 0.0, -1.0, 1.0)
        self._difficulty = torch.tensor(difficulty, dtype=torch.float32)
        columns = len(difficulty)
        self.learner = SoftActorCritic(columns + 2, columns, 2, seed, self.settings.learning)
        self.update = 0
        self._start(np.ones(self.settings.people, dtype=np.bool_))

    def run(self, updates: int | None = None, every: int = 500) -> Iterator[Progress]:
        """Train to the end of phase 2, or ``updates`` updates, and tell how it goes."""
        last = self.settings.phase_1 + self.settings.phase_2
        last = last if updates is None else min(last, self.update + updates)
        errors, costs = list[float](), list[float]()
        while self.update < last:
            error, cost = self._act()
            errors.append(error)
            costs.append(cost)
            self.learner.learn(self._reward)
            self.update += 1
            if self.update % every == 0 or self.update == last:
                yield Progress(self.update, float(np.mean(errors)), float(np.mean(costs)))
                errors, costs = [], []

    def export(self) -> dict[str, NDArray[np.float64]]:
        """The actor as plain arrays, for ``Phi``."""
        return self.learner.export()

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        own = {"update": self.update, "people": self._people, "targets": self._targets, "origin": self._origin}
        own |= {"age": self._age, "random": generator_state(self._random)}
        save_checkpoint(path, own | {"learner": self.learner.state()})

    def resume(self, path: Path) -> None:
        """Continue where the training of a checkpoint stood; it had the same world, seed and settings."""
        state = load_checkpoint(path)
        self.learner.restore(state["learner"])
        self.update = state["update"]
        self._people, self._targets, self._age = state["people"], state["targets"], state["age"]
        self._origin = state["origin"]
        restore_generator(self._random, state["random"])

    def _start(self, over: NDArray[np.bool_]) -> None:
        """Put new people in the places of those who are done."""
        torch, count = self._torch, int(over.sum())
        people, targets = self._draw(self._random, count)
        fresh = torch.tensor(people, dtype=torch.float32), torch.tensor(targets, dtype=torch.float32)
        if count == len(over):
            self._people, self._targets = fresh
            self._origin = fresh[0].clone()
            self._age = torch.zeros(count)
            return
        rows = torch.tensor(over)
        self._people[rows], self._targets[rows] = fresh
        self._origin[rows] = fresh[0]
        self._age[rows] = 0.0

    def _seen(self, people: Any) -> Any:
        """What the actor sees of people on their way."""
        torch = self._torch
        missing = torch.logit(self._targets) - (people @ self._weights + self._bias)
        return torch.cat([people, self._targets[:, None], GAP_SCALE * missing[:, None]], dim=1)

    def _act(self) -> tuple[float, float]:
        """Change all people by one step, and remember it; return the mean error and cost."""
        torch, settings = self._torch, self.settings
        with torch.no_grad():
            before = self._seen(self._people)
            action = self.learner.act(before)
            change = self._sign * (self._people - self._origin) + MOST_STEP * action
            moved = (self._origin + self._sign * change.clamp(min=0.0)).clamp(0.0, 1.0)
            error = (torch.sigmoid(moved @ self._weights + self._bias) - self._targets).abs()
            cost = ((moved - self._people).abs() * self._difficulty).sum(dim=1)
            near = error <= settings.epsilon
            # Both terms are remembered, so that the reward of phase 2 holds for the steps of phase 1 too.
            self.learner.remember(before, action, torch.stack([error, cost], dim=1), self._seen(moved), near)
        self._people = moved
        self._age += 1
        over = (near | (self._age >= STEPS)).numpy()
        if over.any():
            self._start(over)
        return float(error.mean()), float(cost.mean())

    def _reward(self, terms: Any) -> Any:
        """The rewards (n,) of steps with errors and costs (n, 2)."""
        reward = -self.settings.psi * (terms[:, 0] - self.settings.epsilon).clamp(min=0.0)
        if self.update >= self.settings.phase_1:
            reward = reward - self.settings.phi * terms[:, 1]
        return REWARD_SCALE * reward


def generator_state(random: np.random.Generator) -> dict[str, Any]:
    """The state of a generator, for a checkpoint: its numbers have 128 bits, so they are texts."""
    state = dict(random.bit_generator.state)
    return state | {"state": {name: str(value) for name, value in state["state"].items()}}


def restore_generator(random: np.random.Generator, state: Mapping[str, Any]) -> None:
    """Continue where a generator stood."""
    words = {name: int(value) for name, value in state["state"].items()}
    random.bit_generator.state = {**state, "state": words}
