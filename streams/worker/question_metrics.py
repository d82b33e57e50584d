"""Metrics of programs that ask: how long questions have been open, and the regret that is told beside the one seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ..engine.state import PartitionState
from ..engine.timing.timers import ANSWER_DEADLINE
from ..metrics import Metrics
from ..programs.program import Program

AGES_MS: Final = {"hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
"""How long ago a person was asked first, at most. Who was asked before that has the age ``OLDER``."""
OLDER: Final = "older"

CountDue = Callable[[str, str, Sequence[int]], Sequence[int]]
"""``Ledger.count_due``."""


class QuestionMetrics:
    """Sets the gauge of open questions, a sum over the partitions of the worker; lets counts of regrets begin at 0.

    ``programs`` are all programs of the worker.
    """

    def __init__(self, metrics: Metrics, programs: Mapping[str, Program]) -> None:
        self._metrics = metrics
        self._programs = [program for program in programs.values() if program.asks]
        self._open: dict[int, Mapping[tuple[str, str], int]] = {}
        for program in self._programs:
            # Prometheus sees no increase in a series that begins with somebody.
            for counter in ("regrets_told", "regrets_seen", "regrets"):
                metrics.counts[counter].labels(program.name)

    def show(self, state: PartitionState, count_due: CountDue) -> None:
        """Set the gauge after a change of a partition. The age is that at the partition's watermark."""
        if not self._programs:
            return
        self._open[state.partition] = {
            (program.name, age): number
            for program in self._programs
            for age, number in _by_age(program, state.watermark_ms(program) or 0, count_due).items()
        }
        for program in self._programs:
            for age in (*AGES_MS, OLDER):
                number = sum(of_partition[program.name, age] for of_partition in self._open.values())
                self._metrics.open_questions.labels(program.name, age).set(number)

    def forget(self, partition: int) -> None:
        """Forget a partition that the worker no longer owns."""
        self._open.pop(partition, None)


def _by_age(program: Program, watermark_ms: int, count_due: CountDue) -> Mapping[str, int]:
    # The timer of somebody who was asked at t is due at t + ``until_due``.
    until_due = program.answer_ms + program.lateness_ms
    since = [watermark_ms - age_ms + until_due for age_ms in AGES_MS.values()]
    return dict(zip((*AGES_MS, OLDER), count_due(program.name, ANSWER_DEADLINE, since), strict=True))
