"""Onward's worker with one defect: it does not wait until its outputs are acknowledged."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.records import UNKNOWN_OFFSET, OutRecord
from onward.tests.faults.suite.workers.worker import main

_OUTPUTS = ("recourse", "rewards", "dead-letters")


class SendSoonPublisher(KafkaPublisher):
    """Awaits the acknowledgement of journal records only."""

    def __init__(self, options: KafkaOptions) -> None:
        super().__init__(options)
        self._in_flight: set[asyncio.Future[Sequence[int]]] = set()

    async def publish(self, records: Sequence[OutRecord]) -> Sequence[int]:
        """Send the records; return before outputs are acknowledged."""
        sending = asyncio.ensure_future(super().publish(records))
        if not records or not records[0].topic.endswith(_OUTPUTS):
            return await sending
        self._in_flight.add(sending)
        sending.add_done_callback(self._in_flight.discard)
        return [UNKNOWN_OFFSET] * len(records)


if __name__ == "__main__":
    sys.exit(main(make_publisher=SendSoonPublisher))
