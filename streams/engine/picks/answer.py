"""Answers: people say which option of their recourse they would take, or that they would take none."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET

from ....schemas.events import Answer
from ...journal.entries import Entry
from ..cases import OPEN, Case
from ..contract import Handler
from ..fold import Fold
from ..portion import Footprint
from ..questions.given_answer import NOBODY_ASKED, answer_question
from ..rewards.fates import credited
from .pick import ForgottenError, pick

NO_RECOURSE_YET = "no recourse of this application came before it"


class AnswerHandler(Handler):
    """Applies answers. One that comes before its recourse waits for it; of several that differ the last counts."""

    kind: ClassVar[str] = "answer"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, and an earlier copy of the answer; with the answer to a question a step of the case's shard."""
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)
        event = entry.body
        assert isinstance(event, Answer), f"{entry.kind.name} is no answer"
        if event.question is not UNSET:
            footprint.may_step(entry.key)

    def apply(self, entry: Entry, event: Answer, fold: Fold) -> None:
        """Learn which option the person would take, of their recourse or of a question."""
        case = fold.ready_case(entry)
        if fold.was_processed(entry):
            fold.count("duplicates", "answer")
        elif event.question is not UNSET:
            answer_question(entry, event, event.question, fold)
        elif case is None:
            fold.wait(entry)
        else:
            fold.remember(entry)
            if refusal := _apply_to_recourse(entry, event, case, fold):
                fold.dead_letter(entry, *refusal)

    def give_up(self, entry: Entry, event: Answer, fold: Fold) -> None:
        """No recourse came for it, or no question."""
        fold.remember(entry)
        if event.question is UNSET:
            fold.dead_letter(entry, "answer_without_recourse", NO_RECOURSE_YET)
        else:
            fold.dead_letter(entry, "answer_without_question", NOBODY_ASKED)


def _apply_to_recourse(entry: Entry, event: Answer, case: Case, fold: Fold) -> tuple[str, str] | None:
    """Apply an answer to a decided case; return the reason, and a sentence, why it cannot be."""
    program, application = fold.state.program(event.program), case.key.application
    if not case.options:
        return "nothing_offered", f"application {application!r} was offered no option"
    if entry.time_ms + program.lateness_ms < case.time_ms:
        return "answer_without_recourse", NO_RECOURSE_YET
    place = len(case.options)
    if event.option is not None:
        try:
            place = credited(case, event.option) or 0
        except KeyError:
            detail = f"the recourse of application {application!r} has no option {event.option!r}"
            return "unknown_option", detail
    if case.picked is not None and case.picked.place == place:
        fold.count("duplicates", "answer")
        return None
    if case.status is not OPEN or case.is_over(entry.time_ms):
        return "recourse_closed", f"the recourse of application {application!r} is closed: no answer changes it"
    try:
        pick(entry, case, place, program, fold)
    except ForgottenError:
        said = "the policy's `cost_parameters` give a `memory`, so that picks are forgotten and not taken back"
        return "answer_changed", f"application {application!r} was answered otherwise before, and {said}"
    return None
