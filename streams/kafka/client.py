"""Plain blocking writing and reading, for what runs outside the worker: demo, simulator, status, tests.

    with EventWriter(options) as writer:
        writer.send("applications", value, key=b"personal-loan:0", headers=[("ce_id", b"1")])

    with EventReader(options, ["recourse"]) as reader:
        while not reader.caught_up:
            for record in reader.poll(0.5): ...

Both are confluent-kafka clients, with threads of their own that do not hold Python's lock. One thread uses one object.
"""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Iterable
from typing import Any, Literal, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from ..errors import BrokerError
from ..records import Headers, Record
from .admin.preflight import unreachable
from .options import KafkaOptions

log = logging.getLogger("librdkafka")

_FULL_SECONDS = 0.05

_read_headers = operator.methodcaller("headers")
"""``Message.headers`` returns a broken list and leaves an error behind when a name is not UTF-8. A call written out is
not checked for that once the interpreter has optimised it; this one always is, and raises ``SystemError``."""


class EventWriter:
    """Sends records, idempotently and in order; the partition is ``partition_of`` the key unless one is given."""

    def __init__(self, options: KafkaOptions) -> None:
        self._seconds = options.delivery_timeout_ms / 1000
        self._bootstrap = options.bootstrap
        self._failed: str | None = None
        self._producer = confluent_kafka.Producer(
            {
                **options.confluent(),
                "enable.idempotence": True,
                # Of several requests under way a broker that knows nothing of this producer yet, as on a new topic, may
                # refuse the first and take the second. The first, sent again, is a repeat to it, and gone unnoticed.
                "max.in.flight.requests.per.connection": 1,
                "partitioner": "murmur2_random",
                "linger.ms": options.linger_ms,
                "batch.size": options.batch_bytes,
                "message.max.bytes": options.max_request_bytes,
                "compression.type": options.compression,
                "delivery.timeout.ms": options.delivery_timeout_ms,
            },
            logger=log,
        )

    def send(
        self,
        topic: str,
        value: bytes,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        partition: int | None = None,
    ) -> None:
        """Queue a record; raise ``BrokerError`` when it is too large or an earlier one was not delivered."""
        more: dict[str, Any] = {}
        if timestamp_ms is not None:
            more["timestamp"] = timestamp_ms
        if partition is not None:
            more["partition"] = partition
        while True:
            try:
                self._producer.produce(
                    topic, value=value, key=key, headers=list(headers), on_delivery=self._delivered, **more
                )
                break
            except BufferError:
                self._producer.poll(_FULL_SECONDS)
            except KafkaException as error:
                raise BrokerError(f"{len(value)} bytes for {topic} are refused: {error.args[0].str()}") from error
        self._producer.poll(0)
        self._raise()

    def flush(self) -> None:
        """Return when all is acknowledged; raise ``BrokerError`` when something was not."""
        # A little more than the deliveries' own limit, so that they report why they failed.
        left = self._producer.flush(self._seconds + 1.0)
        self._raise()
        if left:
            raise BrokerError(f"{left} records are not acknowledged by {self._bootstrap} after {self._seconds:g} s")

    def close(self) -> None:
        """Give up what is still queued. Call ``flush`` before."""
        self._producer.purge()
        self._producer.flush(1.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _delivered(self, error: KafkaError | None, message: confluent_kafka.Message) -> None:
        if error is not None and self._failed is None:
            self._failed = f"a record for {message.topic()} was not delivered: {error.str()}"

    def _raise(self) -> None:
        if self._failed:
            raise BrokerError(self._failed)


class EventReader:
    """Reads every partition of some topics, without a group and without committing anything."""

    def __init__(
        self, options: KafkaOptions, topics: Iterable[str], *, start: Literal["beginning", "end"] = "beginning"
    ) -> None:
        """Raise ``BrokerError`` when no broker answers in time or a topic does not exist."""
        self._consumer = confluent_kafka.Consumer(
            {
                **options.confluent(),
                "group.id": f"{options.client_id}-reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": options.fetch_max_wait_ms,
            },
            logger=log,
        )
        self._at_end: set[tuple[str, int]] = set()
        try:
            partitions = [place for topic in topics for place in self._partitions(topic, options)]
            self._count = len(partitions)
            if start == "end":
                self._consumer.assign([self._end(*place, options) for place in partitions])
            else:
                first = confluent_kafka.OFFSET_BEGINNING
                self._consumer.assign([confluent_kafka.TopicPartition(*place, first) for place in partitions])
        except BaseException:
            self._consumer.close()
            raise

    def poll(self, timeout: float = 1.0, limit: int = 10_000) -> list[Record]:
        """What arrives first within ``timeout`` seconds, at most ``limit`` records.

        Empty when nothing does, and at once when the reader has just found out that it is caught up.
        """
        deadline = time.monotonic() + timeout
        while True:
            first = self._consumer.poll(max(0.0, deadline - time.monotonic()))
            if first is None:
                return []
            # consume() would wait until it has the number asked for.
            messages = [first, *self._consumer.consume(limit - 1, 0)] if limit > 1 else [first]
            records = [record for message in messages if (record := self._record(message))]
            if records or self.caught_up:
                return records

    @property
    def caught_up(self) -> bool:
        """Every partition was read to its end, as far as this reader knows."""
        return len(self._at_end) == self._count

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _record(self, message: confluent_kafka.Message) -> Record | None:
        place: tuple[str, int] = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is None:
            self._at_end.discard(place)
            return Record(
                *place, message.offset() or 0, message.timestamp()[1], message.key(), message.value(), _headers(message)
            )
        if error.code() == KafkaError._PARTITION_EOF:
            self._at_end.add(place)
        elif error.fatal() or not error.retriable():
            raise BrokerError(f"reading {place[0] or 'from Kafka'} failed: {error.str()}")
        return None

    def _partitions(self, topic: str, options: KafkaOptions) -> list[tuple[str, int]]:
        try:
            found = self._consumer.list_topics(topic, timeout=options.connect_timeout_ms / 1000).topics[topic]
        except KafkaException as error:
            raise unreachable(options, error.args[0].str()) from error
        if found.error is not None:
            raise BrokerError(
                f"topic {topic} cannot be read: {found.error.str()}; create it first (`onward topics create`)"
            )
        return [(topic, partition) for partition in sorted(found.partitions)]

    def _end(self, topic: str, partition: int, options: KafkaOptions) -> confluent_kafka.TopicPartition:
        place = confluent_kafka.TopicPartition(topic, partition)
        try:
            _, end = self._consumer.get_watermark_offsets(place, timeout=options.connect_timeout_ms / 1000)
        except KafkaException as error:
            raise BrokerError(
                f"the end of {topic} partition {partition} is not known: {error.args[0].str()}"
            ) from error
        return confluent_kafka.TopicPartition(topic, partition, end)


def _headers(message: confluent_kafka.Message) -> Headers:
    """None at all when a name is not UTF-8, as ``batches`` has it for the worker."""
    try:
        pairs: Any = _read_headers(message) or ()
    except SystemError:
        return ()
    return tuple((name, value or b"") for name, value in pairs)
