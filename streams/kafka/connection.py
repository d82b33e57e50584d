"""Topic names and Kafka options from the user's settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr

from ..settings import BrokerSettings, WorkerSettings
from ..topics import Topics
from .options import KafkaOptions


def topics(settings: BrokerSettings) -> Topics:
    """The topic names of this installation."""
    return Topics(prefix=settings.topic_prefix)


def connection(settings: BrokerSettings) -> KafkaOptions:
    """Options for a client without a group.

    Raise ``UsageError`` when a broker's address is not HOST:PORT, or a file of TLS cannot be used.
    """
    options = KafkaOptions(
        brokers=settings.brokers,
        security_protocol=settings.security_protocol,
        sasl_mechanism=settings.sasl_mechanism,
        sasl_username=settings.sasl_username,
        sasl_password=_reveal(settings.sasl_password),
        ssl_cafile=_path(settings.ssl_cafile),
        ssl_certfile=_path(settings.ssl_certfile),
        ssl_keyfile=_path(settings.ssl_keyfile),
        ssl_keyfile_password=_reveal(settings.ssl_keyfile_password),
    )
    options.check_tls()
    return options


def worker_options(settings: WorkerSettings) -> KafkaOptions:
    """Options for a worker's clients."""
    session_timeout_ms = round(settings.session_timeout_seconds * 1000)
    options = connection(settings)
    return replace(
        options,
        group=settings.group,
        group_instance_id=settings.group_instance_id,
        session_timeout_ms=session_timeout_ms,
        heartbeat_ms=min(options.heartbeat_ms, session_timeout_ms // 3),
        commit_interval_ms=round(settings.commit_interval_seconds * 1000),
        fetch_max_wait_ms=round(settings.fetch_wait_seconds * 1000),
        fetch_pause_ms=round(settings.fetch_pause_seconds * 1000),
        chunk_records=settings.chunk_records,
        max_batch_bytes=settings.max_batch_bytes,
    )


def _reveal(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
