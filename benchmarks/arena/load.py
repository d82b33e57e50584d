"""The load: a program of 13 features (3 of them immutable) with a logistic model, and applicants that it rejects.

The features are those of the packaged credit spec. Without a data folder they are drawn uniformly within their bounds
and labelled by a random linear rule. With one, the rows of ``credit.csv`` are used, repeatedly.
"""

from __future__ import annotations

import csv
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from onward.agents.goals import ThresholdGoal
from onward.agents.scores import LinearScore
from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import DraftAnswers, DraftDecisions
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Application, Model, Value
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.schemas.spec import INSTANCES, ProgramSpec
from onward.schemas.specfile import load_spec
from onward.schemas.table import TableError, read_table
from onward.streams.errors import UsageError
from onward.streams.programs.assembly import address_of
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.bundle.writer import write_bundle
from onward.streams.programs.training.train import train
from onward.streams.records import Headers

_encode = msgspec.json.Encoder().encode

PEOPLE = 6000
"""Number of different applicants. Further applications repeat them under new names."""
DRAFTED_ROWS = 6000
"""Rows of the file from which a program is drafted, and on which its forest is trained."""


class InputRecord(NamedTuple):
    """A record for the applications topic."""

    key: bytes
    value: bytes
    headers: Headers


class Load(NamedTuple):
    """The spec file of a program, and applicants that it rejects."""

    spec: Path
    program: str
    rejected: list[dict[str, Value]]

    def application(self, name: str, number: int, time_ms: int) -> InputRecord:
        """Make the application of a rejected applicant. Another name or number is another application."""
        application, features = f"{name}-{number}", self.rejected[number % len(self.rejected)]
        value = _encode({"program": self.program, "application": application, "features": features})
        headers = cloud_event_headers(f"{name}/{number}", "benchmark", ce_type(Application), time_ms)
        return InputRecord(application.encode(), value, headers)

    def announcement(self, folder: Path, time_ms: int) -> InputRecord:
        """Make the event of a new model, whose bundle is in this folder."""
        manifest = folder / MANIFEST
        version, digest = folder.name, hashlib.sha256(manifest.read_bytes()).hexdigest()
        event = Model(self.program, version, str(manifest), digest)
        headers = cloud_event_headers(version, "benchmark", ce_type(Model), time_ms)
        return InputRecord(version.encode(), _encode(event), headers)

    def applications(self, name: str, numbers: Iterable[int]) -> list[InputRecord]:
        """Make applications with the present time."""
        now_ms = time.time_ns() // 1_000_000
        return [self.application(name, number, now_ms) for number in numbers]


class Shape(NamedTuple):
    """The differences from the packaged program, as in a spec."""

    program: str = "credit"
    candidates: int = 200
    shards: int = 1
    window: Mapping[str, Any] = MappingProxyType({"steps": 10})
    choice: str = "linucb"
    generator: str = INSTANCES
    options: int = 1
    goal: str = "threshold"
    capacity: Mapping[str, Any] | None = None
    promise: Mapping[str, Any] | None = None
    cost: str | None = None
    elicitation: Mapping[str, Any] | None = None

    def spec(self, packaged: str) -> str:
        """Return the packaged spec with these differences. JSON is YAML."""
        methods = {"choice": self.choice, "generator": self.generator, "options": self.options, "goal": self.goal}
        policy = {**methods, "window": dict(self.window)}
        if self.cost is not None:
            policy["cost"] = self.cost
        named = packaged.replace("program: credit\n", f"program: {self.program}\n")
        parts = {
            "policy": policy,
            "capacity": self.capacity,
            "promise": self.promise,
            "elicitation": self.elicitation,
        }
        if self.generator == INSTANCES:
            parts["instances"] = {"publish": True}
        given = [f"{name}: {_encode(dict(part)).decode()}\n" for name, part in parts.items() if part is not None]
        return f"{named}candidates: {self.candidates}\nshards: {self.shards}\n{''.join(given)}"


def write_load(folder: Path, seed: int, data: Path | None, shape: Shape | None = None) -> Load:
    """Write the program into a new folder; raise ``UsageError`` when the data cannot be used."""
    folder.mkdir(parents=True)
    path = folder / "credit.yaml"
    path.write_text((shape or Shape()).spec(_packaged()))
    spec = load_spec(path).spec
    codec, random = FeatureCodec(spec), np.random.default_rng(seed)
    count = max(2 * PEOPLE, 3 * spec.candidates)
    rows, labels = _generated(spec, codec, random, count) if data is None else _read(data / "credit.csv", spec)
    X = codec.encode_many(rows)
    model = LogisticRegression(max_iter=1000).fit(X[: 2 * PEOPLE], labels[: 2 * PEOPLE])
    approved = ThresholdGoal(spec.model.threshold).reached(model.predict_proba(X)[:, 1])
    instances = [row for row, good in zip(rows, approved, strict=True) if good][: spec.candidates]
    rejected = [row for row, good in zip(rows, approved, strict=True) if not good][:PEOPLE]
    if len(instances) < spec.candidates or not rejected:
        raise UsageError(f"{len(instances)} people are approved and {len(rejected)} rejected: too few for this load")
    write_bundle(
        folder / "model",
        spec,
        codec.columns,
        version="benchmark",
        estimator=model,
        instances=instances,
        reference=rows[:1000],
    )
    return Load(path, spec.program, rejected)


