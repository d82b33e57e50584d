"""ARLIM's world under the conditions of its experiments: other costs, delays, classifiers and effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from onward.agents.costs import L1, MaxPercentileShift, execution_probability
from onward.environments.improvement import ImprovementWorld, TrainedModel
from onward.environments.improvement.people import (
    DELAY,
    Applicants,
    Row,
    approval_plan,
    arms_and_people,
    draw,
    forest,
    generator,
)
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec
from onward.schemas.table import Table

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Classifier = Literal["rf", "mlp"]


def network(random: np.random.RandomState) -> Any:
    """A network of two layers (100 hidden units), not fitted yet."""
    # scikit-learn's 200 passes are too few for small data; the stored results were made with as many as it needs.
    return MLPClassifier(max_iter=1000, random_state=random)


CLASSIFIERS: Mapping[Classifier, Callable[[np.random.RandomState], Any]] = MappingProxyType(
    {"rf": forest, "mlp": network}
)
"""The classifiers that decide about people in the experiments."""


class StudiedWorld(ImprovementWorld):
    """An ``ImprovementWorld`` that is played without a pipeline, whose true cost and effects nobody else knows."""

    def person(self, t: int) -> Floats:
        """The encoded features of application t, (D,)."""
        encoded: Floats = self.distinct[self.row_of[t]]
        return encoded

    def feasible(self, t: int) -> Indices:
        """The instances that application t can become, ascending, (F,)."""
        return np.flatnonzero(self._feasible[self.row_of[t]])

    def execution(self, t: int) -> Floats:
        """The execution probabilities of all instances for application t under the l1 cost, (K,)."""
        row: Floats = self._execution[self.row_of[t]]
        return row

    def oracle_among(self, t: int, valid: NDArray[np.bool_]) -> float:
        """The largest expected reward of a feasible instance among those of ``valid`` (K,); 0 when there is none."""
        who = int(self.row_of[t])
        return float(np.where(self._feasible[who] & valid, self._expected[who], 0.0).max(initial=0.0))

    @classmethod
    def drawn(
        cls,
        table: Table,
        spec: ProgramSpec,
        model: TrainedModel,
        *,
        seed: int,
        people: int,
        instances: int = 200,
        delay: float | Callable[[Row], float] = DELAY,
        by_percentile: bool = False,
        full_effect: float | None = None,
    ) -> StudiedWorld:
        """The world of a data set, with the people and draws of ``from_table``; nobody is approved.

        ``model`` is the result of ``train`` for the same data and seed, so that several worlds share one fit. ``delay``
        is the parameter of the geometric distribution, mean 1/delay rounds, or gives it for a person's raw features.
        With ``by_percentile`` the true cost is the largest percentile shift. With ``full_effect`` nearer instances help
        less, in proportion: only those at a cost of this share of the columns help as their own label says.
        """
        rejected = approval_plan(people, 0.0, seed)
        arms, arrivals = arms_and_people(table, model, FeatureCodec(spec), instances, rejected)
        draws, (training, unseen) = draw(generator(seed), people, _delays(arrivals, delay)), model.parts(table)
        world = cls(spec, model.estimator, arms, arrivals, draws, training=training, unseen=unseen)
        world._study(MaxPercentileShift(training[0]) if by_percentile else L1(), full_effect)
        return world

    def _study(self, true_cost: L1 | MaxPercentileShift, full_effect: float | None) -> None:
        cost, columns = true_cost(self.points, self.distinct), len(self.columns)
        plain = L1()(self.points, self.distinct)
        effect = 1.0 if full_effect is None else np.minimum(1.0, plain / (full_effect * columns))
        self._value(cost, execution_probability(cost, 1.0 / columns) * self.theta_noisy * effect)


def _delays(people: Applicants, delay: float | Callable[[Row], float]) -> float | Floats:
    """The parameter of the delays: one for all, or one for each rejected person, (S,)."""
    if not callable(delay):
        return delay
    own = np.array([delay(row) for row in people.rows])
    return own[people.row_of[people.rejected]]
