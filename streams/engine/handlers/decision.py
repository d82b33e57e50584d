"""Decisions: an application is approved, or rejected and answered."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.encoding import Problem
from ....schemas.events import Decision
from ...journal.entries import Entry
from ...programs.program import Program
from ..assessment import AssessedPerson
from ..cases import AWAITING_DECISION, Case
from ..contract import Handler
from ..fold import Fold
from ..portion import Footprint
from ..questions.terms import QuestionTerms
from ..replies import DecidedCase, Terms, answer_people
from ..rounds.announcement import keep_decision


class DecisionHandler(Handler):
    """Applies the decisions of an external system. A decision that comes before its application waits for it."""

    kind: ClassVar[str] = "decision"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, an earlier copy of the decision, and a step of the case's shard."""
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)
        footprint.may_step(entry.key)

    def person(self, entry: Entry, fold: Fold) -> AssessedPerson | None:
        """The applicant of a case that is at rest and awaits its decision."""
        event, case = entry.body, fold.view.cases.get(entry.key)
        assert isinstance(event, Decision), f"{entry.kind.name} is no decision"
        if case is None or case.status is not AWAITING_DECISION or case.features is None:
            return None
        return AssessedPerson(case.features, event.approved)

    def apply(self, entry: Entry, event: Decision, fold: Fold) -> None:
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
            decide(case, AssessedPerson(case.features, event.approved), entry, program, fold)

    def give_up(self, entry: Entry, event: Decision, fold: Fold) -> None:
        """A decision without an application is a dead letter."""
        fold.remember(entry)
        fold.dead_letter(entry, "decision_without_application", "no such application came before this decision")


def decide(case: Case, person: AssessedPerson, entry: Entry, program: Program, fold: Fold) -> None:
    """Decide a case by the program's own model, or as another system did; refuse a person who cannot be assessed."""
    assessment = fold.ahead.assessment(program, entry.position, person)
    if isinstance(assessment, Problem):
        fold.dead_letter(entry, assessment.reason, assessment.detail)
        return
    if person.approved is not None:
        case.decision_event_id, case.time_ms = entry.id, max(case.time_ms, entry.time_ms)
    decided = DecidedCase(case, assessment.approved, assessment, position=entry.position, reasons=assessment.reasons)
    model = fold.state.model(program)
    answer_people([decided], QuestionTerms(model) if program.asks and fold.state.asks else Terms(model), fold)


def _refuse_second(entry: Entry, event: Decision, case: Case, fold: Fold) -> None:
    if case.decision_event_id == entry.id:
        fold.count("duplicates", "decision")
        return
    fold.remember(entry)
    fold.dead_letter(entry, "already_decided", f"application {event.application!r} has a decision already")
