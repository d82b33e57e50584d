"""Assessment: scores, options and costs of people, computed for many at once before any of them is answered.

An assessment does not depend on any learner, so the people of a portion are assessed together, as far as their model is
the same. A row does not depend on the other rows of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from ...agents.candidates import PlanSteps
from ...agents.costs import Lesson
from ...agents.improvement.interval import HelpInterval
from ...agents.objective import Predict
from ...agents.options import OptionBatch, Options
from ...schemas.encoding import ChangedCodes, Problem, Values
from ..journal.entries import JournalPosition
from ..programs.program import Program
from ..programs.reasons import PersonReasons
from .state import CurrentModel

Array = NDArray[np.float64]

BATCH_PAIRS = 1_000_000
"""The most pairs of a person and an arm that are held at once (about 100 MB)."""

NO_SCORE = Problem("no_score", "the model cannot score these features")

Key = TypeVar("Key")

Assessed = Mapping[JournalPosition, "Assessment | Problem"]


class AssessedPerson(Struct, frozen=True, gc=False):
    """A person to assess: the JSON of their features, and the decision; None where the program's model decides."""

    features: bytes | Raw
    approved: bool | None = None


class AskedPlans(NamedTuple):
    """Plans that a person was asked about, by the rows of a batch's points, and what the weights (P,) are thought to be
    after their answers; None where steps cost the same in every order."""

    plans: Sequence[PlanSteps]
    weights: Array | None


class ElicitedAnswers(NamedTuple):
    """The answers of a person who is told a recourse, and what follows from them.

    ``regrets`` (1 + n,) are by how much the first of their n options is expected to be worse than their best plan:
    first as they are told, then as each of the options, being picked, would let it seem. ``lesson`` is what their
    answers teach of others, None where they gave none, and ``believed`` whether others had taught before.
    """

    answers: tuple[int | None, ...]
    regrets: Array
    lesson: Lesson | None
    believed: bool


class Assessment(Struct, frozen=True, gc=False, eq=False):
    """One person: raw values, score under the current model, and where their options are in a batch.

    ``batch`` is None for an approved person. ``changed`` is what the options of the batch change, None where they copy
    instances. ``asked`` are the plans of which the batch has the targets, where the person was asked. ``reasons`` are
    those of somebody whom the program's own model rejects here; None where they are not known.
    """

    values: Values
    score: float
    batch: OptionBatch | None = None
    row: int = 0
    changed: ChangedCodes | None = None
    asked: AskedPlans | None = None
    reasons: PersonReasons | None = None

    @property
    def approved(self) -> bool:
        """Whether the person is approved."""
        return self.batch is None

    @property
    def options(self) -> Options:
        """The options of a rejected person."""
        return self.rejected_batch.options_of(self.row)

    @property
    def rejected_batch(self) -> OptionBatch:
        """The batch of a rejected person."""
        assert self.batch is not None, "an approved person has no options"
        return self.batch


class SelectedOption(Struct, frozen=True, gc=False):
    """An option that a step picked.

    ``index`` is that of the option in the batch's arrays, ``point`` the row of its target in the batch's points.
    ``cost`` and ``execution`` are those of the person, ``propensity`` is the probability of the pick,
    ``learner_execution`` the one that the learner counts the pick with, and ``context`` bytes that it gets back with
    the feedback. ``helps`` is the probability that carrying it out improves the person's outcome, ``interval`` what is
    told of how far that may be off, and ``ends`` are the raw values at which changes must end, by feature; None if not
    computed.
    """

    index: int
    arm: int
    point: int
    cost: float
    execution: float
    propensity: float
    learner_execution: float
    context: bytes = b""
    helps: float | None = None
    ends: Mapping[int, float] | None = None
    interval: HelpInterval | None = None


def assess(
    program: Program, model: CurrentModel, people: Mapping[Key, AssessedPerson], predict: Predict | None = None
) -> Mapping[Key, Assessment | Problem]:
    """Assess people under a model; the keys, such as journal positions, are the caller's.

    Features that do not fit the spec, or that the model cannot score, give the problem. Execution probabilities are
    those of ``predict``, or follow from the cost.
    """
    assessed: dict[Key, Assessment | Problem] = {}
    read: list[tuple[Key, Values, bool | None]] = []
    for key, person in people.items():
        values = program.codec.read(person.features)
        if isinstance(values, Problem):
            assessed[key] = values
        else:
            read.append((key, values, person.approved))
    if not read:
        return assessed
    encoded = program.codec.encode_read([values for _, values, _ in read])
    by_score = model.bundle.model.score(encoded)
    by_model, scores = program.approves(by_score).tolist(), by_score.tolist()
    rejected: list[int] = []
    for index, ((key, values, given), is_approved, score) in enumerate(zip(read, by_model, scores, strict=True)):
        if isnan(score) and not given:
            assessed[key] = NO_SCORE
        elif is_approved if given is None else given:
            assessed[key] = Assessment(values, score)
        else:
            rejected.append(index)
    reasons = _reasons(model, read, encoded, rejected)
    block = max(1, BATCH_PAIRS // max(1, len(program.arms)))
    for start in range(0, len(rejected), block):
        piece = rejected[start : start + block]
        batch = propose(program, model, encoded[piece], predict)
        changed = program.changed_codes(batch)
        for row, index in enumerate(piece):
            key, values, _ = read[index]
            why = reasons.get(index)
            assessed[key] = Assessment(values, scores[index], batch, row, changed, reasons=why)
    return assessed


def _reasons(
    model: CurrentModel, read: Sequence[tuple[object, Values, bool | None]], encoded: Array, rejected: Sequence[int]
) -> Mapping[int, PersonReasons]:
    """The reasons of the rejected, by their index, whom the model itself decides about; nothing where it knows none."""
    decided = [index for index in rejected if read[index][2] is None]
    if not decided or model.reasons is None:
        return {}
    values = [read[index][1] for index in decided]
    return dict(zip(decided, model.reasons.reasons_of(values, encoded[decided]), strict=True))


def reasons_of(model: CurrentModel, people: Sequence[Values]) -> Sequence[PersonReasons | None]:
    """The reasons of people whom a model has rejected; None where it knows none."""
    if not people or model.reasons is None:
        return [None] * len(people)
    return model.reasons.reasons_of(people, model.program.codec.encode_read(people))


def propose(program: Program, model: CurrentModel, people: Array, predict: Predict | None = None) -> OptionBatch:
    """The options of encoded people, shape (n, D), with their costs and execution probabilities."""
    proposals = program.numbering.renumbered(model.vetting.propose(people))
    return model.objective.options(people, *proposals, program.codec.feature_of, predict)
