"""The worlds of the benchmark: their data, their truth, and the model that decides in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from onward.environments.improvement import TrainedModel, train
from onward.environments.improvement.people import approves
from onward.environments.population import SPEC, Population
from onward.environments.truth import Conditions, Fitted, Repayment, Truth, TruthWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec, parse_spec
from onward.schemas.table import Table, read_table
from onward.streams.errors import UsageError

DRAFTS = Path(__file__).parents[1] / "drafts"
FILES = ("credit", "diabetes", "compas", "german")
NAMES = ("population", *FILES)

MODELS: Mapping[str, Callable[[int], Any] | None] = MappingProxyType(
    {"forest": None, "logistic": lambda seed: LogisticRegression(max_iter=2000, random_state=seed)}
)
"""The program's model: the random forest of ``train``, or another that is fitted to the same rows."""


class Setting(NamedTuple):
    """The data of a world with their truth, and the model that was trained on half of them."""

    name: str
    seed: int
    spec: ProgramSpec
    table: Table
    truth: Truth
    model: TrainedModel

    def world(self, people: int, conditions: Conditions) -> TruthWorld:
        """The world in which ``people`` people are rejected, all of whom apply."""
        return TruthWorld(
            self.spec, self.table, self.truth, seed=self.seed, people=people, conditions=conditions, model=self.model
        )


def setting(name: str, folder: Path | None, model: str, seed: int, rows: int) -> Setting:
    """The setting of a name of ``NAMES``, of at most ``rows`` rows; ``folder`` holds the data sets.

    Raises ``UsageError`` when its file is not there.
    """
    spec, table, truth = _population(seed, rows) if name == "population" else _fitted(name, folder, seed, rows)
    trained = train(table, seed=seed)
    build = MODELS[model]
    if build is not None:
        estimator = build(seed).fit(table.X[trained.training], table.labels[trained.training])
        trained = trained._replace(estimator=estimator, accepted=approves(estimator, table.X))
    return Setting(name, seed, spec, table, truth, trained)


def spec_text(name: str) -> bytes:
    """The spec of a data set: the one that comes with Onward, else a draft that was kept."""
    drafted = DRAFTS / f"{name}.yaml"
    return text_alone(drafted if drafted.is_file() else SPEC.parent / f"{name}.yaml")


def text_alone(file: Path) -> bytes:
    """A spec's text without its words, which lie beside it: what people read is not measured here."""
    return re.sub(rb"(?m)^words: .*\n", b"", file.read_bytes())


def available(names: tuple[str, ...], folder: Path | None) -> list[str]:
    """Those of the names whose data are there. Raises ``UsageError`` for a name that no world has."""
    for name in names:
        if name not in NAMES:
            raise UsageError(f"--worlds: there is no world {name!r}, use some of {','.join(NAMES)}")
    return [name for name in names if name == "population" or (folder and (folder / f"{name}.csv").is_file())]


def _population(seed: int, rows: int) -> tuple[ProgramSpec, Table, Truth]:
    spec = load_spec(SPEC).spec
    return spec, Population(seed=seed).table(spec, min(rows, 8000)), Repayment(FeatureCodec(spec))


def _fitted(name: str, folder: Path | None, seed: int, rows: int) -> tuple[ProgramSpec, Table, Truth]:
    """The truth is fitted to all rows of the file; the world has ``rows`` of them."""
    assert folder is not None, "only worlds whose files are there"
    file, spec = folder / f"{name}.csv", parse_spec(spec_text(name))
    assert isinstance(spec, ProgramSpec), f"the spec of {file} is none: {spec}"
    table = read_table(file, spec)
    truth = Fitted(table, seed=seed)
    chosen = np.random.default_rng(seed).permutation(len(table.labels))[:rows]
    some = Table([table.rows[i] for i in chosen.tolist()], table.labels[chosen], table.X[chosen])
    return spec, truth.relabelled(some, seed=seed), truth
