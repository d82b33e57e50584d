"""Declarations of engines: the line by which the owner of a journal partition says that another engine goes on from it.

It looks like the declaration of a spec of a program that nobody has. A worker of a version that does not know these
lines ends there with exit code 4 and the line that it knows no program of that name. Such versions commit what stands
before the line only where a portion ends: so ticks without a clock, as many as a portion holds, stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Raw

from ...schemas.events import RawSpec, Tick
from ..engine.version import ENGINE_VERSION
from ..errors import HandoverError
from ..records import OutRecord
from .entries import Entry
from .lines import pack_lines, spec_line, tick_line

PORTION_LINES = 2000
"""The events of a portion in the versions that do not know these lines."""
_NAME = re.compile(r"onward-engine-[0-9]{1,9}")
_NOTHING = "0" * 64


def engine_records(journal: str, partition: int, version: int, now_ms: int, width: int) -> Iterator[OutRecord]:
    """The journal records that declare an engine."""
    line = spec_line(RawSpec(f"onward-engine-{version}", Raw(b"{}"), _NOTHING), _NOTHING, now_ms)
    yield from pack_lines(journal, partition, [tick_line(Tick(()), now_ms)] * PORTION_LINES, width)
    yield from pack_lines(journal, partition, [line], width)


def engine_of(entry: Entry) -> int | None:
    """The version that an entry declares; None of any other entry."""
    body = entry.body
    if entry.source is not None or not isinstance(body, RawSpec) or not is_engine_line(body):
        return None
    return int(body.program.rpartition("-")[2])


def is_engine_line(spec: RawSpec) -> bool:
    """Whether the declaration of a spec is that of an engine."""
    return spec.model == _NOTHING and _NAME.fullmatch(spec.program) is not None


def check_declared_engine(entries: Sequence[Entry]) -> None:
    """Raise ``HandoverError`` where the entries of a journal record declare a newer engine."""
    for entry in entries:
        version = engine_of(entry)
        if version is not None and version > ENGINE_VERSION:
            raise HandoverError(
                f"from journal offset {entry.position.offset} on, engine {version} of a newer version of onward goes "
                f"on, this is engine {ENGINE_VERSION}: run that version (see docs/how-to/upgrade.md)"
            )
