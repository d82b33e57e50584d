"""Training of the SAC recommender against people drawn from a world. Needs torch: the extra ``rl``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract import Array, LinearScore
from .sac import GAP_SCALE, LAYERS, MOST_STEP, STEPS

Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
"""Encoded people (n, D) below their targets (n,), drawn from a world."""

LEAST_LOG_SD, MOST_LOG_SD = -5.0, 1.0
REWARD_SCALE = 1.0 / 30.0
"""Keeps values near 1, for the critics."""


class Settings(NamedTuple):
    """How SAC is trained. The first three are the paper's, the others are not printed there.

    The reward of a step is -psi max(0, e - epsilon), and from phase 2 on also -phi c, with the score's error e and the
    cost c = sum d |change| of the step. ``phase_1`` and ``phase_2`` are numbers of updates.
    """

    epsilon: float = 0.01
    phi: float = 10.0
    psi: float = 300.0
    phase_1: int = 3000
    phase_2: int = 20_000
    people: int = 64
    batch: int = 256
    width: int = 64
    memory: int = 50_000
    rate: float = 1e-3
    discount: float = 0.95
    averaging: float = 0.01


class Progress(NamedTuple):
    """The means of the last steps of training: the score's error, and the cost of a step."""

    update: int
    error: float
    cost: float


