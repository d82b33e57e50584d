"""An unreachable Kafka is one line, though aiokafka logs every attempt."""

import asyncio
import logging

import aiokafka
import pytest

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.preflight import preflight, wait_for_coordinator
from onward.streams.kafka.options import KafkaOptions
from onward.tests.support.kafka_cluster import KafkaCluster


async def test_an_unreachable_broker_is_one_line_that_says_why(unreachable, caplog, capfd):
    errors = await asyncio.gather(*(preflight(unreachable, ()) for _ in range(2)), return_exceptions=True)
    for error in errors:
        assert isinstance(error, BrokerError)
        assert "Connect call failed" in str(error)
        assert "\n" not in str(error)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


async def test_aiokafka_logs_again_afterwards(unreachable, caplog):
    with pytest.raises(BrokerError):
        await preflight(unreachable, ())
    logging.getLogger("aiokafka.client").warning("a broker has gone")
    assert [record.getMessage() for record in caplog.records] == ["a broker has gone"]


@pytest.mark.kafka
@pytest.mark.usefixtures("own_brokers")
async def test_the_first_group_of_a_new_kafka_is_waited_for_without_a_line(tmp_path, caplog):
    with KafkaCluster(tmp_path) as cluster:
        options = KafkaOptions(brokers=(cluster.bootstrap,))
        await wait_for_coordinator(options)
        consumer = aiokafka.AIOKafkaConsumer(group_id=options.group, **options.aiokafka())
        await consumer.start()
        await consumer.stop()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_group_without_a_coordinator_is_waited_for_in_bounded_time(unreachable, caplog):
    await wait_for_coordinator(unreachable)
    assert caplog.records == []
