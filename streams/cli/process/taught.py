"""Reads from Kafka what people's answers have taught: the journal is folded again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from ...engine.portion import PreferenceUpdate
from ...ingest.partitioning import partition_of
from ...journal.entries import journal_key, shard_of
from ...kafka.admin.offsets import partition_offsets
from ...kafka.client import records_between
from ...kafka.options import KafkaOptions
from ...programs.assembly import assemble
from ...programs.program import Program
from ...programs.spec_check import load_program_spec
from ...records import TopicPartition
from ...replay.journal_replay import JournalReplay
from ...topics import Topics
from ..display.read_progress import ReadProgress
from .spec_history import in_force, read_spec_history

Shares = Mapping[str, tuple[float, float]]
"""The share of people who are believed to change a feature, before and after, by the features of which it changed; or
to be of a component of the prior, by the components."""


def preference_updates(
    application: str, spec: Path, topics: Topics, options: KafkaOptions
) -> dict[tuple[str, str], Shares]:
    """The changes of preferences by the events of an application, by their kind and ``id``."""
    loaded = load_program_spec(spec)
    given = assemble(loaded)
    program = in_force(loaded, given, read_spec_history(given.name, topics, options))
    journal = partition_offsets(options, [topics.journal])
    shard = shard_of(application, program.spec.shards)
    own = journal[partition_of(journal_key(program.name, shard), len(journal))]
    progress = ReadProgress(own.end - own.begin)
    taught: dict[tuple[str, str], Shares] = {}
    with TemporaryDirectory(prefix="onward-show-") as folder:
        partition = TopicPartition(own.topic, own.partition)
        with closing(JournalReplay(program, topics, partition, Path(folder))) as replay:
            fed = (replay.feed(record) for record in records_between(options, [own], progress.add))
            for one in chain(chain.from_iterable(fed), replay.rest()):
                if isinstance(one, PreferenceUpdate) and one.key.application == application:
                    taught[one.kind, one.id] = _changed(one, program)
    return taught


def _changed(taught: PreferenceUpdate, program: Program) -> Shares:
    each = zip(program.preference_names, taught.before.tolist(), taught.after.tolist(), strict=True)
    return {name: (before, after) for name, before, after in each if before != after}
