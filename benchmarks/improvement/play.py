"""The protocol's loop: a learner serves a world's people in turn, and learns of its successes later.

    observation = ObservedExecution(world, noise=0.25, seed=3)
    played = play(world, LinUCB(world.points, 10), observation, seed=3)
    played.expected.mean()

It does what the pipeline does, without the pipeline: the window of a pull closes before the step that is ``window``
steps after it, with reward 0 if none came; rewards at the end of a round are learned in the order of their pulls.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull
from onward.agents.options import Options
from onward.benchmarks.improvement.observed_execution import ObservedExecution
from onward.benchmarks.improvement.outlooks import Outlooks
from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.benchmarks.improvement.updates import ModelUpdates

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
    world: StudiedWorld,
    learner: Choice,
    observation: ObservedExecution,
    *,
    seed: int,
    updates: ModelUpdates | None = None,
    revealed: bool = True,
    outlooks: Outlooks | None = None,
) -> Played:
    """Play all rounds of a world in which everybody is rejected.

    ``seed`` is that of the generators of a learner that draws. ``revealed``: a success comes with the execution
    probability without noise, as in the reference, in the place of an observed one; a learner's own estimate stays.
    ``outlooks`` say what is expected of instances.
    """
    if world.rejected != world.people:
        raise ValueError(f"{world.people - world.rejected} people are approved: play a world without them")
    delayed = _DelayedRewards(learner)
    rounds = [_round(world, delayed, observation, t, seed, updates, revealed, outlooks) for t in range(world.people)]
    columns = np.array(rounds, dtype=np.float64).reshape(-1, len(Played._fields)).T
    return Played(columns[0].astype(np.int64), *columns[1:])


@dataclass
class _DelayedRewards:
    """A learner, its pulls with an open window, and its rewards that are due at the end of later steps."""

    learner: Choice
    open: deque[Pull] = field(default_factory=deque)
    due: dict[int, list[Pull]] = field(default_factory=dict)
    rewarded: set[int] = field(default_factory=set)

    def close_windows(self, step: int) -> None:
        """Let the learner learn the reward 0 of pulls whose windows end with a step."""
        while self.open and self.open[0].step <= step - self.learner.window:
            pull = self.open.popleft()
            if pull.step in self.rewarded:
                self.rewarded.remove(pull.step)
            else:
                self.learner.update(pull, 0.0)

    def deliver(self, step: int) -> None:
        """Let the learner learn the rewards that are due at the end of a step."""
        for pull in self.due.pop(step, ()):
            self.learner.update(pull, 1.0)
            self.rewarded.add(pull.step)


def _round(
    world: StudiedWorld,
    delayed: _DelayedRewards,
    observation: ObservedExecution,
    t: int,
    seed: int,
    updates: ModelUpdates | None,
    revealed: bool,
    outlooks: Outlooks | None,
) -> tuple[float, ...]:
    feasible = world.feasible(t)
    if updates is not None:
        feasible = feasible[updates.valid[feasible]]
    observed = observation.noisy(t)
    outlook = None if outlooks is None else outlooks(t, feasible, observed[feasible])
    options = Options(world.person(t), feasible, world.points, feasible, observed[feasible], outlook)
    started = time.process_time_ns()
    delayed.close_windows(t)
    pick = delayed.learner.choose(options, lambda: _generator(seed, t))
    spent = time.process_time_ns() - started
    if pick is not None:
        _suggest(world, delayed, t, pick, observed, observation.exact(t) if revealed else observed)
    started = time.process_time_ns()
    delayed.deliver(t)
    spent += time.process_time_ns() - started
    k = None if pick is None else pick.arm
    best = world.oracle(t) if updates is None else world.oracle_among(t, updates.valid)
    if updates is not None:
        updates.suggested(t, k)
    if k is None:
        return -1, 0.0, best, 0.0, 0.0, spent / 1e9
    return k, world.expected_reward(t, k), best, world.improvement(t, k), world.cost(t, k), spent / 1e9


def _suggest(
    world: StudiedWorld, delayed: _DelayedRewards, t: int, pick: Pick, observed: Floats, exact: Floats
) -> None:
    k = pick.arm
    delayed.open.append(Pull(t, k, pick.execution, pick.context))
    if world.improves(t, k) and world.delay(t) <= delayed.learner.window:
        counted = exact.item(k) if pick.execution == observed.item(k) else pick.execution
        delayed.due.setdefault(t + world.delay(t) - 1, []).append(Pull(t, k, counted, pick.context))


def _generator(seed: int, step: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)).jumped(step))
