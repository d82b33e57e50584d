"""An unreachable Kafka is one line, though aiokafka logs every attempt."""

import asyncio
import logging

import pytest

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.preflight import preflight


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
