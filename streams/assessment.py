"""What can be told of applications before any of them is answered, computed for many at once.

Scores, feasible candidates and costs do not depend on what the learner has seen, so a chunk's worth is computed in
one go. Every row is the same whatever else is in the batch, which is why results do not depend on chunk cuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from ..agents.costs import execution_probability
from ..schemas.encoding import Problem, Values
from .journal import Place
from .program import Program
from .state import CurrentModel

Array = NDArray[np.float64]

BATCH_PAIRS = 1_000_000
"""Most person-candidate pairs held at once (about 100 MB)."""


class Assessment(NamedTuple):
    """One person: raw values, encoded features (D,), whether the program's model approves, and, when it does not, the
    F candidates that are feasible, (F,) in order, with their costs (F,) and execution probabilities (F,)."""

    values: Values
    person: Array
    approved: bool
    feasible: NDArray[np.intp]
    cost: Array
    execution: Array


_NOTHING = np.empty(0)
_NONE = np.empty(0, dtype=np.intp)


def assess(
    program: Program, model: CurrentModel, people: Mapping[Place, bytes | Raw]
) -> dict[Place, Assessment | Problem]:
    """Assess people, by place in the journal, under a model. Given is the JSON of their features; what does not fit
    the spec gives its problem."""
    result: dict[Place, Assessment | Problem] = {}
    places: list[Place] = []
    rows: list[Values] = []
    for place, features in people.items():
        values = program.codec.read(features)
        if isinstance(values, Problem):
            result[place] = values
        else:
            places.append(place)
            rows.append(values)
    encoded, problems = program.codec.encode_values(rows)
    if any(problems):
        result.update((place, problem) for place, problem in zip(places, problems, strict=True) if problem)
        good = [index for index, problem in enumerate(problems) if problem is None]
        places, rows, encoded = [places[index] for index in good], [rows[index] for index in good], encoded[good]
    approved = _approvals(program, model, encoded)
    for index in np.flatnonzero(approved).tolist():
        result[places[index]] = Assessment(rows[index], encoded[index], True, _NONE, _NOTHING, _NOTHING)
    rejected = np.flatnonzero(~approved)
    block = max(1, BATCH_PAIRS // max(1, len(program.points)))
    for start in range(0, len(rejected), block):
        some = rejected[start : start + block]
        indices = some.tolist()
        found = _rejected(program, model, [rows[index] for index in indices], encoded[some])
        result.update(zip([places[index] for index in indices], found, strict=True))
    return result


def _approvals(program: Program, model: CurrentModel, encoded: Array) -> NDArray[np.bool_]:
    if program.spec.decisions == "external" or not len(encoded):
        return np.zeros(len(encoded), dtype=bool)
    return program.approves(model.bundle.model.score(encoded))


def _rejected(program: Program, model: CurrentModel, rows: Sequence[Values], people: Array) -> Iterator[Assessment]:
    """What can be told of n rejected people: their values, and the same encoded, shape (n, D)."""
    pairs = model.candidates.feasible(people)
    cost = program.cost.of_pairs(program.points, people, pairs.candidates, pairs.people)
    execution = execution_probability(cost, program.nu)
    ends = np.searchsorted(pairs.people, np.arange(len(people)), side="right").tolist()
    start = 0
    for values, person, end in zip(rows, people, ends, strict=True):
        yield Assessment(values, person, False, pairs.candidates[start:end], cost[start:end], execution[start:end])
        start = end
