"""The worker: Faust reads chunks of records and hands them to their topics' handlers.

    async with KafkaPublisher(options) as publisher:
        await run_worker(options, {"journal": engine, "applications": ingest}, timers=[(1.0, ingest.tick)])

Guarantees:

1. The records of a partition are handled strictly one after the other. Different partitions, and timers, interleave
   where a handler awaits; a topic whose handler ``takes_partitions_together`` has one chunk at a time.
2. An offset is committed only after ``handle`` has returned for it.
3. The first error ends the worker; nothing of the chunk in progress is committed.
4. On SIGTERM or SIGINT the chunk in progress is finished and committed, and the worker leaves the group.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

import faust
from aiokafka.errors import KafkaError
from faust.app.base import BootStrategy
from faust.tables.manager import TableManager
from faust.types import TP

from ...errors import BrokerError, FencedError
from ...records import ChunkHandler, Record, RunningWorker, TopicPartition
from ...worker.lease import Lease
from ..admin.preflight import preflight, wait_for_coordinator
from ..options import KafkaOptions
from .group_consumer import GroupConsumer
from .partition_queues import PartitionQueues
from .transport import ChunkTransport

log = logging.getLogger(__name__)
faust_log = logging.getLogger("faust")

PeriodicCall = tuple[float, Callable[[], Awaitable[None]]]
"""Seconds between two calls, and the function to call."""

OnExpired = Callable[[TopicPartition, int, int], None]

STOP_SECONDS = 20.0
_FAILED_STOP_SECONDS = 8.0
_ABANDONED_STOP_SECONDS = 1.0
"""For the rest of a stop after a chunk was cancelled."""
_FOREVER_SECONDS = 24 * 60 * 60.0
_UNBOUNDED = 1 << 30


async def run_worker(
    options: KafkaOptions,
    handlers: Mapping[str, ChunkHandler],
    *,
    timers: Sequence[PeriodicCall] = (),
    on_started: Callable[[RunningWorker], Awaitable[None]] | None = None,
    stop: asyncio.Event | None = None,
    signals: bool = True,
    lease: Lease | None = None,
    before_commit: Callable[[Collection[str]], None] | None = None,
    on_expired: OnExpired | None = None,
    stop_seconds: float = STOP_SECONDS,
) -> None:
    """Run the handlers (topic: handler) until ``stop`` is set, or, with ``signals``, until SIGTERM or SIGINT.

    ``on_started`` is called once, when the first partitions are assigned and their handlers are ready. A chunk starts
    only while the ``lease``, which follows the group's answers, is valid. ``before_commit`` is called with the topics
    whose offsets are about to be committed to the group, ``on_expired`` with the offsets from the first on, and before
    the second, that a partition had deleted before the group read them. A chunk under way has ``stop_seconds`` to end.
    Errors of a handler, a timer or ``on_started`` are raised, and ``BrokerError`` when Kafka is not reachable, refuses,
    or lacks a topic.
    """
    stop = stop or asyncio.Event()
    lease = lease or Lease(options.session_timeout_ms / 1000, options.rebalance_timeout_ms / 1000)
    with _stop_on_signals(stop) if signals else contextlib.nullcontext():
        await preflight(options, handlers)
        await wait_for_coordinator(options)
        if stop.is_set():
            return
        await _Worker(options, handlers, stop, lease, before_commit, on_expired).run(timers, on_started, stop_seconds)


class _Worker:
    """One run: the ``PartitionOwner`` of the transport's partitions, and their ``RunningWorker``."""

    def __init__(
        self,
        options: KafkaOptions,
        handlers: Mapping[str, ChunkHandler],
        stop: asyncio.Event,
        lease: Lease,
        before_commit: Callable[[Collection[str]], None] | None,
        on_expired: OnExpired | None = None,
    ) -> None:
        self._on_expired = on_expired
        self._handlers = handlers
        self._stop = stop
        self._error: BaseException | None = None
        self._lease = lease
        self._before_commit = before_commit
        self._queues = PartitionQueues(self._handle, options.chunk_records)
        self._app = _app(options, self, lease)
        for topic in handlers:
            source = self._app.topic(topic, schema=_Chunks(), acks=False)
            self._app.agent(source, name=topic)(self._queue_chunks)

    async def run(
        self,
        timers: Sequence[PeriodicCall],
        on_started: Callable[[RunningWorker], Awaitable[None]] | None,
        stop_seconds: float,
    ) -> None:
        """Start, wait for ``stop``, end the app, and raise the first error."""
        app = asyncio.create_task(self._run_app(timers, on_started))
        await self._stop.wait()
        if self._error:
            log.error("the worker ends: %s", str(self._error) or repr(self._error))
        app.cancel()
        await asyncio.wait([app])
        await self._stop_app(_FAILED_STOP_SECONDS if self._error else stop_seconds)
        if self._error:
            raise self._error

    async def _stop_app(self, seconds: float) -> None:
        stopping = asyncio.ensure_future(self._app.stop())
        await asyncio.wait([stopping], timeout=seconds)
        if not stopping.done():
            log.warning("a chunk was still under way and is given up: it will be read again")
        await self._queues.close()
        # Without the chunk the app can release its partitions and close its connections.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping, _ABANDONED_STOP_SECONDS)

    async def _run_app(
        self, timers: Sequence[PeriodicCall], on_started: Callable[[RunningWorker], Awaitable[None]] | None
    ) -> None:
        try:
            await self._app.start()
            async with asyncio.TaskGroup() as group:
                if on_started:
                    await on_started(self)
                for seconds, call in timers:
                    group.create_task(_repeat(seconds, call))
        except ExceptionGroup as group_error:
            self.fail(group_error.exceptions[0])
        except Exception as error:
            self.fail(error)

    async def _queue_chunks(self, stream: AsyncIterable[Sequence[list[Record]]]) -> None:
        """The Faust agent of every topic."""
        async for chunks in stream:
            # Chunks that arrive while partitions are revoked are read again by the next owner.
            for chunk in chunks if self._consumer.flow_active else ():
                topic, partition = chunk[0].topic, chunk[0].partition
                together = self._handlers[topic].takes_partitions_together
                self._queues.put(topic if together else TopicPartition(topic, partition), chunk)

    def hand_over(self, records: Sequence[Record]) -> None:
        """As ``RunningWorker``. While partitions are revoked nothing is handed over: their next owner reads it."""
        if self._consumer.flow_active:
            for record in records:
                self._queues.put(TopicPartition(record.topic, record.partition), [record])

    async def _handle(self, chunks: Sequence[list[Record]]) -> None:
        if self._error:
            return
        consumer = self._consumer
        for chunk in chunks:
            consumer.chunk_started(chunk)
        processed = False
        try:
            if await self._has_lease():
                await self._handlers[chunks[0][0].topic].handle(list(chain.from_iterable(chunks)))
                processed = True
        except Exception as error:
            self.fail(error)
        except asyncio.CancelledError:
            if not self._stop.is_set():
                # No other code notices, and the next chunk would be handled as if this one had been processed.
                self.fail(BrokerError("a chunk was given up half-way"))
            raise
        finally:
            for chunk in chunks:
                consumer.chunk_ended(chunk, processed=processed)

    async def _has_lease(self) -> bool:
        """Whether the group counts this worker, as soon as that is known. If not, its partitions are about to be
        revoked, so a chunk that has not started is dropped."""
        try:
            await self._lease.wait_until_valid()
        except FencedError:
            return False
        return True

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Assign to every handler its partitions, and collect the start offsets."""
        starts: dict[TopicPartition, int] = {}
        for topic, group in _by_topic(partitions):
            starts.update(await self._handlers[topic].assigned(group))
        return starts

    def drop_queued(self) -> None:
        """Drop the chunks that are not in progress."""
        self._queues.clear()

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Revoke from every handler its partitions; then raise the first error."""
        errors = []
        for topic, group in _by_topic(partitions):
            try:
                await self._handlers[topic].revoked(group)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def before_commit(self, topics: Collection[str]) -> None:
        """Call the observer, if there is one."""
        if self._before_commit:
            self._before_commit(topics)

    def expired(self, partition: TopicPartition, first: int, until: int) -> None:
        """Call the observer, if there is one."""
        if self._on_expired:
            self._on_expired(partition, first, until)

    def fail(self, error: BaseException) -> None:
        """Keep the first error and stop."""
        if self._error is None:
            if isinstance(error, KafkaError):
                self._error = BrokerError(f"Kafka: {error}")
                self._error.__cause__ = error
            else:
                self._error = error
        self._stop.set()

    def is_idle(self) -> bool:
        """Whether no chunk is queued or in progress."""
        return self._queues.is_empty

    def is_stopping(self) -> bool:
        """Whether the worker was asked to stop, or has failed."""
        return self._stop.is_set()

    def lag(self, partition: TopicPartition) -> int | None:
        """As ``Lag``; None also for partitions that are not assigned to this worker."""
        return self._consumer.lag(TP(*partition))

    @property
    def _consumer(self) -> GroupConsumer:
        return cast(GroupConsumer, self._app.consumer)


