"""Where partitions begin whose first records were deleted (blocking; joins no group)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # not in its stubs' __all__

from ....schemas.headers import format_time
from ..options import KafkaOptions
from .metadata import unreachable
from .offsets import PartitionOffsets
from .rights import is_refusal, may_not

client_log = logging.getLogger("librdkafka")


class Beginning(NamedTuple):
    """The first offset that a partition holds, and its record's time; None where there is no record."""

    topic: str
    partition: int
    offset: int
    time_ms: int | None

    def __str__(self) -> str:
        when = "" if self.time_ms is None else f", {format_time(self.time_ms)}"
        where = f"{self.topic} partition {self.partition} begins at offset {self.offset}{when}"
        return f"{where}: what came before was deleted"


def beginnings(options: KafkaOptions, offsets: Iterable[PartitionOffsets]) -> list[Beginning]:
    """The beginnings of those partitions that no longer begin at offset 0; raise ``BrokerError`` on failure.

    Needs DESCRIBE alone: Kafka tells the time of the first record, and nothing is read.
    """
    cut = {TopicPartition(span.topic, span.partition): span for span in offsets if span.begin > 0}
    if not cut:
        return []
    admin = AdminClient(options.confluent(), logger=client_log)
    seconds = options.connect_timeout_ms / 1000
    found = admin.list_offsets(dict.fromkeys(cut, OffsetSpec.for_timestamp(0)), request_timeout=seconds)
    cut_off = []
    for partition, future in found.items():
        reach = cut[partition]
        try:
            # Negative is librdkafka's code for "no record".
            time_ms = future.result().timestamp
        except KafkaException as error:
            if is_refusal(error.args[0]):
                raise may_not(options, "DESCRIBE", f"topic {reach.topic}") from error
            raise unreachable(options, error.args[0].str()) from error
        cut_off.append(Beginning(reach.topic, reach.partition, reach.begin, time_ms if time_ms >= 0 else None))
    return sorted(cut_off)
