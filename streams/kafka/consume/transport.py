"""Chunks of records instead of single messages: a Faust transport on the aiokafka driver.

Faust hands an agent one message per record and spends about 150 us on it. This transport hands it one message for what
was fetched of a topic: chunks, each a list of ``Record`` of one partition. ``docs/reference/faust.md`` lists what of
Faust is overridden.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from faust.transport import consumer as faust_consumer
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from yarl import URL

from ...records import Record
from ...worker.lease import Lease
from ..options import KafkaOptions
from .contract import PartitionOwner
from .group_consumer import GroupConsumer

faust_log = logging.getLogger("faust")

_POLL_SECONDS = 0.25


class ChunkConsumer(GroupConsumer):
    """Hands over whole chunks."""

    logger = faust_log

    async def _drain_messages(self, fetcher: Any) -> None:
        """Fetch until this consumer or Faust's fetcher is stopped, which runs it."""
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):
                fetched, _ = await self._wait_next_records(_POLL_SECONDS)
                if fetched and self.flow_active and not self.should_stop:
                    await self._queue_chunks(fetched)
                elif fetched:
                    await self._thread.seek_assigned(self._offsets.positions())
        except self.consumer_stopped_errors:
            if not self.transport.app.should_stop:
                raise
        except asyncio.CancelledError:
            # Faust would log a crash when the worker ends during a rebalance.
            if not self.transport.app.should_stop:
                raise
        except Exception as error:
            self._worker_transport.owner.fail(error)

    async def _queue_chunks(self, fetched: Mapping[TP, Sequence[Record]]) -> None:
        """Hand the chunks of each topic over together, so that its handler can take those of all its partitions."""
        size = self._worker_transport.options.chunk_records
        by_topic: dict[str, list[list[Record]]] = {}
        for fetched_tp, records in fetched.items():
            tp = faust_consumer.ensure_TP(fetched_tp)
            for start in range(self._extend_last_chunk(tp, records), len(records), size):
                by_topic.setdefault(tp.topic, []).append(list(records[start : start + size]))
        for chunks in by_topic.values():
            if not self.flow_active:
                return
            await self.wait_first(self.callback(self._message(chunks)), self.suspend_flow.wait())

    def _extend_last_chunk(self, tp: TP, records: Sequence[Record]) -> int:
        """Add records to the partition's last chunk while that is queued, and return how many were added.

        Under load chunks grow to their full size in this way. Otherwise many small chunks would queue, each with its
        own round trips, and the queue would never get shorter.
        """
        last = self._last_queued_chunk.get(tp)
        if last is None or not self.flow_active:
            return 0
        more = records[: max(0, self._worker_transport.options.chunk_records - len(last))]
        last.extend(more)
        self._note_queued(tp, more)
        return len(more)


class ChunkTransport(driver.Transport):
    """The value of ``app.transport``."""

    Consumer: ClassVar[type] = ChunkConsumer

    def __init__(self, app: Any, options: KafkaOptions, owner: PartitionOwner, lease: Lease) -> None:
        super().__init__([URL(f"kafka://{broker}") for broker in options.brokers], app)
        self.options = options
        self.owner = owner
        self.lease = lease
