"""The worker: Faust reads chunks of records and hands them to the handlers of their topics.

    async with KafkaPublisher(options) as publisher:
        await run_worker(options, {"journal": engine, "applications": ingest}, timers=[(1.0, ingest.tick)])

What holds:

1. The records of a partition come strictly one after the other. Different partitions, and timers, interleave where a
   handler awaits; partitions of a topic whose handler takes them ``together`` share its turns.
2. An offset is committed only after ``handle`` has returned for it.
3. The first thing that breaks ends the worker; nothing of the chunk under way is committed.
4. On SIGTERM or SIGINT the chunk under way is finished and committed and the group is left.
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
from ...records import ChunkHandler, Lag, Record, TopicPartition
from ...worker.lease import Lease
from ..admin.preflight import reach
from ..options import KafkaOptions
from .partition_queues import PartitionQueues
from .transport import ChunkTransport, GroupConsumer

log = logging.getLogger(__name__)
faust_log = logging.getLogger("faust")

Timer = tuple[float, Callable[[], Awaitable[None]]]
"""Seconds between two calls, and what to call."""

_STOP_SECONDS = 20.0
_FAILED_STOP_SECONDS = 8.0
_FOREVER_SECONDS = 24 * 60 * 60.0
_UNBOUNDED = 1 << 30


async def run_worker(
    options: KafkaOptions,
    handlers: Mapping[str, ChunkHandler],
    *,
    timers: Sequence[Timer] = (),
    on_started: Callable[[Lag], Awaitable[None]] | None = None,
    stop: asyncio.Event | None = None,
    signals: bool = True,
    lease: Lease | None = None,
    before_commit: Callable[[Collection[str]], None] | None = None,
) -> None:
    """Run the handlers (topic: handler) until told to stop, by a signal (with ``signals``) or by setting ``stop``.

    ``on_started`` is called once, when the first partitions are assigned and their handlers ready. Raise what a
    handler, a timer or ``on_started`` raised, or ``BrokerError`` when Kafka is not reachable, refuses, or lacks a
    topic. No chunk is begun unless the ``lease`` runs, which follows the group's answers. ``before_commit``
    observes the topics of which offsets are about to be committed to the group.
    """
    stop = stop or asyncio.Event()
    lease = lease or Lease(options.session_timeout_ms / 1000, options.rebalance_timeout_ms / 1000)
    with _stopping(stop) if signals else contextlib.nullcontext():
        await reach(options, handlers)
        await _Worker(options, handlers, timers, on_started, stop, lease, before_commit).run()


class _Worker:
    """One run: the ``Owner`` of the transport's partitions, and their ``Lag``."""

    def __init__(
        self,
        options: KafkaOptions,
        handlers: Mapping[str, ChunkHandler],
        timers: Sequence[Timer],
        on_started: Callable[[Lag], Awaitable[None]] | None,
        stop: asyncio.Event,
        lease: Lease,
        before_commit: Callable[[Collection[str]], None] | None = None,
    ) -> None:
        self._handlers = handlers
        self._timers = timers
        self._on_started = on_started
        self._stop = stop
        self._error: BaseException | None = None
        self._lease = lease
        self._before_commit = before_commit
        self._lanes = PartitionQueues(self._handle, options.chunk_records)
        self._app = _app(options, self, lease)
        for topic in handlers:
            source = self._app.topic(topic, schema=_Chunks(), acks=False)
            self._app.agent(source, name=topic)(self._agent)

    async def run(self) -> None:
        """Start, wait for the end, stop, and raise what broke."""
        live = asyncio.create_task(self._live())
        await self._stop.wait()
        if self._error:
            log.error("the worker ends: %s", str(self._error) or repr(self._error))
        live.cancel()
        await asyncio.wait([live])
        try:
            await asyncio.wait_for(self._app.stop(), _FAILED_STOP_SECONDS if self._error else _STOP_SECONDS)
        except TimeoutError:
            log.warning("a chunk was still under way and is given up: it will be read again")
        await self._lanes.close()
        if self._error:
            raise self._error

    async def _live(self) -> None:
        try:
            await self._app.start()
            async with asyncio.TaskGroup() as group:
                if self._on_started:
                    await self._on_started(self)
                for seconds, call in self._timers:
                    group.create_task(_repeat(seconds, call))
        except ExceptionGroup as group_error:
            self.fail(group_error.exceptions[0])
        except Exception as error:
            self.fail(error)

    async def _agent(self, stream: AsyncIterable[list[Record]]) -> None:
        async for chunk in stream:
            # What comes while partitions are given up is read again by whoever gets them.
            if self._consumer.flow_active:
                topic, partition = chunk[0].topic, chunk[0].partition
                together = self._handlers[topic].together
                self._lanes.put(topic if together else TopicPartition(topic, partition), chunk)

    async def _handle(self, chunks: Sequence[list[Record]]) -> None:
        if self._error:
            return
        consumer = self._consumer
        for chunk in chunks:
            consumer.chunk_begins(chunk)
        done = False
        try:
            if await self._holds():
                await self._handlers[chunks[0][0].topic].handle(list(chain.from_iterable(chunks)))
                done = True
        except Exception as error:
            self.fail(error)
        except asyncio.CancelledError:
            if not self._stop.is_set():
                # Nobody else would notice, and the next chunk would be taken as if this one were done.
                self.fail(BrokerError("a chunk was given up half-way"))
            raise
        finally:
            for chunk in chunks:
                consumer.chunk_ends(chunk, done=done)

    async def _holds(self) -> bool:
        """Whether the partitions are ours. If not, nothing of the chunk was done, and they are about to be revoked."""
        try:
            await self._lease.hold()
        except FencedError:
            return False
        return True

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Tell every handler its partitions, collect where to begin."""
        starts: dict[TopicPartition, int] = {}
        for topic, own in _by_topic(partitions):
            starts.update(await self._handlers[topic].assigned(own))
        return starts

    def drop_waiting(self) -> None:
        """Forget the chunks that have not begun."""
        self._lanes.drop()

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Tell every handler; the first error is raised when all were told."""
        errors = []
        for topic, own in _by_topic(partitions):
            try:
                await self._handlers[topic].revoked(own)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def before_commit(self, topics: Collection[str]) -> None:
        """Call the observer, if there is one."""
        if self._before_commit:
            self._before_commit(topics)

    def fail(self, error: BaseException) -> None:
        """Keep the first error and stop."""
        if self._error is None:
            if isinstance(error, KafkaError):
                self._error = BrokerError(f"Kafka: {error}")
                self._error.__cause__ = error
            else:
                self._error = error
        self._stop.set()

    def ends(self) -> bool:
        """Whether it was told to stop, or something broke."""
        return self._stop.is_set()

    def lag(self, partition: TopicPartition) -> int | None:
        """As ``Lag``; None too for partitions that are not this worker's."""
        return self._consumer.lag(TP(*partition))

    @property
    def _consumer(self) -> GroupConsumer:
        return cast(GroupConsumer, self._app.consumer)


