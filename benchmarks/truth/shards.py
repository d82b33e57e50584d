"""What is lost where the shards of a program serve people in turn, against one learner that serves everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from onward.agents.choices import Pick, Pull
from onward.agents.choices.residual import Residual
from onward.agents.options import Options
from onward.benchmarks.truth.improvement import WORLDS, Figure, Trials
from onward.benchmarks.truth.play import WINDOW, Game
from onward.streams.engine.sharing.evidence import SharedEvidence
from onward.streams.engine.sharing.increment import cadence

NUMBERS, MOST_LOST = (6, 24), 0.005
"""Numbers of shards that share what they learn, the last as drafted, and the mean reward that they may lose."""


class Shards(Residual):
    """Shards that serve people in turn, each with a learner. It has itself learned what they have told each other."""

    name = "shards"

    def divided(self, number: int, after: float) -> Shards:
        """The same in so many shards, each of which tells the others after so many outcomes: never, if infinite."""
        self._shards = [Residual(self.points, self.window, arm_sd=self.arm_sd) for _ in range(number)]
        self._after = after
        return self

    def equip(self, **artefacts: Any) -> None:
        """Give every learner what it needs."""
        super().equip(**artefacts)
        self._shared, self._untold, self._steps = SharedEvidence(), [0] * len(self._shards), 0
        self._shared.learner, self._shared.preferences = self, None
        for learner in self._shards:
            learner.equip(**artefacts)

    def select(
        self,
        options: Options,
        max_options: int,
        random: Callable[[], np.random.Generator],
        *,
        every: bool = False,
        second_way: bool = False,
    ) -> tuple[Pick, ...]:
        """Let the next shard serve a person."""
        learner = self._shards[self._steps % len(self._shards)]
        self._steps += 1
        return learner.select(options, max_options, random, every=every, second_way=second_way)

    def update(self, pull: Pull, reward: float) -> None:
        """Let the pull's shard learn, and tell the others when it has learned so many outcomes."""
        number = pull.step % len(self._shards)
        own = self._shards[number]
        own.update(pull, reward)
        self._untold[number] += 1
        if self._untold[number] >= self._after:
            self._untold[number] = 0
            evidence = self._shared.take(own, None)
            for other in self._shards:
                if other is not own:
                    other.add(evidence)


def figures(trials: Trials, data: str) -> Iterator[Figure]:
    """The reward that shards lose in each world, and those that tell each other nothing."""
    offered = trials.offered(2)
    for name, conditions in WORLDS.items():
        world = trials.world(1.0, conditions)
        if name == "main-inert":
            world.make_inert(trials.main_feature)
        game = Game.of(world, offered)
        one = trials.reward(game, trials.learner(2))
        for number in NUMBERS:
            shards = Shards(offered.arms, WINDOW, arm_sd=0.0).divided(number, cadence(number))
            lost = one - trials.reward(game, shards)
            yield Figure(f"{number} shards lose {name} {data}", lost, MOST_LOST, "lower")
        apart = Shards(offered.arms, WINDOW, arm_sd=0.0).divided(NUMBERS[-1], np.inf)
        lost = one - trials.reward(game, apart)
        yield Figure(f"{NUMBERS[-1]} shards apart lose {name} {data}", lost, None, "lower")
