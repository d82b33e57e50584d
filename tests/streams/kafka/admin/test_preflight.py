"""Whether Kafka is there is told in one line, whatever aiokafka has to say about every attempt."""

import asyncio
import logging
import socket

import pytest

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.preflight import preflight
from onward.streams.kafka.options import KafkaOptions


@pytest.fixture
def nowhere() -> KafkaOptions:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return KafkaOptions(brokers=(f"127.0.0.1:{port}",), connect_timeout_ms=700)


async def test_an_unreachable_broker_is_one_line_that_says_why(nowhere, caplog, capfd):
    attempts = [preflight(nowhere, ()), preflight(nowhere, ())]
    errors = await asyncio.gather(*attempts, return_exceptions=True)
    for error in errors:
        assert isinstance(error, BrokerError)
        assert "Connect call failed" in str(error)
        assert "\n" not in str(error)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


async def test_aiokafka_is_heard_again_afterwards(nowhere, caplog):
    with pytest.raises(BrokerError):
        await preflight(nowhere, ())
    logging.getLogger("aiokafka.client").warning("a broker has gone")
    assert [record.getMessage() for record in caplog.records] == ["a broker has gone"]
