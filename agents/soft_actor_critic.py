"""Soft actor-critic: learns a policy from what its actions earned. Needs torch: the extra ``rl``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .actor import LAYERS
from .arrays import Array

LEAST_LOG_SD, MOST_LOG_SD = -5.0, 1.0
FIRST_LOG_TEMPERATURE = -2.0


class Learning(NamedTuple):
    """The numbers of the algorithm. The paper on durable recourse prints none of them.

    The temperature keeps the entropy of a policy near -1 for each action.

    ``batch`` remembered steps an update, ``width`` of the hidden layers, ``memory`` in steps, learning ``rate`` of
    Adam, ``discount`` of the next step, and ``averaging``, the rate at which the slow critics follow.
    """

    batch: int = 256
    width: int = 64
    memory: int = 50_000
    rate: float = 1e-3
    discount: float = 0.95
    averaging: float = 0.01


class SoftActorCritic:
    """Two critics with slow copies, a learned temperature and a replay memory.

    Everything random comes from the seed. What it takes and gives are torch tensors of single precision; ``export``
    gives the plain arrays of an ``Actor``.

    Parameters
    ----------
    inputs, actions
        How many numbers the policy sees and answers.
    terms
        How many numbers of a step are remembered for its reward.
    seed
        Of the first weights and the exploration.

    References
    ----------
    Haarnoja, T., Zhou, A., Hartikainen, K., et al. (2018). Soft Actor-Critic Algorithms and Applications.
    arXiv 1812.05905.
    """

    def __init__(self, inputs: int, actions: int, terms: int, seed: int, learning: Learning) -> None:
        import torch

        self._torch, self.learning, self._actions = torch, learning, actions
        self.noise = torch.Generator().manual_seed(seed)
        hidden = [learning.width] * (LAYERS - 1)
        self._actor = self._network([inputs, *hidden, 2 * actions])
        self._critics = [self._network([inputs + actions, *hidden, 1]) for _ in range(2)]
        self._slow = [[part.detach().clone() for part in critic] for critic in self._critics]
        self._log_temperature = torch.tensor(FIRST_LOG_TEMPERATURE, requires_grad=True)
        groups = [self._actor, [part for critic in self._critics for part in critic], [self._log_temperature]]
        self._optimizers = [torch.optim.Adam(group, lr=learning.rate) for group in groups]
        self._columns = [inputs, actions, terms, inputs, 1]
        self._memory, self._stored = torch.zeros(learning.memory, sum(self._columns)), 0

    def act(self, seen: Any) -> Any:
        """Actions (n, A) in [-1, 1] with exploration, for what the policy sees (n, inputs)."""
        with self._torch.no_grad():
            return self._sample(seen)[0]

    def mean(self, seen: Any) -> Any:
        """The mean actions (n, A) before they are squashed."""
        with self._torch.no_grad():
            return self._forward(self._actor, seen)[:, : self._actions]

    def remember(self, seen: Any, action: Any, terms: Any, after: Any, ended: Any) -> None:
        """Keep n steps: what was seen, the action, the terms (n, terms) of the reward, what is seen after, and whether
        that is the end (n,)."""
        rows = self._torch.cat([seen, action, terms, after, ended[:, None].float()], dim=1)
        places = (self._stored + self._torch.arange(len(rows))) % len(self._memory)
        self._memory[places] = rows
        self._stored += len(rows)

    def learn(self, reward: Callable[[Any], Any]) -> None:
        """One update of the critics, the actor and the temperature; ``reward`` makes rewards (n,) of terms."""
        torch, learning = self._torch, self.learning
        known = min(self._stored, len(self._memory))
        rows = torch.randint(known, (learning.batch,), generator=self.noise)
        seen, action, terms, after, ended = self._memory[rows].split(self._columns, dim=1)
        temperature = self._log_temperature.exp().detach()
        with torch.no_grad():
            following, log_density = self._sample(after)
            value = self._values(self._slow, after, following).min(dim=0).values - temperature * log_density
            target = reward(terms) + learning.discount * (1.0 - ended[:, 0]) * value
        self._descend(1, ((self._values(self._critics, seen, action) - target) ** 2).mean())
        chosen, log_density = self._sample(seen)
        value = self._values(self._critics, seen, chosen).min(dim=0).values
        self._descend(0, (temperature * log_density - value).mean())
        self._descend(2, -(self._log_temperature.exp() * (log_density.detach() - self._actions)).mean())
        self._follow()

    def export(self) -> dict[str, Array]:
        """The actor as plain arrays."""
        arrays = {}
        for number in range(LAYERS):
            weight, bias = self._actor[2 * number : 2 * number + 2]
            arrays[f"weight_{number}"] = weight.detach().numpy().astype(np.float64)
            arrays[f"bias_{number}"] = bias.detach().numpy().astype(np.float64)
        return arrays

    def state(self) -> dict[str, Any]:
        """Everything that a later training needs to go on."""
        return {
            "parameters": [part.detach() for part in self._parameters()],
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            "memory": self._memory,
            "stored": self._stored,
            "noise": self.noise.get_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue where one of the same sizes stood."""
        for parameter, saved in zip(self._parameters(), state["parameters"], strict=True):
            parameter.data.copy_(saved)
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self._memory, self._stored = state["memory"], state["stored"]
        self.noise.set_state(state["noise"])

    def _parameters(self) -> list[Any]:
        networks = [self._actor, *self._critics, *self._slow]
        return [*[part for network in networks for part in network], self._log_temperature]

    def _network(self, sizes: list[int]) -> list[Any]:
        """Weights (inputs, outputs) and biases of a perceptron."""
        torch, parts = self._torch, []
        for number, (before, after) in enumerate(pairwise(sizes)):
            scale = (2.0 / before) ** 0.5 if number < LAYERS - 1 else 0.01
            weight = scale * torch.randn(before, after, generator=self.noise)
            parts += [weight.requires_grad_(), torch.zeros(after, requires_grad=True)]
        return parts

    def _forward(self, network: list[Any], values: Any) -> Any:
        for number in range(LAYERS):
            values = values @ network[2 * number] + network[2 * number + 1]
            if number < LAYERS - 1:
                values = values.clamp(min=0.0)
        return values

    def _sample(self, seen: Any) -> tuple[Any, Any]:
        """Actions, (n, A), and their log densities, (n,)."""
        torch = self._torch
        mean, log_sd = self._forward(self._actor, seen).chunk(2, dim=1)
        log_sd = log_sd.clamp(LEAST_LOG_SD, MOST_LOG_SD)
        noise = torch.randn(mean.shape, generator=self.noise)
        raw = mean + log_sd.exp() * noise
        log_density = -0.5 * noise**2 - log_sd - 0.919
        squashing = 2.0 * (0.693 - raw - torch.nn.functional.softplus(-2.0 * raw))
        return torch.tanh(raw), (log_density - squashing).sum(dim=1)

    def _values(self, critics: list[list[Any]], seen: Any, action: Any) -> Any:
        """The values of both critics, (2, n)."""
        both = self._torch.cat([seen, action], dim=1)
        return self._torch.stack([self._forward(critic, both)[:, 0] for critic in critics])

    def _descend(self, optimizer: int, loss: Any) -> None:
        for stale in self._optimizers:
            stale.zero_grad()
        loss.backward()
        self._optimizers[optimizer].step()

    def _follow(self) -> None:
        """Move the slow critics towards the others."""
        with self._torch.no_grad():
            for critic, slow in zip(self._critics, self._slow, strict=True):
                for part, average in zip(critic, slow, strict=True):
                    average += self.learning.averaging * (part - average)


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write a checkpoint, whole or not at all."""
    import torch

    partial = path.with_suffix(".partial")
    torch.save(dict(state), partial)
    partial.replace(path)


def load_checkpoint(path: Path) -> Mapping[str, Any]:
    """Read a checkpoint. It cannot run code."""
    import torch

    state: Mapping[str, Any] = torch.load(path, weights_only=True)
    return state
