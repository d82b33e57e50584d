"""``onward status``: the topics, the lag of the workers, and what the ledgers hold."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Column, Table

from ...kafka.admin.offsets import PartitionOffsets, partition_offsets
from ...kafka.connection import connection
from ...kafka.connection import topics as topic_names
from ...settings import StatusSettings
from ...topics import Topics
from ..flags import parse_settings

if TYPE_CHECKING:
    from ...ledger.summary import LedgerSummary

DESCRIPTION = """Show the topics' offsets, the lag of the workers' group and, with --state-dir, what the ledgers hold.
The ledgers are only read; a worker may be running."""
LONGEST_VERSION, VERSION_TAIL = 20, 12
"""Characters that are shown of a model version: of a longer one its beginning and its end, which is often a hash."""


class _Reading(NamedTuple):
    """A partition that workers read (``is_read``) or write, and the next offset to read of it, None when not known."""

    extent: PartitionOffsets
    is_read: bool
    position: int | None

    @property
    def lag(self) -> int | None:
        """Records left to read."""
        return self.extent._replace(committed=self.position).lag if self.is_read else None


def run(args: Sequence[str]) -> int:
    """Print tables, or JSON."""
    settings = parse_settings(StatusSettings, "onward status", DESCRIPTION, args)
    topics = topic_names(settings)
    names = (*topics.inputs, topics.journal, *topics.outputs)
    ledgers = [] if settings.state_dir is None else _ledgers(settings.state_dir)
    found = partition_offsets(replace(connection(settings), group=settings.group), names)
    readings = [_reading(extent, topics, ledgers) for extent in found]
    if settings.as_json:
        print(json.dumps(_as_json(readings, ledgers), indent=2))
    else:
        _print(readings, ledgers)
    return 0


def _ledgers(state_dir: Path) -> list[LedgerSummary]:
    # Imported late, because the learners come along: a look at the topics alone should not wait for them.
    from ...ledger.summary import summaries

    return summaries(state_dir)


def _reading(extent: PartitionOffsets, topics: Topics, ledgers: Iterable[LedgerSummary]) -> _Reading:
    """Of the journal a ledger knows better than the group: it is committed chunk by chunk, the group now and then.
    One that stands beyond the journal's end is of another journal."""
    if extent.topic not in (*topics.inputs, topics.journal):
        return _Reading(extent, False, None)
    folded = [ledger.offset for ledger in ledgers if (topics.journal, ledger.partition) == extent[:2]]
    known = [offset for offset in folded if offset <= extent.end]
    if extent.committed is not None:
        known.append(extent.committed)
    return _Reading(extent, True, max(known, default=None))


def _as_json(readings: Sequence[_Reading], ledgers: Sequence[LedgerSummary]) -> dict[str, object]:
    return {
        "topics": [{**reading.extent._asdict(), "lag": reading.lag} for reading in readings],
        "ledgers": [
            {
                **ledger._asdict(),
                "path": str(ledger.path),
                "programs": [program._asdict() for program in ledger.programs],
            }
            for ledger in ledgers
        ],
    }


def _print(readings: Sequence[_Reading], ledgers: Sequence[LedgerSummary]) -> None:
    console = Console()
    used = [reading for reading in readings if reading.extent.end]
    if used:
        console.print(_topic_table(used))
    if len(used) < len(readings):
        console.print(f"empty: {', '.join(_empty(readings))}", highlight=False)
    if ledgers:
        console.print(_ledger_table(ledgers))
        console.print(_program_table(ledgers))
    elif any(reading.lag for reading in used):
        console.print("Workers commit what they have read once a second; --state-dir tells the journal's exactly.")


def _topic_table(readings: Iterable[_Reading]) -> Table:
    table = Table("topic", *(_right(name) for name in ("partition", "begin", "end", "read to", "lag")), title="Topics")
    for reading in readings:
        extent = reading.extent
        numbers = (extent.partition, extent.begin, extent.end, reading.position, reading.lag)
        table.add_row(extent.topic, *map(_text, numbers))
    return table


def _empty(readings: Iterable[_Reading]) -> list[str]:
    """The topics to which nothing was ever sent, then how many partitions of the others are so."""
    ends = defaultdict(list)
    for reading in readings:
        ends[reading.extent.topic].append(reading.extent.end)
    return [topic for topic, those in ends.items() if not any(those)] + [
        f"{those.count(0)} of {len(those)} partitions of {topic}"
        for topic, those in ends.items()
        if any(those) and not all(those)
    ]


def _ledger_table(ledgers: Iterable[LedgerSummary]) -> Table:
    numbers = ("partition", "journal offset", "waiting")
    table = Table(*(_right(name) for name in numbers), "event time", title="Ledgers")
    for ledger in ledgers:
        counts = (ledger.partition, ledger.offset, ledger.waiting_events)
        table.add_row(*map(_text, counts), _time(ledger.watermark_ms))
    return table


def _program_table(ledgers: Iterable[LedgerSummary]) -> Table:
    """Programs over all ledgers; one has a second row while some that serve it have not met a new model yet."""
    table = Table(
        Column("program", overflow="fold"),
        Column("model", no_wrap=True),
        *(_right(name) for name in ("steps", "open recourses")),
        title="Programs",
    )
    counts: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    programs = [program for ledger in ledgers for program in ledger.programs]
    begun = {program.program for program in programs if program.begun}
    for program in programs:
        if program.program in begun and not program.begun:
            continue
        steps, still_open = counts[program.program, program.model]
        counts[program.program, program.model] = (steps + program.steps, still_open + program.open_recourses)
    for (name, model), both in sorted(counts.items()):
        table.add_row(name, _short(model), *map(_text, both))
    return table


def _short(version: str) -> str:
    if len(version) <= LONGEST_VERSION:
        return version
    return f"{version[: LONGEST_VERSION - VERSION_TAIL - 1]}…{version[-VERSION_TAIL:]}"


def _right(name: str) -> Column:
    return Column(name, justify="right")


def _text(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _time(moment_ms: int | None) -> str:
    return "-" if moment_ms is None else datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="seconds")
