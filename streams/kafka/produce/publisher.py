"""Publishes records with an idempotent producer, a batch at a time.

    async with KafkaPublisher(options) as publisher:
        await publisher.publish(records)

Whole batches go to aiokafka, one future a batch instead of one a record. A publisher that has failed once stays
failed: after a gap nothing more may follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import aiokafka
from aiokafka.errors import KafkaError, KafkaTimeoutError

from ...errors import BrokerError
from ...records import OutRecord, Record, TopicPartition
from ..admin.preflight import reach
from ..closing import close
from ..consume.tail import end_offsets, tail
from ..options import KafkaOptions

T = TypeVar("T")

_CLOSE_SECONDS = 3.0
_OVERHEAD_BYTES = 512
"""What Kafka's batch header and the record's own framing may add to key, value and headers."""


class KafkaPublisher:
    """A ``Publisher`` on Kafka; use it from one event loop."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._producer: Any = None
        self._error: BrokerError | None = None

    async def start(self) -> None:
        """Connect; raise ``BrokerError`` when no broker answers in time."""
        options = self._options
        await reach(options, ())
        self._producer = aiokafka.AIOKafkaProducer(
            **options.aiokafka(),
            enable_idempotence=True,
            acks="all",
            linger_ms=options.linger_ms,
            max_batch_size=options.batch_bytes,
            max_request_size=options.max_request_bytes,
            compression_type=None if options.compression == "none" else options.compression,
        )
        await self._producer.start()

    async def close(self) -> None:
        """Close the connections. What was published is acknowledged already; what failed is given up."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await close(producer.client, producer.stop(), _CLOSE_SECONDS)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def publish(self, records: Sequence[OutRecord]) -> None:
        """Return when every record is acknowledged by all in-sync replicas; raise ``BrokerError`` otherwise.

        Records of one partition keep their order. Nothing is sent when one of them exceeds ``max_request_bytes``.
        """
        if self._error:
            raise self._error
        if not records:
            return
        self._check_sizes(records)
        try:
            async with asyncio.timeout(self._options.delivery_timeout_ms / 1000):
                await self._deliver(records)
        except (KafkaError, TimeoutError) as error:
            self._error = BrokerError(self._failure(records, error))
            raise self._error from error

    async def partitions(self, topic: str) -> int:
        """The number of partitions of a topic; raise ``BrokerError`` when it does not exist."""
        try:
            async with asyncio.timeout(self._options.connect_timeout_ms / 1000):
                return len(await self._producer.partitions_for(topic))
        except (KafkaError, TimeoutError) as error:
            raise BrokerError(
                f"topic {topic} does not exist on {self._options.bootstrap}: create it first (`onward topics create`)"
            ) from error

    async def tail(self, topic: str, partition: int, see: Callable[[Record], T], count: int = 1) -> list[T]:
        """What ``see`` makes of the last ``count`` records of a partition, in offset order; fewer when it holds fewer.

        It may be shown older ones too. The records are not kept. Raise ``BrokerError`` when reading makes no progress.
        """
        return await tail(self._options, TopicPartition(topic, partition), see, count)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset the next record of each partition will get; raise ``BrokerError`` when a topic does not exist."""
        wanted = list(partitions)
        # A consumer would ask for a topic that is gone until its time is over, and not say which.
        await reach(self._options, sorted({partition.topic for partition in wanted}))
        return await end_offsets(self._options, wanted)

    async def _deliver(self, records: Sequence[OutRecord]) -> None:
        last: dict[tuple[str, int], asyncio.Future[Any]] = {}
        try:
            for (topic, partition), batch in self._batches(records):
                if (topic, partition) in last:
                    # A broker that knows nothing of this producer takes a batch whose forerunner it has refused.
                    await last[topic, partition]
                last[topic, partition] = await self._queue(batch, topic, partition)
            await asyncio.gather(*last.values())
        except BaseException:
            for future in last.values():
                future.add_done_callback(_looked_at)
            raise

    async def _queue(self, batch: Any, topic: str, partition: int) -> asyncio.Future[Any]:
        """Wait for a place in the partition's queue, as long as ``publish`` allows."""
        while True:
            try:
                future: asyncio.Future[Any] = await self._producer.send_batch(batch, topic, partition=partition)
            except KafkaTimeoutError:
                # aiokafka adds up what it has waited since the beginning at every turn of the queue: when several wait
                # it gives up within seconds. Nothing was queued.
                continue
            return future

    def _batches(self, records: Sequence[OutRecord]) -> Iterator[tuple[tuple[str, int], Any]]:
        """Full batches as they fill, then the rest; of one partition always in order."""
        create = self._producer.create_batch
        open_batches: dict[tuple[str, int], Any] = {}
        for record in records:
            place = (record.topic, record.partition)
            batch = open_batches.get(place)
            if batch is None:
                batch = open_batches[place] = create()
            if not _append(batch, record):
                yield place, batch
                batch = open_batches[place] = create()
                _append(batch, record)
        for place, batch in open_batches.items():
            batch.close()
            yield place, batch

    def _check_sizes(self, records: Sequence[OutRecord]) -> None:
        most = self._options.max_request_bytes - _OVERHEAD_BYTES
        for record in records:
            size = len(record.value)
            if size > most >> 1 and (size := _bytes(record)) > most:
                raise BrokerError(
                    f"a record of {size} bytes for {record.topic} partition {record.partition} is larger than "
                    f"the limit of {self._options.max_request_bytes}: raise max_request_bytes and the topic's "
                    "max.message.bytes"
                )

    def _failure(self, records: Sequence[OutRecord], error: BaseException) -> str:
        topics = ", ".join(sorted({record.topic for record in records}))
        if isinstance(error, TimeoutError):
            reason = f"not acknowledged within {self._options.delivery_timeout_ms / 1000:g} s"
        else:
            reason = str(error)
        return f"publishing {len(records)} records to {topics} failed: {reason}"


def _append(batch: Any, record: OutRecord) -> bool:
    """Whether the batch has room for the record."""
    at, key, value, headers = record.timestamp_ms, record.key, record.value, list(record.headers)
    return batch.append(timestamp=at, key=key, value=value, headers=headers) is not None


def _bytes(record: OutRecord) -> int:
    headers = sum(len(name) + len(value) + 10 for name, value in record.headers)
    return len(record.value) + len(record.key or b"") + headers


def _looked_at(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
