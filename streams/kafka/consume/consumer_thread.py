"""The aiokafka consumer in a thread of its own: heartbeats continue while the worker computes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import aiokafka
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from faust.exceptions import ConsumerNotStarted
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from ..closing import close
from .contract import WorkerTransport
from .fetch_throttle import throttle_fetches
from .heartbeats import report_to_lease
from .read_budget import ReadBudget
from .tolerant_records import read_tolerantly

log = logging.getLogger(__name__)
faust_log = logging.getLogger("faust")

_LEAVE_SECONDS = 3.0
_METADATA_MS = 20_000
"""How often the brokers are asked for the topics' partitions: new ones are read within a minute."""
_NO_POLL_LIMIT_MS = 24 * 60 * 60 * 1000


class EndOffset(NamedTuple):
    """The end offset of a partition, and when its broker reported it: milliseconds since the epoch."""

    offset: int
    time_ms: int


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """One member of the group. Call every method from the worker's loop."""

    logger = faust_log

    def _create_worker_consumer(self, transport: driver.Transport) -> aiokafka.AIOKafkaConsumer:
        options = cast(WorkerTransport, transport).options
        self._budget = ReadBudget(options.max_batch_bytes)
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
            metadata_max_age_ms=_METADATA_MS,
            max_partition_fetch_bytes=options.fetch_partition_bytes,
            fetch_max_wait_ms=options.fetch_max_wait_ms,
            key_deserializer=self._budget,
            session_timeout_ms=options.session_timeout_ms,
            rebalance_timeout_ms=options.rebalance_timeout_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
        )

    @property
    def _worker_transport(self) -> WorkerTransport:
        return cast(WorkerTransport, self.transport)

    async def on_start(self) -> None:
        """Connect. Subscribing, which comes later, joins the group."""
        await super().on_start()
        consumer, transport = self._ensure_consumer(), self._worker_transport
        report_to_lease(consumer._coordinator, transport.lease, transport.owner.is_stopping)
        throttle_fetches(consumer._fetcher, transport.options.fetch_pause_ms / 1000, lambda: transport.owner.is_idle())

    async def _fetch_records(self, *args: Any, **kwargs: Any) -> Any:
        self._budget.renew()
        return await super()._fetch_records(*args, **kwargs)

    @property
    def fetched_bytes(self) -> int:
        """About the memory that the records of the last call for records take."""
        return self._budget.spent

    async def committed_offset(self, tp: TP) -> int | None:
        """The group's committed offset of one partition."""
        return cast(int | None, await self.call_thread(self._ensure_consumer().committed, tp))

    async def seek_assigned(self, positions: Mapping[TP, int]) -> None:
        """Continue reading at these offsets, of the partitions that are still assigned."""
        await self.call_thread(self._seek_assigned, positions)

    async def _seek_assigned(self, positions: Mapping[TP, int]) -> None:
        consumer = self._ensure_consumer()
        for tp in consumer.assignment() & positions.keys():
            consumer.seek(tp, positions[tp])

    def end_offset(self, tp: TP) -> EndOffset | None:
        """The end offset in the last fetch of a partition, None before the first fetch."""
        try:
            consumer = self._ensure_consumer()
            # The time first: the consumer's thread writes it last.
            time_ms, offset = consumer.last_poll_timestamp(tp), consumer.highwater(tp)
        except (AssertionError, ConsumerNotStarted):
            return None
        return None if time_ms is None else EndOffset(offset, time_ms)

    def fetch_positions(self) -> Mapping[TP, int]:
        """The next offset to fetch of each partition: past the records returned, and past transaction markers, which
        are not returned."""
        subscription = self._ensure_consumer()._subscription.subscription
        if subscription is None or subscription.assignment is None:
            return {}
        return {tp: position.offset for tp, position in subscription.assignment.all_consumed_offsets().items()}

    async def crash(self, exc: BaseException) -> None:
        """Report the error in the worker's loop."""
        self.parent_loop.call_soon_threadsafe(self._worker_transport.owner.fail, exc)
        await super().crash(exc)

    async def on_thread_stop(self) -> None:
        """Leave the group, unless no broker answers."""
        stop = super().on_thread_stop()
        if self._consumer is None:
            await stop
        elif not await close(self._consumer._client, stop, _LEAVE_SECONDS):
            log.warning("no broker answers: the group was not left and will notice by its session timeout")

    def on_crash(self, msg: str, *fmt: Any, **kwargs: Any) -> None:
        """Log nothing: mode would print a traceback, and ``crash`` has reported the error."""
