"""A production worker that closes rounds in small pieces, and kills itself between two of them.

    main(["answer_members", "1", "3"])

It publishes the third piece of the answers of round 1, and is killed before it commits it. Without arguments it is not
killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.engine.contract import WorkBudget
from onward.streams.engine.rounds import closing
from onward.streams.engine.rounds.state import ProgramRounds
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.worker.logs import configure
from onward.streams.worker.stages import Stage

UNITS = 4
"""A tick answers about so many people of a round."""


class Strike:
    """Kills the process when the outputs of a piece are acknowledged: the ``nth`` piece that a function of
    ``rounds/closing.py`` makes for a round."""

    def __init__(self, function: str, number: int, nth: int) -> None:
        self._number, self._left = number, nth
        self._work: Callable[..., Any] = getattr(closing, function)
        setattr(closing, function, self._counted)

    def _counted(self, rounds: ProgramRounds, *arguments: Any) -> Any:
        assert rounds.closing is not None, "a round is being closed"
        self._left -= rounds.closing.number == self._number
        return self._work(rounds, *arguments)

    def observe(self, stage: Stage) -> None:
        """Called with each stage that the processor has reached."""
        if stage is Stage.OUTPUTS_ACKNOWLEDGED and self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main(argv: Sequence[str]) -> int:
    """Run as long as any worker, or until it strikes."""
    closing.CLOSING.budget = WorkBudget(tick=UNITS, other=1)
    configure("info", "json")
    settings = parse_settings(WorkerSettings, "onward worker", "", [])
    observe = Strike(argv[0], int(argv[1]), int(argv[2])).observe if argv else lambda _: None
    asyncio.run(run_service(settings, observe=observe, portion_entries=1))
    return 0