class _Chunks(faust.Schema[Any, Any]):
    """Hands values on as the transport made them: no serializer is asked."""

    def compile(self, app: Any, **_: Any) -> Callable[..., Awaitable[Any]]:
        async def decode(message: Any, *, propagate: bool = False) -> Any:  # noqa: ARG001
            return app.create_event(None, message.value, None, message)

        return decode


class _Boot(BootStrategy):
    """A consumer and agents: no producer (``publisher.py`` is), no web server (the caller's is)."""

    enable_kafka_producer = False
    enable_web = False


class _NoTables(TableManager):
    """Starts at once: Faust waits a second for tables to be declared."""

    logger = faust_log

    async def on_start(self) -> None:
        """Go straight to what follows a rebalance."""
        await self.recovery.start()

    async def wait_until_tables_registered(self) -> None:
        """There are none."""


class _App(faust.App):
    """A Faust app that leaves no files behind and reports crashes to the worker."""

    BootStrategy = _Boot
    logger = faust_log
    owner: _Worker

    async def on_first_start(self) -> None:
        """Nothing: Faust would make its data folder."""

    async def crash(self, reason: BaseException) -> None:
        """Mode would log a traceback and leave the process running."""
        self.owner.fail(reason)


def _app(options: KafkaOptions, owner: _Worker, lease: Lease) -> Any:
    app = _App(
        options.group,
        broker=[f"kafka://{broker}" for broker in options.brokers],
        autodiscover=False,
        TableManager=_NoTables,
        broker_commit_interval=options.commit_interval_ms / 1000,
        # Also bounds how long handlers may take to get ready, which may be a long replay.
        broker_request_timeout=_FOREVER_SECONDS,
        stream_recovery_delay=0.0,
        stream_wait_empty=True,
        # The transport bounds what is queued, in records.
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
def _stopping(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    watched = (signal.SIGTERM, signal.SIGINT)
    for number in watched:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
