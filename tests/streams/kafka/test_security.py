from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.consume.worker import run_worker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.records import OutRecord
from onward.streams.topics import TopicPlan
from onward.tests.support.kafka_cluster import KafkaCluster, unavailable
from onward.tests.support.kafka_handlers import Recorder, read_all, until, working

USERS = 'username="broker" password="b" user_broker="b" user_onward="hunter2"'
SASL = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required {USERS};"
    ),
}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaOptions]:
    if reason := unavailable():
        pytest.skip(reason)
    with KafkaCluster(tmp_path_factory.mktemp("sasl"), settings=SASL) as cluster:
        yield KafkaOptions(
            brokers=(cluster.bootstrap,),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username="onward",
            sasl_password="hunter2",
        )


@pytest.mark.kafka
async def test_all_clients_sign_in(secured):
    create_topics(secured, [TopicPlan("t", 1, 1, {})])
    recorder = Recorder()
    async with KafkaPublisher(secured) as publisher, working(secured, {"t": recorder}):
        await publisher.publish([OutRecord("t", 0, 1, None, b"1", ())])
        with EventWriter(secured) as writer:
            writer.send("t", b"2")
        await until(lambda: recorder.values == [b"1", b"2"])
        assert await publisher.tail("t", 0, lambda record: record.value) == [b"2"]
    assert [record.value for record in read_all(secured, "t")] == [b"1", b"2"]


@pytest.mark.kafka
async def test_a_wrong_password_is_an_error_that_does_not_show_it(secured):
    wrong = dataclasses.replace(secured, sasl_password="hunter3", connect_timeout_ms=1500)
    for attempt in (run_worker(wrong, {"t": Recorder()}, signals=False), KafkaPublisher(wrong).start()):
        with pytest.raises(BrokerError, match="no Kafka broker answers") as caught:
            await attempt
        assert "hunter" not in str(caught.value)
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        EventReader(wrong, ["t"])
