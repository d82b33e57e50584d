"""Windows: a recourse that has no outcome when its window ends is censored."""

from __future__ import annotations

from typing import ClassVar

from ..cases import Case
from ..contract import CaseTimerHandler
from ..fold import Fold
from ..timing.timers import WINDOW
from .fates import close, credited, learn


class WindowTimerHandler(CaseTimerHandler):
    """Censors the recourses whose window has passed, in steps or in event time: the reward is 0."""

    kind: ClassVar[str] = WINDOW

    def end(self, case: Case, fold: Fold) -> None:
        """Close the case."""
        shard, option = fold.state.shards[case.key.program, case.shard], credited(case, None)
        if not shard.program.ignores_silence:
            learn(shard, case, 0.0, option)
        # The window of steps ends with the entry that is being folded.
        time_ms = fold.entry.time_ms if case.deadline_ms is None else case.deadline_ms
        close(case, shard, "censored", 0.0, option, time_ms, fold)
