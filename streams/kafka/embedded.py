"""A Kafka inside this process: real sockets and the real protocol, nothing to install.

    with EmbeddedBroker({"applications": 4, "journal": 4}) as broker:
        options = broker.options(group="demo")

It is the mock cluster of librdkafka, which is part of confluent-kafka. Its limits:

1. A partition keeps about 5 MiB of record batches, or 100,000 batches; older ones are deleted silently.
2. Nothing is on disk: the log ends with the process.
3. No admin calls, compaction, retention, transactions across clients, look-up by time, ACLs, TLS or SASL.
   A topic that does not exist is created with 4 partitions when a client asks for it.
4. A fetch without records waits its whole time even when a record arrives, so ``options`` has short waits.
5. A fetch returns one batch of each partition, as the producer made it.
6. Sequence numbers of idempotent producers are not checked.
7. A group holds one worker; a restarted worker waits for the session timeout, so ``options`` has a short one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes.util import find_library
from importlib import metadata
from typing import Any, Self

import confluent_kafka

from ..errors import BrokerError
from .options import KafkaOptions

_PRODUCER = 0
_LIBRARY_SUFFIXES = {".so", ".dylib", ".dll", ".1"}
_SHORT_WAITS: Mapping[str, Any] = {
    "fetch_max_wait_ms": 2,
    "fetch_pause_ms": 2,
    "commit_interval_ms": 500,
    "session_timeout_ms": 3000,
    "heartbeat_ms": 500,
}


class EmbeddedBroker:
    """One broker on a free port of 127.0.0.1, with these topics (name: partitions)."""

    def __init__(self, partitions: Mapping[str, int] | None = None) -> None:
        self._library = _library()
        self._client = _quiet_client(self._library)
        self._cluster: int | None = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        # Otherwise admin calls wait for a controller until they time out, and every group waits 3 s for its members.
        self._library.rd_kafka_mock_set_controller_id(self._cluster, 1)
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self.bootstrap: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        for topic, count in (partitions or {}).items():
            self.create_topic(topic, count)

    def create_topic(self, topic: str, partitions: int) -> None:
        """Create a topic; raise ``BrokerError`` when it exists or the name is not allowed."""
        code = self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1)
        if code:
            reason = confluent_kafka.KafkaError(code).str()
            raise BrokerError(f"the embedded broker cannot create topic {topic} with {partitions} partitions: {reason}")

    def options(self, **changes: Any) -> KafkaOptions:
        """Options for this broker, with short waits; ``changes`` replaces any field."""
        return KafkaOptions(**({"brokers": (self.bootstrap,)} | dict(_SHORT_WAITS) | changes))

    def close(self) -> None:
        """Stop the broker and drop its data. A second call does nothing."""
        if self._cluster is not None:
            self._library.rd_kafka_mock_cluster_destroy(self._cluster)
            self._library.rd_kafka_destroy(self._client)
            self._cluster = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _quiet_client(library: ctypes.CDLL) -> int:
    reason = ctypes.create_string_buffer(512)
    configuration = library.rd_kafka_conf_new()
    library.rd_kafka_conf_set(configuration, b"log_level", b"2", reason, len(reason))
    client = library.rd_kafka_new(_PRODUCER, configuration, reason, len(reason))
    if not client:
        raise BrokerError(f"the embedded broker cannot start: {reason.value.decode()}")
    return int(client)


def _library() -> ctypes.CDLL:
    """The librdkafka that confluent-kafka uses: that of its wheel, or the system's."""
    files = metadata.files("confluent-kafka") or ()
    bundled = [str(file.locate()) for file in files if "rdkafka" in file.name and file.suffix in _LIBRARY_SUFFIXES]
    for path in [*bundled, find_library("rdkafka")]:
        if path:
            return _declared(ctypes.CDLL(path))
    raise BrokerError("the embedded broker needs librdkafka: install confluent-kafka from its wheel")


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, text, size, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "rd_kafka_conf_new": (pointer, []),
        "rd_kafka_conf_set": (number, [pointer, text, text, text, size]),
        "rd_kafka_new": (pointer, [number, pointer, text, size]),
        "rd_kafka_destroy": (None, [pointer]),
        "rd_kafka_mock_cluster_new": (pointer, [pointer, number]),
        "rd_kafka_mock_cluster_destroy": (None, [pointer]),
        "rd_kafka_mock_cluster_bootstraps": (text, [pointer]),
        "rd_kafka_mock_topic_create": (number, [pointer, text, number, number]),
        "rd_kafka_mock_set_controller_id": (None, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [pointer, ctypes.c_int32]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
