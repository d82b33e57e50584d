"""Reads the specs of a program from Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ....schemas.specfile import LoadedSpec
from ...archive.store import Archive
from ...errors import UsageError
from ...ingest.partitioning import partition_of
from ...journal.entries import journal_key
from ...kafka.admin.offsets import partition_offsets
from ...kafka.consume.between import records_between
from ...kafka.options import KafkaOptions
from ...programs.program import Program
from ...records import TopicPartition
from ...replay.spec_history import SpecHistory
from ...topics import Topics
from ..display.read_progress import ReadProgress
from .forged_records import read_forged
from .kept_journal import KeptJournal
from .replay_begin import ReplayBegin

OTHER_SPEC = "program {!r} runs with another spec (sha256 {}): give its file as --spec"


def in_force(loaded: LoadedSpec, given: Program, history: SpecHistory) -> Program:
    """The program ``given`` under the last spec of its log, where ``loaded`` is one of its specs."""
    if not history.has_begun:
        return given
    program = history.program(loaded)
    if given.sha256 not in program.specs_sha256:
        raise UsageError(OTHER_SPEC.format(program.name, program.sha256))
    return program


def read_spec_history(
    program: str,
    topics: Topics,
    options: KafkaOptions,
    archive: Archive | None = None,
    begins: Mapping[int, ReplayBegin] = MappingProxyType({}),
) -> SpecHistory:
    """The specs of a program. All of its shards' journal partitions hold the same ones: that of the first is read.

    Where ``begins`` has a ledger of that journal partition, it is read from there on.
    """
    history, journal = SpecHistory(program), KeptJournal(options, topics.journal, archive)
    spans = [journal.partitions[partition_of(journal_key(program, 0), len(journal.partitions))]]
    if (begin := begins.get(spans[0].partition)) is not None:
        history.begin_at(begin.specs)
        spans = [spans[0]._replace(begin=begin.offset)]
    progress = ReadProgress(2 * sum(span.end - span.begin for span in spans))
    forged = read_forged(journal.records(spans, progress.add))
    for record in journal.records(spans, progress.add):
        if record.offset not in forged[record.partition].refused:
            history.feed_journal(record)
    ahead = [
        span._replace(begin=max(span.begin, history.read.get(TopicPartition(span.topic, span.partition), -1) + 1))
        for span in partition_offsets(options, [topics.specs])
    ]
    for record in records_between(options, ahead, lambda _: None):
        history.feed_announced(record)
    return history
