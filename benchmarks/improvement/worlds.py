"""The data sets that worlds are made of, and the worlds of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from onward.benchmarks.improvement import ARLIM_SPEC
from onward.benchmarks.improvement.choices import FittedVerifier, Verifier
from onward.benchmarks.improvement.outlooks import Outlooks
from onward.benchmarks.improvement.studied_world import CLASSIFIERS, Classifier, StudiedWorld
from onward.benchmarks.improvement.verifier import fit, look_up
from onward.environments.improvement import TrainedModel, train
from onward.environments.population import SPEC, Population
from onward.schemas.events import Value
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table, TableError, read_table
from onward.streams.errors import UsageError

TITLES = MappingProxyType({"credit": "Credit", "diabetes": "Diabetes", "compas": "COMPAS"})
"""The paper's data sets: the stem of the file, and the name in the paper."""

GENERATED = "loan"
GENERATED_SEED = 0

KEPT = 16
"""Worlds that are cached: more than there are settings in all experiments."""

QUICK_DELAY, SLOW_DELAY = 0.2, 0.05
"""Parameters of the delays of the young and of the others, where the delay depends on the person."""

_YOUNG: Mapping[str, tuple[str, Value]] = MappingProxyType(
    {
        "credit": ("Age_lt_40", 1),
        "diabetes": ("Age_gt_29", 0),
        "compas": ("age_lt_31", 1),
        "loan": ("age_band", "under_30"),
    }
)


class DataSet(NamedTuple):
    """Labelled rows under a name, and their spec."""

    name: str
    title: str
    spec: ProgramSpec
    table: Table

    @property
    def delay_by_person(self) -> Callable[[Mapping[str, Value]], float]:
        """The parameter of the delay of a person: outcomes of the young arrive sooner."""
        feature, young = _YOUNG[self.name]
        return lambda row: QUICK_DELAY if row[feature] == young else SLOW_DELAY


class Setting(NamedTuple):
    """The settings of a world: the most instances, whether the true cost is the percentile shift, whose delays, and
    from which share of the largest cost on a change has its full effect; None where each has."""

    instances: int = 200
    by_percentile: bool = False
    delay_by_person: bool = False
    full_effect: float | None = None


def data_sets(folder: Path | None, names: Sequence[str]) -> list[DataSet]:
    """The data sets of a folder, all of the paper's when no names are given; generated people without a folder.

    Raises ``UsageError`` when one is unknown or cannot be read.
    """
    if folder is None:
        if any(name != GENERATED for name in names):
            raise UsageError(f"--datasets {','.join(names)}: say with --data DIR where their files are")
        return [_generated()]
    return [_read(folder, name.lower()) for name in names or TITLES]


class Worlds:
    """The worlds of one data set and classifier, and TAP's verifier in each. Those of a seed share one fit of the
    model, and one of the verifier, when they are requested one after the other."""

    def __init__(self, data: DataSet, classifier: Classifier, rounds: int) -> None:
        self.data = data
        self._classifier: Classifier = classifier
        self._rounds = rounds
        self._model = lru_cache(maxsize=1)(self._train)
        self._fitted = lru_cache(maxsize=1)(self._fit)
        self.world = lru_cache(maxsize=KEPT)(self._world)
        self.verifier = lru_cache(maxsize=KEPT)(self._verifier)
        self.outlooks = lru_cache(maxsize=1)(self._outlooks)

    def _world(self, seed: int, setting: Setting) -> StudiedWorld:
        """The same seed and setting give the same world; the same seed alone the same model and people."""
        try:
            return StudiedWorld.drawn(
                self.data.table,
                self.data.spec,
                self._model(seed),
                seed=seed,
                people=self._rounds,
                instances=setting.instances,
                delay=self.data.delay_by_person if setting.delay_by_person else QUICK_DELAY,
                by_percentile=setting.by_percentile,
                full_effect=setting.full_effect,
            )
        except ValueError as error:
            raise UsageError(f"{self.data.title}, seed {seed}: {error}") from None

    def _verifier(self, seed: int, setting: Setting) -> Verifier:
        return look_up(self._fitted(seed), self.world(seed, setting))

    def _outlooks(self, seed: int, instances: int) -> Outlooks:
        """What is expected of instances: the same in all worlds of a seed with this number of them."""
        return Outlooks(self.world(seed, Setting(instances)), self.data.spec, seed)

    def _fit(self, seed: int) -> FittedVerifier:
        """The verifier of a seed: the model and its training rows do not depend on the setting."""
        return fit(self.world(seed, Setting()), seed)

    def _train(self, seed: int) -> TrainedModel:
        return train(self.data.table, seed=seed, build=CLASSIFIERS[self._classifier])


def _generated() -> DataSet:
    spec = load_spec(ARLIM_SPEC).spec
    return DataSet(GENERATED, "Loan (generated)", spec, Population(seed=GENERATED_SEED).table(spec))


def _read(folder: Path, name: str) -> DataSet:
    if name not in TITLES:
        raise UsageError(f"--datasets: there is no data set {name!r}, use some of {','.join(TITLES)}")
    spec = load_spec(SPEC.parent / f"{name}.yaml").spec
    try:
        return DataSet(name, TITLES[name], spec, read_table(folder / f"{name}.csv", spec))
    except TableError as error:
        raise UsageError(str(error)) from None
