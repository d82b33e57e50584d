"""One member of the consumer group: its partitions, their start offsets, and their commits.

Faust's acknowledgements are not used: exactly the offsets of processed chunks are committed.

Assigning partitions keeps this order:

1. Clear the offsets of the previous assignment.
2. Ask the owner for start offsets. It opens its ledgers, which may take long.
3. Ask the group for the committed offsets of the partitions without one, then the brokers for first and end offsets.
4. Check the start offsets against the first and end offsets.
5. Track the start offsets, then seek to them.

If the partitions are revoked meanwhile, the assignment is cancelled and nothing is fetched.

Giving partitions up, in a rebalance or at the end, keeps this order:

1. Drop the queued chunks: they will be read again.
2. Wait for the chunks in progress.
3. Commit the processed offsets.
4. Cancel an assignment that is still in progress.
5. Clear queue and offsets.
6. Let the owner give up the partitions. Only then does the worker leave the group or join it again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiokafka.errors import KafkaError, NoOffsetForPartitionError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage

from ...records import Record, TopicPartition
from ..patience import settled
from .consumer_thread import ConsumerThread, EndOffset
from .contract import WorkerTransport
from .offset_tracker import OffsetTracker, start_after_commit, start_after_ledger
from .read_budget import CALL_BYTES

log = logging.getLogger(__name__)
faust_log = logging.getLogger("faust")

_COMMIT_SECONDS = 5.0
_MAX_QUEUED_CHUNKS = 4


class GroupConsumer(driver.Consumer):
    """Partitions, offsets and commits. ``ChunkConsumer`` hands over the records."""

    logger = faust_log
    transport: driver.Transport
    _thread: ConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._offsets = OffsetTracker()
        self._end_offsets_at_start: Mapping[TP, EndOffset] = {}
        self._owned: frozenset[TP] = frozenset()
        self._assigning: asyncio.Task[Mapping[TopicPartition, int]] | None = None
        self._seen_expired: dict[TP, int] = {}
        self._chunks_in_progress = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._queued_records = 0
        self._fetched_bytes = 0
        self._last_queued_chunk: dict[TP, list[Record]] = {}
        self._queue_has_room = asyncio.Event()
        self._queue_has_room.set()
        super().__init__(*args, **kwargs)

    @property
    def _worker_transport(self) -> WorkerTransport:
        return cast(WorkerTransport, self.transport)

    # -- chunks in progress, as the worker reports them

    def chunk_started(self, records: Sequence[Record]) -> None:
        """Note that a chunk is in progress."""
        tp = TP(records[0].topic, records[0].partition)
        if self._last_queued_chunk.get(tp) is records:
            del self._last_queued_chunk[tp]
        self._chunks_in_progress += 1
        self._idle.clear()

    def chunk_ended(self, records: Sequence[Record], *, processed: bool) -> None:
        """Note that a chunk is no longer in progress. If it was ``processed``, its offsets may be committed."""
        self._chunks_in_progress -= 1
        if not self._chunks_in_progress:
            self._idle.set()
        if records[0].lines is not None:
            return  # It was handed over, and comes once more when it is read.
        self._queued_records = max(0, self._queued_records - len(records))
        if not self._queued_records:
            self._fetched_bytes = 0
        if self._has_room:
            self._queue_has_room.set()
        if processed:
            last = records[-1]
            self._offsets.mark_processed(TP(last.topic, last.partition), last.offset)

    def lag(self, tp: TP) -> int | None:
        """Records between the processed offset and the end of a partition; None when that is not known.

        An unreachable broker does not report new records, so an end offset is used only while it is recent.
        """
        processed = self._offsets.processed(tp)
        end = self._thread.end_offset(tp) or self._end_offsets_at_start.get(tp)
        if processed is None or end is None:
            return None
        # The absolute value: a clock that is set back must not make an old answer look new.
        age_ms = abs(_now_ms() - end.time_ms)
        options = self._worker_transport.options
        if age_ms > 2 * options.fetch_max_wait_ms + options.max_end_offset_age_ms:
            return None
        return max(0, end.offset - processed)

    # -- assigning partitions

    async def perform_seek(self) -> None:
        """Determine the start offsets and seek to them. Faust calls this at the end of a rebalance."""
        try:
            assigned = await self._assign(sorted(self.assignment()))
        except Exception as error:
            assigned = False
            self._worker_transport.owner.fail(error)
        if not assigned:
            # If this returned, Faust would start fetching. Faust cancels this task at the next rebalance or when it
            # stops.
            await asyncio.Event().wait()

    async def _assign(self, tps: Sequence[TP]) -> bool:
        """Steps 1 to 5 of assigning partitions. Return False when they were revoked in between."""
        # Step 1: clear the offsets of the previous assignment.
        self._offsets.revoke()
        self._last_queued_chunk.clear()
        if not tps:
            return True

        # Step 2: ask the owner for start offsets.
        owned = self._owned = frozenset(tps)
        self._assigning = asyncio.ensure_future(self._worker_transport.owner.assigned([_plain(tp) for tp in tps]))
        try:
            ledger_offsets = await self._assigning
        except asyncio.CancelledError:
            if cast(asyncio.Task[None], asyncio.current_task()).cancelling():
                raise
            return False
        self._assigning = None

        # Steps 3 and 4: ask the group and the brokers, and check.
        starts = await self._start_offsets(tps, ledger_offsets)
        if self._owned is not owned:
            return False

        # Step 5: track, then seek: a fetch that is already waiting may return before the seek does.
        self._offsets.assign(starts)
        await self._thread.seek_assigned(starts)
        return self._owned is owned

    async def _start_offsets(self, tps: Sequence[TP], ledger_offsets: Mapping[TopicPartition, int]) -> dict[TP, int]:
        committed = {tp: await self._thread.committed_offset(tp) for tp in tps if _plain(tp) not in ledger_offsets}
        # End offsets are requested last, so none is below a committed or first offset even if the process was paused.
        # Their age counts from the request, because the answer may have waited while the process was paused.
        requested_ms = _now_ms()
        firsts, ends = await self._thread.earliest_offsets(*tps), await self._thread.highwaters(*tps)
        self._end_offsets_at_start = {tp: EndOffset(end, requested_ms) for tp, end in ends.items()}
        for tp, offset in committed.items():
            if offset is not None and offset < firsts[tp] and self._seen_expired.get(tp) != firsts[tp]:
                self._seen_expired[tp] = firsts[tp]
                self._worker_transport.owner.expired(_plain(tp), offset, firsts[tp])
        return {
            tp: start_after_commit(tp, committed[tp], firsts[tp], ends[tp])
            if tp in committed
            else start_after_ledger(tp, ledger_offsets[_plain(tp)], firsts[tp], ends[tp])
            for tp in tps
        }

    # -- giving partitions up

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Steps 1 to 6 of giving partitions up."""
        await super().on_partitions_revoked(revoked)
        # Faust has called this already, except when the worker is about to end.
        await self.wait_empty()
        await self._release()

    async def on_stop(self) -> None:
        """Steps 1 to 6 of giving partitions up. Then the consumer's thread leaves the group."""
        await super().on_stop()
        await self._release()

    async def wait_empty(self) -> None:
        """Steps 1 to 3 of giving partitions up. Faust calls this in a rebalance and at the stop."""
        # Step 1: drop the queued chunks.
        self._worker_transport.owner.drop_queued()

        # Step 2: wait for the chunks in progress.
        await self._idle.wait()

        # Step 3: commit. The consumer's thread cancels the commit when it ends: awaiting it directly would look like a
        # cancellation of this task.
        committing = asyncio.ensure_future(self.force_commit())
        await settled(committing, _COMMIT_SECONDS)
        why = "not answered" if not committing.done() else "ended" if committing.cancelled() else committing.exception()
        committing.cancel()
        if why is not None:
            log.warning("the last offsets were not committed, their records will be read again: %s", why)

    async def _release(self) -> None:
        """Steps 4 to 6 of giving partitions up."""
        owned, self._owned = self._owned, frozenset()
        # Step 4: cancel an assignment that is still in progress.
        if self._assigning is not None:
            self._assigning.cancel()
            await asyncio.wait([self._assigning])
            self._assigning = None

        # Step 5: clear queue and offsets.
        self._queued_records = self._fetched_bytes = 0
        self._last_queued_chunk.clear()
        self._queue_has_room.set()
        self._offsets.revoke()

        # Step 6: let the owner give up the partitions.
        if owned:
            try:
                await self._worker_transport.owner.revoked([_plain(tp) for tp in sorted(owned)])
            except Exception as error:
                self._worker_transport.owner.fail(error)

    # -- commits

    async def force_commit(self, *_: Any, **__: Any) -> bool:
        """Commit the processed offsets, if any are new. Without a valid lease the group would refuse them."""
        offsets = self._offsets.uncommitted()
        if not offsets or not self._worker_transport.lease.is_valid:
            return False
        self._worker_transport.owner.before_commit({tp.topic for tp in offsets})
        if not await self._commit(offsets):
            return False
        self._offsets.mark_committed(offsets)
        return True

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Do nothing: Faust would log complaints about partitions that are merely empty."""

    # -- records

    @property
    def _max_queued_records(self) -> int:
        return _MAX_QUEUED_CHUNKS * self._worker_transport.options.chunk_records

    @property
    def _has_room(self) -> bool:
        """Whether the queue takes more. Bytes are counted until it is empty: single records are not measured."""
        return self._queued_records < self._max_queued_records and self._fetched_bytes < CALL_BYTES

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Mapping[TP, list[Any]]:  # noqa: ASYNC109
        # All records fetched before are queued by now.
        self._offsets.skip_gaps(self._thread.fetch_positions())
        await self._queue_has_room.wait()
        try:
            fetched: Mapping[TP, list[Any]] = await super()._getmany(active_partitions, timeout)
            self._fetched_bytes += self._thread.fetched_bytes if fetched else 0
            return fetched
        except NoOffsetForPartitionError:
            # A fetch before ``perform_seek`` has sought to the start offsets.
            return {}
        except KafkaError as error:
            if self.flow_active and not self.should_stop:
                self._worker_transport.owner.fail(error)
            return {}

    def _note_queued(self, tp: TP, records: Sequence[Record]) -> None:
        if records:
            self._offsets.mark_queued(tp, records[-1].offset)
        self._queued_records += len(records)
        if not self._has_room:
            self._queue_has_room.clear()

    def _message(self, chunks: Sequence[list[Record]]) -> ConsumerMessage:
        """The Faust message whose value are chunks of one topic."""
        for chunk in chunks:
            tp = TP(chunk[0].topic, chunk[0].partition)
            self._last_queued_chunk[tp] = chunk
            self._note_queued(tp, chunk)
        first = chunks[0][0]
        unused: Any = None
        return ConsumerMessage(
            first.topic,
            first.partition,
            first.offset,
            timestamp=unused,
            timestamp_type=unused,
            headers=None,
            key=None,
            value=cast(Any, chunks),
            checksum=None,
            tp=TP(first.topic, first.partition),
            generation_id=self.app.consumer_generation_id,
        )


def _plain(tp: TP) -> TopicPartition:
    return TopicPartition(tp.topic, tp.partition)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
