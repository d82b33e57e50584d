"""A data set of the paper: features, actions, costs, prior, classifier and users, from the shared reference."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.costs.causal import CostStructure
from onward.agents.costs.mixture import GaussianMixture
from onward.benchmarks.elicitation.classifiers import Classifier, Network
from onward.streams.errors import UsageError

Array = NDArray[np.float64]
Row = Mapping[str, Any]

DATA = ("adult", "givemecredit")
USERS = ("all", "hard")
MOST_STEPS = 5


class Feature(NamedTuple):
    """A feature: its bounds, or its categories in the order of its inputs ``columns`` of the classifier."""

    name: str
    low: float
    high: float
    categories: tuple[str, ...]
    columns: slice

    def scaled(self, value: Array | float) -> Array:
        """Values scaled to [0, 1] and clipped; of a category 1."""
        if self.categories:
            return np.ones(np.shape(value))
        return np.asarray(np.clip((value - self.low) / (self.high - self.low), 0.0, 1.0))

    def inputs(self, values: Sequence[Any] | NDArray[Any]) -> Array:
        """The inputs (n, columns) of the classifier; an unknown category has none."""
        if not self.categories:
            return self.scaled(np.array(values, dtype=np.float64))[:, np.newaxis]
        return np.array([[float(value == name) for name in self.categories] for value in values])


class Action(NamedTuple):
    """What may be done to a feature: set it to a category, or add an argument, of which ``lowest`` is the least result.

    ``sizes`` are the arguments, evenly spaced: those that rise and those that fall, as positive numbers.
    """

    feature: str
    categories: tuple[str, ...]
    rises: Array
    falls: Array
    highest: float

    def allows(self, value: Array) -> NDArray[np.bool_]:
        """Whether values may be reached."""
        return (value >= 0.0) & (value <= self.highest)


@dataclass(frozen=True)
class Users:
    """n users with their true weights (n, P), and the component of the mixture that these were drawn from (n,)."""

    rows: Sequence[Row]
    weights: Array
    kind: NDArray[np.intp]

    def __len__(self) -> int:
        """Their number."""
        return len(self.rows)

    def first(self, count: int) -> Users:
        """The first of them."""
        return self.at(np.arange(min(count, len(self))))

    def at(self, which: NDArray[np.intp]) -> Users:
        """Some of them."""
        return Users([self.rows[user] for user in which], self.weights[which], self.kind[which])


class Study:
    """One data set of the paper.

    Parameters
    ----------
    folder
        The shared reference.
    name
        ``adult`` or ``givemecredit``.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self._folder = name, folder
        document = _json(folder / f"{name}_preprocessing.json")
        self.features = tuple(map(_feature, document["features"]))
        self.number = {feature.name: at for at, feature in enumerate(self.features)}
        actions = _json(folder / "actions.json")[name]["actions"]
        self.actions = tuple(_action(action) for action in actions if action["feature"] is not None)
        edges = _json(folder / "ccs_edges.json")[name]["edges"]
        self.edges = tuple((self.number[parent], self.number[child]) for parent, child in edges)
        self.structure = CostStructure(len(self.features), self.edges)
        means = np.array(_json(folder / "mixture_means.json")[name]["means"], dtype=np.float64)
        self.prior = GaussianMixture(np.full(len(means), 1.0 / len(means)), means, np.ones_like(means))

    @cached_property
    def classifier(self) -> Classifier:
        """The paper's neural network."""
        with np.load(self._folder / f"{self.name}_classifier.npz", allow_pickle=False) as stored:
            return Network([(stored[f"W{layer}"], stored[f"b{layer}"]) for layer in range(3)])

    def under(self, classifier: Classifier) -> Study:
        """The same data set with another classifier."""
        other = copy(self)
        other.__dict__["classifier"] = classifier
        return other

    def encoded(self, rows: Sequence[Row]) -> Array:
        """The inputs (n, D) of the classifier."""
        return np.concatenate([part.inputs([row[part.name] for row in rows]) for part in self.features], axis=1)

    def own(self, row: Row) -> Array:
        """The scaled values (F,) of a user's features, 1 for categories."""
        return np.array(
            [float(feature.scaled(row[feature.name])) if not feature.categories else 1.0 for feature in self.features]
        )

    def stored_users(self, users: str) -> Users:
        """The stored users ``all`` or ``hard``."""
        with (self._folder / f"{self.name}_users_{users}.csv").open(encoding="utf-8", newline="") as stream:
            table = list(csv.DictReader(stream))
        rows = [self._row([line[feature.name] for feature in self.features]) for line in table]
        with np.load(self._folder / f"{self.name}_weights_{users}.npz", allow_pickle=False) as stored:
            weights = stored["w" if "w" in stored else "w_resampled"]
        return Users(rows, weights, np.array([int(line["mixture_class"]) for line in table]))

    def users_of_file(self, path: Path, users: str) -> Users:
        """The users of a file of arrays ``DATA_USERS_FEATURE``, ``..._w`` and ``..._mixture_class``."""
        prefix = f"{self.name}_{users}_"
        names = (*(prefix + feature.name for feature in self.features), prefix + "w", prefix + "mixture_class")
        *columns, weights, kind = _arrays(path, names)
        width = self.structure.parameters
        if any(column.shape != weights.shape[:1] for column in (*columns, kind)) or weights.shape[1:] != (width,):
            wrong = f"the arrays {prefix}... are not of the same users, or w has not {width} columns"
            raise UsageError(f"--users {path}: {wrong}")
        try:
            rows = [self._row(values) for values in zip(*columns, strict=True)]
            numbers = [row[feature.name] for row in rows for feature in self.features if not feature.categories]
            found = Users(rows, weights.astype(np.float64), kind.astype(np.intp))
        except ValueError as error:
            raise UsageError(f"--users {path}: {error}") from error
        if not len(found) or not np.isfinite([*numbers, *found.weights.ravel()]).all():
            raise UsageError(f"--users {path}: the arrays {prefix}... hold no users, or a number that is not finite")
        return found

    def reference(self) -> list[dict[str, str]]:
        """The authors' results by user."""
        with (self._folder / f"{self.name}_reference_per_user.csv").open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def _row(self, values: Sequence[Any]) -> Row:
        parts = zip(self.features, values, strict=True)
        return {feature.name: str(value) if feature.categories else float(value) for feature, value in parts}


