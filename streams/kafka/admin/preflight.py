"""Checks before the start that a broker answers and that the topics exist, so that a failure is one clear line.

It asks through aiokafka, not through confluent-kafka as the commands do: a worker works with aiokafka, and the check
must meet the same TLS and SASL code.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Self

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from ...errors import BrokerError
from ..options import KafkaOptions
from ..patience import Patience
from .metadata import unreachable
from .rights import may_not

_RETRY_SECONDS = 0.5
_COORDINATOR_RETRY_SECONDS = 0.1
_MISSING_SECONDS = 2.0
"""For this long a missing topic may be one that was just created: brokers learn of topics one after the other."""


async def preflight(options: KafkaOptions, topics: Iterable[str]) -> None:
    """Return when a broker answers and every topic exists; raise ``BrokerError`` after ``connect_timeout_ms``."""
    refusal: BaseException | None = None
    with _CaptureAiokafkaLog() as captured:
        try:
            async with Patience(options.connect_timeout_ms / 1000) as patience:
                while True:
                    try:
                        missing, refused = await _missing(options, topics)
                    except (KafkaError, OSError) as error:
                        refusal = error
                    else:
                        if refused:
                            raise may_not(options, "DESCRIBE", f"topics {', '.join(refused)}")
                        if not missing:
                            return
                        if patience.heard_seconds > _MISSING_SECONDS:
                            raise _absent(options, missing)
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError as error:
            raise unreachable(options, _reason(refusal or error, captured)) from error


def _absent(options: KafkaOptions, topics: Iterable[str]) -> BrokerError:
    names = ", ".join(topics)
    return BrokerError(
        f"topics do not exist on {options.bootstrap}: {names}; create them first (`onward topics create`)"
    )


async def wait_for_coordinator(options: KafkaOptions) -> None:
    """Return when a broker coordinates the group, at the latest after ``connect_timeout_ms``.

    On a new Kafka this takes a moment: the first question makes the topic of the groups' offsets. A consumer that asks
    meanwhile logs errors. Raise ``BrokerError`` when the group may not be used.
    """
    with _CaptureAiokafkaLog(), suppress(TimeoutError):
        async with Patience(options.connect_timeout_ms / 1000):
            while True:
                try:
                    async with connected(options) as admin:
                        await admin.find_coordinator(options.group)
                    return
                except GroupAuthorizationFailedError as error:
                    raise may_not(options, "READ", f"group {options.group}") from error
                except (KafkaError, OSError):
                    await asyncio.sleep(_COORDINATOR_RETRY_SECONDS)


@asynccontextmanager
async def connected(options: KafkaOptions) -> AsyncIterator[AIOKafkaAdminClient]:
    """A client of aiokafka that asks brokers, within a ``Patience``."""
    admin = AIOKafkaAdminClient(**options.aiokafka_under_patience())
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


async def _missing(options: KafkaOptions, topics: Iterable[str]) -> tuple[list[str], list[str]]:
    """The topics that do not exist, and those that the user may not know of."""
    async with connected(options) as admin:
        described = await admin.describe_topics(sorted(topics))
    codes = {topic["topic"]: topic["error_code"] for topic in described if topic["error_code"]}
    refused = [name for name, code in codes.items() if code == TopicAuthorizationFailedError.errno]
    return [name for name in codes if name not in refused], refused


def _reason(error: BaseException, captured: _CaptureAiokafkaLog) -> str:
    # aiokafka logs why it could not connect; its error only repeats the addresses.
    if isinstance(error, KafkaConnectionError):
        return captured.last or "no connection"
    return str(error) or type(error).__name__


class _CaptureAiokafkaLog(logging.Handler):
    """Keeps aiokafka's last log line, and keeps its lines, one for every attempt, out of the log."""

    _log = logging.getLogger("aiokafka")

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        self.last = " ".join(record.getMessage().split())

    def __enter__(self) -> Self:
        self._log.addHandler(self)
        self._log.propagate = False
        return self

    def __exit__(self, *error: object) -> None:
        self._log.removeHandler(self)
        self._log.propagate = not any(isinstance(handler, type(self)) for handler in self._log.handlers)
