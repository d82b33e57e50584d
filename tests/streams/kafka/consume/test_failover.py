from __future__ import annotations

import asyncio
import time

import pytest

from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.records import OutRecord
from onward.streams.topics import TopicPlan
from onward.tests.support.kafka_cluster import KafkaCluster, unavailable
from onward.tests.support.kafka_handlers import Recorder, read_all, until, working

COUNT = 400


@pytest.mark.kafka
async def test_a_leader_killed_mid_stream_loses_repeats_and_reorders_nothing(tmp_path):
    if reason := unavailable():
        pytest.skip(reason)
    with KafkaCluster(tmp_path, brokers=3) as cluster:
        options = KafkaOptions(brokers=tuple(cluster.bootstrap.split(",")), group="failover")
        plans = [TopicPlan(name, 3, 3, {"min.insync.replicas": "2"}) for name in ("in", "out")]
        create_topics(options, plans)
        async with KafkaPublisher(options) as feed, KafkaPublisher(options) as output:

            async def forward_chunk(chunk):
                await output.publish(
                    [OutRecord("out", r.partition, r.timestamp_ms, r.key, r.value, r.headers) for r in chunk]
                )

            recorder = Recorder(before=forward_chunk)
            async with working(options, {"in": recorder}):
                now = int(time.time() * 1000)  # Kafka soon deletes records that are older than the retention
                for number in range(COUNT):
                    await feed.publish([OutRecord("in", p, now, None, b"%d" % number, ()) for p in range(3)])
                    await asyncio.sleep(0.005)
                    if number == COUNT // 2:
                        cluster.kill(2)
                await until(lambda: len(recorder.records) >= 3 * COUNT)
        forwarded = read_all(options, "out")
    # In both topics the values of each partition count up, without gap or repeat.
    for records in (recorder.records, forwarded):
        for partition in range(3):
            assert [int(r.value) for r in records if r.partition == partition] == list(range(COUNT))
