"""``onward status``: the topics, the lag of the workers, and what the ledgers hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Column, Table

from ...connection import connection
from ...connection import topics as topic_names
from ...kafka.extents import Extent, extents
from ...settings import StatusSettings
from ...topics import Topics
from ..flags import parse_settings

if TYPE_CHECKING:
    from ...summary import LedgerSummary

DESCRIPTION = """Show the topics' offsets, the lag of the workers' group and, with --state-dir, what the ledgers hold.
The ledgers are only read; a worker may be running."""


def run(args: Sequence[str]) -> int:
    """Print tables, or JSON."""
    settings = parse_settings(StatusSettings, "onward status", DESCRIPTION, args)
    topics = topic_names(settings)
    names = (*topics.inputs, topics.journal, *topics.outputs)
    reach = extents(replace(connection(settings), group=settings.group), names)
    ledgers = [] if settings.state_dir is None else _ledgers(settings.state_dir)
    if settings.as_json:
        print(json.dumps(_as_json(topics, reach, ledgers), indent=2))
    else:
        _print(topics, reach, ledgers)
    return 0


def _ledgers(state_dir: Path) -> list[LedgerSummary]:
    # Imported late, because the learners come along: a look at the topics alone should not wait for them.
    from ...summary import summaries

    return summaries(state_dir)


def _read(topics: Topics) -> frozenset[str]:
    """The topics that workers read; the others have no lag."""
    return frozenset((*topics.inputs, topics.journal))


def _as_json(topics: Topics, reach: Sequence[Extent], ledgers: Sequence[LedgerSummary]) -> dict[str, object]:
    read = _read(topics)
    return {
        "topics": [{**extent._asdict(), "lag": extent.lag if extent.topic in read else None} for extent in reach],
        "ledgers": [
            {
                **ledger._asdict(),
                "path": str(ledger.path),
                "programs": [program._asdict() for program in ledger.programs],
            }
            for ledger in ledgers
        ],
    }


def _print(topics: Topics, reach: Sequence[Extent], ledgers: Sequence[LedgerSummary]) -> None:
    console, read = Console(), _read(topics)
    table = Table("topic", *(_right(name) for name in ("partition", "begin", "end", "read to", "lag")), title="Topics")
    for extent in reach:
        position = (extent.committed, extent.lag) if extent.topic in read else (None, None)
        table.add_row(extent.topic, *map(_text, (extent.partition, extent.begin, extent.end, *position)))
    console.print(table)
    if not ledgers:
        return
    numbers = ("partition", "journal offset", "waiting", "steps", "open recourses")
    table = Table(
        *(Column(name, overflow="fold") for name in ("program", "model", "event time")),
        *(_right(name) for name in numbers),
        title="Ledgers",
    )
    for ledger in ledgers:
        place = (ledger.partition, ledger.offset, ledger.waiting_events)
        for program in ledger.programs:
            counts = (*place, program.steps, program.open_recourses)
            table.add_row(program.program, program.model, _time(ledger.watermark_ms), *map(_text, counts))
    console.print(table)


def _right(name: str) -> Column:
    return Column(name, justify="right")


def _text(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _time(moment_ms: int | None) -> str:
    return "-" if moment_ms is None else datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="seconds")
