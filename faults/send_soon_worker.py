"""Onward's worker with outputs that are sent and forgotten: nobody waits for their acknowledgements."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, cast

from onward.faults.worker import main
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.records import OutRecord

_OUTPUTS = ("recourse", "rewards", "dead-letters")
_under_way: set[asyncio.Future[None]] = set()


def forget() -> None:
    """Let every worker of this process send so."""
    publish = KafkaPublisher.publish

    async def send_soon(self: KafkaPublisher, records: Sequence[OutRecord]) -> None:
        sending = asyncio.ensure_future(publish(self, records))
        if not records or not records[0].topic.endswith(_OUTPUTS):
            await sending
        _under_way.add(sending)
        sending.add_done_callback(_under_way.discard)

    cast(Any, KafkaPublisher).publish = send_soon


if __name__ == "__main__":
    forget()
    sys.exit(main())
