"""Addresses at which no Kafka answers."""

from __future__ import annotations

import socket

import pytest

from onward.streams.kafka.options import KafkaOptions


@pytest.fixture
def unreachable() -> KafkaOptions:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return KafkaOptions(brokers=(f"127.0.0.1:{port}",), connect_timeout_ms=600, delivery_timeout_ms=300)
