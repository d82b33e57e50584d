"""A world in which some suggestions really improve people and others only change the model's decision.

It follows the protocol of ARLIM's experiments. Rejected people arrive one a round. Each could become one of K recourse
instances, people whom the model accepts; the labels of some instances show that their acceptance was a mistake.
A person who carries a suggestion out improves with its probability, and the outcome arrives rounds later.

References
----------
Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
Section 6.1 and appendix B.1; ``docs/improvement.md`` numbers the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ...agents.arrays import Array
from ...agents.costs import L1, execution_probability
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import Policy, ProgramSpec, Window, objective_for_choice
from ...schemas.table import Table
from ..feasibility import feasible
from ..rounds import Worth
from .people import (
    Applicants,
    Arrivals,
    DueOutcome,
    InstanceArms,
    OutcomeDraws,
    Training,
    approval_plan,
    arms_and_people,
    draw,
    generator,
    served,
    train,
)


class ImprovementWorld(Arrivals):
    """People, instances and their true probabilities, all drawn beforehand: an outcome is a function of the suggestion.

    Applications are numbered t = 0, 1, ...; candidates k = 0 .. K-1 in the order of ``instances``. A round is one
    rejected application. The expected reward of k for t is theta_noisy[k] exp(-nu cost(t, k)), with the l1 cost.

    ``instances`` are the raw rows of the candidates, ``points`` the encoded ones (K, D), and ``theta`` and
    ``theta_noisy`` (K,) those of ``InstanceArms``. ``training`` are the rows and labels that the estimator was fitted
    on, (n, D) and (n,), and ``unseen`` all others, where they are known.
    """

    def __init__(
        self,
        spec: ProgramSpec,
        estimator: Any,
        arms: InstanceArms,
        people: Applicants,
        draws: OutcomeDraws,
        nu: float | None = None,
        *,
        training: Training | None = None,
        unseen: Training | None = None,
    ) -> None:
        codec = FeatureCodec(spec)
        super().__init__(people, codec)
        self._base = spec
        self.instances, self.theta, self.theta_noisy = arms
        self._draws = draws
        self._nu = nu
        self.estimator = estimator
        self.training, self.unseen = training, unseen
        self.columns = codec.columns
        self.points = codec.encode_many(arms.rows)
        cost = L1()(self.points, self.distinct)
        self._execution = execution_probability(cost, 1.0 / codec.dimension if nu is None else nu)
        self._feasible = feasible(self.distinct, self.points, codec)
        self._value(cost, self._execution * arms.theta_noisy)

    def _value(self, cost: Array, expected: Array) -> None:
        """Take the true cost and the expected reward of each instance for each distinct person, (n, K)."""
        self._cost, self._expected = cost, expected
        self._best = np.where(self._feasible, expected, 0.0).max(axis=1, initial=0.0)

    @classmethod
    def from_table(
        cls,
        table: Table,
        spec: ProgramSpec,
        *,
        seed: int,
        people: int,
        instances: int = 200,
        nu: float | None = None,
        approved_share: float = 0.0,
    ) -> Self:
        """Build the world of a data set, as the stored reference worlds were built (same seed, same world).

        ``people`` applications are drawn with replacement, of which about ``approved_share`` are such that the model
        approves. Raises ValueError when the data have no row to accept or no row to reject.
        """
        codec, rejected = FeatureCodec(spec), approval_plan(people, approved_share, seed)
        model = train(replace(table, X=codec.readable(table.X)), seed=seed)
        arms, arrivals = arms_and_people(table, model, codec, instances, rejected)
        draws, (training, unseen) = draw(generator(seed), int(rejected.sum())), model.parts(table)
        return cls(spec, model.estimator, arms, arrivals, draws, nu, training=training, unseen=unseen)

    def spec(
        self, program: str, choice: str, parameters: Mapping[str, float] | None = None, window_steps: int = 10
    ) -> ProgramSpec:
        """The spec of a program that serves this world's people, its model beside it in ``model/manifest.json``.

        Whatever the program is for, it is told the effort that changes truly take.
        """
        objective = objective_for_choice(choice)
        # That of the objective `cost` is the world's own by default.
        nu = 1.0 / len(self.columns) if self._nu is None and objective == "improvement" else self._nu
        policy = Policy(
            objective=objective,
            choice=choice,
            generator="instances",
            options=1,
            parameters=dict(parameters or {}),
            cost="l1",
            nu=nu,
            window=Window(steps=window_steps),
            seed=self._base.policy.seed,
        )
        return served(self._base, program, policy, len(self.instances))

    def is_feasible(self, t: int, k: int) -> bool:
        """Whether application t can become instance k."""
        return bool(self._feasible[self._people.row_of[t], k])

    def cost(self, t: int, k: int) -> float:
        """The true cost of instance k for application t."""
        return float(self._cost[self._people.row_of[t], k])

    def improvement(self, t: int, k: int) -> float:  # it is the same for every person
        """1 when instance k's label is the desired one, else 0."""
        return float(self.theta[k])

    def expected_reward(self, t: int, k: int) -> float:
        """The probability that suggesting instance k to application t is rewarded."""
        return float(self._expected[self._people.row_of[t], k])

    def worth(self, t: int, k: int) -> Worth:
        """What suggesting instance k to application t is worth."""
        return Worth(self.expected_reward(t, k), self.improvement(t, k), self.cost(t, k))

    def oracle(self, t: int) -> float:
        """The largest expected reward of a feasible instance; 0 when there is none."""
        return float(self._best[self._people.row_of[t]])

    def improves(self, t: int, k: int) -> bool:
        """Whether suggesting instance k to application t, which the model rejects, improves the person."""
        return bool(self._draws.uniform[self._rounds[t]] < self._expected[self._people.row_of[t], k])

    def delay(self, t: int) -> int:
        """The number of rounds until the outcome of application t arrives: 1 is at the end of its own round."""
        return int(self._draws.delay[self._rounds[t]])

    def outcome(self, t: int, k: int) -> DueOutcome | None:
        """The outcome of suggesting instance k to application t; None when there will be none."""
        if not self._people.rejected[t] or not self.improves(t, k):
            return None
        return DueOutcome(self.application(t)[0], "improved", self.due(t, self.delay(t)))
