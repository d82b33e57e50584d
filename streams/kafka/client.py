"""Plain blocking writing, and reading of what comes, for programs outside the worker: demo, simulator, tests.

    with EventWriter(options) as writer:
        writer.send("applications", value, key=b"personal-loan:0", headers=[("ce_id", b"1")])

    with EventReader(options, ["recourse"]) as reader:
        while not reader.caught_up:
            for record in reader.poll(0.5): ...

What anybody may have sent is read with ``consume/between.py``.

Both are confluent-kafka clients, whose threads do not hold Python's lock. Use an object from one thread only.
"""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from ..errors import BrokerError
from ..records import Headers, Record, TopicPartition
from .admin.metadata import partitions_of
from .admin.rights import is_refusal, may_not
from .options import CLIENT_ID, LINGER_MS, KafkaOptions

log = logging.getLogger("librdkafka")

_QUEUE_FULL_SECONDS = 0.05
_FLUSH_SECONDS = 0.1
"""In a call of 0.2 s or more the client goes on after a fatal error: callbacks then run with the exception set, and the
reason gets lost."""
_POLL_RECORDS = 10_000

_read_headers = operator.methodcaller("headers")
"""Calls ``Message.headers``. With a name that is not UTF-8 that returns a broken list and leaves an error set. The
interpreter, once it has optimised a plain call, does not check for that. It always checks this call, and raises
``SystemError``."""


