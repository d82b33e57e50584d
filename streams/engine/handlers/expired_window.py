"""Windows: a recourse that has no outcome when its window ends is censored."""

from __future__ import annotations

from typing import ClassVar

from ...journal.entries import case_key
from ..cases import OPEN
from ..fold import Fold
from ..timers import WINDOW, Timer
from .contract import TimerHandler
from .fates import close, credited, learn


class WindowTimerHandler(TimerHandler):
    """Censors the recourses whose window has passed, in steps or in event time."""

    kind: ClassVar[str] = WINDOW

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Close the case with a reward of 0, unless it has been closed before its window ended."""
        case = fold.cases[case_key((timer.program, timer.key))]
        if case.status is not OPEN or timer.due not in (case.closes_ms, case.closes_step):
            return
        shard, option = fold.state.shards[timer.program, case.shard], credited(case, None)
        if not shard.program.ignores_silence:
            learn(shard, case, 0.0, option)
        # The window of steps ends with the entry that is being folded.
        time_ms = fold.entry.time_ms if case.deadline_ms is None else case.deadline_ms
        close(case, shard, "censored", 0.0, option, time_ms, fold)
