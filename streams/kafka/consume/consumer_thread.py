"""The aiokafka consumer in a thread of its own, so that heartbeats go on while the worker computes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import aiokafka
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from faust.exceptions import ConsumerNotStarted
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from ...worker.lease import Lease
from ..closing import close
from ..options import KafkaOptions
from .fetch_throttle import pace
from .heartbeats import watch
from .tolerant_records import read_tolerantly

log = logging.getLogger(__name__)
faust_log = logging.getLogger("faust")

_LEAVE_SECONDS = 3.0
_NO_POLL_LIMIT_MS = 24 * 60 * 60 * 1000


class Heard(NamedTuple):
    """The end of a partition as its broker last told it, and when: milliseconds since the epoch."""

    end: int
    time_ms: int


class Home(Protocol):
    """What the thread needs of the transport it belongs to."""

    options: KafkaOptions
    lease: Lease

    def fail(self, error: BaseException) -> None:
        """Something broke that the worker does not survive. Called in the worker's loop."""

    def ends(self) -> bool:
        """Whether the worker is about to end. Called in the consumer's thread."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """One member of the group. Every method is called from the worker's loop."""

    logger = faust_log

    def _create_worker_consumer(self, transport: driver.Transport) -> aiokafka.AIOKafkaConsumer:
        options = cast(Home, transport).options
        read_tolerantly()
        self._assignor = RoundRobinPartitionAssignor
        return aiokafka.AIOKafkaConsumer(
            **options.aiokafka(),
            group_id=options.group,
            group_instance_id=options.group_instance_id,
            partition_assignment_strategy=[self._assignor],
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            max_poll_interval_ms=_NO_POLL_LIMIT_MS,
            max_partition_fetch_bytes=options.fetch_partition_bytes,
            fetch_max_wait_ms=options.fetch_max_wait_ms,
            session_timeout_ms=options.session_timeout_ms,
            rebalance_timeout_ms=options.rebalance_timeout_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
        )

    async def on_start(self) -> None:
        """Connect. The group is joined when topics are subscribed to, which comes later."""
        await super().on_start()
        consumer, home = self._ensure_consumer(), cast(Home, self.transport)
        watch(consumer._coordinator, home.lease, home.ends)
        pace(consumer._fetcher, home.options.fetch_pause_ms / 1000)

    async def bounds(self, tps: Sequence[TP]) -> tuple[Mapping[TP, int], Mapping[TP, int]]:
        """The first offset and the end offset of partitions."""
        consumer = self._ensure_consumer()
        return await self.call_thread(consumer.beginning_offsets, tps), await self.call_thread(
            consumer.end_offsets, tps
        )

    async def committed(self, tp: TP) -> int | None:
        """The group's committed offset of one partition."""
        return cast(int | None, await self.call_thread(self._ensure_consumer().committed, tp))

    async def seek_to(self, positions: Mapping[TP, int]) -> None:
        """Read on from these offsets."""
        await self.call_thread(self._seek_to, positions)

    async def _seek_to(self, positions: Mapping[TP, int]) -> None:
        consumer = self._ensure_consumer()
        for tp in consumer.assignment() & positions.keys():
            consumer.seek(tp, positions[tp])

    def heard(self, tp: TP) -> Heard | None:
        """What the last fetch told of a partition, None before the first one."""
        try:
            consumer = self._ensure_consumer()
            # The time first: the other thread writes it last.
            time_ms, end = consumer.last_poll_timestamp(tp), consumer.highwater(tp)
        except (AssertionError, ConsumerNotStarted):
            return None
        return None if time_ms is None else Heard(end, time_ms)

    def fetched_to(self) -> Mapping[TP, int]:
        """Where partitions are read on: behind the records they gave, and behind the markers of transactions, which
        they do not give."""
        subscription = self._ensure_consumer()._subscription.subscription
        if subscription is None or subscription.assignment is None:
            return {}
        return {tp: place.offset for tp, place in subscription.assignment.all_consumed_offsets().items()}

    async def crash(self, exc: BaseException) -> None:
        """Tell the owner, in the owner's loop."""
        self.parent_loop.call_soon_threadsafe(cast(Home, self.transport).fail, exc)
        await super().crash(exc)

    async def on_thread_stop(self) -> None:
        """Leave the group, unless no broker answers any more."""
        leaving = super().on_thread_stop()
        if self._consumer is None:
            await leaving
        elif not await close(self._consumer._client, leaving, _LEAVE_SECONDS):
            log.warning("no broker answers: the group was not left and will notice by its session timeout")

    def on_crash(self, msg: str, *fmt: Any, **kwargs: Any) -> None:
        """Say nothing here: mode would print a traceback, the owner has the error."""
