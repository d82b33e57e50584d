"""Placement: each member of a closed round is approved, or answered with a recourse and a promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from math import isnan

import numpy as np
from numpy.typing import NDArray

from .....agents.options import OptionBatch
from .....agents.scores import digits_apart
from .....schemas.encoding import Problem
from .....schemas.events import APPLY_AGAIN, PromiseChange, PromiseStatus
from ...assessment import NO_SCORE, Assessment, Person, assess
from ...cases import APPROVED, Case
from ...fold import Fold
from ...rounds.forecast import model_for, success_of
from ...rounds.promised_scores import PromisedScore
from ...rounds.ranking import tie_break
from ...rounds.standing import TOLERANCE, promised_score
from ...rounds.state import Closing, Member, ProgramRounds
from ...selection import LookAhead, Selected, select_for_steps
from ..answer import Terms, publish, publish_none
from ..decision import apply_waiting, publish_decision

Array = NDArray[np.float64]

TWICE = ("applied_twice", "the same person has an earlier application in this round, and it counts")


def answer_members(rounds: ProgramRounds, closing: Closing, members: Sequence[Member], fold: Fold) -> None:
    """Decide and answer members of a round, in their order; settle what they were promised before."""
    program = rounds.program
    cases = {case.key.application: case for case in fold.read_cases(program, [member.name for member in members])}
    accepted = {member.name: _has_place(member, rounds, closing) for member in members}
    rejected = _Rejected(rounds, closing, [one for one in members if not accepted[one.name]], cases, fold)
    for member in members:
        case = cases[member.name]
        case.time_ms = max(case.time_ms, closing.end_ms)
        _settle(member, accepted[member.name], rounds, closing, fold)
        if member.approved is None:
            publish_decision(
                case,
                program,
                fold,
                approved=accepted[member.name],
                round=closing.number,
                score=member.score if _scored(member) else None,
                threshold=closing.threshold,
            )
        if accepted[member.name]:
            case.status, case.forget_ms, case.features = APPROVED, fold.forget_ms(program, case.time_ms), None
        else:
            rejected.answer(case, fold)
        fold.save(case)
        apply_waiting(case, fold, LookAhead(fold, ()))


def _scored(member: Member) -> bool:
    return member.score is not None and not isnan(member.score)


def _has_place(member: Member, rounds: ProgramRounds, closing: Closing) -> bool:
    """Whether the member is above the cut: as in the ranking of the whole round."""
    if member.approved is not None:
        return member.approved
    if not _scored(member) or member.name in closing.duplicate_applications:
        return False
    score, cut, spec = member.score or 0.0, closing.cut, rounds.program.spec
    if score != cut.score:
        return score > cut.score and bool(rounds.program.approves(np.array([score]))[0])
    return tie_break(spec.policy.seed, spec.program, closing.number, member.name) <= cut.tie


class _Rejected:
    """Rejected members: why some of them get no options, the others' options, and the steps of the program's learner.

    Each takes a step, with or without options: a learner counts them. Between them nothing changes the learner, so
    their steps are taken at once.
    """

    def __init__(
        self,
        rounds: ProgramRounds,
        closing: Closing,
        members: Sequence[Member],
        cases: Mapping[str, Case],
        fold: Fold,
    ) -> None:
        program = self._program = rounds.program
        self._rounds, self._closing = rounds, closing
        self._members = {member.name: member for member in members}
        self._shard, self._model = fold.state.shard(program, 0), fold.state.model(program)
        self._refused = {member.name: why for member in members if (why := _refusal(member, closing)) is not None}
        self._terms = None if closing.goal is None else _terms(rounds, closing, closing.goal)
        self._assessed: Mapping[str, Assessment | Problem] = {}
        names = [member.name for member in members]
        if closing.goal is not None:
            self._model = model_for(rounds, self._model.bundle, closing.goal)
            people = {
                name: Person(cases[name].features or b"null", approved=False)
                for name in names
                if name not in self._refused or self._refused[name][0] == APPLY_AGAIN
            }
            self._assessed = assess(program, self._model, people, partial(success_of, rounds))
        self._selected = self._steps(names)

    def _steps(self, names: Sequence[str]) -> Mapping[str, tuple[Selected, ...]]:
        """The steps of all, in their order; without options for those who get none."""
        nobody, step = _nobody(self._program.codec.dimension), self._shard.step
        selected: dict[str, tuple[Selected, ...]] = {}
        places = {name: (nobody, 0) if name in self._refused else self._place(name) for name in names}
        for _, group in groupby(names, key=lambda name: id(places[name][0])):
            together = list(group)
            batch, rows = places[together[0]][0], [places[name][1] for name in together]
            chosen = select_for_steps(self._program, self._shard, step, batch, rows)
            selected.update(zip(together, chosen, strict=True))
            step += len(together)
        return selected

    def _place(self, name: str) -> tuple[OptionBatch, int]:
        assessment = self._assessed[name]
        assert isinstance(assessment, Assessment), f"{name} was scored"
        assert assessment.batch is not None, f"{name} is rejected"
        return assessment.batch, assessment.row

    def answer(self, case: Case, fold: Fold) -> None:
        """Publish the answer, and open a promise where there is something to promise."""
        name = case.key.application
        assessment, selected, why = self._assessed.get(name), self._selected[name], self._refused.get(name)
        if why is not None:
            terms = self._terms if why[0] == APPLY_AGAIN else None
            if fold.observe_step is not None:
                fold.observe_step(self._shard, _nobody(self._program.codec.dimension).of(0), ())
            publish_none(case, self._program, self._shard, self._model, why, fold, terms)
        else:
            assert isinstance(assessment, Assessment), f"{name} was scored"
            publish(case, self._program, self._shard, self._model, assessment, selected, fold, self._terms)
        if selected or (why is not None and why[0] == APPLY_AGAIN):
            assert self._terms is not None, "who has something to reach is told until when"
            self._open(self._promise(case, self._terms, selected), fold)

    def _open(self, promise: PromisedScore, fold: Fold) -> None:
        """Open a promise, which supersedes that of an earlier answer."""
        earlier = self._rounds.promised_scores.of_applicant(promise.applicant)
        if earlier is not None and earlier.key != promise.key:
            _end(earlier, "superseded", self._closing, self._rounds, fold, self._members[promise.key.application])
        fold.open_promised_score(promise)

    def _promise(self, case: Case, terms: Terms, selected: Sequence[Selected]) -> PromisedScore:
        batch, row = self._place(case.key.application)
        return PromisedScore(
            key=case.key,
            applicant=case.applicant,
            round=terms.round,
            until_round=terms.until_round,
            score=terms.target_score,
            success=max((option.execution for option in selected), default=1.0),
            model=self._model.bundle.manifest_sha256,
            person=batch.people[row].tobytes(),
            targets=tuple([batch.points[option.point].tobytes() for option in selected]),
            end_ms=terms.end_ms,
        )


def _refusal(member: Member, closing: Closing) -> tuple[str, str] | None:
    """Why a rejected member gets no options: the reason, and a sentence; None where they compete for the next goal."""
    if member.name in closing.duplicate_applications:
        return TWICE
    if not _scored(member):
        return NO_SCORE.reason, NO_SCORE.detail
    score, goal = member.score or 0.0, closing.goal
    if goal is not None and score > goal:
        digits = digits_apart(score, goal)
        scores = f"the score {score:.{digits}f} is above the next goal, {goal:.{digits}f}"
        return APPLY_AGAIN, f"{scores}: apply again unchanged"
    return None


def _nobody(columns: int) -> OptionBatch:
    """A person without options, shape (1, ``columns``)."""
    none, nothing = np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.intp)
    empty = np.zeros(0)
    return OptionBatch(np.zeros((1, columns)), none, none, nothing, np.zeros((0, columns)), nothing, empty, empty)


def _terms(rounds: ProgramRounds, closing: Closing, goal: float) -> Terms:
    expires_ms = None if rounds.calendar is None else rounds.calendar.end_of(closing.until_round)
    return Terms(closing.number, closing.end_ms, goal, closing.until_round, expires_ms)


# --- the end of a promise ---------------------------------------------------------------------------------------------


def _settle(member: Member, accepted: bool, rounds: ProgramRounds, closing: Closing, fold: Fold) -> None:
    """End the promise that a member came back with, unless they did not compete."""
    promise = rounds.promised_scores.find(member.previous, member.applicant, member.time_ms)
    if (
        promise is None
        or promise.round >= closing.number
        or not _scored(member)
        or member.name in closing.duplicate_applications
    ):
        return
    score = member.score or 0.0
    reached = score >= promised_score(promise, fold.state.model(rounds.program).bundle) - TOLERANCE
    status: PromiseStatus = "kept" if accepted else "broken" if reached else "superseded"
    _end(promise, status, closing, rounds, fold, member)


def expire(promise: PromisedScore, closing: Closing, rounds: ProgramRounds, fold: Fold) -> None:
    """End a promise that nobody came back with in time."""
    _end(promise, "expired", closing, rounds, fold)


def _end(
    promise: PromisedScore,
    status: PromiseStatus,
    closing: Closing,
    rounds: ProgramRounds,
    fold: Fold,
    member: Member | None = None,
) -> None:
    (program, application), bundle = promise.key, fold.state.model(rounds.program).bundle
    setattr(rounds.promise_counts, status, getattr(rounds.promise_counts, status) + 1)
    fold.end_promised_score(promise)
    fold.count("promises_ended", program, status)
    event = PromiseChange(
        program=program,
        shard=0,
        application=application,
        status=status,
        target_score=promise.score,
        round=promise.round,
        until_round=promise.until_round,
        settled_in=closing.number,
        applicant=promise.applicant,
        by=None if member is None else member.name,
        score=None if member is None else member.score,
        model=bundle.version,
        model_sha256=bundle.manifest_sha256,
    )
    fold.emit(event, f"promise/{program}/{application}", closing.end_ms, program)
