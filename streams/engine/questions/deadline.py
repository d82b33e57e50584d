"""The deadline of answers: who has not answered all questions is told what is known."""

from __future__ import annotations

from typing import ClassVar

from ..cases import Case
from ..contract import CaseTimerHandler
from ..fold import Fold
from ..timing.timers import ANSWER_DEADLINE
from .terms import go_on


class AnswerDeadlineTimerHandler(CaseTimerHandler):
    """Answers the people whose last question was not answered in time."""

    kind: ClassVar[str] = ANSWER_DEADLINE
    answers: ClassVar[bool] = True

    def end(self, case: Case, fold: Fold) -> None:
        """Answer the person by the answers that have come."""
        assert case.asked is not None, f"{case.key} was asked"
        program = fold.state.program(case.key.program)
        case.time_ms = max(case.time_ms, case.asked.expires_ms)
        fold.count("questions", program.name, "expired")
        go_on(case, program, fold, asks=False)
