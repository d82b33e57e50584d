"""The people who arrive, the instances that they could become, and their luck, drawn from a data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ...agents.arrays import Array, Indices, Mask
from ...schemas.encoding import FeatureCodec
from ...schemas.events import Value
from ...schemas.spec import INSTANCES, Instances, ModelReference, Policy, ProgramSpec
from ...schemas.table import Table

Row = Mapping[str, Value]
Training = tuple[Array, NDArray[np.int64]]

THRESHOLD = 0.5
"""Scores above it are approved, which is what a classifier's own prediction says."""


class InstanceArms(NamedTuple):
    """The recourse instances: raw rows, whether their label is the desired one (K,), and its noisy form (K,), the
    probability that a person who carries the suggestion out improves."""

    rows: Sequence[Row]
    theta: NDArray[np.int64]
    theta_noisy: Array


class Applicants(NamedTuple):
    """The applicants: distinct raw rows, and of each application its row and whether the model rejects it, (T,)."""

    rows: Sequence[Row]
    row_of: Indices
    rejected: Mask


class TrainedModel(NamedTuple):
    """The classifier that decides about people, and the data set as it splits it.

    Row indices of the three parts 2:1:1, stratified by label: training, recourse instances, test; whether it accepts
    each row (N,); and the state of the generator, with which the draws of instances and people continue.
    """

    training: Indices
    recourse: Indices
    test: Indices
    estimator: Any
    accepted: Mask
    state: dict[str, Any]

    def parts(self, table: Table) -> tuple[Training, Training]:
        """The rows and labels that the classifier was fitted on, and all others."""
        rest = np.concatenate([self.recourse, self.test])
        return (table.X[self.training], table.labels[self.training]), (table.X[rest], table.labels[rest])


def forest(random: np.random.RandomState) -> Any:
    """A random forest, not fitted yet."""
    return RandomForestClassifier(random_state=random)


def train(table: Table, *, seed: int, build: Callable[[np.random.RandomState], Any] = forest) -> TrainedModel:
    """Split a data set and fit a classifier to its training rows; the same seed gives the same model."""
    random = np.random.RandomState(seed)
    training, rest = train_test_split(
        np.arange(len(table.labels)), test_size=0.5, stratify=table.labels, random_state=random
    )
    recourse, test = train_test_split(rest, test_size=0.5, stratify=table.labels[rest], random_state=random)
    estimator = build(random).fit(table.X[training], table.labels[training])
    state = random.get_state(legacy=False)
    return TrainedModel(training, recourse, test, estimator, approves(estimator, table.X), state)


def approves(estimator: Any, X: Array) -> Mask:
    """Which of the encoded people (n, D) a fitted classifier approves, (n,)."""
    return np.asarray(estimator.predict_proba(X)[:, 1] > THRESHOLD)


def draw_arms(
    table: Table, model: TrainedModel, codec: FeatureCodec, random: np.random.RandomState, most: int, noise: float
) -> InstanceArms:
    """The accepted rows that keep the constraints, a random ``most`` of them if there are more."""
    accepted = model.recourse[model.accepted[model.recourse]]
    chosen = np.array([i for i in accepted if codec.violated_constraint(table.rows[i]) is None], dtype=np.intp)
    if not len(chosen):
        raise ValueError("the model accepts none of the rows set aside as recourse instances")
    if len(chosen) > most:
        chosen = random.choice(chosen, most, replace=False)
    theta = table.labels[chosen]
    noisy = np.clip(theta + noise * random.randn(len(theta)), 0.0, 1.0)
    return InstanceArms([table.rows[i] for i in chosen], theta, noisy)


def approval_plan(people: int, approved_share: float, seed: int) -> Mask:
    """Which applications are to be rejected, (T,). Its generator is its own, so the share changes no other draw."""
    return np.random.RandomState([seed, people]).rand(people) >= approved_share


IMPROVEMENT_NOISE = 0.1
"""The standard deviation of the noise on whether an instance's label is the desired one."""


def arms_and_people(
    table: Table,
    model: TrainedModel,
    codec: FeatureCodec,
    instances: int,
    rejected: Mask,
    noise: float = IMPROVEMENT_NOISE,
) -> tuple[InstanceArms, Applicants]:
    """At most so many ``instances`` of a data set, and its people, drawn with the model's generator."""
    random = np.random.RandomState()
    random.set_state(model.state)
    arms = draw_arms(table, model, codec, random, instances, noise)
    return arms, draw_people(table, model, rejected, random)


