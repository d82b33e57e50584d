"""Expired waits: an event whose application or recourse has not come in time is given up."""

from __future__ import annotations

from typing import Any, ClassVar

from ..contract import TimerHandler, handlers
from ..fold import Fold
from ..timing.timers import WAIT, Timer
from ..timing.waiting import position_of


class WaitTimerHandler(TimerHandler):
    """Gives up events whose waiting time has expired, by expiry time and then by journal position."""

    kind: ClassVar[str] = WAIT
    about_case: ClassVar[bool] = False

    def order(self, timer: Timer) -> tuple[Any, ...]:
        """The order of the journal."""
        return position_of(timer)

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Let the handler of the event's kind give it up."""
        entry = fold.give_up_waiting(timer)
        handlers[entry.kind.name].give_up(entry, entry.body, fold)
