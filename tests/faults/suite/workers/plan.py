"""The faults of one run of a worker."""

from __future__ import annotations

from typing import NamedTuple

PORTION_ENTRIES = 10
"""Default size of a portion. Small portions reach the points at which faults strike more often."""


class FaultPlan(NamedTuple):
    """The faults of one run, as flags of ``worker.py``. The run begins ``rest_seconds`` after the one before ended."""

    point: str | None = None
    nth: int = 1
    delay_ms: float = 0.0
    signal: str = "SIGKILL"
    clock_ms: int = 0
    jump_ms: int = 0
    portion_entries: int = PORTION_ENTRIES
    chunk_records: int = 500
    rest_seconds: float = 0.0

    @property
    def flags(self) -> list[str]:
        """The command line flags."""
        strike = ["--point", self.point, "--nth", str(self.nth), "--delay-ms", str(self.delay_ms)] if self.point else []
        clock = ["--clock-ms", str(self.clock_ms), "--jump-ms", str(self.jump_ms)]
        return [*strike, "--signal", self.signal, *clock, "--portion-entries", str(self.portion_entries)]
