"""Promises expire: the watermark has passed the time until which an option was open."""

from __future__ import annotations

from typing import ClassVar

from ....journal.entries import CaseKey
from ...fold import Fold
from ...promises.recourse import OpenRecourse
from ...timers import PROMISE_END, Timer
from ..contract import TimerHandler
from .opening import tell_end


class PromiseEndTimerHandler(TimerHandler):
    """Ends the promises that nobody came back with in time."""

    kind: ClassVar[str] = PROMISE_END
    about_case: ClassVar[bool] = False

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Expire the options of a person."""
        recourse = fold.recourse(CaseKey(timer.program, timer.key))
        if recourse is not None:
            expire(recourse, fold)


def expire(recourse: OpenRecourse, fold: Fold) -> None:
    """End the promises of a person, whose time is over."""
    program = fold.state.program(recourse.key.program)
    bundle = fold.state.model(program).bundle
    fold.end_recourse(program, recourse)
    tell_end(recourse, recourse.options, "expired", bundle, recourse.until_ms, fold)
