"""An installation on a real Kafka, with topics of its own."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import confluent_kafka
import msgspec
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from onward.schemas.events import Application
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import Record
from onward.streams.settings import WorkerSettings
from onward.streams.topics import Topics, plan
from onward.tests.support.kafka_cluster import KafkaCluster
from onward.tests.support.programs import POLICIES, write_programs


class Installation:
    """Topics of one partition each on a cluster, and the settings of its workers."""

    def __init__(self, cluster: KafkaCluster, folder: Path, **settings: Any) -> None:
        self.prefix = f"w-{uuid.uuid4().hex}."
        self.topics = Topics(self.prefix)
        self.options = KafkaOptions(brokers=tuple(cluster.bootstrap.split(",")), group=self.prefix)
        create_topics(self.options, plan(self.topics, 1, 1))
        [spec] = write_programs(folder, {"steps": POLICIES["steps"]})
        self.settings = WorkerSettings(
            brokers=self.options.brokers,
            topic_prefix=self.prefix,
            group=self.prefix,
            spec=(spec,),
            state_dir=folder / "state",
            web=False,
            **settings,
        )

    async def answer(self, name: str, running: asyncio.Task[None], income: float = 1.0, debts: int = 0) -> None:
        """Send an application, and return once it is answered."""
        person = Application("steps", name, {"region": "north", "income": income, "debts": debts})
        with EventWriter(self.options) as writer:
            writer.send(f"{self.prefix}applications", msgspec.json.encode(person), headers=[("ce_id", name.encode())])
        told: list[Record] = []
        with EventReader(self.options, [f"{self.prefix}recourse"]) as reader:
            while not any(name.encode() in (record.value or b"") for record in told) and not running.done():
                told += await asyncio.to_thread(reader.poll, 0.5)
        assert not running.done()

    def add_partitions(self, names: Iterable[str]) -> None:
        admin = AdminClient(self.options.confluent())
        for future in admin.create_partitions([NewPartitions(name, 3) for name in names]).values():
            future.result()

    def make_again(self, topic: str) -> None:
        """Delete a topic, and make it again with one partition as soon as it is gone."""
        admin = AdminClient(self.options.confluent())
        for future in admin.delete_topics([topic]).values():
            future.result()
        while topic in admin.list_topics(timeout=10).topics:
            time.sleep(0.1)
        create_topics(self.options, [one for one in plan(self.topics, 1, 1) if one.name == topic])

    def delete_before(self, topic: str, offset: int) -> None:
        admin = AdminClient(self.options.confluent())
        for future in admin.delete_records([confluent_kafka.TopicPartition(topic, 0, offset)]).values():
            future.result()
