"""Answers to questions: each brings the next question, or the recourse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from ....agents.choices.questions import NO_ANSWER
from ....schemas.events import Answer
from ...journal.entries import Entry
from ...programs.program import Program
from ..cases import ASKED, AWAITING_DECISION, Case
from ..fold import Fold
from .terms import go_on

MOST_OPTIONS = 9
"""A question has fewer."""
PLACES: Final[Mapping[str | None, int]] = {None: NO_ANSWER} | {str(n + 1): n for n in range(MOST_OPTIONS)}
"""The byte that is kept of an answer, by the id of the picked option."""
NOBODY_ASKED = "no such question to this application came before it"
Refusal = tuple[str, str]


def answer_question(entry: Entry, event: Answer, number: int, fold: Fold) -> None:
    """Apply an answer to the question of this number. It waits for its application, and for the decision."""
    program, case = fold.state.program(event.program), fold.case(entry.key)
    if program.asks and (case is None or case.status is AWAITING_DECISION):
        fold.wait(entry)
        return
    fold.remember(entry)
    refusal = _apply(entry, event, number, case, program, fold)
    if refusal is not None:
        fold.dead_letter(entry, *refusal)


def _apply(entry: Entry, event: Answer, number: int, case: Case | None, program: Program, fold: Fold) -> Refusal | None:
    """Let an answer count; return the reason, and a sentence, why it does not."""
    if case is None or case.asked is None or number > len(case.asked.questions):
        return "answer_without_question", NOBODY_ASKED
    asked, place, name = case.asked, PLACES.get(event.option), f"application {case.key.application!r}"
    if number <= len(asked.answers):
        given = asked.answers[number - 1]
        if given != place:
            return "answer_changed", f"{name} has answered question {number} otherwise, and the first answer counts"
        fold.count("duplicates", "answer")
        return None
    if case.status is not ASKED or entry.time_ms > asked.expires_ms:
        return "question_closed", f"question {number} to {name} was to be answered before"
    if entry.time_ms + program.lateness_ms < case.time_ms:
        return "answer_without_question", NOBODY_ASKED
    if place is None or asked.offered <= place < NO_ANSWER:
        return "unknown_option", f"question {number} to {name} has no option {event.option!r}"
    case.asked, case.time_ms = replace(asked, answers=asked.answers + bytes([place])), max(case.time_ms, entry.time_ms)
    fold.count("questions", program.name, "answered")
    go_on(case, program, fold)
    return None
