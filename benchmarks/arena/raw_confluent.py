"""The shortest way through confluent-kafka: a batch in, the same bytes out, nothing decoded.

What anything in Python that reads and writes with librdkafka can at most reach.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

import confluent_kafka

from onward.benchmarks.arena.pass_through import PassThroughArgs, pass_through_args

_MOST = 2000
_POLL_SECONDS = 0.2
_FLUSH_SECONDS = 30.0


def run(args: PassThroughArgs) -> None:
    """Pass records on until a signal; a batch's offsets are committed when its records are acknowledged."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": args.bootstrap,
            "group.id": args.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": args.fetch_wait_ms,
        }
    )
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": args.bootstrap,
            "enable.idempotence": True,
            "batch.size": 256 << 10,
            # Or every record would make an event for a callback that has nothing to do.
            "delivery.report.only.error": True,
        }
    )
    consumer.subscribe([args.source])
    while not stop.is_set():
        first = consumer.poll(_POLL_SECONDS)
        if first is not None:
            # consume() would wait until it has the number asked for.
            pass_on(producer, args.target, [first, *consumer.consume(_MOST - 1, 0)])
            consumer.commit(asynchronous=False)
    consumer.close()


def pass_on(producer: Any, target: str, messages: list[Any]) -> None:
    """Write a batch into the partitions of the same numbers; return when it is acknowledged."""
    for message in messages:
        if message.error() is not None:
            raise confluent_kafka.KafkaException(message.error())
        producer.produce(
            target,
            message.value(),
            message.key(),
            message.partition(),
            timestamp=message.timestamp()[1],
            headers=message.headers(),
            on_delivery=_failed,
        )
    if left := producer.flush(_FLUSH_SECONDS):
        raise RuntimeError(f"{left} records are not acknowledged after {_FLUSH_SECONDS:g} s: look at the broker")


def _failed(error: Any, _: Any) -> None:
    if error is not None:
        raise confluent_kafka.KafkaException(error)


if __name__ == "__main__":
    run(pass_through_args())
