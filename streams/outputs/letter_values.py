"""The values of unusable records: the journal names their positions, and they are read when a dead letter is published.

So garbage is not kept for ever with the journal. A record that its input topic does not hold any more leaves the value
empty; the letter says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ...schemas.events import DeadLetter
from ..journal.dead_letters import VALUE_BYTES, lacks_value, with_record, without_record
from ..records import Publisher, TopicPartition
from .emission import Emission, encode_event

READ_BYTES = 16 << 20
"""Most bytes of values that are read at once."""


def published_together(emissions: Sequence[Emission], most: int) -> Iterator[Sequence[Emission]]:
    """Cut outputs into parts of ``most``, and of no more values than may be read at once."""
    part: list[Emission] = []
    size = 0
    for emission in emissions:
        letter = _letter(emission)
        length = 0 if letter is None else min(letter.size, VALUE_BYTES)
        if part and (len(part) == most or size + length > READ_BYTES):
            yield part
            part, size = [], 0
        part.append(emission)
        size += length
    if part:
        yield part


async def with_values(emissions: Sequence[Emission], publisher: Publisher) -> Sequence[Emission]:
    """The outputs, the dead letters among them with the values of their records."""
    letters = {index: letter for index, emission in enumerate(emissions) if (letter := _letter(emission)) is not None}
    if not letters:
        return emissions
    wanted = defaultdict[TopicPartition, set[int]](set)
    for letter in letters.values():
        wanted[TopicPartition(letter.topic, letter.partition)].add(letter.offset)
    found = await publisher.records_at(wanted)
    filled = list(emissions)
    for index, letter in letters.items():
        record = found.get((letter.topic, letter.partition, letter.offset))
        value = encode_event(with_record(letter, record))
        filled[index] = msgspec.structs.replace(emissions[index], value=value)
    return filled


def without_values(published: Any, emission: Emission) -> Any:
    """The JSON of an output as it was published, without what ``with_values`` adds to this emission."""
    letter = _letter(emission)
    if letter is None or not isinstance(published, dict):
        return published
    return published | msgspec.json.decode(encode_event(without_record(letter, str(published.get("detail")))))


def _letter(emission: Emission) -> DeadLetter | None:
    """The dead letter of an output that lacks its value."""
    if emission.struct is not DeadLetter:
        return None
    letter: DeadLetter = emission.event
    return letter if lacks_value(letter) else None
