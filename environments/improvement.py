"""A world in which some suggestions really improve people and others only please the model.

It plays the protocol of ARLIM's experiments. Rejected people arrive one a round. Each could become one of K recourse
instances, people whom the model accepts; but the label of some instances says that their acceptance was a mistake.
Whoever follows a suggestion is improved with the probability that belongs to it, and is heard of rounds later.

References
----------
Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
Section 6.1 and appendix B.1; ``docs/improvement.md`` numbers the differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ..agents.costs import L1, execution_probability
from ..schemas.encoding import FeatureCodec
from ..schemas.events import Value
from ..schemas.spec import ModelReference, Policy, ProgramSpec, Window
from ..schemas.table import Table
from .feasibility import feasible

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Row = Mapping[str, Value]

THRESHOLD = 0.5
"""Scores above it are approved, which is what a classifier's own prediction says."""

DRAWS_SEED = 777
"""Added to a world's seed for the draws of rewards and delays, as in the stored reference worlds."""


class DueOutcome(NamedTuple):
    """An outcome that will be known: publish it once application number ``due`` is answered."""

    application: str
    result: Literal["improved"]
    due: int


class Arms(NamedTuple):
    """The recourse instances: raw rows, whether their label is the desired one (K,), and the noisy form of it (K,)
    that is the probability of improvement of a person who carries the suggestion out."""

    rows: Sequence[Row]
    theta: NDArray[np.int64]
    theta_noisy: Floats


class People(NamedTuple):
    """Who arrives: distinct raw rows, which of them application t is (T,), and whether the model rejects it (T,)."""

    rows: Sequence[Row]
    who: Indices
    rejected: NDArray[np.bool_]


class Draws(NamedTuple):
    """What chance holds for each rejected person, in the order of their arrival: a uniform (S,) and a delay (S,)."""

    uniform: Floats
    delay: NDArray[np.int64]


class ImprovementWorld:
    """People, instances and the truth about them, all drawn beforehand: the answer to a suggestion is a function.

    Applications are numbered t = 0, 1, ...; candidates k = 0 .. K-1 in the order of ``instances``. A round is one
    rejected application. The expected reward of k for t is theta_noisy[k] exp(-nu cost(t, k)), cost l1.
    """

    def __init__(
        self, spec: ProgramSpec, estimator: Any, arms: Arms, people: People, draws: Draws, nu: float | None = None
    ) -> None:
        codec = FeatureCodec(spec)
        self._base = spec
        self._arms, self._people, self._draws = arms, people, draws
        self._nu = nu
        self.estimator = estimator
        self.columns = codec.columns
        encoded, candidates = codec.encode_many(people.rows), codec.encode_many(arms.rows)
        self._cost = L1()(candidates, encoded)
        execution = execution_probability(self._cost, 1.0 / codec.dimension if nu is None else nu)
        self._expected = execution * arms.theta_noisy
        self._feasible = feasible(encoded, candidates, codec)
        self._best = np.where(self._feasible, self._expected, 0.0).max(axis=1, initial=0.0)
        self._rounds = np.cumsum(people.rejected) - 1
        self._arrivals = np.flatnonzero(people.rejected)

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
        delay: float = 0.2,
        nu: float | None = None,
        approved_share: float = 0.0,
    ) -> ImprovementWorld:
        """Build the world of a data set, as the stored reference worlds were built (same seed, same world).

        ``people`` applications are drawn with replacement, of which about ``approved_share`` are such that the model
        approves; ``delay`` is the parameter of the geometric distribution, mean 1/delay rounds. Raises ValueError
        when the data have nobody to accept or nobody to reject.
        """
        random = np.random.RandomState(seed)
        fit, recourse, test = _split(table.labels, random)
        estimator = RandomForestClassifier(random_state=random).fit(table.X[fit], table.labels[fit])
        accepted = _approves(estimator, table.X)
        arms = _arms(table, recourse[accepted[recourse]], FeatureCodec(spec), random, instances, improvement_noise)
        rejected = _approval_plan(people, approved_share, seed)
        crowd = _people(table, test, accepted, rejected, random)
        draws = _draws(seed, int(rejected.sum()), delay)
        return cls(spec, estimator, arms, crowd, draws, nu)

    @property
    def instances(self) -> Sequence[Row]:
        """The recourse instances, raw; the position is the candidate index."""
        return self._arms.rows

    @property
    def people(self) -> int:
        """How many applications the world has."""
        return len(self._people.who)

    @property
    def rejected(self) -> int:
        """How many of them the model rejects: the number of rounds."""
        return len(self._arrivals)

    @property
    def theta(self) -> NDArray[np.int64]:
        """Whether each instance's label is the desired one, (K,)."""
        return self._arms.theta

    @property
    def theta_noisy(self) -> Floats:
        """The probability of improvement of who becomes each instance, (K,)."""
        return self._arms.theta_noisy

    def spec(
        self, program: str, choice: str, parameters: Mapping[str, float] | None = None, window_steps: int = 10
    ) -> ProgramSpec:
        """The spec of a program that serves this world's people, its model beside it in ``model/manifest.json``."""
        return msgspec.structs.replace(
            self._base,
            program=program,
            policy=Policy(
                choice=choice,
                parameters=dict(parameters or {}),
                cost="l1",
                nu=self._nu,
                window=Window(steps=window_steps),
                seed=self._base.policy.seed,
            ),
            model=ModelReference("model/manifest.json", THRESHOLD),
            decisions="model",
            candidates=len(self.instances),
            shards=1,
            capacity=None,
        )

    def application(self, t: int) -> tuple[str, Row]:
        """The id and the raw features of application t."""
        return f"a{t:06d}", self._people.rows[self._people.who[t]]

    def number(self, application: str) -> int:
        """The t of an application's id."""
        return int(application.removeprefix("a"))

    def is_rejected(self, t: int) -> bool:
        """Whether the world's model rejects application t."""
        return bool(self._people.rejected[t])

    def is_feasible(self, t: int, k: int) -> bool:
        """Whether application t can become instance k."""
        return bool(self._feasible[self._people.who[t], k])

    def cost(self, t: int, k: int) -> float:
        """The l1 cost of instance k for application t."""
        return float(self._cost[self._people.who[t], k])

    def improvement(self, t: int, k: int) -> float:  # noqa: ARG002 - who follows the suggestion does not matter here
        """1 when instance k's label is the desired one, else 0."""
        return float(self._arms.theta[k])

    def expected_reward(self, t: int, k: int) -> float:
        """The probability that suggesting instance k to application t is rewarded."""
        return float(self._expected[self._people.who[t], k])

    def oracle(self, t: int) -> float:
        """The largest expected reward of a feasible instance, 0 when none is feasible."""
        return float(self._best[self._people.who[t]])

    def outcome(self, t: int, k: int) -> DueOutcome | None:
        """What comes of suggesting instance k to application t; None when nothing will ever be heard.

        The delay counts rejected applications, from 1 for the one of t itself.
        """
        here = int(self._rounds[t])
        if not self._people.rejected[t] or not self._draws.uniform[here] < self.expected_reward(t, k):
            return None
        return DueOutcome(self.application(t)[0], "improved", self._arrival(here + int(self._draws.delay[here]) - 1))

    def _arrival(self, round_number: int) -> int:
        """The application of a round; rounds after the last application are counted on."""
        beyond = round_number - len(self._arrivals)
        return int(self._arrivals[round_number]) if beyond < 0 else self.people + beyond


