"""Decisions: an application is approved, or rejected and answered."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, UnsetType

from ....schemas.encoding import Problem
from ....schemas.events import Decision, ModelDecision
from ...journal.entries import Entry
from ...programs.program import Program
from ..assessment import Assessment, Person
from ..cases import APPROVED, AWAITING_DECISION, Case
from ..fold import Fold, Footprint
from ..selection import LookAhead
from .answer import answer
from .contract import Handler, handlers
from .promises.settlement import settle
from .rounds.announcement import keep_decision


class DecisionHandler(Handler):
    """Applies the decisions of an external system. A decision that comes before its application waits for it."""

    kind: ClassVar[str] = "decision"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, an earlier copy of the decision, and a step of the case's shard."""
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)
        footprint.may_step(entry.key)

    def person(self, entry: Entry, fold: Fold) -> Person | None:
        """The applicant of a case that is at rest and awaits its decision."""
        event, case = entry.body, fold.view.cases.get(entry.key)
        assert isinstance(event, Decision), f"{entry.kind.name} is no decision"
        if case is None or case.status is not AWAITING_DECISION or case.features is None:
            return None
        return Person(case.features, event.approved)

    def apply(self, entry: Entry, event: Decision, fold: Fold, ahead: LookAhead) -> None:
        """Decide the case; refuse a decision that is a second one, too early, or not for others to make."""
        program = fold.state.program(event.program)
        case = fold.ready_case(entry)
        if fold.was_processed(entry):
            fold.count("duplicates", "decision")
        elif program.spec.decisions == "model":
            fold.remember(entry)
            detail = f"program {program.name!r} decides by its own model (spec: decisions)"
            fold.dead_letter(entry, "decision_not_expected", detail)
        elif case is None:
            fold.wait(entry)
        elif not case.is_undecided or case.approved is not None or case.features is None:
            _refuse_second(entry, event, case, fold)
        elif entry.time_ms + program.lateness_ms < case.time_ms:
            self.give_up(entry, event, fold)
        elif program.closes_rounds:
            keep_decision(case, entry, event, program, fold)
        else:
            _decide_awaiting(case, case.features, program, entry, event, fold, ahead)

    def give_up(self, entry: Entry, event: Decision, fold: Fold) -> None:  # noqa: ARG002
        """A decision without an application is a dead letter."""
        fold.remember(entry)
        fold.dead_letter(entry, "decision_without_application", "no such application came before this decision")


def decide(case: Case, program: Program, entry: Entry, assessment: Assessment, fold: Fold, ahead: LookAhead) -> None:
    """Close the case of an approved person, or answer a rejected one. Then apply what waited for the case.

    Promises that the person came back with are settled first.
    """
    if program.promises:
        assessment = settle(case, program, assessment, fold)
    approved = assessment.approved
    if program.spec.decisions == "model":
        publish_decision(case, program, fold, approved=approved)
    else:
        count_decision(program, fold, approved=approved)
    case.score = assessment.score
    if approved:
        case.status, case.forget_ms, case.features = APPROVED, fold.forget_ms(program, case.time_ms), None
    else:
        answer(case, program, entry, assessment, fold, ahead)
    fold.save(case)
    apply_waiting(case, fold, ahead)


def publish_decision(
    case: Case,
    program: Program,
    fold: Fold,
    *,
    approved: bool,
    round: int | UnsetType = UNSET,
    score: float | UnsetType | None = UNSET,
    threshold: float | UnsetType = UNSET,
) -> None:
    """Publish and count what the program's own model has decided, with the round that gave the places."""
    name, application = case.key
    bundle = fold.state.model(program).bundle
    event = ModelDecision(
        name,
        case.shard,
        application,
        approved,
        bundle.version,
        program.sha256,
        case.applicant,
        bundle.manifest_sha256,
        round,
        score,
        threshold,
    )
    count_decision(program, fold, approved=approved)
    fold.emit(event, f"model-decision/{name}/{application}", case.time_ms, name, case.shard)


def count_decision(program: Program, fold: Fold, *, approved: bool) -> None:
    """Count a decision for the metrics."""
    fold.count("decisions", program.name, "approved" if approved else "rejected")


def apply_waiting(case: Case, fold: Fold, ahead: LookAhead) -> None:
    """Apply the events that waited for a case."""
    if case.key in fold.state.waiting.by_case:
        for entry in fold.take_waiting(case.key):
            handlers[entry.kind.name].apply(entry, entry.body, fold, ahead)


def _decide_awaiting(
    case: Case, features: bytes, program: Program, entry: Entry, event: Decision, fold: Fold, ahead: LookAhead
) -> None:
    assessment = ahead.assessment(program, entry.position, Person(features, event.approved))
    if isinstance(assessment, Problem):
        fold.dead_letter(entry, assessment.reason, assessment.detail)
        return
    case.decision_event_id, case.time_ms = entry.id, max(case.time_ms, entry.time_ms)
    decide(case, program, entry, assessment, fold, ahead)


def _refuse_second(entry: Entry, event: Decision, case: Case, fold: Fold) -> None:
    if case.decision_event_id == entry.id:
        fold.count("duplicates", "decision")
        return
    fold.remember(entry)
    fold.dead_letter(entry, "already_decided", f"application {event.application!r} has a decision already")