class EventWriter:
    """Sends records, idempotently and in order; the partition is ``partition_of`` the key unless one is given."""

    def __init__(self, options: KafkaOptions) -> None:
        self._delivery_seconds = options.delivery_timeout_ms / 1000
        self._options = options
        self._failure: BrokerError | None = None
        self._topic = ""
        self._producer = confluent_kafka.Producer(
            {
                **options.confluent(),
                "enable.idempotence": True,
                # A broker that does not know this producer yet, as on a new topic, may refuse the first of several
                # requests and accept the second. The first, sent again, then counts as a duplicate and is lost.
                "max.in.flight.requests.per.connection": 1,
                "partitioner": "murmur2_random",
                "linger.ms": LINGER_MS,
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
        optional = {"timestamp": timestamp_ms, "partition": partition}
        given: dict[str, Any] = {name: value for name, value in optional.items() if value is not None}
        self._topic = topic
        while True:
            try:
                self._producer.produce(
                    topic, value=value, key=key, headers=list(headers), on_delivery=self._on_delivery, **given
                )
                break
            except BufferError:
                self.check(_QUEUE_FULL_SECONDS)
            except KafkaException as error:
                self.check()
                raise BrokerError(f"{len(value)} bytes for {topic} are refused: {error.args[0].str()}") from error
        self.check()

    def check(self, seconds: float = 0.0) -> None:
        """Hear for so long what became of earlier records; raise ``BrokerError`` when one was not delivered."""
        with self._fatal_errors():
            self._producer.poll(seconds)
        self._raise_failure()

    def flush(self) -> None:
        """Return when every record is acknowledged; raise ``BrokerError`` when one was not."""
        # A little longer than the delivery timeout, so that failed deliveries report their reason.
        unacknowledged = self._flush(self._delivery_seconds + 1.0)
        self._raise_failure()
        if unacknowledged:
            raise BrokerError(
                f"{unacknowledged} records are not acknowledged by {self._options.bootstrap} after "
                f"{self._delivery_seconds:g} s"
            )

    def close(self) -> None:
        """Drop the queued records. Call ``flush`` before."""
        with self._fatal_errors():
            self._producer.purge()
        self._flush(1.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _flush(self, seconds: float) -> int:
        """Wait until all records are acknowledged or one is not; the number of those that wait."""
        deadline, left = time.monotonic() + seconds, len(self._producer)
        while left and self._failure is None and time.monotonic() < deadline:
            with self._fatal_errors():
                left = self._producer.flush(_FLUSH_SECONDS)
        return left

    def _on_delivery(self, error: KafkaError | None, message: confluent_kafka.Message) -> None:
        if error is not None and self._failure is None:
            self._failure = self._undelivered(error, message.topic() or "")

    @contextmanager
    def _fatal_errors(self) -> Iterator[None]:
        """Keep an error from which the client cannot recover, which any call may raise."""
        try:
            yield
        except KafkaException as error:
            self._failure = self._failure or self._undelivered(error.args[0], self._topic)

    def _undelivered(self, error: KafkaError, topic: str) -> BrokerError:
        if is_refusal(error):
            return may_not(self._options, "WRITE", f"topic {topic}")
        return BrokerError(f"a record for {topic} was not delivered: {error.str()}")

    def _raise_failure(self) -> None:
        if self._failure:
            raise self._failure


class EventReader:
    """Reads some topics without a group and without committing anything.

    It starts at the beginning or the end of every partition; or at an offset of each partition of a mapping, and then
    reads no other.
    """

    def __init__(
        self,
        options: KafkaOptions,
        topics: Iterable[str],
        *,
        start: Literal["beginning", "end"] | Mapping[TopicPartition, int] = "beginning",
    ) -> None:
        """Raise ``BrokerError`` when no broker answers in time or a topic does not exist."""
        self._options = options
        self._consumer = confluent_kafka.Consumer(
            {
                **options.confluent(),
                "group.id": f"{CLIENT_ID}-reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": options.fetch_max_wait_ms,
            },
            logger=log,
        )
        self._at_end: set[tuple[str, int]] = set()
        try:
            partitions = [tp for topic in topics for tp in partitions_of(self._consumer, options, topic)]
            if isinstance(start, Mapping):
                partitions = [tp for tp in partitions if (tp.topic, tp.partition) in start]
            for tp in partitions:
                tp.offset = self._start(tp, start, options)
            self._partition_count = len(partitions)
            self._consumer.assign(partitions)
        except BaseException:
            self._consumer.close()
            raise

    def poll(self, timeout: float = 1.0) -> list[Record]:
        """The next records. Wait up to ``timeout`` seconds for the first of them.

        Return an empty list when none arrives, immediately when the reader has just caught up.
        """
        deadline = time.monotonic() + timeout
        while True:
            first = self._consumer.poll(max(0.0, deadline - time.monotonic()))
            if first is None:
                return []
            # consume() alone would wait until it has so many records.
            messages = [first, *self._consumer.consume(_POLL_RECORDS - 1, 0)]
            records = [record for message in messages if (record := self._record(message))]
            if records or self.caught_up:
                return records

    @property
    def caught_up(self) -> bool:
        """Whether every partition was read to its end, as far as this reader knows."""
        return len(self._at_end) == self._partition_count

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _record(self, message: confluent_kafka.Message) -> Record | None:
        tp: tuple[str, int] = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is None:
            self._at_end.discard(tp)
            return Record(
                *tp, message.offset() or 0, message.timestamp()[1], message.key(), message.value(), _headers(message)
            )
        if error.code() == KafkaError._PARTITION_EOF:
            self._at_end.add(tp)
        elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise may_not(self._options, "READ", f"topic {tp[0]}")
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return None  # the client asks for offsets of a group that it has to name, and that nobody uses
        elif error.fatal() or not error.retriable():
            raise BrokerError(f"reading {tp[0] or 'from Kafka'} failed: {error.str()}")
        return None

    def _start(
        self,
        tp: confluent_kafka.TopicPartition,
        start: Literal["beginning", "end"] | Mapping[TopicPartition, int],
        options: KafkaOptions,
    ) -> int:
        if isinstance(start, Mapping):
            return start[TopicPartition(tp.topic, tp.partition)]
        return confluent_kafka.OFFSET_BEGINNING if start == "beginning" else self._end(tp, options)

    def _end(self, tp: confluent_kafka.TopicPartition, options: KafkaOptions) -> int:
        try:
            _, end = self._consumer.get_watermark_offsets(tp, timeout=options.connect_timeout_ms / 1000)
        except KafkaException as error:
            reason = error.args[0].str()
            raise BrokerError(f"the end of {tp.topic} partition {tp.partition} is not known: {reason}") from error
        return end


def _headers(message: confluent_kafka.Message) -> Headers:
    """No headers at all when a name is not UTF-8, as in ``consume/tolerant_records.py``."""
    try:
        pairs: Any = _read_headers(message) or ()
    except SystemError:
        return ()
    return tuple((name, value or b"") for name, value in pairs)
