"""The methods that the paper compares with: Actionable Recourse, FACE, random search and DiCE."""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from onward.agents.sigmoid import bounded_logit
from onward.benchmarks.face import progress
from onward.benchmarks.peers.process import Files, Kind, PeerError, PeerProcess, installed
from onward.benchmarks.peers.similar_rows import path_lengths
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec

from .data import Array, DataSet, Rows
from .ours import features_of, network_of, spec_of
from .sampler import FORBIDDEN, cost_of

GRID = 8
"""Values of a feature that Actionable Recourse tries."""
LARGEST_SET = 3
"""Features that it changes at most."""
NEARBY = 500
"""Rows around a person that its linear model is fitted to, but at most half of the budget."""
DICE = Kind("DiCE", "onward.benchmarks.peers.dice", {"method": "random"}, "dice")
THRESHOLD = 0.5
PATIENCE_SECONDS = 60.0
"""How long DiCE may take for a person."""


def random_search(
    data: DataSet, person: Rows, costs: Array, random: np.random.Generator, size: int, budget: int
) -> Rows:
    """Of sets of rows drawn from the whole space the one of the least mean cost, as the authors have it."""
    rows = data.low + (random.random((budget // size, size, len(person))) * (data.span + 1)).astype(np.int64)
    valid = data.accepts(rows.reshape(-1, len(person))).reshape(len(rows), size)
    score = np.full(len(rows), FORBIDDEN)
    for number in np.flatnonzero(valid.any(axis=1)).tolist():
        least = cost_of(data, rows[number][valid[number]], costs).min(axis=0)
        score[number] = np.minimum(least, FORBIDDEN if not valid[number].all() else np.inf).mean()
    return np.asarray(rows[score.argmin()])


def actionable_recourse(data: DataSet, person: Rows, random: np.random.Generator, size: int, budget: int) -> Rows:
    """The cheapest rows by the largest percentile shift that a linear model of the person's neighbourhood accepts.

    The classifier has the last word; ``budget`` counts the rows of the linear model too. The authors' tool solves an
    integer program for it; here the changes of at most ``LARGEST_SET`` features on a grid are enumerated by cost.
    """
    near = _neighbourhood(data, person, random, min(NEARBY, budget // 2))
    linear = Ridge(1.0).fit(near / np.maximum(data.span, 1), bounded_logit(data.score(near), 1e-6))
    changes = [_changes(data, person, number, random) for number in data.editable.tolist()]
    queue: list[tuple[float, int, Rows]] = []
    for count in range(1, LARGEST_SET + 1):
        for chosen in combinations([each for each in changes if each], count):
            for combined in product(*chosen):
                row = person.copy()
                for number, value, _ in combined:
                    row[number] = value
                queue.append((max(shift for *_, shift in combined), len(queue), row))
    rows = np.array([row for *_, row in queue]).reshape(-1, len(person))
    accepted = linear.predict(rows / np.maximum(data.span, 1)) >= 0.0
    order = [entry for entry, keep in zip(queue, accepted.tolist(), strict=True) if keep]
    found = [row for *_, row in heapq.nsmallest(budget - len(near), order)]
    cheapest = np.array(found, dtype=np.int64).reshape(-1, len(person))
    return cheapest[data.accepts(cheapest)][:size]


def _neighbourhood(data: DataSet, person: Rows, random: np.random.Generator, count: int) -> Rows:
    rows = np.repeat(person[np.newaxis], count, axis=0)
    drawn = data.low + (random.random(rows.shape) * (data.span + 1)).astype(np.int64)
    return np.where(random.random(rows.shape) < 0.5, drawn, rows)


def _changes(data: DataSet, person: Rows, number: int, random: np.random.Generator) -> list[tuple[int, int, float]]:
    """Some values that a feature may take, each with its percentile shift; that of a category is drawn."""
    feature, own = data.features[number], int(person[number])
    values = np.arange(feature.low, feature.high + 1)
    values = values[(values != own) & ((values - own) * feature.direction >= 0)]
    values = values[np.unique(np.linspace(0, len(values) - 1, min(GRID, len(values))).astype(int))]
    if feature.kind == "ordered":
        shifts = np.abs(feature.percentile[values - feature.low] - feature.percentile[own - feature.low])
    else:
        shifts = random.random(len(values))
    return [(number, int(value), float(shift)) for value, shift in zip(values, shifts, strict=True)]


class Face:
    """FACE: accepted rows of the data that are nearest along paths between similar rows.

    People and rows are nodes; an edge joins rows that are near each other and alike in the fixed features.

    Parameters
    ----------
    data
        The data set.
    people
        The people (n, F) that paths start from.
    budget
        Rows of the training data that are scored.
    by_radius
        Whether all rows within a radius are joined (FACE-epsilon), or the nearest ones.
    """

    def __init__(self, data: DataSet, people: Rows, budget: int, *, by_radius: bool) -> None:
        rows = data.train[0][:budget]
        self._nodes = np.concatenate([people, rows])
        accepted = np.concatenate([np.zeros(len(people), dtype=np.bool_), data.accepts(rows)])
        fixed = [number for number in range(len(data.features)) if number not in set(data.editable.tolist())]
        scaled = self._nodes / np.maximum(data.span, 1)
        self._far = path_lengths(scaled, self._nodes[:, fixed], len(people), by_radius=by_radius)
        self._far[:, ~accepted] = np.inf

    def rows(self, person: int, size: int) -> Rows:
        """The rows for a person by number."""
        far = self._far[person]
        order = np.argsort(far, kind="stable")
        nearest = order[np.isfinite(far[order])]
        _, first = np.unique(self._nodes[nearest], axis=0, return_index=True)
        return np.asarray(self._nodes[nearest[np.sort(first)][:size]])


def face(data: DataSet, people: Rows, size: int, budget: int, *, by_radius: bool) -> Sequence[Rows]:
    """What FACE returns to people (n, F): a set each."""
    graph = Face(data, people, budget, by_radius=by_radius)
    return [graph.rows(number, size) for number in range(len(people))]


@cache
def dice_is_installed() -> bool:
    """Whether DiCE can be asked; says once how it is installed where it is not."""
    return bool(installed([DICE]))


def ask_dice(data: DataSet, people: Rows, size: int) -> tuple[Sequence[Rows], float] | None:
    """What DiCE, in its own environment, returns to people (n, F): a set each, and the processor seconds of all.

    None where it cannot be asked.
    """
    if not dice_is_installed():
        return None
    with TemporaryDirectory(prefix="onward-bench-") as name:
        spec = Path(name) / "spec.yaml"
        spec.write_text(json.dumps(spec_of(data, {})))
        codec = FeatureCodec(load_spec(spec).spec)
        rows, labels = data.train
        encoded = [codec.encode_many([features_of(data, row) for row in part]) for part in (people, rows)]
        lowest, highest = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
        files = Files(spec.read_bytes(), network_of(data), encoded[1], labels, lowest, highest)
    progress(f"{data.name}: DiCE")
    try:
        kind = DICE._replace(options={**DICE.options, "count": size})
        with PeerProcess(kind, files, PATIENCE_SECONDS) as peer:
            answer = peer.ask(encoded[0], np.full(len(people), THRESHOLD))
    except PeerError as error:
        progress(str(error))
        return None
    found = np.rint(codec.codes(answer.targets)).astype(np.int64)
    return [_own(found, answer.whose, number) for number in range(len(people))], answer.seconds


def _own(found: Rows, whose: NDArray[np.intp], number: int) -> Rows:
    return np.asarray(found[whose == number])