class SacTraining:
    """Soft actor-critic with two critics, a learned temperature and a replay memory, on one thread of steps.

    Everything random comes from the seed, so two trainings of one seed on one machine are equal, and one that was saved
    and resumed is equal to one that was not.

        training = SacTraining(draw, score, difficulty, seed=0)
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

    References
    ----------
    Haarnoja, T., Zhou, A., Hartikainen, K., et al. (2018). Soft Actor-Critic Algorithms and Applications.
    arXiv 1812.05905.
    """

    def __init__(
        self, draw: Draw, score: LinearScore, difficulty: Array, seed: int, settings: Settings | None = None
    ) -> None:
        import torch

        self._torch, self._draw, self.settings = torch, draw, settings or Settings()
        self._random = np.random.default_rng(seed)
        self._noise = torch.Generator().manual_seed(seed)
        self._weights, self._bias = torch.tensor(score.weights, dtype=torch.float32), float(score.bias)
        self._sign = torch.where(self._weights < 0.0, -1.0, 1.0)
        self._difficulty = torch.tensor(difficulty, dtype=torch.float32)
        columns = len(difficulty)
        sizes = [columns + 2, *[self.settings.width] * (LAYERS - 1)]
        self._actor = self._network([*sizes, 2 * columns])
        self._critics = [self._network([sizes[0] + columns, *sizes[1:], 1]) for _ in range(2)]
        self._slow = [[part.detach().clone() for part in critic] for critic in self._critics]
        self._temperature = torch.tensor(-2.0, requires_grad=True)
        groups = [self._actor, [part for critic in self._critics for part in critic], [self._temperature]]
        self._optimizers = [torch.optim.Adam(group, lr=self.settings.rate) for group in groups]
        width = 2 * (columns + 2) + columns + 2
        self._memory, self._stored = torch.zeros(self.settings.memory, width), 0
        self.update = 0
        self._start(np.ones(self.settings.people, dtype=np.bool_))

    def run(self, updates: int | None = None, every: int = 500) -> Iterator[Progress]:
        """Train to the end of phase 2, or by so many updates, and tell how it goes."""
        last = self.settings.phase_1 + self.settings.phase_2
        last = last if updates is None else min(last, self.update + updates)
        errors, costs = list[float](), list[float]()
        while self.update < last:
            error, cost = self._act()
            errors.append(error)
            costs.append(cost)
            self._learn()
            self.update += 1
            if self.update % every == 0 or self.update == last:
                yield Progress(self.update, float(np.mean(errors)), float(np.mean(costs)))
                errors, costs = [], []

    def export(self) -> dict[str, NDArray[np.float64]]:
        """The actor as plain arrays, for ``Sac``."""
        arrays = {}
        for number in range(LAYERS):
            weight, bias = self._actor[2 * number : 2 * number + 2]
            arrays[f"weight_{number}"] = weight.detach().numpy().astype(np.float64)
            arrays[f"bias_{number}"] = bias.detach().numpy().astype(np.float64)
        return arrays

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        partial = path.with_suffix(".partial")
        self._torch.save(self._state(), partial)
        partial.replace(path)

    def resume(self, path: Path) -> None:
        """Continue where the training of a checkpoint stood; it had the same world, seed and settings."""
        torch = self._torch
        state = torch.load(path, weights_only=True)
        for own, saved in zip(self._parameters(), state["parameters"], strict=True):
            own.data.copy_(saved)
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self._memory, self._stored, self.update = state["memory"], state["stored"], state["update"]
        self._people, self._targets, self._age = state["people"], state["targets"], state["age"]
        self._origin = state["origin"]
        self._noise.set_state(state["noise"])
        random = state["random"]
        words = {name: int(value) for name, value in random["state"].items()}
        self._random.bit_generator.state = random | {"state": words}

    def _state(self) -> Mapping[str, Any]:
        random = dict(self._random.bit_generator.state)
        random["state"] = {name: str(value) for name, value in random["state"].items()}  # 128 bits
        return {
            "parameters": [part.detach() for part in self._parameters()],
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            "memory": self._memory,
            "stored": self._stored,
            "update": self.update,
            "people": self._people,
            "targets": self._targets,
            "origin": self._origin,
            "age": self._age,
            "noise": self._noise.get_state(),
            "random": random,
        }

    def _parameters(self) -> list[Any]:
        networks = [self._actor, *self._critics, *self._slow]
        return [*[part for network in networks for part in network], self._temperature]

    # --- the world ---------------------------------------------------------------------------------------------------

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
            action, _ = self._sample(before)
            change = self._sign * (self._people - self._origin) + MOST_STEP * action
            moved = (self._origin + self._sign * change.clamp(min=0.0)).clamp(0.0, 1.0)
            error = (torch.sigmoid(moved @ self._weights + self._bias) - self._targets).abs()
            cost = ((moved - self._people).abs() * self._difficulty).sum(dim=1)
            near = error <= settings.epsilon
            # Phase 2 pays for cost; both terms are remembered, so that its reward holds for what phase 1 did too.
            row = torch.cat(
                [before, action, error[:, None], cost[:, None], self._seen(moved)[:, :-1], near[:, None].float()], dim=1
            )
        places = (self._stored + torch.arange(len(row))) % len(self._memory)
        self._memory[places] = row
        self._stored += len(row)
        self._people = moved
        self._age += 1
        over = (near | (self._age >= STEPS)).numpy()
        if over.any():
            self._start(over)
        return float(error.mean()), float(cost.mean())

    # --- learning ----------------------------------------------------------------------------------------------------

    def _network(self, sizes: list[int]) -> list[Any]:
        """Weights (inputs, outputs) and biases of a perceptron."""
        torch, parts = self._torch, []
        for before, after in pairwise(sizes):
            scale = (2.0 / before) ** 0.5 if after == self.settings.width else 0.01
            weight = scale * torch.randn(before, after, generator=self._noise)
            parts += [weight.requires_grad_(), torch.zeros(after, requires_grad=True)]
        return parts

    def _forward(self, network: list[Any], values: Any) -> Any:
        for number in range(LAYERS):
            values = values @ network[2 * number] + network[2 * number + 1]
            if number < LAYERS - 1:
                values = values.clamp(min=0.0)
        return values

    def _sample(self, seen: Any) -> tuple[Any, Any]:
        """Actions, (n, D), and their log densities, (n,)."""
        torch = self._torch
        mean, log_sd = self._forward(self._actor, seen).chunk(2, dim=1)
        log_sd = log_sd.clamp(LEAST_LOG_SD, MOST_LOG_SD)
        noise = torch.randn(mean.shape, generator=self._noise)
        raw = mean + log_sd.exp() * noise
        log_density = -0.5 * noise**2 - log_sd - 0.919
        squashing = 2.0 * (0.693 - raw - torch.nn.functional.softplus(-2.0 * raw))
        return torch.tanh(raw), (log_density - squashing).sum(dim=1)

    def _values(self, critics: list[list[Any]], seen: Any, action: Any) -> Any:
        """The values of both critics, (2, n)."""
        both = self._torch.cat([seen, action], dim=1)
        return self._torch.stack([self._forward(critic, both)[:, 0] for critic in critics])

    def _learn(self) -> None:
        """One update of the critics, the actor and the temperature."""
        torch, settings = self._torch, self.settings
        columns = len(self._difficulty)
        rows = torch.randint(min(self._stored, len(self._memory)), (settings.batch,), generator=self._noise)
        seen, action, error, cost, after, near = self._memory[rows].split(
            [columns + 2, columns, 1, 1, columns + 1, 1], dim=1
        )
        reward = -settings.psi * (error[:, 0] - settings.epsilon).clamp(min=0.0)
        if self.update >= settings.phase_1:
            reward = reward - settings.phi * cost[:, 0]
        missing = torch.logit(after[:, -1]) - (after[:, :columns] @ self._weights + self._bias)
        after = torch.cat([after, GAP_SCALE * missing[:, None]], dim=1)
        temperature = self._temperature.exp().detach()
        with torch.no_grad():
            following, log_density = self._sample(after)
            value = self._values(self._slow, after, following).min(dim=0).values - temperature * log_density
            target = REWARD_SCALE * reward + settings.discount * (1.0 - near[:, 0]) * value
        loss = ((self._values(self._critics, seen, action) - target) ** 2).mean()
        self._descend(1, loss)
        chosen, log_density = self._sample(seen)
        value = self._values(self._critics, seen, chosen).min(dim=0).values
        self._descend(0, (temperature * log_density - value).mean())
        self._descend(2, -(self._temperature.exp() * (log_density.detach() - columns)).mean())
        with torch.no_grad():
            for critic, slow in zip(self._critics, self._slow, strict=True):
                for part, average in zip(critic, slow, strict=True):
                    average += settings.averaging * (part - average)

    def _descend(self, optimizer: int, loss: Any) -> None:
        for one in self._optimizers:
            one.zero_grad()
        loss.backward()
        self._optimizers[optimizer].step()
