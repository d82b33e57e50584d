"""Chunks of records instead of single messages: a Faust transport on the aiokafka driver.

Faust hands an agent one message per record and spends about 150 us on it. This transport hands it one message per
fetched partition chunk (a list of ``Record``), and keeps its own books:

1. A partition is read from where its owner says, else from the group's committed offset, else from the beginning.
2. What is committed is exactly what the owner has finished; Faust's acknowledgements are not used.
3. Before partitions are given up no chunk is under way, what is finished is committed, and the owner has let go.

It leans on private names of faust-streaming 0.15. ``missing_names`` tells which of them are not as expected; without
the names of the fast path the transport still works, and hands records on one by one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from aiokafka.errors import KafkaError, NoOffsetForPartitionError
from faust.transport import consumer as faust_consumer
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage
from yarl import URL

from ...records import Record, TopicPartition
from ...worker.lease import Lease
from ..options import KafkaOptions
from .consumer_thread import ConsumerThread, Heard
from .offset_tracker import Positions, checked, resumed

log = logging.getLogger(__name__)
faust_log = logging.getLogger("faust")

_POLL_SECONDS = 0.25
_COMMIT_SECONDS = 5.0
_QUEUED_CHUNKS = 4
_SILENCE_MS = 3_000


class Owner(Protocol):
    """Who works on the chunks: told about partitions, asked where to begin, told what broke."""

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """As ``ChunkHandler.assigned``; cancelled when the partitions are taken away meanwhile."""

    def drop_waiting(self) -> None:
        """Forget the chunks that were handed on and have not begun: they will be read again."""

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """As ``ChunkHandler.revoked``."""

    def before_commit(self, topics: Collection[str]) -> None:
        """Observe that offsets of these topics are about to be committed to the group."""

    def fail(self, error: BaseException) -> None:
        """Something broke that the worker does not survive."""

    def ends(self) -> bool:
        """Whether the worker is about to end. Called in another thread."""


class GroupConsumer(driver.Consumer):
    """Partitions, positions and commits; records still come one by one."""

    logger = faust_log
    transport: driver.Transport
    _thread: ConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._positions = Positions()
        self._heard_first: Mapping[TP, Heard] = {}
        self._owned: frozenset[TP] = frozenset()
        self._assigning: asyncio.Task[Mapping[TopicPartition, int]] | None = None
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._queued = 0
        self._queued_last: dict[TP, list[Record]] = {}
        self._room = asyncio.Event()
        self._room.set()
        super().__init__(*args, **kwargs)

    # -- chunks under way, as the worker reports them

    def chunk_begins(self, records: Sequence[Record]) -> None:
        """A chunk is under way."""
        tp = TP(records[0].topic, records[0].partition)
        if self._queued_last.get(tp) is records:
            del self._queued_last[tp]
        self._busy += 1
        self._idle.clear()

    def chunk_ends(self, records: Sequence[Record], *, done: bool) -> None:
        """A chunk is no longer under way; ``done`` says that its offsets may be committed."""
        self._busy -= 1
        if not self._busy:
            self._idle.set()
        self._queued = max(0, self._queued - len(records))
        if self._queued < self._most_queued:
            self._room.set()
        if done:
            last = records[-1]
            self._positions.handled(TP(last.topic, last.partition), last.offset)

    def lag(self, tp: TP) -> int | None:
        """Records between the position and the end of a partition; None when that is not known.

        A broker that is away does not tell of new records: what it has told is forgotten after two fetches' time.
        """
        position, heard = self._positions.get(tp), self._thread.heard(tp) or self._heard_first.get(tp)
        if position is None or heard is None:
            return None
        # A clock that is set back must not make an old answer look new.
        if abs(_now_ms() - heard.time_ms) > 2 * self._ours.options.fetch_max_wait_ms + _SILENCE_MS:
            return None
        return max(0, heard.end - position)

    # -- where to begin

    async def perform_seek(self) -> None:
        """Ask the owner where to begin and go there. Faust calls this when a rebalance is over."""
        try:
            begun = await self._begin(sorted(self.assignment()))
        except Exception as error:
            begun = False
            self._ours.fail(error)
        if not begun:
            # Returning to Faust would let it fetch. It cancels this when the next rebalance is over, or at the end.
            await asyncio.Event().wait()

    async def _begin(self, tps: Sequence[TP]) -> bool:
        """Return False when the partitions are taken away meanwhile."""
        self._positions.end()
        self._queued_last.clear()
        if not tps:
            return True
        owned = self._owned = frozenset(tps)
        self._assigning = asyncio.ensure_future(self._ours.owner.assigned([_plain(tp) for tp in tps]))
        try:
            starts = await self._assigning
        except asyncio.CancelledError:
            if cast(asyncio.Task[None], asyncio.current_task()).cancelling():
                raise
            return False
        self._assigning = None
        positions = await self._starts(tps, starts)
        if self._owned is not owned:
            return False
        # The books first: a fetch that waits already may answer before this goes on.
        self._positions.begin(positions)
        await self._thread.seek_to(positions)
        return self._owned is owned

    async def _starts(self, tps: Sequence[TP], owners: Mapping[TopicPartition, int]) -> dict[TP, int]:
        groups = {tp: await self._thread.committed(tp) for tp in tps if _plain(tp) not in owners}
        # The ends last: they are behind every offset told above, however long this process was stopped meanwhile. They
        # are as old as the question: the answer may have waited for this process to be woken.
        asked_ms = _now_ms()
        firsts, ends = await self._thread.bounds(tps)
        self._heard_first = {tp: Heard(end, asked_ms) for tp, end in ends.items()}
        return {
            tp: resumed(tp, groups[tp], firsts[tp], ends[tp])
            if tp in groups
            else checked(tp, owners[_plain(tp)], firsts[tp], ends[tp])
            for tp in tps
        }

    # -- giving partitions up

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish, commit, let go: see the numbered rule 3 of this module."""
        await super().on_partitions_revoked(revoked)
        # When the worker is about to end Faust has not waited.
        await self.wait_empty()
        await self._let_go()

    async def wait_empty(self) -> None:
        """Wait for the chunks under way and commit."""
        self._ours.owner.drop_waiting()
        await self._idle.wait()
        committing = asyncio.ensure_future(self.force_commit())
        # Not awaited itself: the consumer's thread cancels it when it ends meanwhile, which is no cancelling of ours.
        await asyncio.wait([committing], timeout=_COMMIT_SECONDS)
        why = "not answered" if not committing.done() else "ended" if committing.cancelled() else committing.exception()
        committing.cancel()
        if why is not None:
            log.warning("the last offsets were not committed, their records will be read again: %s", why)

    async def on_stop(self) -> None:
        """Finish, commit, let go; then the thread leaves the group."""
        await super().on_stop()
        await self._let_go()

    async def _let_go(self) -> None:
        owned, self._owned = self._owned, frozenset()
        if self._assigning is not None:
            self._assigning.cancel()
            await asyncio.wait([self._assigning])
            self._assigning = None
        self._queued = 0
        self._queued_last.clear()
        self._room.set()
        self._positions.end()
        if owned:
            try:
                await self._ours.owner.revoked([_plain(tp) for tp in sorted(owned)])
            except Exception as error:
                self._ours.fail(error)

    # -- commits

    async def force_commit(self, *_: Any, **__: Any) -> bool:
        """Commit the positions that moved. Without a lease the group would refuse them."""
        moved = self._positions.moved()
        if not moved or not self._ours.lease.runs:
            return False
        self._ours.owner.before_commit({tp.topic for tp in moved})
        if not await self._commit(moved):
            return False
        self._positions.committed(moved)
        return True

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing: Faust would complain about partitions that are merely empty."""

    # -- records

    @property
    def _ours(self) -> ChunkTransport:
        return cast(ChunkTransport, self.transport)

    @property
    def _most_queued(self) -> int:
        return _QUEUED_CHUNKS * self._ours.options.chunk_records

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Mapping[TP, list[Any]]:  # noqa: ASYNC109
        # All that was fetched before is with the handlers by now.
        self._positions.pass_over(self._thread.fetched_to())
        await self._room.wait()
        try:
            return await super()._getmany(active_partitions, timeout)
        except NoOffsetForPartitionError:
            # Asked before ``perform_seek`` has said where to begin.
            return {}
        except KafkaError as error:
            if self.flow_active and not self.should_stop:
                self._ours.fail(error)
            return {}

    def _to_message(self, tp: TP, record: Record) -> ConsumerMessage:
        return self._chunk_message(tp, [record])

    def _count_in(self, tp: TP, records: Sequence[Record]) -> None:
        if records:
            self._positions.handed_on(tp, records[-1].offset)
        self._queued += len(records)
        if self._queued >= self._most_queued:
            self._room.clear()

    def _chunk_message(self, tp: TP, records: list[Record]) -> ConsumerMessage:
        first = records[0]
        self._count_in(tp, records)
        unused: Any = None
        return ConsumerMessage(
            tp.topic,
            tp.partition,
            first.offset,
            timestamp=unused,
            timestamp_type=unused,
            headers=None,
            key=None,
            value=cast(Any, records),
            checksum=None,
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )


class ChunkConsumer(GroupConsumer):
    """Hands on whole chunks."""

    logger = faust_log

    async def _drain_messages(self, fetcher: Any) -> None:
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):
                fetched, _ = await self._wait_next_records(_POLL_SECONDS)
                if fetched and self.flow_active and not self.should_stop:
                    await self._hand_on(fetched)
                elif fetched:
                    await self._thread.seek_to(self._positions.next())
        except self.consumer_stopped_errors:
            if not self.transport.app.should_stop:
                raise
        except asyncio.CancelledError:
            # Faust would log a crash when the end comes during a rebalance.
            if not self.transport.app.should_stop:
                raise
        except Exception as error:
            self._ours.fail(error)

    async def _hand_on(self, fetched: Mapping[TP, Sequence[Record]]) -> None:
        most = self._ours.options.chunk_records
        for fetched_tp, records in fetched.items():
            tp = faust_consumer.ensure_TP(fetched_tp)
            for start in range(self._top_up(tp, records), len(records), most):
                if not self.flow_active:
                    return
                chunk = list(records[start : start + most])
                self._queued_last[tp] = chunk
                await self.wait_first(self.callback(self._chunk_message(tp, chunk)), self.suspend_flow.wait())

    def _top_up(self, tp: TP, records: Sequence[Record]) -> int:
        """Put records into the partition's last chunk while that still waits for its turn, and return how many.

        Under load chunks so grow to their full size. Otherwise many small ones would queue, each with its own round
        trips, and the queue would never get shorter.
        """
        last = self._queued_last.get(tp)
        if last is None or not self.flow_active:
            return 0
        more = records[: max(0, self._ours.options.chunk_records - len(last))]
        last.extend(more)
        self._count_in(tp, more)
        return len(more)


class ChunkTransport(driver.Transport):
    """What ``app.transport`` is set to."""

    def __init__(self, app: Any, options: KafkaOptions, owner: Owner, lease: Lease) -> None:
        super().__init__([URL(f"kafka://{broker}") for broker in options.brokers], app)
        self.options = options
        self.owner = owner
        self.lease = lease
        self.missing = missing_names()
        if self.missing:
            log.warning("faust is not as expected (%s): records are handed on one by one", ", ".join(self.missing))

    def fail(self, error: BaseException) -> None:
        """Tell the owner."""
        self.owner.fail(error)

    def ends(self) -> bool:
        """Ask the owner."""
        return self.owner.ends()

    def create_consumer(self, callback: Any, **kwargs: Any) -> GroupConsumer:
        """The consumer with the fast path, or the one without."""
        consumer = GroupConsumer if self.missing else ChunkConsumer
        return consumer(self, callback=callback, loop=self.loop, **kwargs)


_FAST_PATH: Mapping[str, tuple[str, ...]] = {
    "_drain_messages": ("self", "fetcher"),
    "_wait_next_records": ("self", "timeout"),
    "wait_first": ("self", "coros", "timeout"),
}


def missing_names(consumer: type = driver.Consumer) -> list[str]:
    """The names of Faust's consumer that the fast path needs and that are not there or look different."""
    missing = []
    for name, parameters in _FAST_PATH.items():
        function = getattr(consumer, name, None)
        if not inspect.iscoroutinefunction(function) or tuple(inspect.signature(function).parameters) != parameters:
            missing.append(name)
    return missing


def _plain(tp: TP) -> TopicPartition:
    return TopicPartition(tp.topic, tp.partition)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
