"""The authors' data sets and classifiers: raw whole numbers, one column a feature."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.sigmoid import LARGEST_ODDS, bounded_sigmoid
from onward.streams.errors import UsageError

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kind = Literal["ordered", "unordered", "fixed"]

NAMES: Mapping[str, str] = {"adult": "adult_binary", "compas": "compas_binary"}
ACCEPTED = 0.5


class Feature(NamedTuple):
    """One feature: its values are the whole numbers ``low`` to ``high``.

    ``direction`` is 1 where a value may only rise, -1 where it may only fall. ``texts`` are the names of categories.
    ``percentile`` (V,) is the share of all rows below each value, empty where values have no order.
    """

    name: str
    kind: Kind
    is_integer: bool
    direction: int
    low: int
    high: int
    texts: tuple[str, ...]
    percentile: Array

    @property
    def values(self) -> int:
        """The number V of its values."""
        return self.high - self.low + 1


class Network(NamedTuple):
    """The authors' classifier: softmax(W1 relu(W0 x + b0) + b1), of columns in the data's order.

    Features are scaled to (value - ``low``) / ``width``, (F,) each; categories are taken as they are.
    """

    low: Array
    width: Array
    hidden: tuple[Array, Array]
    output: tuple[Array, Array]


class DataSet(NamedTuple):
    """A data set of F features, with its classifier, a ``network``, and people whom it rejects, (n, F).

    ``train`` are the rows (N, F) and the labels (N,) that a classifier is trained on, ``dev`` others.
    """

    name: str
    features: tuple[Feature, ...]
    people: Rows
    train: tuple[Rows, Rows]
    dev: tuple[Rows, Rows]
    network: Network

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where each feature's values begin among all values, (F + 1,)."""
        return np.concatenate([[0], np.cumsum([feature.values for feature in self.features])])

    @property
    def low(self) -> Rows:
        """The lowest value of each feature, (F,)."""
        return np.array([feature.low for feature in self.features])

    @property
    def span(self) -> Rows:
        """The number of values of each feature less one, (F,)."""
        return np.array([feature.values - 1 for feature in self.features])

    @property
    def is_integer(self) -> Mask:
        """Which features are numbers, (F,)."""
        return np.array([feature.is_integer for feature in self.features])

    @property
    def editable(self) -> NDArray[np.intp]:
        """The features that are not fixed."""
        return np.flatnonzero([feature.kind != "fixed" for feature in self.features])

    def score(self, rows: Rows) -> Array:
        """The probability of the desired class, (n,), of rows (n, F)."""
        hidden, odds = self.network.hidden, self.network.output
        active = np.maximum(((rows - self.network.low) / self.network.width) @ hidden[0].T + hidden[1], 0.0)
        first, second = (active @ odds[0].T + odds[1]).T
        probability: Array = bounded_sigmoid(second - first, LARGEST_ODDS)
        return probability

    def accepts(self, rows: Rows) -> Mask:
        """Which rows (n, F) the classifier accepts."""
        accepted: Mask = self.score(rows) >= ACCEPTED
        return accepted

    def rejected(self, rows: Rows) -> Rows:
        """Those of some rows that the classifier rejects."""
        kept: Rows = rows[~self.accepts(rows)]
        return kept


def load(folder: Path, name: str) -> DataSet:
    """A data set from the folder of the authors' arrays."""
    stem = folder / NAMES[name]
    try:
        schema = json.loads(stem.with_name(f"{stem.name}_schema.json").read_bytes())
        with np.load(stem.with_name(f"{stem.name}.npz")) as file:
            arrays = dict(file)
        with np.load(stem.with_name(f"{stem.name}_classifier.npz")) as file:
            weights = {key: file[key].astype(np.float64) for key in file}
    except OSError as error:
        raise UsageError(f"{folder}: the data of INSPIRE cannot be read: {error}") from None
    features = tuple(_feature(schema, each) for each in schema["feature_order"])
    network = _network(schema, weights)
    splits = ((arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in ("train", "dev"))
    return DataSet(name, features, arrays["X_test_negative"], next(splits), next(splits), network)


def load_people(path: Path, data: DataSet) -> Rows:
    """The users of a data set in a file of arrays by the data sets' names; raise ``UsageError`` where it is wrong."""
    try:
        with np.load(path) as file:
            rows = np.asarray(file[NAMES[data.name]])
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"--users {path}: it holds no array {NAMES[data.name]}: {error}") from None
    width = len(data.features)
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        raise UsageError(f"--users {path}: {NAMES[data.name]} has the shape {rows.shape}: give rows (n, {width})")
    whole: Rows = np.rint(rows).astype(np.int64)
    if (whole != rows).any() or (whole < data.low).any() or (whole > data.low + data.span).any():
        raise UsageError(f"--users {path}: {NAMES[data.name]} holds a value that the data do not have")
    if data.accepts(whole).any():
        raise UsageError(
            f"--users {path}: the classifier accepts {int(data.accepts(whole).sum())} of {NAMES[data.name]}"
        )
    return whole


def _feature(schema: Mapping[str, Any], name: str) -> Feature:
    facts = schema["features"][name]
    texts = tuple(facts.get("categories", ()))
    low, high = (0, len(texts) - 1) if texts else (facts["min_all"], facts["max_all"])
    table = schema["percentile_tables_on_all_rows"].get(name)
    return Feature(
        name=name,
        kind=facts["type"],
        is_integer=facts["kind"] == "integer",
        direction=0 if facts["type"] == "fixed" else facts["change_restriction"],
        low=low,
        high=high,
        texts=texts,
        percentile=np.array([] if table is None else table["F"]),
    )


def _network(schema: Mapping[str, Any], weights: Mapping[str, Array]) -> Network:
    facts = [schema["features"][name] for name in schema["feature_order"]]
    columns = [each["model_input_column"] for each in facts]
    low = np.array([each.get("min_train", 0.0) for each in facts])
    width = np.array([each.get("max_train", 1.0) - each.get("min_train", 0.0) for each in facts])
    return Network(low, width, (weights["W0"][:, columns], weights["b0"]), (weights["W1"], weights["b1"]))
