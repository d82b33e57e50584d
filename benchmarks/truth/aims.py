"""What an option must reach in a world's program: a margin, the one that training measures, or a promise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from onward.agents.candidates import Score
from onward.agents.goals import Goal, ThresholdGoal, accepted
from onward.agents.improvement import Improvement
from onward.environments.improvement import THRESHOLD
from onward.environments.truth import TruthWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import PromiseTerms
from onward.streams.programs.margin import uses_margin
from onward.streams.programs.models.scoring import DecisionModel, scorer
from onward.streams.programs.promised import measured_promise
from onward.streams.programs.training.margin import retrained, smallest_margin
from onward.streams.programs.training.retrains import RETRAINS, fit_retrains
from onward.streams.programs.training.unsaved_program import unsaved_program

AUTO = "auto"
PROMISES = ("retrains",)
"""Promises that options are made under, by what stands for them in ``--margins``."""
SEED = 0
"""Of the resamples that retrained models are fitted to."""


class Aim(NamedTuple):
    """The score that options are searched on, and what it must reach."""

    score: Score
    goal: Goal


class Aims:
    """What options must reach in the worlds of one model. Retrained models are fitted once, when they are needed."""

    def __init__(self, world: TruthWorld) -> None:
        self._world = world
        self._model = scorer(world.estimator, world.codec.dimension)

    def of(
        self, margin: str, generator: str, improvement: Improvement | None = None, changes: int | None = None
    ) -> Aim:
        """What options of a generator must reach by a margin: a number, ``auto``, or a promise's name.

        Options are the cheapest, or those that help by an ``improvement``, of at most so many ``changes``.
        """
        score = self._model.score
        if margin in PROMISES:
            promise = measured_promise(PromiseTerms(margin), self._model, self._retrains)
            return Aim(promise.robust(score), ThresholdGoal(THRESHOLD, 0.0))
        return Aim(
            score,
            ThresholdGoal(
                THRESHOLD, self._measured(generator, improvement, changes) if margin == AUTO else float(margin)
            ),
        )

    def _measured(self, generator: str, improvement: Improvement | None, changes: int | None) -> float:
        """The margin that ``onward train`` writes to the manifest of a program with this generator; 0 without one."""
        world, score = self._world, self._model.score
        policy = msgspec.structs.replace(
            world.codec.spec.policy,
            objective="cost" if improvement is None else "improvement",
            generator=generator,
            nu=None,
        )
        spec = msgspec.structs.replace(world.spec("margin", policy.choice), policy=policy)
        most = changes or spec.constraints.max_changes
        constraints = msgspec.structs.replace(spec.constraints, max_changes=most)
        spec = msgspec.structs.replace(spec, constraints=constraints)
        if not uses_margin(spec):
            return 0.0
        rejected = world.unseen[0][~accepted(score(world.unseen[0]), THRESHOLD)]
        unsaved = unsaved_program(FeatureCodec(spec), score, world.instances, (), improvement)
        return smallest_margin(unsaved, self._others, rejected).margin

    @cached_property
    def _others(self) -> list[Score]:
        return retrained(self._world.estimator, *self._world.unseen, np.random.RandomState(SEED))

    @cached_property
    def _retrains(self) -> Sequence[DecisionModel]:
        world = self._world
        X, labels = (np.concatenate(parts) for parts in zip(world.training, world.unseen, strict=True))
        random = np.random.RandomState(SEED)
        return fit_retrains(world.estimator, X, labels, RETRAINS, len(world.training[1]), random)
