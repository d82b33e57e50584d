"""Is Kafka there, and are its topics? Asked before anything starts, so that the answer is one clear line."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Self

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError

from ...errors import BrokerError
from ..options import KafkaOptions

_RETRY_SECONDS = 0.5
_MISSING_SECONDS = 2.0
"""Brokers may learn late of a topic that was just created."""


async def reach(options: KafkaOptions, topics: Iterable[str]) -> None:
    """Return when a broker answers and every topic exists; raise ``BrokerError`` after ``connect_timeout_ms``."""
    with _Ear() as ear:
        await _reach(options, topics, ear)


async def _reach(options: KafkaOptions, topics: Iterable[str], ear: _Ear) -> None:
    begun = time.monotonic()
    deadline = begun + options.connect_timeout_ms / 1000
    while True:
        try:
            async with asyncio.timeout(max(0.1, deadline - time.monotonic())):
                missing = await _missing(options, topics)
        except (KafkaError, OSError, TimeoutError) as error:
            if time.monotonic() + _RETRY_SECONDS >= deadline:
                raise unreachable(options, _reason(error, ear)) from error
        else:
            if not missing:
                return
            if time.monotonic() > begun + _MISSING_SECONDS:
                names = ", ".join(missing)
                raise BrokerError(
                    f"topics do not exist on {options.bootstrap}: {names}; create them first (`onward topics create`)"
                )
        await asyncio.sleep(_RETRY_SECONDS)


def unreachable(options: KafkaOptions, reason: str) -> BrokerError:
    """What to raise when no broker answers."""
    seconds = options.connect_timeout_ms / 1000
    return BrokerError(
        f"no Kafka broker answers at {options.bootstrap} within {seconds:g} s ({reason}): check the "
        f"addresses, the security protocol ({options.security_protocol}) and the login"
    )


def _reason(error: BaseException, ear: _Ear) -> str:
    # aiokafka tells why it could not connect in its log only; its error lists the addresses again.
    if isinstance(error, KafkaConnectionError):
        return ear.last or "no connection"
    return str(error) or type(error).__name__


class _Ear(logging.Handler):
    """Takes aiokafka's lines, one for every attempt, in the place of the log while its context lasts."""

    _log = logging.getLogger("aiokafka")

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the newest."""
        self.last = " ".join(record.getMessage().split())

    def __enter__(self) -> Self:
        self._log.addHandler(self)
        self._log.propagate = False
        return self

    def __exit__(self, *error: object) -> None:
        self._log.removeHandler(self)
        self._log.propagate = not any(isinstance(handler, _Ear) for handler in self._log.handlers)


async def _missing(options: KafkaOptions, topics: Iterable[str]) -> list[str]:
    admin = AIOKafkaAdminClient(**options.aiokafka())
    try:
        await admin.start()
        described = await admin.describe_topics(sorted(topics))
    finally:
        await admin.close()
    return [topic["topic"] for topic in described if topic["error_code"]]
