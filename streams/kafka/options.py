"""The settings of all Kafka clients: connection, group, reading and publishing.

    options = KafkaOptions(brokers=("kafka-1:9092", "kafka-2:9092"), group="onward-eu")
    options = dataclasses.replace(options, chunk_records=500)

All durations are milliseconds, all sizes bytes. ``repr`` and ``str`` never show a secret.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, field
from typing import Any, Literal

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from .. import worker_defaults as defaults
from ..errors import UsageError, one_line
from ..settings import SaslMechanism, SecurityProtocol

Compression = Literal["none", "gzip", "lz4", "zstd"]

CLIENT_ID = "onward"
"""The name of all clients in the brokers' logs."""
LINGER_MS = 0
"""How long producers wait for more records of a batch."""
_NO_REQUEST_LIMIT_MS = 24 * 60 * 60 * 1000
_silent = logging.Logger("librdkafka of a client that only reads files", logging.CRITICAL + 1)


@dataclass(frozen=True, kw_only=True)
class KafkaOptions:
    """Connection, group and flow settings.

    ``chunk_records`` bounds the records of a chunk. ``group_instance_id`` makes the worker a static member: a restart
    within ``session_timeout_ms`` moves no partitions. ``connect_timeout_ms`` bounds the wait for a broker at the start,
    ``delivery_timeout_ms`` the wait of a publish for its acknowledgements. ``fetch_pause_ms`` is the longest pause
    before the next fetch from a broker that has just returned records, while these are being handled.
    ``max_end_offset_age_ms`` is how old, beyond two fetches, an end of a partition may be from which its lag is told.
    ``max_batch_bytes`` is the most that a batch of records may unpack to.
    """

    brokers: tuple[str, ...]
    group: str = defaults.GROUP
    group_instance_id: str | None = None

    security_protocol: SecurityProtocol = "PLAINTEXT"
    sasl_mechanism: SaslMechanism | None = None
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_keyfile_password: str | None = field(default=None, repr=False)

    session_timeout_ms: int = round(1000 * defaults.SESSION_TIMEOUT_SECONDS)
    heartbeat_ms: int = 1_000
    rebalance_timeout_ms: int = 60_000
    request_timeout_ms: int = 40_000
    connect_timeout_ms: int = 10_000
    commit_interval_ms: int = round(1000 * defaults.COMMIT_INTERVAL_SECONDS)

    chunk_records: int = defaults.CHUNK_RECORDS
    fetch_max_wait_ms: int = round(1000 * defaults.FETCH_WAIT_SECONDS)
    fetch_pause_ms: int = round(1000 * defaults.FETCH_PAUSE_SECONDS)
    max_end_offset_age_ms: int = 3_000
    fetch_partition_bytes: int = 1 << 20
    max_batch_bytes: int = defaults.MAX_BATCH_BYTES

    delivery_timeout_ms: int = 30_000
    batch_bytes: int = 256 << 10
    max_request_bytes: int = 1 << 20
    compression: Compression = "none"

    def __post_init__(self) -> None:
        if not self.brokers or not all(_is_address(broker) for broker in self.brokers):
            raise UsageError(f"brokers are {','.join(self.brokers)!r}: give host:port, several separated by commas")
        if self.security_protocol.startswith("SASL") and not (self.sasl_username and self.sasl_password):
            raise UsageError(f"security protocol {self.security_protocol} needs a SASL user name and a password")
        if self.heartbeat_ms * 3 > self.session_timeout_ms:
            raise UsageError(
                f"heartbeat of {self.heartbeat_ms} ms must be at most a third of the session timeout, "
                f"{self.session_timeout_ms} ms"
            )
        if self.chunk_records < 1:
            raise UsageError(f"chunk_records is {self.chunk_records}: a chunk has at least 1 record")

    @property
    def bootstrap(self) -> str:
        """The brokers as one comma-separated string."""
        return ",".join(self.brokers)

    def aiokafka(self) -> dict[str, Any]:
        """Connection keywords of any aiokafka client."""
        keywords: dict[str, Any] = {
            "bootstrap_servers": list(self.brokers),
            "client_id": CLIENT_ID,
            "security_protocol": self.security_protocol,
            "request_timeout_ms": self.request_timeout_ms,
        }
        if self.security_protocol.startswith("SASL"):
            keywords["sasl_mechanism"] = self.sasl_mechanism or "PLAIN"
            keywords["sasl_plain_username"] = self.sasl_username
            keywords["sasl_plain_password"] = self.sasl_password
        if self.security_protocol.endswith("SSL"):
            keywords["ssl_context"] = self.ssl_context()
        return keywords

    def aiokafka_under_patience(self) -> dict[str, Any]:
        """The same for a client whose requests are bounded by a ``Patience``.

        aiokafka counts the time in which the loop was held against the broker.
        """
        return {**self.aiokafka(), "request_timeout_ms": _NO_REQUEST_LIMIT_MS}

    def confluent(self) -> dict[str, Any]:
        """Connection settings of any confluent-kafka client."""
        settings = {
            "bootstrap.servers": self.bootstrap,
            "client.id": CLIENT_ID,
            "security.protocol": self.security_protocol,
            "sasl.mechanism": (self.sasl_mechanism or "PLAIN") if self.security_protocol.startswith("SASL") else None,
            "sasl.username": self.sasl_username,
            "sasl.password": self.sasl_password,
            "ssl.ca.location": self.ssl_cafile,
            "ssl.certificate.location": self.ssl_certfile,
            "ssl.key.location": self.ssl_keyfile,
            "ssl.key.password": self.ssl_keyfile_password,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def ssl_context(self) -> ssl.SSLContext:
        """The TLS context; raise ``UsageError`` when a certificate or key file cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ssl_cafile)
            if self.ssl_certfile:
                # Without any password OpenSSL would ask for one on the terminal.
                context.load_cert_chain(self.ssl_certfile, self.ssl_keyfile, self.ssl_keyfile_password or "")
        except (OSError, ssl.SSLError) as error:
            raise self._unusable(one_line(error)) from error
        return context

    def check_tls(self) -> None:
        """Raise ``UsageError`` when a certificate or key file cannot be used, by either of the two kinds of clients."""
        if not self.security_protocol.endswith("SSL"):
            return
        self.ssl_context()
        try:
            AdminClient(self.confluent(), logger=_silent)
        except KafkaException as error:
            raise self._unusable(error.args[0].str()) from error

    def _unusable(self, why: str) -> UsageError:
        files = [name for name in (self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile) if name]
        return UsageError(f"TLS files {', '.join(files)} cannot be used: {why}")


def _is_address(broker: str) -> bool:
    host, _, port = broker.rpartition(":")
    return bool(host) and port.isdigit() and 0 < int(port) < 65536
