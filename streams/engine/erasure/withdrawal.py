"""Withdrawal: what a person has in the pipeline ends, and the ledger forgets it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....schemas.events import EndedRecourse
from ...journal.entries import CaseKey
from ...programs.program import Program
from ..cases import OPEN, Case
from ..fold import Fold
from ..promises.promised_options import PROMISED_OPTIONS
from ..promises.state import close_promise, promise_of
from ..rewards.fates import WITHDRAWN, withdraw
from ..rounds.promised_scores import PROMISED_SCORES, PromisedScore
from ..rounds.state import ProgramRounds, member_of


@dataclass
class Withdrawn:
    """What has ended: ``cases``, events that were ``waiting``, ``promises``, and the open ``recourses``."""

    cases: int = 0
    waiting: int = 0
    promises: int = 0
    recourses: list[EndedRecourse] = field(default_factory=list)


def withdraw_case(case: Case, program: Program, withdrawn: Withdrawn, fold: Fold) -> None:
    """End what a case waits for, and delete it with all that names it."""
    if case.status is OPEN:
        assert case.step is not None, f"{case.key} has options without a step"
        withdraw(case, fold.state.shard(program, case.shard), fold)
        withdrawn.recourses.append(EndedRecourse(case.shard, case.step))
    if program.closes_rounds:
        fold.change(ProgramRounds, program).pool.pop(case.key.application, None)
    fold.delete(case)
    withdrawn.cases += 1


def withdraw_promises(program: Program, application: str | None, applicant: str | None, fold: Fold) -> int:
    """End the promises to an application or an applicant; return how many options or scores were promised.

    No event tells of the end: it would name them. What is counted says it.
    """
    ended = _end_options(program, application, applicant, fold) + _end_scores(program, application, applicant, fold)
    if ended:
        fold.count("promises_ended", program.name, WITHDRAWN, times=ended)
    return ended


def _end_options(program: Program, application: str | None, applicant: str | None, fold: Fold) -> int:
    if application is not None:
        named = promise_of(CaseKey(program.name, application), fold)
        promises = [] if named is None else [named]
    else:
        promises = fold.rows(PROMISED_OPTIONS).equal(program.name, "applicant", applicant)
    for promise in promises:
        close_promise(promise, fold)
    return sum(len(promise.options) for promise in promises)


def _end_scores(program: Program, application: str | None, applicant: str | None, fold: Fold) -> int:
    if not program.closes_rounds:
        return 0
    scores = fold.change(ProgramRounds, program).promised_scores
    promises: list[PromisedScore] = [
        promise
        for promise in scores
        if promise.key.application == application or (applicant is not None and promise.applicant == applicant)
    ]
    for promise in promises:
        scores.remove(promise)
        fold.rows(PROMISED_SCORES).delete(promise.key)
    return len(promises)


def forget_previous(case: Case, program: Program, fold: Fold) -> None:
    """Let a case not name an erased application as the one that it follows."""
    case.previous = None
    fold.save(case)
    if program.closes_rounds:
        rounds = fold.change(ProgramRounds, program)
        if case.key.application in rounds.pool:
            rounds.pool[case.key.application] = member_of(case)


def forget_waiting(key: CaseKey, fold: Fold) -> int:
    """Delete the events that wait for a case, and the traces of earlier ones; return how many waited."""
    fold.forget_processed(key)
    fold.effects.erased = True
    return len(list(fold.take_waiting(key)))
