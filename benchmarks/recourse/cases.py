"""People, models and the options that generators propose to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from onward.agents.candidates import CandidateGenerator, Space
from onward.agents.candidates.contract import Score
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.benchmarks.truth.settings import FILES, spec_text, text_alone
from onward.environments.population import SPEC, Population, repayment_probability
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec
from onward.schemas.table import Table, read_table
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.training.margin import retrained

Floats = NDArray[np.float64]

INSTANCES = 200
LEAST_SECONDS = 0.05
"""What takes less processor time is repeated until it has taken so much."""
POPULATION = "population"
MODELS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "logistic": lambda seed: LogisticRegression(max_iter=2000, random_state=seed),
        "forest": lambda seed: RandomForestClassifier(100, random_state=seed, n_jobs=-1),
        "booster": lambda seed: GradientBoostingClassifier(n_estimators=100, max_depth=6, random_state=seed),
    }
)
DATA_SETS = FILES


class Source(NamedTuple):
    """A data set: the bytes of its spec's file, and its rows. ``truth`` gives the known probability, (n,), that encoded
    people (n, D) have the desired label; None where it is unknown."""

    name: str
    spec: bytes
    codec: FeatureCodec
    table: Table
    truth: Callable[[Floats], Floats] | None = None


class Case(NamedTuple):
    """One data set with one model: rejected people (n, D) and instances (K, D).

    ``estimator`` was fitted on the rows ``fitted`` of the table and ``score`` is its score; ``other`` is that of a
    model of other rows, ``retrained`` are those of models of resamples of a third part of the rows, which measure the
    margin.
    """

    source: Source
    model: str
    people: Floats
    instances: Floats
    estimator: Any
    fitted: NDArray[np.intp]
    score: Score
    other: Score
    retrained: Sequence[Score]

    @property
    def title(self) -> str:
        """The data set and the model."""
        return f"{self.source.name}, {self.model}"


class Options(NamedTuple):
    """The cheapest option of each of those who have one: row of the person, target (D,), cost and changed features."""

    people: NDArray[np.intp]
    targets: Floats
    cost: Floats
    changes: Floats
    seconds: float


def sources(data: Path | None, names: Sequence[str], seed: int) -> Iterator[Source]:
    """The generated population, and the named data sets of a folder."""
    text = text_alone(SPEC)
    codec = _codec(text)
    truth = partial(_repaid, codec)
    yield Source(POPULATION, text, codec, Population(seed=seed).table(codec.spec), truth)
    for name in names if data is not None else ():
        assert data is not None, "there are no names without a folder"
        text = spec_text(name)
        codec = _codec(text)
        yield Source(name, text, codec, read_table(data / f"{name}.csv", codec.spec))


def case_of(source: Source, model: str, rows: int, people: int, seed: int) -> Case:
    """A model of a third of at most ``rows`` rows, and people of another third whom it rejects."""
    table, columns = source.table, source.codec.dimension
    own, other, rest = np.array_split(np.random.default_rng(seed).permutation(len(table.X))[:rows], 3)
    first, second = (MODELS[model](seed).fit(table.X[part], table.labels[part]) for part in (own, other))
    score, others = scorer(first, columns).score, scorer(second, columns).score
    X = table.X[rest]
    approved = score(X) > 0.5
    resampled = retrained(first, X, table.labels[rest], np.random.RandomState(seed))
    chosen, instances = X[~approved][:people], X[approved][:INSTANCES]
    return Case(source, model, chosen, instances, first, own, score, others, resampled)


def options_of(generator: type[CandidateGenerator], space: Space, case: Case, margin: float = 0.0) -> Options:
    """What a generator proposes to a case's people, and the processor time that it takes."""
    made = generator.build(space, case.instances, Objective(L1())).under(case.score, ThresholdGoal(0.5, margin))
    made.propose(case.people[:2])  # compiles before it is measured
    started, times, seconds = time.process_time(), 0, 0.0
    while seconds < LEAST_SECONDS:
        whose, _, points, point = made.propose(case.people)
        times, seconds = times + 1, time.process_time() - started
    return cheapest(case.source.codec, case.people, whose, points[point], seconds / times)


def cheapest(
    codec: FeatureCodec, people: Floats, whose: NDArray[np.intp], targets: Floats, seconds: float = 0.0
) -> Options:
    """The cheapest of the targets (P, D) of each of ``people`` (n, D)."""
    cost = L1().of_targets(targets, people, whose)
    order = np.lexsort((cost, whose))
    first = order[np.unique(whose[order], return_index=True)[1]]
    changes = changed_features(codec, people[whose[first]], targets[first]).sum(axis=1).astype(np.float64)
    return Options(whose[first], targets[first], cost[first], changes, seconds)


def changed_features(codec: FeatureCodec, people: Floats, targets: Floats) -> NDArray[np.bool_]:
    """Which features (P, F) differ between ``people`` and their ``targets``, both (P, D)."""
    of_feature = codec.feature_of[:, np.newaxis] == np.arange(len(codec.spec.features))
    changed: NDArray[np.bool_] = (targets != people) @ of_feature
    return changed


def mean(values: NDArray[Any]) -> float:
    """The mean; NaN of nothing."""
    return float(values.mean()) if len(values) else float("nan")


def _codec(text: bytes) -> FeatureCodec:
    spec = parse_spec(text)
    assert isinstance(spec, ProgramSpec), f"no spec: {spec}"
    return FeatureCodec(spec)


def _repaid(codec: FeatureCodec, X: Floats) -> Floats:
    codes = codec.codes(X)
    columns = {
        feature.name: np.array([codec.value(index, code) for code in codes[:, index].tolist()])
        for index, feature in enumerate(codec.spec.features)
    }
    return repayment_probability(columns)
