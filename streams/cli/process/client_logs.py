"""Keeps the log lines of the Kafka clients off the screen of a command."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

CLIENTS = ("aiokafka", "librdkafka")


@contextmanager
def quiet_kafka_clients() -> Iterator[None]:
    """Suppress the Kafka clients' log lines while the context lasts. Failures they give up on are raised as errors."""
    before = {name: logging.getLogger(name).level for name in CLIENTS}
    for name in CLIENTS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
