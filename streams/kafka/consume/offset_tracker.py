"""The books on partitions: what was handed on, what is handled, what the group has been told."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from faust.types import TP

from ...errors import BrokerError

log = logging.getLogger(__name__)


class Positions:
    """The offsets of the partitions that the worker owns; it knows none of others.

    A record is handed on to its handler, then handled, then its offset is committed to the group.
    """

    def __init__(self) -> None:
        self._handed_on: dict[TP, int] = {}
        self._handled: dict[TP, int] = {}
        self._committed: dict[TP, int] = {}

    def begin(self, starts: Mapping[TP, int]) -> None:
        """These partitions are owned from now on, and read from these offsets."""
        self._handed_on, self._handled, self._committed = dict(starts), dict(starts), dict(starts)

    def end(self) -> None:
        """No partition is owned any more."""
        self.begin({})

    def handed_on(self, tp: TP, last: int) -> None:
        """Records up to this offset are with the handler."""
        if tp in self._handed_on:
            self._handed_on[tp] = last + 1

    def handled(self, tp: TP, last: int) -> None:
        """The handler has returned for records up to this offset."""
        if tp in self._handled:
            self._handled[tp] = last + 1

    def pass_over(self, offsets: Mapping[TP, int]) -> None:
        """Nothing that is to be handled stands before these offsets, except what was handed on."""
        for tp, handled in self._handled.items():
            if handled == self._handed_on[tp] < offsets.get(tp, 0):
                self._handled[tp] = self._handed_on[tp] = offsets[tp]

    def next(self) -> dict[TP, int]:
        """Where reading goes on."""
        return dict(self._handed_on)

    def get(self, tp: TP) -> int | None:
        """The offset behind what is handled; None when the partition is not owned."""
        return self._handled.get(tp)

    def moved(self) -> dict[TP, int]:
        """Offsets of which the group has not been told."""
        return {tp: offset for tp, offset in self._handled.items() if offset != self._committed[tp]}

    def committed(self, offsets: Mapping[TP, int]) -> None:
        """The group has been told."""
        self._committed.update((tp, offset) for tp, offset in offsets.items() if tp in self._committed)


def resumed(tp: TP, committed: int | None, first: int, end: int) -> int:
    """Where a partition is read on of which only the group knows: the beginning when its offset does not exist."""
    if committed is None:
        return first
    if not first <= committed <= end:
        log.warning(
            "%s partition %d holds offsets %d to %d, the group's is %d: reading from the beginning",
            tp.topic, tp.partition, first, end, committed,
        )  # fmt: skip
        return first
    return committed


def checked(tp: TP, start: int, first: int, end: int) -> int:
    """Where a partition is read on that has a ledger; raise ``BrokerError`` when that offset does not exist."""
    if not first <= start <= end:
        raise BrokerError(
            f"{tp.topic} partition {tp.partition} holds offsets {first} to {end}, the ledger stands at {start}: "
            "it belongs to another topic or records were lost; restore the topic or begin with an empty state directory"
        )
    return start