def _split(labels: NDArray[np.int64], random: np.random.RandomState) -> tuple[Indices, Indices, Indices]:
    """Row indices 2:1:1, stratified by label: training, recourse instances, test."""
    fit, rest = train_test_split(np.arange(len(labels)), test_size=0.5, stratify=labels, random_state=random)
    recourse, test = train_test_split(rest, test_size=0.5, stratify=labels[rest], random_state=random)
    return fit, recourse, test


def _approves(estimator: Any, X: Floats) -> NDArray[np.bool_]:
    positive: NDArray[np.bool_] = estimator.predict_proba(X)[:, 1] > THRESHOLD
    return positive


def _arms(
    table: Table, accepted: Indices, codec: FeatureCodec, random: np.random.RandomState, most: int, noise: float
) -> Arms:
    """The accepted rows that keep the constraints, a random ``most`` of them if there are more."""
    chosen = np.array([i for i in accepted if codec.violated_constraint(table.rows[i]) is None], dtype=np.intp)
    if not len(chosen):
        raise ValueError("the model accepts none of the rows set aside as recourse instances")
    if len(chosen) > most:
        chosen = random.choice(chosen, most, replace=False)
    theta = table.labels[chosen]
    noisy = np.clip(theta + noise * random.randn(len(theta)), 0.0, 1.0)
    return Arms([table.rows[i] for i in chosen], theta, noisy)


def _approval_plan(people: int, approved_share: float, seed: int) -> NDArray[np.bool_]:
    """Which applications are to be rejected, (T,). A generator of its own: the share leaves all other draws alone."""
    rejected: NDArray[np.bool_] = np.random.RandomState([seed, people]).rand(people) >= approved_share
    return rejected


def _people(
    table: Table, test: Indices, accepted: NDArray[np.bool_], rejected: NDArray[np.bool_], random: np.random.RandomState
) -> People:
    """Rejected: predicted negative and truly negative. Approved: predicted positive."""
    negatives = test[~accepted[test] & (table.labels[test] == 0)]
    positives = test[accepted[test]]
    rows = np.empty(len(rejected), dtype=np.intp)
    for kind, mask, pool in (("negative", rejected, negatives), ("positive", ~rejected, positives)):
        if mask.any() and not len(pool):
            raise ValueError(f"no test row is predicted {kind}: there is nobody to draw people from")
        if mask.any():
            rows[mask] = random.choice(pool, int(mask.sum()))
    distinct, who = np.unique(rows, return_inverse=True)
    return People([table.rows[i] for i in distinct], who, rejected)


def _draws(seed: int, rounds: int, delay: float) -> Draws:
    random = np.random.RandomState(DRAWS_SEED + seed)
    return Draws(random.rand(rounds), random.geometric(delay, rounds))
