"""No lines of the Kafka clients on a screen that people look at."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

CLIENTS = ("aiokafka", "librdkafka")


@contextmanager
def silence() -> Iterator[None]:
    """Keep the Kafka clients' own lines back while the context lasts: what they give up on becomes an error of ours."""
    before = {name: logging.getLogger(name).level for name in CLIENTS}
    for name in CLIENTS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
