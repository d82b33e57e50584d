"""Ends of rounds: the watermark has passed one, so nobody else can belong to the round."""

from __future__ import annotations

from typing import ClassVar

from ...fold import Fold
from ...timers import ROUND_END, Timer
from ..contract import TimerHandler
from .closing import begin


class RoundEndTimerHandler(TimerHandler):
    """Begins to close a round. One that is small is closed at once."""

    kind: ClassVar[str] = ROUND_END
    about_case: ClassVar[bool] = False

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Close the round, or as much of it as may be done at once."""
        program = fold.state.program(timer.program)
        begin(fold.rounds(program), int(timer.key), fold)
