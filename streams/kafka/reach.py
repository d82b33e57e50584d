"""Is Kafka there, and are its topics? Asked before anything starts, so that the answer is one clear line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError

from ..errors import BrokerError
from .options import KafkaOptions

_RETRY_SECONDS = 0.5
_MISSING_SECONDS = 2.0
"""Brokers may learn late of a topic that was just created."""


async def reach(options: KafkaOptions, topics: Iterable[str]) -> None:
    """Return when a broker answers and every topic exists; raise ``BrokerError`` after ``connect_timeout_ms``."""
    begun = time.monotonic()
    deadline = begun + options.connect_timeout_ms / 1000
    while True:
        try:
            async with asyncio.timeout(max(0.1, deadline - time.monotonic())):
                missing = await _missing(options, topics)
        except (KafkaError, OSError, TimeoutError) as error:
            if time.monotonic() + _RETRY_SECONDS >= deadline:
                raise unreachable(options, _reason(error)) from error
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


def _reason(error: BaseException) -> str:
    # aiokafka tells why it could not connect in its log only; its error lists the addresses again.
    return "no connection" if isinstance(error, KafkaConnectionError) else str(error) or type(error).__name__


async def _missing(options: KafkaOptions, topics: Iterable[str]) -> list[str]:
    admin = AIOKafkaAdminClient(**options.aiokafka())
    try:
        await admin.start()
        described = await admin.describe_topics(sorted(topics))
    finally:
        await admin.close()
    return [topic["topic"] for topic in described if topic["error_code"]]
