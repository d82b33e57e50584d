"""What can be told of applications before any of them is answered, computed for many at once.

Scores, feasible candidates and costs do not depend on what the learner has seen, so a chunk's worth is computed in
one go. Every row is the same whatever else is in the batch, which is why results do not depend on chunk cuts.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from ...agents.costs import execution_probability
from ...schemas.encoding import Problem, Values
from ..journal.journal import JournalPosition
from ..programs.program import Program
from .state import CurrentModel

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BATCH_PAIRS = 1_000_000
"""Most person-candidate pairs held at once (about 100 MB)."""


class Rejected(Struct, frozen=True, gc=False, eq=False):
    """n rejected people and their P feasible pairs. Person i of ``people``, (n, D), has the candidates
    ``feasible[first[i] : last[i]]``, ascending, with their ``cost`` and ``execution`` probability, all (P,)."""

    people: Array
    first: Indices
    last: Indices
    feasible: Indices
    cost: Array
    execution: Array


class Assessment(Struct, frozen=True, gc=False, eq=False):
    """One person: raw values, whether the program's model approves, and, when it does not, where the rest stands."""

    values: Values
    among: Rejected | None = None
    row: int = 0

    @property
    def approved(self) -> bool:
        """Whether the program's model approves."""
        return self.among is None


def assess(
    program: Program, model: CurrentModel, people: Mapping[JournalPosition, bytes | Raw]
) -> dict[JournalPosition, Assessment | Problem]:
    """Assess people, by place in the journal, under a model. Given is the JSON of their features; what does not fit
    the spec gives its problem."""
    result: dict[JournalPosition, Assessment | Problem] = {}
    places: list[JournalPosition] = []
    rows: list[Values] = []
    for place, features in people.items():
        values = program.codec.read(features)
        if isinstance(values, Problem):
            result[place] = values
        else:
            places.append(place)
            rows.append(values)
    encoded = program.codec.encode_read(rows)
    approved = _approvals(program, model, encoded)
    for index in np.flatnonzero(approved).tolist():
        result[places[index]] = Assessment(rows[index])
    rejected = np.flatnonzero(~approved)
    block = max(1, BATCH_PAIRS // max(1, len(program.points)))
    for start in range(0, len(rejected), block):
        some = rejected[start : start + block]
        among = _rejected(program, model, encoded[some])
        for row, index in enumerate(some.tolist()):
            result[places[index]] = Assessment(rows[index], among, row)
    return result


def _approvals(program: Program, model: CurrentModel, encoded: Array) -> NDArray[np.bool_]:
    if program.spec.decisions == "external" or not len(encoded):
        return np.zeros(len(encoded), dtype=bool)
    return program.approves(model.bundle.model.score(encoded))


def _rejected(program: Program, model: CurrentModel, people: Array) -> Rejected:
    pairs = model.candidates.feasible(people)
    cost = program.cost.of_pairs(program.points, people, pairs.candidates, pairs.people)
    ends = np.searchsorted(pairs.people, np.arange(len(people) + 1))
    return Rejected(people, ends[:-1], ends[1:], pairs.candidates, cost, execution_probability(cost, program.nu))
