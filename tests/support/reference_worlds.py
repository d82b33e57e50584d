"""The worlds of the ARLIM paper with stored draws, the results known for them, and Algorithm 1 as a plain loop."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.agents.options import Options

REFERENCE = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[2].parent / "shared")) / "reference" / "arlim"
WINDOW = 10
WORLDS = [(data_set, seed) for data_set in ("Credit", "Diabetes", "COMPAS") for seed in range(5)]


@dataclass(frozen=True)
class World:
    """T people and K arms: which are feasible, which improve, and when the rewards arrive."""

    data_set: str
    seed: int
    people: np.ndarray[Any, Any]
    points: np.ndarray[Any, Any]
    immutable: np.ndarray[Any, Any]
    improves: np.ndarray[Any, Any]
    chance: np.ndarray[Any, Any]
    draw: np.ndarray[Any, Any]
    delay: np.ndarray[Any, Any]
    known: list[dict[str, Any]]

    @cached_property
    def cost(self) -> np.ndarray[Any, Any]:
        return np.asarray(np.abs(self.people[:, None, :] - self.points[None, :, :]).sum(axis=2))

    @cached_property
    def execution(self) -> np.ndarray[Any, Any]:
        return np.asarray(np.exp(-self.cost / self.points.shape[1]))

    @cached_property
    def feasible(self) -> np.ndarray[Any, Any]:
        return np.asarray((self.people[:, None, self.immutable] == self.points[None, :, self.immutable]).all(axis=2))

    def seen(self, noise: float) -> np.ndarray[Any, Any]:
        """The execution probabilities that the learner observes, (T, K)."""
        if not noise:
            return self.execution
        generator = np.random.RandomState(777 + self.seed)
        generator.rand(len(self.people))
        generator.geometric(0.2, len(self.people))
        drawn = generator.randn(*self.execution.shape)
        return np.clip(self.execution + noise * drawn, 0.0, 1.0)

    def options(self, t: int, execution: np.ndarray[Any, Any]) -> Options:
        """The options of round t with execution probabilities (T, K)."""
        arms = np.flatnonzero(self.feasible[t])
        return Options(self.people[t], arms, self.points, arms, execution[t, arms])

    def metrics(self, actions: list[int | None]) -> dict[str, float]:
        """The metrics that the results list, for one action a round."""
        expected = self.chance * self.execution
        best = np.where(self.feasible, expected, 0.0).max(axis=1)
        rounds = [(t, k) for t, k in enumerate(actions) if k is not None]
        gained = sum(expected[t, k] for t, k in rounds)
        return {
            "improvement": sum(self.improves[k] for _, k in rounds) / len(actions),
            "cost": sum(self.cost[t, k] for t, k in rounds) / len(actions),
            "MER": gained / len(actions),
            "regret": best.sum() - gained,
        }

    def row(self, method: str, actions: list[int | None]) -> str:
        """The metrics in one line, for a page of docs/."""
        metrics = " ".join(f"{value:.6f}" for value in self.metrics(actions).values())
        return f"{method} {self.data_set} {self.seed} {metrics}"

    def result(self, method: str, noise: float) -> dict[str, float]:
        """The known metrics of a method."""
        (row,) = (row for row in self.known if row["method"] == method and row["noise"] == noise)
        return {name: row[name] for name in ("improvement", "cost", "MER", "regret")}


def load_world(data_set: str, seed: int) -> World:
    """A stored world; skips the test where there are none."""
    if not REFERENCE.is_dir():
        pytest.skip(f"no reference worlds at {REFERENCE}: set ONWARD_SHARED")
    results = json.loads((REFERENCE / "results.json").read_text())["per_seed_rf_0_to_4"]
    known = [row for row in results if row["dataset"] == data_set and row["seed"] == seed]
    names = ("X", "CF", "immutable", "theta", "theta_noisy", "U", "delay")
    arrays = stored_arrays(data_set, seed)
    people, points, immutable, improves, chance, draw, delay = (arrays[name] for name in names)
    return World(data_set, seed, people, points, immutable, improves, chance, draw, delay, known)


def stored_arrays(data_set: str, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Everything that is stored of a world."""
    with np.load(REFERENCE / f"{data_set.lower()}_rf_seed{seed}.npz") as stored:
        return dict(stored)


def plain_loop(world: World, regularisation: float, noise: float) -> list[int | None]:
    """Actions of LinUCB for every round, None where no candidate is feasible: Algorithm 1 written number by number,
    with nothing of Onward's."""
    seen, clean, feasible = world.seen(noise).tolist(), world.execution.tolist(), world.feasible.tolist()
    people, candidates = len(world.people), len(world.points)
    v, b = [regularisation] * candidates, [0.0] * candidates
    bonuses: list[float] = []
    actions: list[int | None] = []
    arriving: dict[int, list[tuple[int, float]]] = {}
    for t in range(people):
        prior = candidates * regularisation
        f = math.sqrt(regularisation) + math.sqrt(
            2 * math.log(1 / 0.05) + candidates * math.log((prior + t + 1) / prior)
        )
        alpha = 2 * f + sum(bonuses[-WINDOW:])
        best, action = -math.inf, None
        for k in range(candidates):
            if feasible[t][k]:
                e = seen[t][k]
                score = b[k] / v[k] * e + alpha * (e * e / v[k])
                if score > best:
                    best, action = score, k
        actions.append(action)
        if action is not None:
            e = seen[t][action]
            bonuses.append(e * e / v[action])
            v[action] += e * e
            rewarded = world.draw[t] < world.chance[action] * clean[t][action]
            if rewarded and world.delay[t] <= WINDOW:
                arriving.setdefault(t + world.delay[t] - 1, []).append((action, clean[t][action]))
        for k, e in arriving.pop(t, []):
            b[k] += e
    return actions
