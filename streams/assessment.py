"""What can be told of applications before any of them is answered, computed for many at once.

Scores, feasible candidates and costs do not depend on what the learner has seen, so a chunk's worth is computed in
one go. Every row is the same whatever else is in the batch, which is why results do not depend on chunk cuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..agents.costs import execution_probability
from ..schemas.encoding import Problem
from ..schemas.events import Value
from .journal import Place
from .program import Program
from .state import CurrentModel

Array = NDArray[np.float64]

BATCH_PAIRS = 1_000_000
"""Most person-candidate pairs held at once (about 100 MB)."""


class Assessment(NamedTuple):
    """One person: encoded features (D,), whether the program's model approves, and, when it does not, the F
    candidates that are feasible, (F,) in order, with their costs (F,) and execution probabilities (F,)."""

    person: Array
    approved: bool
    feasible: NDArray[np.intp]
    cost: Array
    execution: Array


_NOTHING = np.empty(0)
_NONE = np.empty(0, dtype=np.intp)


def assess(
    program: Program, model: CurrentModel, people: Mapping[Place, Mapping[str, Value]]
) -> dict[Place, Assessment | Problem]:
    """Assess people, by place in the journal, under a model; features that do not fit the spec give their problem."""
    encoded, problems = program.codec.encode_checked(list(people.values()))
    result: dict[Place, Assessment | Problem] = {
        key: problem for key, problem in zip(people, problems, strict=True) if problem is not None
    }
    keys = list(people)
    if result:
        keys = [key for key in people if key not in result]
        encoded = encoded[[problem is None for problem in problems]]
    approved = _approvals(program, model, encoded)
    for index in np.flatnonzero(approved).tolist():
        result[keys[index]] = Assessment(encoded[index], True, _NONE, _NOTHING, _NOTHING)
    rejected = np.flatnonzero(~approved)
    block = max(1, BATCH_PAIRS // max(1, len(program.points)))
    for start in range(0, len(rejected), block):
        some = rejected[start : start + block]
        result.update(
            zip([keys[index] for index in some.tolist()], _rejected(program, model, encoded[some]), strict=True)
        )
    return result


def _approvals(program: Program, model: CurrentModel, encoded: Array) -> NDArray[np.bool_]:
    if program.spec.decisions == "external" or not len(encoded):
        return np.zeros(len(encoded), dtype=bool)
    return program.approves(model.bundle.model.score(encoded))


def _rejected(program: Program, model: CurrentModel, people: Array) -> Iterator[Assessment]:
    """What can be told of rejected people, encoded, shape (n, D)."""
    pairs = model.candidates.feasible(people)
    cost = program.cost.of_pairs(program.points, people, pairs.candidates, pairs.people)
    execution = execution_probability(cost, program.nu)
    ends = np.searchsorted(pairs.people, np.arange(len(people)), side="right").tolist()
    start = 0
    for person, end in zip(people, ends, strict=True):
        yield Assessment(person, False, pairs.candidates[start:end], cost[start:end], execution[start:end])
        start = end
