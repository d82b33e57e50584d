"""Placement: each member of a closed round is approved, or answered with a recourse and a promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan

import numpy as np
from numpy.typing import NDArray

from .....schemas.events import PromiseChange, PromiseStatus, RoundDecision
from ...assessment import NO_SCORE, Assessment, Person, assess
from ...cases import Case, Status
from ...fold import Fold
from ...rounds.forecast import model_for, success_of
from ...rounds.promises import OpenPromise
from ...rounds.ranking import tie_break
from ...rounds.standing import TOLERANCE, promised_score
from ...rounds.state import Closing, Member, ProgramRounds
from ...selection import LookAhead, Selected, take_steps
from ..answer import Terms, publish, publish_none
from ..decision import apply_waiting

Array = NDArray[np.float64]

TWICE = ("applied_twice", "the same applicant has an earlier application in this round, and it counts")


def answer_members(rounds: ProgramRounds, closing: Closing, members: Sequence[Member], fold: Fold) -> None:
    """Decide and answer members of a round, in their order; settle what they were promised before."""
    program = rounds.program
    cases = {case.key.application: case for case in fold.read_cases(program, [member.name for member in members])}
    accepted = {member.name: _has_place(member, rounds, closing) for member in members}
    competing = [
        member.name
        for member in members
        if not accepted[member.name] and member.name not in closing.twice and _scored(member)
    ]
    rejected = _Rejected(rounds, closing, {name: cases[name] for name in competing}, fold) if competing else None
    for member in members:
        case = cases[member.name]
        case.time_ms = max(case.time_ms, closing.end_ms)
        _settle(member, accepted[member.name], rounds, closing, fold)
        if member.approved is None:
            _publish_decision(case, member, accepted[member.name], rounds, closing, fold)
        if accepted[member.name]:
            case.status, case.forget_ms, case.features = Status.APPROVED, fold.forget_ms(program, case.time_ms), None
        elif rejected is not None and member.name in rejected:
            rejected.answer(case, fold)
        else:
            _refuse(case, member, rounds, closing, fold)
        fold.save(case)
        apply_waiting(case, fold, LookAhead(fold, ()))


def _scored(member: Member) -> bool:
    return member.score is not None and not isnan(member.score)


def _has_place(member: Member, rounds: ProgramRounds, closing: Closing) -> bool:
    """Whether the member is above the cut: as in the ranking of the whole round."""
    if member.approved is not None:
        return member.approved
    if not _scored(member) or member.name in closing.twice:
        return False
    score, cut, spec = member.score or 0.0, closing.cut, rounds.program.spec
    if score != cut.score:
        return score > cut.score and bool(rounds.program.approves(np.array([score]))[0])
    return tie_break(spec.policy.seed, spec.program, closing.number, member.name) <= cut.tie


class _Rejected:
    """Rejected members, assessed together: their options, and the steps of the program's learner.

    Between them nothing changes the learner, so their steps are taken at once.
    """

    def __init__(self, rounds: ProgramRounds, closing: Closing, cases: Mapping[str, Case], fold: Fold) -> None:
        assert closing.goal is not None, "nobody is rejected without a goal"
        program = self._program = rounds.program
        self._rounds, self._closing = rounds, closing
        self._model = model_for(rounds, fold.state.model(program).bundle, closing.goal)
        self._shard = fold.state.shard(program, 0)
        self._terms = _terms(rounds, closing)
        people = {name: Person(case.features or b"null", approved=False) for name, case in cases.items()}
        assessed = assess(program, self._model, people, partial(success_of, rounds))
        self._assessed = {name: found for name, found in assessed.items() if isinstance(found, Assessment)}
        self._selected = self._steps(list(self._assessed))

    def __contains__(self, name: str) -> bool:
        return name in self._assessed

    def _steps(self, names: Sequence[str]) -> Mapping[str, tuple[Selected, ...]]:
        """The steps of those who have options to choose from, in their order; for the others no option."""
        selected: dict[str, tuple[Selected, ...]] = {}
        step = self._shard.step
        while names:
            batch = self._assessed[names[0]].batch
            assert batch is not None, "these people are rejected"
            together = [name for name in names if self._assessed[name].batch is batch]
            rows = [self._assessed[name].row for name in together]
            selected.update(zip(together, take_steps(self._program, self._shard, batch, rows), strict=True))
            self._shard.step += len(together)
            names = names[len(together) :]
        self._shard.step = step
        return selected

    def answer(self, case: Case, fold: Fold) -> None:
        """Publish the answer, and open a promise where there is something to promise."""
        name = case.key.application
        assessment, selected = self._assessed[name], self._selected[name]
        has_reached = assessment.score > self._terms.target_score
        if has_reached and not selected:
            publish_none(case, self._program, self._shard, self._model, self._reached(assessment), fold, self._terms)
            self._shard.step += 1
        else:
            publish(case, self._program, self._shard, self._model, assessment, selected, fold, self._terms)
        if selected or has_reached:
            fold.open_promise(self._promise(case, assessment, selected))

    def _reached(self, assessment: Assessment) -> tuple[str, str]:
        score, goal = assessment.score, self._terms.target_score
        return "apply_again", f"the score {score:.2f} is above the next goal, {goal:.2f}: apply again unchanged"

    def _promise(self, case: Case, assessment: Assessment, selected: Sequence[Selected]) -> OpenPromise:
        batch, terms = assessment.batch, self._terms
        assert batch is not None, "these people are rejected"
        return OpenPromise(
            key=case.key,
            applicant=case.applicant,
            round=terms.round,
            until_round=terms.until_round,
            score=terms.target_score,
            success=max((option.execution for option in selected), default=1.0),
            model=self._model.bundle.manifest_sha256,
            person=batch.people[assessment.row].tobytes(),
            targets=tuple([batch.points[option.point].tobytes() for option in selected]),
        )


def _terms(rounds: ProgramRounds, closing: Closing) -> Terms:
    assert closing.goal is not None, "nobody is rejected without a goal"
    expires_ms = None if rounds.calendar is None else rounds.calendar.end_of(closing.until_round)
    return Terms(closing.number, closing.end_ms, closing.goal, closing.until_round, expires_ms)


def _refuse(case: Case, member: Member, rounds: ProgramRounds, closing: Closing, fold: Fold) -> None:
    """Answer a member who did not compete: there is no way forward to tell."""
    program = rounds.program
    shard, model = fold.state.shard(program, 0), fold.state.model(program)
    why = TWICE if member.name in closing.twice else (NO_SCORE.reason, NO_SCORE.detail)
    fold.effects.shards.add(shard.key)
    publish_none(case, program, shard, model, why, fold)
    shard.step += 1


def _publish_decision(
    case: Case, member: Member, approved: bool, rounds: ProgramRounds, closing: Closing, fold: Fold
) -> None:
    program = rounds.program
    event = RoundDecision(
        program=program.name,
        shard=0,
        application=member.name,
        round=closing.number,
        approved=approved,
        score=member.score if _scored(member) else None,
        threshold=closing.threshold,
        model=fold.state.model(program).bundle.version,
        applicant=case.applicant,
    )
    fold.count("decisions", program.name, "approved" if approved else "rejected")
    fold.emit(event, f"round-decision/{program.name}/{member.name}", closing.end_ms, program.name)


# --- the end of a promise ---------------------------------------------------------------------------------------------


def _settle(member: Member, accepted: bool, rounds: ProgramRounds, closing: Closing, fold: Fold) -> None:
    """End the promise that a member came back with, unless they did not compete."""
    promise = rounds.promises.find(member.previous, member.applicant)
    if promise is None or promise.round >= closing.number or not _scored(member) or member.name in closing.twice:
        return
    score = member.score or 0.0
    reached = score >= promised_score(promise, fold.state.model(rounds.program).bundle) - TOLERANCE
    status: PromiseStatus = "kept" if accepted else "broken" if reached else "superseded"
    _end(promise, status, closing, rounds, fold, member)


def expire(promise: OpenPromise, closing: Closing, rounds: ProgramRounds, fold: Fold) -> None:
    """End a promise that nobody came back with in time."""
    _end(promise, "expired", closing, rounds, fold)


def _end(
    promise: OpenPromise,
    status: PromiseStatus,
    closing: Closing,
    rounds: ProgramRounds,
    fold: Fold,
    member: Member | None = None,
) -> None:
    program, application = promise.key
    setattr(rounds.settled, status, getattr(rounds.settled, status) + 1)
    fold.end_promise(promise)
    fold.count("promises", program, status)
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
    )
    fold.emit(event, f"promise/{program}/{application}", closing.end_ms, program)
