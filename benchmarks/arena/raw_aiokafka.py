"""The shortest way through aiokafka: batches in, the same bytes out in batches, nothing decoded.

What anything in Python that reads and writes with aiokafka can at most reach.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import aiokafka

from onward.benchmarks.arena.pass_through import PassThroughArgs, pass_through_args

_MOST = 2000


async def run(args: PassThroughArgs) -> None:
    """Pass records on until a signal; a chunk's offsets are committed when its records are acknowledged."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    consumer = aiokafka.AIOKafkaConsumer(
        args.source,
        bootstrap_servers=args.bootstrap,
        group_id=args.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=args.fetch_wait_ms,
    )
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=args.bootstrap, enable_idempotence=True, max_batch_size=256 << 10
    )
    async with consumer, producer:
        while not stop.is_set():
            for partition, messages in (await consumer.getmany(timeout_ms=200, max_records=_MOST)).items():
                await pass_on(producer, args.target, partition.partition, messages)
                await consumer.commit({partition: messages[-1].offset + 1})


async def pass_on(producer: Any, target: str, partition: int, messages: list[Any]) -> None:
    """Write a chunk into the partition of the same number; return when it is acknowledged."""
    acknowledgements = []
    batch = producer.create_batch()
    for message in messages:
        key, value, headers = message.key, message.value, list(message.headers)
        if batch.append(timestamp=message.timestamp, key=key, value=value, headers=headers) is None:
            acknowledgements.append(await producer.send_batch(batch, target, partition=partition))
            batch = producer.create_batch()
            batch.append(timestamp=message.timestamp, key=key, value=value, headers=headers)
    acknowledgements.append(await producer.send_batch(batch, target, partition=partition))
    await asyncio.gather(*acknowledgements)


if __name__ == "__main__":
    asyncio.run(run(pass_through_args()))
