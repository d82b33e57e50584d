"""The protocol's loop: a learner serves a world's people in turn, and hears of its successes later.

    told = Told(world, noise=0.25, seed=3)
    played = play(world, LinUCB(world.points, 10), told, seed=3)
    played.expected.mean()

It is what the pipeline does, without the pipeline: the window of a pull closes before the step that is ``window``
steps after it, with reward 0 if nothing was heard; what is heard at the end of a round is told in the pulls' order.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull
from onward.environments.improvement import ImprovementWorld, ModelUpdates, Told

Floats = NDArray[np.float64]


class Played(NamedTuple):
    """Round by round, (T,) each: the instance suggested (-1: none), its expected reward, the best one's, whether it
    improves, its cost, and the processor time of the learner, in seconds. A round without one counts 0."""

    actions: NDArray[np.int64]
    expected: Floats
    best: Floats
    improvement: Floats
    cost: Floats
    cpu_seconds: Floats


def play(
    world: ImprovementWorld,
    learner: Choice,
    told: Told,
    *,
    seed: int,
    updates: ModelUpdates | None = None,
    revealed: bool = True,
) -> Played:
    """Play all rounds of a world in which everybody is rejected.

    ``seed`` is that of the generators of a learner that draws. ``revealed``: a success comes with the execution
    probability without noise, as in the reference, in the place of one that the learner was told; an estimate of the
    learner's own stays.
    """
    if world.rejected != world.people:
        raise ValueError(f"{world.people - world.rejected} people are approved: play a world without them")
    table = _Table(learner)
    rounds = [_round(world, table, told, t, seed, updates, revealed) for t in range(world.people)]
    columns = np.array(rounds, dtype=np.float64).reshape(-1, len(Played._fields)).T
    return Played(columns[0].astype(np.int64), *columns[1:])


@dataclass
class _Table:
    """A learner and what it has under way."""

    learner: Choice
    open: deque[Pull] = field(default_factory=deque)
    due: dict[int, list[Pull]] = field(default_factory=dict)
    heard: set[int] = field(default_factory=set)

    def close(self, step: int) -> None:
        """Tell the learner of the windows that end with a step."""
        while self.open and self.open[0].step <= step - self.learner.window:
            pull = self.open.popleft()
            if pull.step in self.heard:
                self.heard.remove(pull.step)
            else:
                self.learner.update(pull, 0.0)

    def hear(self, step: int) -> None:
        """Tell the learner what is heard at the end of a step."""
        for pull in self.due.pop(step, ()):
            self.learner.update(pull, 1.0)
            self.heard.add(pull.step)


def _round(
    world: ImprovementWorld,
    table: _Table,
    told: Told,
    t: int,
    seed: int,
    updates: ModelUpdates | None,
    revealed: bool,
) -> tuple[float, ...]:
    feasible = world.feasible(t)
    if updates is not None:
        feasible = feasible[updates.valid[feasible]]
    seen = told.now(t)
    person, execution = world.person(t), seen[feasible]
    started = time.process_time_ns()
    table.close(t)
    pick = table.learner.choose(person, feasible, execution, lambda: _generator(seed, t))
    spent = time.process_time_ns() - started
    if pick is not None:
        _suggest(world, table, t, pick, seen, told.clean(t) if revealed else seen)
    started = time.process_time_ns()
    table.hear(t)
    spent += time.process_time_ns() - started
    k = None if pick is None else pick.candidate
    best = world.oracle(t, None if updates is None else updates.valid)
    if updates is not None:
        updates.suggested(t, k)
    if k is None:
        return -1, 0.0, best, 0.0, 0.0, spent / 1e9
    return k, world.expected_reward(t, k), best, world.improvement(t, k), world.cost(t, k), spent / 1e9


def _suggest(world: ImprovementWorld, table: _Table, t: int, pick: Pick, seen: Floats, clean: Floats) -> None:
    k = pick.candidate
    table.open.append(Pull(t, k, pick.execution))
    if world.improves(t, k) and world.delay(t) <= table.learner.window:
        counted = clean.item(k) if pick.execution == seen.item(k) else pick.execution
        table.due.setdefault(t + world.delay(t) - 1, []).append(Pull(t, k, counted))


def _generator(seed: int, step: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)).jumped(step))