def write_drafted_load(folder: Path, seed: int, data: Path | None) -> Load:
    """Write the program that a new user gets: as ``spec draft`` writes it, with the forest that ``train`` trains.

    The data are those of ``write_load``, and what may change is answered as the packaged spec has it. The folder is
    new. Raises ``UsageError`` when the data cannot be used.
    """
    folder.mkdir(parents=True)
    (folder / "packaged.yaml").write_text(_packaged())
    packaged = load_spec(folder / "packaged.yaml").spec
    codec, random = FeatureCodec(packaged), np.random.default_rng(seed)
    rows, labels = (
        _generated(packaged, codec, random, DRAFTED_ROWS) if data is None else _read(data / "credit.csv", packaged)
    )
    file, path, label = folder / "loans.csv", folder / "loans.yaml", packaged.label.name
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*rows[0], label])
        writer.writeheader()
        writer.writerows(
            [{**row, label: int(good)} for row, good in zip(rows[:DRAFTED_ROWS], labels[:DRAFTED_ROWS], strict=True)]
        )
    mutable = {feature.name: feature.mutable for feature in packaged.features}
    path.write_text(draft_spec(file, label, DraftDecisions(DraftAnswers(label={label: 1}, mutable=mutable))).text)
    loaded = load_spec(path)
    train(file, loaded, Path(address_of(loaded)).parent, estimator="random_forest", seed=seed)
    return rejected_by_all(Load(path, loaded.spec.program, rows[:PEOPLE]), [folder / "model"])


def _packaged() -> str:
    """The packaged credit spec, without the words of its texts."""
    packaged = resources.files("onward.environments") / "specs" / "credit.yaml"
    return re.sub(r"(?m)^words: .*\n", "", packaged.read_text())


def write_moved_model(load: Load, folder: Path, distance: float, seed: int) -> None:
    """Write a bundle whose parameters are this far from those of the load's model, in L2, in a random direction."""
    loaded = load_spec(load.spec)
    codec = FeatureCodec(loaded.spec)
    bundle = load_bundle(address_of(loaded), sha256=None, columns=codec.columns, codec=codec)
    score = bundle.model.score
    assert isinstance(score, LinearScore), "the model of a load is linear"
    moved = np.random.default_rng(seed).normal(size=codec.dimension + 1)
    moved *= distance / np.linalg.norm(moved)
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array([0, 1]), codec.dimension
    model.coef_, model.intercept_ = (score.weights + moved[:-1])[np.newaxis], np.array([score.bias + moved[-1]])
    write_bundle(
        folder,
        loaded.spec,
        codec.columns,
        version=folder.name,
        estimator=model,
        instances=bundle.instances,
        reference=bundle.reference,
    )


def rejected_by_all(load: Load, folders: Iterable[Path]) -> Load:
    """The load with those applicants alone whom the models in these folders reject too: they are all answered."""
    loaded = load_spec(load.spec)
    codec, left = FeatureCodec(loaded.spec), load.rejected
    for folder in folders:
        bundle = load_bundle(str(folder / MANIFEST), sha256=None, columns=codec.columns, codec=codec)
        approved = ThresholdGoal(loaded.spec.model.threshold).reached(bundle.model.score(codec.encode_many(left)))
        left = [row for row, good in zip(left, approved, strict=True) if not good]
    return load._replace(rejected=left)


def _generated(
    spec: ProgramSpec, codec: FeatureCodec, random: np.random.Generator, count: int
) -> tuple[list[dict[str, Value]], NDArray[np.int64]]:
    columns = {
        feature.name: random.integers(int(feature.bounds[0]), int(feature.bounds[1]) + 1, count).tolist()
        for feature in spec.features
        if feature.bounds is not None
    }
    rows: list[dict[str, Value]] = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    score = codec.encode_many(rows) @ random.normal(size=codec.dimension)
    return rows, (score > np.quantile(score, 0.6)).astype(np.int64)


def _read(csv: Path, spec: ProgramSpec) -> tuple[list[dict[str, Value]], NDArray[np.int64]]:
    try:
        table = read_table(csv, spec)
    except TableError as error:
        raise UsageError(str(error)) from None
    return table.rows, table.labels
