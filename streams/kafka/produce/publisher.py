"""Publishes records with an idempotent producer, a batch at a time.

    async with KafkaPublisher(options) as publisher:
        await publisher.publish(records)

Whole batches go to aiokafka, with one future for a batch instead of one for a record. A publisher that has failed once
refuses every later call: no record may follow a gap.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import TracebackType
from typing import Any, Self, TypeVar

import aiokafka
from aiokafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from ...errors import BrokerError
from ...records import UNKNOWN_OFFSET, OutRecord, Record, TopicPartition
from ..admin.deletion import delete_before
from ..admin.preflight import preflight
from ..admin.rights import may_not
from ..closing import close
from ..consume.tail import begin_offset, end_offsets, first_offset_since, records_at, records_from, tail
from ..options import LINGER_MS, KafkaOptions
from ..patience import Patience
from .latest_offsets import latest_offsets

T = TypeVar("T")
_Partition = tuple[str, int]
"""Topic and partition. A plain tuple, because one is made for every record."""

CLOSE_SECONDS = 3.0
_OVERHEAD_BYTES = 512
"""An upper bound for the batch header and the record's framing, which come on top of key, value and headers."""


class KafkaPublisher:
    """A ``Publisher`` on Kafka; use it from one event loop. Closing it takes ``close_seconds`` at most."""

    def __init__(self, options: KafkaOptions, close_seconds: float = CLOSE_SECONDS) -> None:
        self._options, self._close_seconds = options, close_seconds
        self._producer: Any = None
        self._error: BrokerError | None = None

    async def start(self) -> None:
        """Connect; raise ``BrokerError`` when no broker answers in time."""
        options = self._options
        await preflight(options, ())
        self._producer = aiokafka.AIOKafkaProducer(
            **options.aiokafka(),
            enable_idempotence=True,
            acks="all",
            linger_ms=LINGER_MS,
            max_batch_size=options.batch_bytes,
            max_request_size=options.max_request_bytes,
            compression_type=None if options.compression == "none" else options.compression,
        )
        try:
            await self._producer.start()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connections. Published records are acknowledged already; failed ones are dropped."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await close(producer.client, producer.stop(), self._close_seconds)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def publish(self, records: Sequence[OutRecord]) -> Sequence[int]:
        """Return the records' offsets when every one is acknowledged by all in-sync replicas; else raise
        ``BrokerError``.

        The offset is ``UNKNOWN_OFFSET`` where a broker recognised a repeated request and has forgotten the first.

        Records of one partition keep their order:

        1. Refuse everything after an earlier failure, and every record when one exceeds ``max_request_bytes``.
        2. Fill batches, each for one partition.
        3. Send a batch when the one before it in its partition is acknowledged.
        4. Wait for the last batch of every partition; a failure or timeout fails the publisher.
        """
        # Step 1: refuse.
        if self._error:
            raise self._error
        if not records:
            return []
        self._check_sizes(records)

        # Steps 2 to 4.
        try:
            async with Patience(self._options.delivery_timeout_ms / 1000):
                return await self._deliver(records)
        except (KafkaError, TimeoutError) as error:
            self._error = BrokerError(self._failure(records, error))
            raise self._error from error

    async def partitions(self, topic: str) -> int:
        """The number of partitions of a topic now; raise ``BrokerError`` when it does not exist."""
        try:
            async with Patience(self._options.connect_timeout_ms / 1000):
                # aiokafka asks again only after minutes.
                await self._producer.client.force_metadata_update()
                return len(await self._producer.partitions_for(topic))
        except TopicAuthorizationFailedError as error:
            raise may_not(self._options, "DESCRIBE", f"topic {topic}") from error
        except (KafkaError, TimeoutError) as error:
            raise BrokerError(
                f"topic {topic} does not exist on {self._options.bootstrap}: create it first (`onward topics create`)"
            ) from error

    async def tail(self, topic: str, partition: int, see: Callable[[Record], T], count: int = 1) -> list[T]:
        """``see`` of each of the last ``count`` records of a partition, in offset order; fewer when it holds fewer.

        ``see`` may be called with older records too. Records are not kept. Raise ``BrokerError`` when reading makes no
        progress.
        """
        return await tail(self._options, TopicPartition(topic, partition), see, count)

    async def records_at(self, wanted: Mapping[TopicPartition, Set[int]]) -> Mapping[tuple[str, int, int], Record]:
        """The records at these offsets, as far as their topics hold them. Raise ``BrokerError`` on failure."""
        there = {}
        for partition, offsets in wanted.items():
            # A topic may have been deleted, or created again with fewer partitions.
            with contextlib.suppress(BrokerError):
                if partition.partition < await self.partitions(partition.topic):
                    there[partition] = offsets
        return await records_at(self._options, there)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset the next record of each partition will get; raise ``BrokerError`` when a topic does not exist."""
        wanted = list(partitions)
        quick = await latest_offsets(self._producer.client, wanted)
        if quick is not None:
            return quick
        # A consumer would look for a missing topic until its timeout, and not name it.
        await preflight(self._options, sorted({partition.topic for partition in wanted}))
        return await end_offsets(self._options, wanted)

    async def begin_offset(self, partition: TopicPartition) -> int:
        """The offset of the first record that a partition still holds; its end where it holds none."""
        return await begin_offset(self._options, partition)

    async def first_offset_since(self, partition: TopicPartition, time_ms: int) -> int:
        """The offset of the first record with this record time or a later one; the partition's end without one."""
        return await first_offset_since(self._options, partition, time_ms)

    async def records_from(
        self, partition: TopicPartition, begin: int, end: int, most_bytes: int
    ) -> tuple[list[Record], int]:
        """The records from one offset to below another, or fewer, and where they end; raise ``BrokerError``."""
        return await records_from(self._options, partition, begin, end, most_bytes)

    async def delete_before(self, partition: TopicPartition, offset: int) -> None:
        """Delete the records before an offset; raise ``BrokerError`` when Kafka refuses."""
        await asyncio.to_thread(delete_before, self._options, partition, offset)

    async def _deliver(self, records: Sequence[OutRecord]) -> Sequence[int]:
        last: dict[_Partition, asyncio.Future[Any]] = {}
        sent: list[tuple[asyncio.Future[Any], Sequence[int]]] = []
        try:
            # Step 2: fill batches.
            for partition, batch, places in self._batches(records):
                # Step 3: send. A broker that does not know this producer yet would accept a batch after it has refused
                # the one before it.
                if partition in last:
                    await last[partition]
                last[partition] = await self._send(batch, partition)
                sent.append((last[partition], places))
            # Step 4: wait for the acknowledgements.
            await asyncio.gather(*last.values())
        except BaseException:
            for future in last.values():
                future.add_done_callback(_retrieve_error)
            raise
        offsets = [UNKNOWN_OFFSET] * len(records)
        for future, batch_places in sent:
            # A batch is stored as a whole.
            if (first := future.result().offset) >= 0:
                for offset, place in enumerate(batch_places, first):
                    offsets[place] = offset
        return offsets

    async def _send(self, batch: Any, partition: _Partition) -> asyncio.Future[Any]:
        """Wait for a place in the partition's queue, as long as ``publish`` allows."""
        topic, number = partition
        while True:
            try:
                future: asyncio.Future[Any] = await self._producer.send_batch(batch, topic, partition=number)
            except KafkaTimeoutError:
                # aiokafka counts the whole waiting time at every turn of the queue: when several batches wait, it gives
                # up within seconds. Nothing was queued.
                continue
            return future

    def _batches(self, records: Sequence[OutRecord]) -> Iterator[tuple[_Partition, Any, list[int]]]:
        """Full batches as they fill, then the rest, each with the places of its records; those of a partition in
        order."""
        create = self._producer.create_batch
        open_batches: dict[_Partition, tuple[Any, list[int]]] = {}
        for place, record in enumerate(records):
            partition = (record.topic, record.partition)
            filling = open_batches.get(partition)
            if filling is None:
                filling = open_batches[partition] = create(), []
            if not _append(filling[0], record):
                yield partition, *filling
                filling = open_batches[partition] = create(), []
                _append(filling[0], record)
            filling[1].append(place)
        for partition, (batch, places) in open_batches.items():
            batch.close()
            yield partition, batch, places

    def _check_sizes(self, records: Sequence[OutRecord]) -> None:
        limit = self._options.max_request_bytes - _OVERHEAD_BYTES
        for record in records:
            # Small values are not measured exactly: that would take time for every record.
            if len(record.value) > limit // 2 and (size := _size(record)) > limit:
                raise BrokerError(
                    f"a record of {size} bytes for {record.topic} partition {record.partition} is larger than "
                    f"the limit of {self._options.max_request_bytes} bytes, which is fixed: send smaller records"
                )

    def _failure(self, records: Sequence[OutRecord], error: BaseException) -> str:
        topics = ", ".join(sorted({record.topic for record in records}))
        if isinstance(error, TimeoutError):
            reason = f"not acknowledged within {self._options.delivery_timeout_ms / 1000:g} s"
        else:
            reason = str(error)
        return f"publishing {len(records)} records to {topics} failed: {reason}"


def _append(batch: Any, record: OutRecord) -> bool:
    """Append a record; return False when the batch has no room for it."""
    headers = list(record.headers)
    appended = batch.append(timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=headers)
    return appended is not None


def _size(record: OutRecord) -> int:
    headers = sum(len(name) + len(value) + 10 for name, value in record.headers)
    return len(record.value) + len(record.key or b"") + headers


def _retrieve_error(future: asyncio.Future[Any]) -> None:
    """asyncio prints a traceback for errors that nobody retrieves."""
    if not future.cancelled():
        future.exception()
