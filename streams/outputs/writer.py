"""The writer of one partition of every output topic: it publishes what a fold has emitted, and repeats nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ..records import Publisher
from ..topics import Topics
from .deduplicator import unpublished_emissions
from .emission import Emission, OutputPosition, records_of
from .letter_values import published_together, with_values

PUBLISHED_TOGETHER = 10_000
"""Outputs of one publish: when a clock's leap closes more at once, one publish would take longer than it may."""


@dataclass(frozen=True)
class OutputWriter:
    """Publishes the outputs of a journal partition, to partitions of its number.

    ``generation`` and ``engine`` are the headers that say who writes. ``published`` is the last position in each output
    topic at the time when the partition was opened.
    """

    topics: Topics
    publisher: Publisher
    partition: int
    generation: bytes
    engine: bytes
    published: Mapping[str, OutputPosition]

    async def publish(
        self,
        emissions: Sequence[Emission],
        wait_until_valid: Callable[[], Awaitable[None]],
        in_flight: Callable[[], None],
    ) -> Sequence[Emission]:
        """Publish the emissions that their topics do not hold yet, and return them when all are acknowledged.

        Before each publish ``wait_until_valid`` is awaited; when its records are under way, ``in_flight`` is called.
        """
        unpublished = unpublished_emissions(emissions, self.published, self.topics)
        for together in published_together(unpublished, PUBLISHED_TOGETHER):
            whole = await with_values(together, self.publisher)
            records = records_of(whole, self.topics, self.partition, self.generation, self.engine)
            await wait_until_valid()
            publishing = asyncio.ensure_future(self.publisher.publish(records))
            await asyncio.sleep(0)
            in_flight()
            await publishing
        return unpublished