def sets_of_file(path: Path) -> dict[str, list[str]]:
    """The sets of users, by data set, of which a file has weights."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = set(stored.files)
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError) as error:
        raise UsageError(f"--users {path}: this is no file of arrays: {error}") from error
    found = {name: [users for users in USERS if f"{name}_{users}_w" in names] for name in DATA}
    found = {name: sets for name, sets in found.items() if sets}
    if not found:
        expected = ", ".join(f"{name}_{users}_w" for name in DATA for users in USERS)
        raise UsageError(f"--users {path}: holds no array of {expected}")
    return found


def _arrays(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return [stored[name] for name in names]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"--users {path}: {error}") from error


def _feature(document: Mapping[str, Any]) -> Feature:
    columns = slice(*document["columns"])
    if document["kind"] == "continuous":
        return Feature(document["feature"], document["min"], document["max"], (), columns)
    return Feature(document["feature"], 0.0, 1.0, tuple(document["categories"]), columns)


def _action(document: Mapping[str, Any]) -> Action:
    name, arguments = document["feature"], document["arguments"]
    if isinstance(arguments[0], str):
        return Action(name, tuple(arguments), np.zeros(0), np.zeros(0), 0.0)
    sizes = np.array(arguments, dtype=np.float64)
    highest = 1.0 if "<= 1" in document["precondition"] else np.inf
    return Action(name, (), np.sort(sizes[sizes > 0]), np.sort(-sizes[sizes < 0]), highest)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the shared reference {path} cannot be read: {error}") from error
