"""Plays a world: a choice serves its people in turn, and learns later.

It does what the pipeline does, without the pipeline: a window of steps closes with reward 0; an outcome that names the
option taken is a reward for it, and the other pulls of the recourse are taken back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents import candidates
from onward.agents.candidates import CandidateGenerator, LinearScore
from onward.agents.choices import Choice, Pick, Pull
from onward.agents.costs import L1, execution_probability
from onward.agents.objective import Objective
from onward.agents.options import OptionBatch, Options
from onward.benchmarks.truth.aims import Aim
from onward.environments.truth import Chances, TruthWorld
from onward.streams.programs.space import space_of

Floats = NDArray[np.float64]
WINDOW = 10


class Offered(NamedTuple):
    """What a generator offers to the people of a world: the arms, and the options of the distinct people."""

    arms: Floats
    batch: OptionBatch


class Game(NamedTuple):
    """A world, what is offered in it, and what each option of each application would lead to."""

    world: TruthWorld
    offered: Offered
    chances: list[Chances]

    @classmethod
    def of(cls, world: TruthWorld, offered: Offered) -> Game:
        """The game of a world and what a generator offers in it."""
        return cls(world, offered, [_chances(world, offered.batch, t) for t in range(world.people)])

    @property
    def oracle(self) -> float:
        """The mean expected reward of the best option of everybody; 0 for those without one."""
        best = [(one.improvement * one.execution).max(initial=0.0) for one in self.chances]
        return float(np.mean(best))

    def options(self, t: int) -> Options:
        """The options of application t."""
        return self.offered.batch.options_of(int(self.world.row_of[t]))


class Played(NamedTuple):
    """One play: means over all people (``mer``, ``oracle``, ``none``), and over those served (the rest)."""

    mer: float
    oracle: float
    none: float
    improvement: float
    changes: float


def offer(
    generator: type[CandidateGenerator],
    world: TruthWorld,
    aim: Aim,
    objective: Objective | None = None,
    most_changes: int | None = None,
) -> Offered:
    """The options that a generator proposes to the world's distinct people, who must reach the aim.

    Options are compared by the ``objective``, by default by cost, and change at most ``most_changes`` features. Raises
    ``ValueError`` when the generator refuses the world's model.
    """
    codec, people = world.codec, world.distinct
    objective = objective or Objective(L1(), 1.0 / codec.dimension)
    instances, space = codec.encode_many(world.instances), space_of(codec)
    built = generator.build(space._replace(max_changes=most_changes or space.max_changes), instances, objective)
    if generator.needs_linear_score and not isinstance(aim.score, LinearScore):
        raise ValueError("the model's score is not linear")
    whose, arm, points, point = built.under(aim.score, aim.goal).propose(people)
    cost = L1().of_pairs(points, people, point, whose)
    ends = np.searchsorted(whose, np.arange(len(people) + 1))
    execution = execution_probability(cost, objective.nu)
    outlook = objective.outlook(people, points[point], ends, execution, codec.feature_of)
    batch = OptionBatch(people, ends[:-1], ends[1:], arm, points, point, cost, execution, outlook)
    return Offered(built.arms, batch)


def play(game: Game, learner: Choice, most_options: int, seed: int) -> Played:
    """Let a learner serve everybody; ``seed`` is that of a learner that draws."""
    rewards = _Rewards(learner)
    served: list[tuple[float, float, float]] = []
    for t, chances in enumerate(game.chances):
        rewards.close_windows(t)
        options = game.options(t)
        picks = learner.select(options, most_options, partial(_generator, seed, t))
        if picks:
            taken = _taken(game.world, t, options, picks)
            at = int(options.arm.searchsorted(picks[taken].arm))
            reward = chances.improvement.item(at) * chances.execution.item(at)
            rewards.suggest(t, picks, taken, game.world.reward_delay(t, reward))
            served.append((reward, chances.improvement.item(at), _changes(game.world, options, at)))
        rewards.deliver(t)
    reward, improvement, changes = np.mean(served, axis=0).tolist() if served else (0.0, np.nan, np.nan)
    share = len(served) / game.world.people
    return Played(reward * share, game.oracle, 1 - share, improvement, changes)


@dataclass
class _Rewards:
    """The pulls of a learner with an open window, and its rewards by the step at whose end they are due."""

    learner: Choice
    open: deque[tuple[Pull, ...]] = field(default_factory=deque)
    due: dict[int, list[tuple[tuple[Pull, ...], int]]] = field(default_factory=dict)
    rewarded: set[int] = field(default_factory=set)

    def close_windows(self, step: int) -> None:
        """Let the learner learn the reward 0 of pulls whose windows end with a step."""
        while self.open and self.open[0][0].step <= step - WINDOW:
            pulls = self.open.popleft()
            if pulls[0].step not in self.rewarded and not self.learner.ignores_zero_reward:
                for pull in pulls:
                    self.learner.update(pull, 0.0)

    def suggest(self, step: int, picks: tuple[Pick, ...], taken: int, delay: int | None) -> None:
        """Open a window; ``delay`` is that of the improvement by the option taken, None without one."""
        pulls = tuple(Pull(step, pick.arm, pick.execution, pick.context) for pick in picks)
        self.open.append(pulls)
        if delay is not None and delay <= WINDOW:
            self.due.setdefault(step + delay - 1, []).append((pulls, taken))

    def deliver(self, step: int) -> None:
        """Let the learner learn the rewards that are due at the end of a step."""
        for pulls, taken in self.due.pop(step, ()):
            self.rewarded.add(pulls[0].step)
            for number, pull in enumerate(pulls):
                if number == taken:
                    self.learner.update(pull, 1.0)
                else:
                    self.learner.retract(pull)


def _chances(world: TruthWorld, batch: OptionBatch, t: int) -> Chances:
    targets = batch.options_of(int(world.row_of[t])).targets
    return world.chances(np.full(len(targets), t), targets)


def _taken(world: TruthWorld, t: int, options: Options, picks: tuple[Pick, ...]) -> int:
    at = options.arm.searchsorted([pick.arm for pick in picks])
    return world.easiest(t, options.targets[at])


def _changes(world: TruthWorld, options: Options, at: int) -> float:
    moved = options.points[options.point[at]] != options.person
    return float(len(np.unique(world.codec.feature_of[moved])))


def _generator(seed: int, step: int) -> np.random.Generator:
    return np.random.default_rng([seed, step])


GENERATORS = {name: candidates.registry[name] for name in ("adapted", "instances", "linear", "search")}
"""The generators for any program. Recommenders, for limited places, have a benchmark of their own."""
