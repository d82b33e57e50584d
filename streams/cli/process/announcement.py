"""Sends an event of an operator to the workers of a program."""

from __future__ import annotations

import time

import msgspec

from ....schemas.events import Erasure, Model, RawSpec
from ....schemas.headers import cloud_event_headers
from ....schemas.kinds import kinds
from ...kafka.client import EventWriter
from ...kafka.options import KafkaOptions
from .client_logs import quiet_kafka_clients


def announce_event(event: Model | RawSpec | Erasure, source: str, topic: str, options: KafkaOptions) -> None:
    """Publish an event; return when Kafka has acknowledged it."""
    kind, now_ms = kinds.by_struct[type(event)], time.time_ns() // 1_000_000
    # The time is part of the id, so that an earlier model or spec can be announced again.
    headers = cloud_event_headers(f"{event.program}/{kind.name}/{now_ms}", source, kind.ce_type, now_ms)
    with quiet_kafka_clients(), EventWriter(options) as writer:
        writer.send(topic, msgspec.json.encode(event), key=event.program.encode(), headers=headers)
