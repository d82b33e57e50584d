"""Folds the journal partition of one application again, as its worker did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from ...engine.portion import PreferenceUpdate
from ...ingest.partitioning import partition_of
from ...journal.entries import journal_key, shard_of
from ...kafka.admin.offsets import partition_offsets
from ...kafka.consume.between import records_between
from ...kafka.options import KafkaOptions
from ...programs.assembly import assemble
from ...programs.program import Program
from ...programs.spec_check import load_program_spec
from ...records import TopicPartition
from ...replay.journal_replay import JournalReplay, ReplayedFate, ReplayedStep
from ...topics import Topics
from ..display.read_progress import ReadProgress
from .forged_records import read_forged
from .spec_history import in_force, read_spec_history


def program_in_force(spec: Path, topics: Topics, options: KafkaOptions) -> Program:
    """The program of a spec's file, under the last spec of its journal."""
    loaded = load_program_spec(spec)
    given = assemble(loaded, has_begun=True)
    return in_force(loaded, given, read_spec_history(given.name, topics, options))


def replayed(
    application: str, program: Program, topics: Topics, options: KafkaOptions
) -> Iterator[ReplayedStep | ReplayedFate | PreferenceUpdate]:
    """What the fold of the application's journal partition gives, in its order.

    Raise ``JournalCutError`` when the beginning of the journal is gone.
    """
    journal = partition_offsets(options, [topics.journal])
    shard = shard_of(application, program.spec.shards)
    span = journal[partition_of(journal_key(program.name, shard), len(journal))]
    progress = ReadProgress(2 * (span.end - span.begin))
    forged = read_forged(records_between(options, [span], progress.add)).get(span.partition)
    with TemporaryDirectory(prefix="onward-replay-") as folder:
        partition = TopicPartition(span.topic, span.partition)
        with closing(JournalReplay(program, topics, partition, Path(folder), forged)) as replay:
            for record in records_between(options, [span], progress.add):
                yield from replay.feed(record)
            yield from replay.rest()
