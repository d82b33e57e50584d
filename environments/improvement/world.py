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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...agents.costs import L1, Cost, MaxPercentileShift, execution_probability
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ModelReference, Policy, ProgramSpec, Window, objective_of
from ...schemas.table import Table
from ..feasibility import feasible
from .arrivals import Arrivals, DueOutcome
from .classifiers import Classifier
from .draws import DELAY, Draws, draw
from .people import (
    THRESHOLD,
    Arms,
    People,
    Row,
    TrainedModel,
    Training,
    approval_plan,
    delays,
    draw_arms,
    draw_people,
    train,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
CostName = Literal["l1", "max_percentile_shift"]


class ImprovementWorld(Arrivals):
    """People, instances and their true probabilities, all drawn beforehand: an outcome is a function of the suggestion.

    Applications are numbered t = 0, 1, ...; candidates k = 0 .. K-1 in the order of ``instances``. A round is one
    rejected application. The expected reward of k for t is theta_noisy[k] exp(-nu cost(t, k)), with the true cost: l1,
    unless ``true_cost`` is another. The product knows the l1 cost only.

    ``training`` are the rows and labels that the estimator was fitted on, (n, D) and (n,), and ``unseen`` all others,
    where they are known. With ``full_effect`` nearer instances help less, in proportion: only those at a cost of this
    share of the columns help as their own label says.
    """

    def __init__(
        self,
        spec: ProgramSpec,
        estimator: Any,
        arms: Arms,
        people: People,
        draws: Draws,
        nu: float | None = None,
        *,
        true_cost: Cost | None = None,
        training: Training | None = None,
        unseen: Training | None = None,
        full_effect: float | None = None,
    ) -> None:
        super().__init__(people)
        codec = FeatureCodec(spec)
        self._base = spec
        self._arms, self._draws = arms, draws
        self._nu = nu
        self.estimator = estimator
        self.training, self.unseen = training, unseen
        self.columns = codec.columns
        self._encoded, self.points = codec.encode_many(people.rows), codec.encode_many(arms.rows)
        scale = 1.0 / codec.dimension if nu is None else nu
        plain = L1()(self.points, self._encoded)
        self._execution = execution_probability(plain, scale)
        self._cost = plain if true_cost is None else true_cost(self.points, self._encoded)
        effect = 1.0 if full_effect is None else np.minimum(1.0, plain / (full_effect * codec.dimension))
        self._expected = execution_probability(self._cost, scale) * arms.theta_noisy * effect
        self._feasible = feasible(self._encoded, self.points, codec)
        self._best = np.where(self._feasible, self._expected, 0.0).max(axis=1, initial=0.0)
        self._options: list[Indices] = [np.flatnonzero(row) for row in self._feasible]

    @classmethod
    def from_table(
        cls,
        table: Table,
        spec: ProgramSpec,
        *,
        seed: int,
        people: int,
        instances: int = 200,
        improvement_noise: float = 0.1,
        delay: float | Callable[[Row], float] = DELAY,
        nu: float | None = None,
        approved_share: float = 0.0,
        classifier: Classifier = "rf",
        true_cost: CostName = "l1",
        model: TrainedModel | None = None,
        full_effect: float | None = None,
    ) -> ImprovementWorld:
        """Build the world of a data set, as the stored reference worlds were built (same seed, same world).

        ``people`` applications are drawn with replacement, of which about ``approved_share`` are such that the model
        approves; ``delay`` is the parameter of the geometric distribution, mean 1/delay rounds, or gives it for a
        person's raw features. ``model`` is the result of ``train`` for the same data, seed and classifier, so that
        several worlds share one fit. Raises ValueError when the data have no row to accept or no row to reject.
        """
        model = model or train(table, seed=seed, classifier=classifier)
        random = np.random.RandomState()
        random.set_state(model.state)
        arms = draw_arms(table, model, FeatureCodec(spec), random, instances, improvement_noise)
        rejected = approval_plan(people, approved_share, seed)
        arrivals = draw_people(table, model, rejected, random)
        draws = draw(seed, int(rejected.sum()), delays(arrivals, delay))
        training, unseen = model.parts(table)
        cost = None if true_cost == "l1" else MaxPercentileShift(training[0])
        return cls(
            *(spec, model.estimator, arms, arrivals, draws, nu),
            true_cost=cost,
            training=training,
            unseen=unseen,
            full_effect=full_effect,
        )

    @property
    def instances(self) -> Sequence[Row]:
        """The recourse instances, raw; the position is the candidate index. ``points`` are the same, encoded (K, D)."""
        return self._arms.rows

    @property
    def theta(self) -> NDArray[np.int64]:
        """Whether each instance's label is the desired one, (K,)."""
        return self._arms.theta

    @property
    def theta_noisy(self) -> Floats:
        """The probability that a person who becomes the instance improves, (K,)."""
        return self._arms.theta_noisy

    def spec(
        self, program: str, choice: str, parameters: Mapping[str, float] | None = None, window_steps: int = 10
    ) -> ProgramSpec:
        """The spec of a program that serves this world's people, its model beside it in ``model/manifest.json``.

        Whatever the program is for, it is told the effort that changes truly take.
        """
        objective = objective_of(choice)
        # That of the objective `cost` is the world's own by default.
        nu = 1.0 / len(self.columns) if self._nu is None and objective == "improvement" else self._nu
        return msgspec.structs.replace(
            self._base,
            program=program,
            policy=Policy(
                objective=objective,
                choice=choice,
                generator="instances",
                options=1,
                parameters=dict(parameters or {}),
                cost="l1",
                nu=nu,
                window=Window(steps=window_steps),
                seed=self._base.policy.seed,
            ),
            model=ModelReference("model/manifest.json", THRESHOLD),
            decisions="model",
            candidates=len(self.instances),
            shards=1,
            capacity=None,
        )

    @property
    def distinct(self) -> Floats:
        """The encoded rows (n, D) of the distinct people; ``who`` gives the row of each application."""
        return self._encoded

    @property
    def who(self) -> Indices:
        """The row of each application in ``distinct``, (T,)."""
        return self._people.who

    def person(self, t: int) -> Floats:
        """The encoded features of application t, (D,)."""
        encoded: Floats = self._encoded[self._people.who[t]]
        return encoded

    def feasible(self, t: int) -> Indices:
        """The instances that application t can become, ascending, (F,)."""
        return self._options[int(self._people.who[t])]

    def execution(self, t: int) -> Floats:
        """The execution probabilities of all instances for application t under the l1 cost, (K,)."""
        row: Floats = self._execution[self._people.who[t]]
        return row

    def is_feasible(self, t: int, k: int) -> bool:
        """Whether application t can become instance k."""
        return bool(self._feasible[self._people.who[t], k])

    def cost(self, t: int, k: int) -> float:
        """The true cost of instance k for application t."""
        return float(self._cost[self._people.who[t], k])

    def improvement(self, t: int, k: int) -> float:  # noqa: ARG002 - it is the same for every person
        """1 when instance k's label is the desired one, else 0."""
        return float(self._arms.theta[k])

    def expected_reward(self, t: int, k: int) -> float:
        """The probability that suggesting instance k to application t is rewarded."""
        return float(self._expected[self._people.who[t], k])

    def oracle(self, t: int, valid: NDArray[np.bool_] | None = None) -> float:
        """The largest expected reward of a feasible instance, among those of ``valid`` (K,); 0 when there is none."""
        who = int(self._people.who[t])
        if valid is None:
            return float(self._best[who])
        return float(np.where(self._feasible[who] & valid, self._expected[who], 0.0).max(initial=0.0))

    def improves(self, t: int, k: int) -> bool:
        """Whether suggesting instance k to application t, which the model rejects, improves the person."""
        return bool(self._draws.uniform[self._rounds[t]] < self._expected[self._people.who[t], k])

    def delay(self, t: int) -> int:
        """The number of rounds until the outcome of application t arrives: 1 is at the end of its own round."""
        return int(self._draws.delay[self._rounds[t]])

    def outcome(self, t: int, k: int) -> DueOutcome | None:
        """The outcome of suggesting instance k to application t; None when there will be none."""
        if not self._people.rejected[t] or not self.improves(t, k):
            return None
        return DueOutcome(self.application(t)[0], "improved", self.due(t, self.delay(t)))
