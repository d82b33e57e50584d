"""``onward status``: the topics, the lag of the workers, and what the ledgers hold."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from .. import worker_defaults as defaults
from ..kafka.admin.beginnings import beginnings
from ..kafka.admin.offsets import PartitionOffsets, partition_offsets
from ..kafka.admin.owners import members
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printed_json import print_json
from ..settings import BrokerSettings
from ..settings.fields import Json
from ..topics import Topics
from .display.idle_workers import idle_workers
from .display.status import InstallationStatus, JournalBegin, TopicStatus, ahead, print_status
from .flags.parsing import parse_settings

if TYPE_CHECKING:
    from ..ledger.summary import LedgerSummary

DESCRIPTION = """Show the topics' offsets, the lag of the workers' group and, with --state-dir, what the ledgers hold.
The ledgers are only read; a worker may be running."""


class StatusSettings(BrokerSettings):
    """Settings of ``onward status``."""

    group: str = Field(defaults.GROUP, min_length=1, description="Consumer group of the workers.")
    state_dir: Path | None = Field(None, description="Folder of a worker's ledgers, to be read as well.")
    as_json: Json = False


def run(args: Sequence[str]) -> int:
    """Print tables, or JSON."""
    settings = parse_settings(StatusSettings, "onward status", DESCRIPTION, args)
    topics = topic_names(settings)
    ledgers = [] if settings.state_dir is None else _ledgers(settings.state_dir)
    options = replace(connection(settings), group=settings.group)
    offsets = partition_offsets(options, (*topics.inputs, topics.journal, *topics.outputs), of_group=True)
    cut = beginnings(options, (span for span in offsets if span.topic == topics.journal))
    workers = members(options)
    idle = idle_workers(workers, offsets, topics)
    positions = dict(_positions(offsets, topics, ledgers))
    owners = {at: worker.name for worker in workers for at in worker.partitions}
    status = InstallationStatus(
        settings.group,
        any(span.committed is not None for span in offsets),
        [_status(span, topics, positions, owners) for span in offsets],
        [JournalBegin(*span[1:]) for span in cut],
        idle,
        ledgers,
    )
    if settings.as_json:
        print_json(status)
    else:
        print_status(status, positions)
        for line in (*map(str, (*cut, *idle)), *ahead(ledgers, time.time_ns() // 1_000_000)):
            print(line)
    if not status.committed:
        print(
            f"group {settings.group} has committed nothing on these topics: if workers run, give --group the name "
            "that they have",
            file=sys.stderr,
        )
    return 0


def _ledgers(state_dir: Path) -> list[LedgerSummary]:
    # Imported late, because it imports the learners, which the topics alone do not need.
    from ..ledger.summary import summaries

    return summaries(state_dir)


def _is_read(span: PartitionOffsets, topics: Topics) -> bool:
    """Whether workers read a topic; else they write it."""
    return span.topic in (*topics.ingested, topics.journal)


def _positions(
    offsets: Iterable[PartitionOffsets], topics: Topics, ledgers: Sequence[LedgerSummary]
) -> Iterator[tuple[tuple[str, int], int]]:
    """The next offset to read, by the partitions in which something was read.

    That of the journal comes from its ledger when that is ahead: a ledger commits every chunk, the group only now and
    then. A ledger beyond the end of the journal belongs to another journal.
    """
    for span in offsets:
        if _is_read(span, topics):
            folded = [ledger.offset for ledger in ledgers if (topics.journal, ledger.partition) == span[:2]]
            known = [offset for offset in folded if offset <= span.end]
            known += [] if span.committed is None else [span.committed]
            if known:
                yield span[:2], max(known)


def _status(
    span: PartitionOffsets,
    topics: Topics,
    positions: Mapping[tuple[str, int], int],
    owners: Mapping[tuple[str, int], str],
) -> TopicStatus:
    if not _is_read(span, topics):
        return TopicStatus(*span, lag=None, owner=None)
    return TopicStatus(*span, span._replace(committed=positions.get(span[:2])).lag, owners.get(span[:2]))
