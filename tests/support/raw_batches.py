"""Record batches that no Python client sends, appended to a partition byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import NotLeaderForPartitionError
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

from onward.streams.kafka.options import KafkaOptions

COMPRESSIONS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
NO_NAME = b"\xff\xfe-not-utf-8"
_STAND_IN = "~~-not-utf-8"
_TRIES = 100

RawHeaders = Sequence[tuple[bytes, bytes | None]]
"""Names are UTF-8, or ``NO_NAME``."""


def batch(
    values: Sequence[bytes], headers: Sequence[RawHeaders], timestamp_ms: int, compression: str = "none"
) -> bytes:
    """A batch of the current format (v2), a list of headers for every value."""
    builder = _DefaultRecordBatchBuilderPy(2, COMPRESSIONS[compression], 0, -1, -1, -1, 1 << 20)
    for number, (value, named) in enumerate(zip(values, headers, strict=True)):
        pairs = [(_STAND_IN if name == NO_NAME else name.decode(), content) for name, content in named]
        assert builder.append(number, timestamp_ms, b"key", value, pairs)
    # Before compression and checksum, so that the batch is valid in every other respect.
    builder._buffer = builder._buffer.replace(_STAND_IN.encode(), NO_NAME)
    return bytes(builder.build())


def message_set(values: Sequence[bytes], magic: int, timestamp_ms: int | None, compression: str = "none") -> bytes:
    """The messages of old clients, without headers: format 0 (without a timestamp) or 1."""
    builder = LegacyRecordBatchBuilder(magic, COMPRESSIONS[compression], 1 << 24)
    for number, value in enumerate(values):
        builder.append(number, timestamp_ms, b"key", value)
    return bytes(builder.build())


async def send(options: KafkaOptions, topic: str, data: bytes, partition: int = 0) -> None:
    """Append a batch to a partition, as soon as it has a leader."""
    client = AIOKafkaClient(bootstrap_servers=list(options.brokers))
    await client.bootstrap()
    try:
        for _ in range(_TRIES):
            await client.set_topics([topic])
            leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
            if leader is not None:
                request = ProduceRequest(None, 1, 5000, [(topic, [(partition, data)])])
                code = (await client.send(leader, request)).topics[0][1][0][1]
                if code != NotLeaderForPartitionError.errno:
                    assert code == 0, f"the broker refuses with code {code}"
                    return
            await asyncio.sleep(0.05)
            await client.force_metadata_update()
        raise AssertionError(f"{topic} partition {partition} has no leader")
    finally:
        await client.close()