class _Chunks(faust.Schema[Any, Any]):
    """Passes values on as the transport made them, without a serializer."""

    def compile(self, app: Any, **_: Any) -> Callable[..., Awaitable[Any]]:
        async def decode(message: Any, *, propagate: bool = False) -> Any:  # noqa: ARG001
            return app.create_event(None, message.value, None, message)

        return decode


class _Boot(BootStrategy):
    """Starts a consumer and agents only: publisher and web server are Onward's own."""

    enable_kafka_producer = False
    enable_web = False


class _NoTables(TableManager):
    """No tables. Faust's own manager would wait a second for their declarations."""

    logger = faust_log

    async def on_start(self) -> None:
        """Start only the part that acts on rebalances."""
        await self.recovery.start()

    async def wait_until_tables_registered(self) -> None:
        """Return immediately."""


class _App(faust.App):
    """A Faust app that leaves no files behind and reports crashes to the worker."""

    BootStrategy = _Boot
    logger = faust_log
    owner: _Worker

    async def on_first_start(self) -> None:
        """Do nothing: Faust would create its data folder."""

    async def crash(self, reason: BaseException) -> None:
        """End the worker: mode would log a traceback and leave the process running."""
        self.owner.fail(reason)


def _app(options: KafkaOptions, owner: _Worker, lease: Lease) -> Any:
    app = _App(
        options.group,
        broker=[f"kafka://{broker}" for broker in options.brokers],
        autodiscover=False,
        TableManager=_NoTables,
        broker_commit_interval=options.commit_interval_ms / 1000,
        # Also bounds the time of ``assigned``, which may replay a journal.
        broker_request_timeout=_FOREVER_SECONDS,
        stream_recovery_delay=0.0,
        stream_wait_empty=True,
        # The transport bounds the queues, in records.
        stream_buffer_maxsize=_UNBOUNDED,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
    )
    app.owner = owner
    app.transport = ChunkTransport(app, options, owner, lease)
    return app


async def _repeat(seconds: float, call: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await call()


def _by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, list[TopicPartition]]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    yield from topics.items()


@contextlib.contextmanager
def _stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