def draw_people(table: Table, model: TrainedModel, rejected: Mask, random: np.random.RandomState) -> Applicants:
    """Rejected: predicted negative and truly negative. Approved: predicted positive."""
    test, accepted = model.test, model.accepted
    negatives = test[~accepted[test] & (table.labels[test] == 0)]
    positives = test[accepted[test]]
    rows = np.empty(len(rejected), dtype=np.intp)
    for kind, mask, pool in (("negative", rejected, negatives), ("positive", ~rejected, positives)):
        if mask.any() and not len(pool):
            raise ValueError(f"no test row is predicted {kind}: there are no people to draw")
        if mask.any():
            rows[mask] = random.choice(pool, int(mask.sum()))
    distinct, row_of_each = np.unique(rows, return_inverse=True)
    return Applicants([table.rows[i] for i in distinct], row_of_each, rejected)


def served(base: ProgramSpec, program: str, policy: Policy, instances: int) -> ProgramSpec:
    """The spec of a program with this policy that serves a world's people, its model beside it."""
    return msgspec.structs.replace(
        base,
        program=program,
        policy=policy,
        model=ModelReference("model/manifest.json", THRESHOLD, base.model.may_read),
        decisions="model",
        candidates=instances,
        instances=Instances(publish=policy.generator == INSTANCES),
        shards=1,
        capacity=None,
    )


class DueOutcome(NamedTuple):
    """An outcome to publish once application number ``due`` is answered.

    ``option`` is the index of the option that it is about, from 0; None where the world knows one only.
    """

    application: str
    result: Literal["improved"]
    due: int
    option: int | None = None


class Arrivals:
    """Applications, numbered t = 0, 1, ...; a round is one application that the model rejects.

    ``distinct`` (n, D) are the encoded rows of the distinct people; ``row_of`` (T,) is the one of each application.
    """

    def __init__(self, people: Applicants, codec: FeatureCodec) -> None:
        self._people, self.row_of = people, people.row_of
        self.distinct = codec.encode_many(people.rows)
        self._rounds = np.cumsum(people.rejected) - 1
        self._arrivals = np.flatnonzero(people.rejected)

    @property
    def people(self) -> int:
        """How many applications the world has."""
        return len(self._people.row_of)

    @property
    def rejected(self) -> int:
        """How many of them the model rejects: the number of rounds."""
        return len(self._arrivals)

    def application(self, t: int) -> tuple[str, Row]:
        """The id and the raw features of application t."""
        return f"a{t:06d}", self._people.rows[self._people.row_of[t]]

    def is_rejected(self, t: int) -> bool:
        """Whether the world's model rejects application t."""
        return bool(self._people.rejected[t])

    def round_of(self, t: int) -> int:
        """The round of a rejected application t, from 0."""
        return int(self._rounds[t])

    def due(self, t: int, delay: int) -> int:
        """The application after whose answer an outcome of t comes that is ``delay`` rounds late.

        The delay counts rejected applications, from 1 for the one of t itself. Rounds after the last application
        continue the count.
        """
        round_number = self.round_of(t) + delay - 1
        beyond = round_number - len(self._arrivals)
        return int(self._arrivals[round_number]) if beyond < 0 else self.people + beyond


SEED = 777
"""Added to a world's seed for the draws of rewards and delays, as in the stored reference worlds."""

DELAY = 0.2
"""The geometric distribution's parameter unless another is given: mean 5."""


class OutcomeDraws(NamedTuple):
    """The draws of each rejected person, in the order of arrival: a uniform (S,) and a delay (S,)."""

    uniform: Array
    delay: NDArray[np.int64]


def draw(random: np.random.RandomState, rounds: int, delay: float | Array = DELAY) -> OutcomeDraws:
    """Uniforms and delays of ``rounds`` rejected people; ``delay`` is one parameter for all, or each person's (S,).

    A delay takes one number of the generator for any parameter, so a person's delay changes no other draw.
    """
    return OutcomeDraws(random.rand(rounds), random.geometric(delay, rounds))


def generator(seed: int) -> np.random.RandomState:
    """The generator of a world's draws."""
    return np.random.RandomState(SEED + seed)
