"""End offsets, asked over the connections that a producer has already: a consumer of their own would take longer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import aiokafka
from aiokafka.errors import KafkaError
from aiokafka.protocol.offset import OffsetRequest

from ...records import TopicPartition

_ANY_CLIENT = -1
_READ_UNCOMMITTED = 0
_LATEST = -1


async def latest_offsets(client: Any, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int] | None:
    """The end offset of each partition; None where a leader is not known, or does not answer for all of its own."""
    by_leader: dict[int, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    wanted = set(partitions)
    for topic, partition in wanted:
        leader = client.cluster.leader_for_partition(aiokafka.TopicPartition(topic, partition))
        if leader is None or leader < 0:
            return None
        by_leader[leader][topic].append((partition, _LATEST))
    requests = [
        client.send(leader, OffsetRequest(_ANY_CLIENT, _READ_UNCOMMITTED, list(topics.items())))
        for leader, topics in by_leader.items()
    ]
    try:
        answers = await asyncio.gather(*requests)
    except KafkaError:
        return None
    ends: dict[TopicPartition, int] = {}
    for answer in answers:
        for topic, answered in answer.topics:
            # Version 0 has lists of offsets, later ones a time and an offset.
            for partition, error, *_, offset in answered:
                if error == 0 and isinstance(offset, int):
                    ends[TopicPartition(topic, partition)] = offset
    return ends if ends.keys() == wanted else None
