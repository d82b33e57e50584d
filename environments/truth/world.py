"""A world in which a person's fate depends on what they become, and how hard that is for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...agents.arrays import Array as Array
from ...agents.arrays import Indices as Indices
from ...agents.costs import execution_probability
from ...schemas.encoding import FeatureCodec
from ...schemas.events import Option
from ...schemas.spec import ProgramSpec, objective_for_choice
from ...schemas.table import Table
from ..improvement import Arrivals, DueOutcome, TrainedModel, train
from ..improvement.people import Row, approval_plan, arms_and_people, served
from ..rounds import Worth
from .conditions import Conditions, delays, difficulties, uniforms
from .truth import TrueImprovement, Truth

ROUNDS_AT_ONCE = 5000
"""Bounds the memory of ``offer``."""

INSTANCES = 200
"""The most recourse instances of the world's program, as in ARLIM."""


class Chances(NamedTuple):
    """What options would lead to, (P,) each: the probability that a person who carries one out improves, that they
    carry it out, and its l1 cost."""

    improvement: Array
    execution: Array
    cost: Array


class TruthWorld(Arrivals):
    """People who apply, and the truth about everything that could be suggested to them.

    A suggestion is a matrix of encoded targets (N, D): the options of a recourse, in its order. The person takes up
    the one that is easiest for them. They carry it out with the probability exp(-nu sum of difficulty x change), with
    a difficulty of their own for each feature, and then improve with a probability of ``TrueImprovement``. Only
    improvements are reported, rounds later. All draws are made beforehand, so an outcome is a function of the
    suggestion.

    The program's model was trained on half of the data. It knows neither the truth nor anybody's difficulties.

    Parameters
    ----------
    spec
        The program's spec; its policy says how options are made, and its ``nu`` is the world's (default 1/D).
    table
        The data set: labels drawn from the truth.
    truth
        The probability of the desired outcome given the features.
    seed
        Another seed is another world: split, model, people, chance.
    people
        The number of applications.
    approved_share
        About this share of them is such that the model approves.
    conditions
        The rest of the world.
    model
        The result of ``train`` for the same table and seed, so that several worlds share one fit.

    Raises
    ------
    ValueError
        When the data have no row to accept or no row to reject.
    """

    def __init__(
        self,
        spec: ProgramSpec,
        table: Table,
        truth: Truth,
        *,
        seed: int,
        people: int,
        approved_share: float = 0.0,
        conditions: Conditions | None = None,
        model: TrainedModel | None = None,
    ) -> None:
        conditions = conditions or Conditions()
        self.codec = FeatureCodec(spec)
        model = model or train(replace(table, X=self.codec.readable(table.X)), seed=seed)
        rejected = approval_plan(people, approved_share, seed)
        arms, applicants = arms_and_people(table, model, self.codec, INSTANCES, rejected, noise=0.0)
        super().__init__(applicants, self.codec)
        self.instances: Sequence[Row] = arms.rows
        self.estimator: Any = model.estimator
        self.columns = self.codec.columns
        self.training, self.unseen = model.parts(table)
        self.table, self.training_rows = table, model.training
        self._base = spec
        self._nu = 1.0 / self.codec.dimension if spec.policy.nu is None else spec.policy.nu
        self._draw(truth, seed, conditions)
        self.shift = int(self.rejected * conditions.shift_at)
        """The number of rejected people who are served before features stop helping."""
        self._best: Array | None = None

    def _draw(self, truth: Truth, seed: int, conditions: Conditions) -> None:
        features = self._base.features
        self._uniform = uniforms(seed, self.rejected)
        self._delay = delays(seed, self.rejected, conditions)
        self._difficulty = difficulties(seed, self.rejected, len(features), conditions)
        mutable = np.array([feature.may_change for feature in features])
        self._improvement = tuple(
            TrueImprovement(truth, conditions.luck_kept, part[self.codec.feature_of])
            for part in conditions.ineffective(seed, mutable)
        )

    def make_inert(self, feature: str, *, from_the_shift: bool = False) -> None:
        """Let changes of a feature please the model only, or do so from the shift on."""
        named = np.array([candidate.name == feature for candidate in self._base.features])[self.codec.feature_of]
        before, after = self._improvement
        self._improvement = (
            before if from_the_shift else before.without_effect_of(named),
            after.without_effect_of(named),
        )

    # --- the program -----------------------------------------------------------------------------------------------

    def spec(self, program: str, choice: str, parameters: Mapping[str, float] | None = None) -> ProgramSpec:
        """The spec of a program that serves this world's people, its model beside it in ``model/manifest.json``.

        Its policy is that of the world's spec. Another choice than the spec's own suggests the cheapest options, unless
        it is the default where options are to help.
        """
        policy = msgspec.structs.replace(self._base.policy, choice=choice, parameters=dict(parameters or {}))
        if choice != self._base.policy.choice:
            objective, window = objective_for_choice(choice), policy.window.whole
            policy = msgspec.structs.replace(policy, objective=objective, window=window)
        return served(self._base, program, policy, len(self.instances))

    # --- people ----------------------------------------------------------------------------------------------------

    def targets(self, t: int, options: Sequence[Option]) -> Array:
        """The encoded application t after each of N options, (N, D)."""
        row = self.application(t)[1]
        rows = [{**row, **option.after} for option in options]
        return self.codec.encode_many(rows)

    # --- the truth -------------------------------------------------------------------------------------------------

    def chances(self, applications: Indices, targets: Array) -> Chances:
        """What becomes of rejected applications (P,) by one target each, (P, D)."""
        before, rounds = self.distinct[self.row_of[applications]], self._rounds[applications]
        shifted = rounds >= self.shift
        improvement = np.empty(len(targets))
        for part, mask in zip(self._improvement, (~shifted, shifted), strict=True):
            improvement[mask] = part(before[mask], targets[mask])
        change = np.abs(targets - before)
        hardness = (change * self._difficulty[rounds][:, self.codec.feature_of]).sum(axis=1)
        return Chances(improvement, execution_probability(hardness, self._nu), change.sum(axis=1))

    def offer(self, owner: Indices, targets: Array) -> None:
        """Say what can be suggested to whom, so that the oracle knows the best of it, and of earlier offers.

        ``owner`` (P,) are rows of ``distinct``, ascending, with a target each, (P, D).
        """
        rounds = self._arrivals
        first, last = (np.searchsorted(owner, self.row_of[rounds], side=side) for side in ("left", "right"))
        best = np.zeros(len(rounds)) if self._best is None else self._best
        for start in range(0, len(rounds), ROUNDS_AT_ONCE):
            block = slice(start, start + ROUNDS_AT_ONCE)
            counts = last[block] - first[block]
            ends = np.cumsum(counts)
            numbers = np.arange(counts.sum()) + np.repeat(first[block] - ends + counts, counts)
            chances = self.chances(np.repeat(rounds[block], counts), targets[numbers])
            np.maximum.at(
                best, start + np.repeat(np.arange(len(counts)), counts), chances.improvement * chances.execution
            )
        self._best = best

    def oracle(self, t: int) -> float:
        """The largest expected reward of an option that was offered to application t; 0 when there is none."""
        assert self._best is not None, "call `offer` first"
        return float(self._best[self.round_of(t)])

    def expected_reward(self, t: int, targets: Array) -> float:
        """The probability that suggesting these options to application t is rewarded."""
        return self.worth(t, targets).reward

    def worth(self, t: int, targets: Array) -> Worth:
        """The worth of the option that the person takes up; its cost is the l1 cost."""
        _, chances = self._taken(t, targets)
        improvement, execution, cost = (float(values[0]) for values in chances)
        return Worth(improvement * execution, improvement, cost)

    def outcome(self, t: int, targets: Array) -> DueOutcome | None:
        """The outcome of suggesting these options to application t; None when there will be none."""
        if not self.is_rejected(t):
            return None
        option, chances = self._taken(t, targets)
        delay = self.reward_delay(t, float(chances.improvement[0] * chances.execution[0]))
        return None if delay is None else DueOutcome(self.application(t)[0], "improved", self.due(t, delay), option)

    def reward_delay(self, t: int, expected_reward: float) -> int | None:
        """The rounds until application t is rewarded for a suggestion of this expected reward; None when it is not.

        1 is at the end of its own round.
        """
        number = self.round_of(t)
        return int(self._delay[number]) if self._uniform[number] < expected_reward else None

    def easiest(self, t: int, targets: Array) -> int:
        """The index of the option that is easiest for application t; the first of equals."""
        change = np.abs(targets - self.distinct[self.row_of[t]])
        difficulty = self._difficulty[self.round_of(t)][self.codec.feature_of]
        return int((change * difficulty).sum(axis=1).argmin())

    def _taken(self, t: int, targets: Array) -> tuple[int, Chances]:
        option = self.easiest(t, targets)
        return option, self.chances(np.array([t]), targets[option : option + 1])
