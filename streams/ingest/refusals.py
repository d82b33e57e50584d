"""The dead letters of unusable records: a run of them is one letter, so that garbage costs little in the journal."""

from __future__ import annotations

from collections.abc import Callable

from ...schemas.encoding import Problem
from ...schemas.events import Journaled
from ..journal.dead_letters import dead_letter_of_run
from ..journal.lines import dead_letter_line
from ..records import Record, TopicPartition
from .validation import UNKNOWN_PROGRAM

OVER_QUOTA = "quota_exceeded"
"""The reason of a dead letter of records that were refused for any reasons."""


class UnusableRun:
    """Consecutive records of an input partition that cannot be used."""

    def __init__(self, problem: Problem, target: int, *, mixed: bool) -> None:
        self.problem, self.target, self.mixed = problem, target, mixed
        self.records: list[Record] = []

    def line(self) -> Journaled:
        """The line of the journal about them."""
        reason, detail = self.problem
        if self.mixed:
            reason, detail = OVER_QUOTA, f"too many unusable records in a second; the first: {reason}: {detail}"
        return dead_letter_line(dead_letter_of_run(self.records, reason, detail), self.records[-1])


class Quota:
    """The dead letters of each input partition in the current second."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._second = 0
        self._counts: dict[TopicPartition, int] = {}

    def exceeded(self, source: TopicPartition, now_ms: int) -> bool:
        """Count one more dead letter; whether it is one too many."""
        second = now_ms // 1000
        if second != self._second:
            self._second, self._counts = second, {}
        self._counts[source] = count = self._counts.get(source, 0) + 1
        return count > self._most


class Refusals:
    """Gathers the unusable records of one chunk into runs.

    Records that are no event of a program join those of the same reason before them, and of the same program where one
    is named that is not known. Where a source has spent its
    ``quota``, all join that belong into the same partition of the journal. A run ends with the next usable record.
    """

    def __init__(self, quota: Quota, now_ms: int, over_quota: Callable[[Record], None]) -> None:
        self._quota, self._now_ms, self._over_quota = quota, now_ms, over_quota
        self._open: dict[TopicPartition, UnusableRun] = {}

    def used(self, record: Record) -> None:
        """End the run of this record's partition."""
        if self._open:
            self._open.pop(TopicPartition(record.topic, record.partition), None)

    def refused(self, record: Record, problem: Problem, target: int, *, may_join: bool) -> UnusableRun | None:
        """The run that begins with a record; None where the record joins the one before it."""
        source = TopicPartition(record.topic, record.partition)
        run = self._open.get(source)
        joins = run is not None and run.target == target and (run.mixed or (may_join and _same(run.problem, problem)))
        if run is not None and joins and record.unread is None:
            if run.mixed:
                self._over_quota(record)
            run.records.append(record)
            return None
        mixed = record.unread is None and self._quota.exceeded(source, self._now_ms)
        run = UnusableRun(problem, target, mixed=mixed)
        run.records.append(record)
        if mixed:
            self._over_quota(record)
        if mixed or (may_join and record.unread is None):
            self._open[source] = run
        else:
            self._open.pop(source, None)
        return run


def _same(one: Problem, other: Problem) -> bool:
    return one.reason == other.reason and (one.reason != UNKNOWN_PROGRAM or one.detail == other.detail)
