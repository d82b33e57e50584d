"""Onward on the data of INSPIRE: a program from a spec and a model, driven as a worker drives it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier

from onward.agents.options import OptionBatch, Options
from onward.agents.scores import Score
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Value
from onward.streams.engine.assessment import propose
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.writer import write_bundle
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec

from .data import Array, DataSet, Feature, Rows

MUTABLE: Mapping[int, str] = {1: "up", -1: "down", 0: "any"}
POPULATION = 1000
"""Rows of the training data that say what the population is like."""


class Sets(NamedTuple):
    """The sets of options of n people, for each a list of rows (k, F); the model rows and the seconds of all."""

    rows: tuple[Rows, ...]
    model_rows: int
    seconds: float


class Onward:
    """A program of a data set, whose spec says ``cost``, ``choice`` and the number of samples.

    Parameters
    ----------
    data
        The data set; its classifier is the authors' network.
    program, codec
        The assembled program and its codec.
    """

    def __init__(self, data: DataSet, program: Program) -> None:
        self._data, self._program, self._codec = data, program, program.codec
        self._model = CurrentModel.from_bundle(program, program.bundle)
        self._learner = program.learner()

    def proposed(self, people: Rows) -> tuple[OptionBatch, int, float]:
        """The options of people (n, F), the model rows and the seconds that they take."""
        encoded = self._codec.encode_many([features_of(self._data, row) for row in people])
        counted = _Counted(self._model.bundle.model.score)
        program = self._program
        generator = self._model.generator.under(counted, program.goal, self._model.objective)
        model = replace(self._model, vetting=self._model.vetting._replace(generator=generator))
        started = time.process_time()
        batch = propose(program, model, encoded)
        return batch, counted.rows, time.process_time() - started

    def sets(self, people: Rows, size: int) -> Sets:
        """The sets of at most ``size`` options of people (n, F)."""
        batch, rows, seconds = self.proposed(people)
        started = time.process_time()
        picks = self._learner.select_batch(batch, size, np.random.default_rng)
        seconds += time.process_time() - started
        chosen = ([batch.index_of(person, pick.arm) for pick in own] for person, own in enumerate(picks))
        return Sets(tuple(self._rows(batch, own) for own in chosen), rows, seconds)

    def features(self, row: Rows) -> dict[str, Value]:
        """A person's features as an application has them."""
        return features_of(self._data, row)

    def options(self, people: Rows) -> Iterator[Options]:
        """All options of each of some people (n, F)."""
        batch, _, _ = self.proposed(people)
        return (batch.options_of(number) for number in range(batch.number))

    def every(self, people: Rows) -> tuple[Rows, ...]:
        """All options that are proposed to people (n, F), as raw rows."""
        batch, _, _ = self.proposed(people)
        ends = zip(batch.first.tolist(), batch.last.tolist(), strict=True)
        return tuple(self._rows(batch, list(range(first, last))) for first, last in ends)

    def _rows(self, batch: OptionBatch, options: Sequence[int]) -> Rows:
        codes = self._codec.codes(batch.points[batch.point[list(options)]])
        return np.rint(codes).astype(np.int64).reshape(-1, len(self._data.features))


@contextmanager
def onward(data: DataSet, **policy: Any) -> Iterator[Onward]:
    """The program of a data set whose spec's policy has these fields beside those of the method."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "spec.yaml")
        path.write_text(json.dumps(spec_of(data, policy)))  # JSON is YAML
        loaded = load_program_spec(path)
        codec = FeatureCodec(loaded.spec)
        rows = data.train[0][:: max(1, len(data.train[0]) // POPULATION)]
        write_bundle(
            Path(folder, "model"),
            loaded.spec,
            codec.columns,
            version="inspire",
            estimator=network_of(data),
            instances=[],
            reference=[features_of(data, row) for row in rows],
        )
        yield Onward(data, assemble(loaded))


def features_of(data: DataSet, row: Rows) -> dict[str, Value]:
    """A person's features as an application has them."""
    return {
        feature.name: feature.texts[value] if feature.texts else value
        for feature, value in zip(data.features, row.tolist(), strict=True)
    }


def network_of(data: DataSet) -> MLPClassifier:
    """The authors' network as a fitted estimator of encoded rows: the same function of them."""
    network = data.network
    weights, bias = [], network.hidden[1].copy()
    for number, feature in enumerate(data.features):
        slope = network.hidden[0][:, number] / network.width[number]
        bias = bias + slope * (feature.low - network.low[number])
        if feature.kind == "ordered":
            weights.append(slope * (feature.values - 1))
        else:
            weights.extend(slope * value for value in range(feature.values))
    estimator = MLPClassifier(hidden_layer_sizes=(len(bias),), activation="relu")
    estimator.coefs_ = [np.array(weights), (network.output[0][1] - network.output[0][0])[:, np.newaxis]]
    estimator.intercepts_ = [bias, np.array([network.output[1][1] - network.output[1][0]])]
    estimator.classes_, estimator.n_outputs_, estimator.n_layers_ = np.array([0, 1]), 1, 3
    estimator.out_activation_, estimator.n_features_in_ = "logistic", len(weights)
    return estimator


def spec_of(data: DataSet, policy: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a data set: expected minimum cost over mixed costs."""
    return {
        "program": f"inspire-{data.name}",
        "features": [_feature(each) for each in data.features],
        "label": {"name": "desired"},
        "model": {"manifest": "model/manifest.json"},
        "policy": {"objective": "cost", "choice": "emc", "cost": "mixed", "options": 10, **policy},
    }


def _feature(feature: Feature) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": feature.name, "mutable": MUTABLE[feature.direction]}
    if feature.kind == "fixed":
        spec["mutable"] = "none"
    if feature.is_integer:
        return spec | {"type": "integer", "bounds": [feature.low, feature.high]}
    if feature.kind == "ordered":
        return spec | {"type": "ordinal", "levels": list(feature.texts)}
    return spec | {"type": "categorical", "categories": list(feature.texts)}


class _Counted:
    """A score that counts the rows it is asked about."""

    def __init__(self, score: Score) -> None:
        self._score, self.rows = score, 0

    def __call__(self, rows: Array) -> Array:
        self.rows += len(rows)
        return self._score(rows)
