"""Whether a worker has caught up, and whether it has failed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from ..records import Lag, TopicPartition

SMALL_LAG_RECORDS = 100


class Readiness(NamedTuple):
    """``ready`` is for the load balancer, ``failure`` (the error that stopped the work) for the supervisor."""

    ready: bool
    reason: str = ""
    failure: str | None = None


class CaughtUp:
    """Ready when every assigned journal partition has been within ``limit_records`` of its end once.

    Once is enough: a later burst of applications must not take the worker out of service. ``assigned`` returns None
    before the first assignment. A worker with an empty assignment is a standby and is ready.

        readiness = CaughtUp(lag, lambda: worker.journal_partitions)
        readiness()            # Readiness(ready=False, reason="journal/3 is 5210 records behind")
    """

    def __init__(
        self,
        lag: Lag,
        assigned: Callable[[], Collection[TopicPartition] | None],
        limit_records: int = SMALL_LAG_RECORDS,
    ) -> None:
        self._lag = lag
        self._assigned = assigned
        self._limit_records = limit_records
        self._caught_up: set[TopicPartition] = set()
        self._failure: str | None = None

    def fail(self, error: BaseException) -> None:
        """Keep the error that ended the work: the worker is neither healthy nor ready from now on."""
        self._failure = f"{type(error).__name__}: {error}"

    def __call__(self) -> Readiness:
        """The current state."""
        if self._failure is not None:
            return Readiness(False, "the work has stopped", self._failure)
        assigned = self._assigned()
        if assigned is None:
            return Readiness(False, "no partitions are assigned yet")
        self._caught_up &= set(assigned)
        for partition in sorted(set(assigned) - self._caught_up):
            behind = self._lag.lag(partition)
            if behind is None or behind > self._limit_records:
                amount = "an unknown number of" if behind is None else behind
                return Readiness(False, f"{partition.topic}/{partition.partition} is {amount} records behind")
            self._caught_up.add(partition)
        return Readiness(True)
