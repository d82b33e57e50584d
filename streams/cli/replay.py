"""``onward replay``: folds a kept journal with this version, and compares its outputs with the published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from ..archive.store import Archive, archive_at
from ..errors import UsageError
from ..kafka import connection
from ..kafka.admin.offsets import PartitionOffsets, partition_offsets
from ..kafka.consume.between import records_between
from ..kafka.options import KafkaOptions
from ..ledger.file import copy_ledger, ledger_errors
from ..printable import printable
from ..printed_json import print_json
from ..programs.assembly import assemble_all
from ..programs.spec_check import load_program_spec
from ..records import Record, TopicPartition
from ..replay.output_check import Difference, OutputCheck, PublishedOutputs
from ..settings.archive import ArchiveSettings
from ..settings.fields import Json, Paths
from ..topics import Topics
from .display.read_progress import ReadProgress
from .flags.parsing import parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.forged_records import read_forged
from .process.kept_journal import KeptJournal
from .process.kept_ledgers import fetch_first_good, kept_checkpoints, kept_snapshots, migrate
from .process.unread_batches import UnreadBatches

DESCRIPTION = """Fold the journal with this version of Onward, and compare its outputs with those on the topics: run it
before an upgrade. Reads to where the topics end now, and writes nothing. Exit code 1 where an output differs."""
WHOLE = "the output"
"""What differs where only one side has it."""
LONGEST_TEXT = 200
"""Characters of a value that are printed; JSON has all."""


class ReplaySettings(ArchiveSettings):
    """Settings of ``onward replay``: what is folded, and from where."""

    check: bool = Field(False, description="Compare the outputs with those on the topics; replay does nothing else.")
    spec: Paths = Field(min_length=1, description="Program specs (YAML) of the journal's programs.")
    snapshots: str | None = Field(
        None,
        min_length=1,
        description="Begin with the oldest snapshot at this address.",
    )
    from_ledger: Path | None = Field(
        None, description="Begin with copies of the ledgers in this folder, a worker's --state-dir or a backup of one."
    )
    as_json: Json = False

    @model_validator(mode="after")
    def _checks(self) -> Self:
        if not self.check:
            raise ValueError("give --check: replay compares, and does nothing else")
        if self.snapshots is not None and self.from_ledger is not None:
            raise ValueError("give either --snapshots ADDRESS or --from-ledger FOLDER")
        return self


class FieldCount(NamedTuple):
    """The number of outputs of a topic that differ in a field, or lack one that only this version writes."""

    topic: str
    field: str
    outputs: int


class Result(NamedTuple):
    """A comparison: journal records, outputs, how many differ, and the first that does.

    ``fields`` counts outputs by the fields in which they differ, ``added`` those by the fields that they lack, the most
    first. ``uncompared_partitions`` are the journal partitions of which no output was compared.
    """

    journal_records: int
    compared: int
    differing: int
    fields: Sequence[FieldCount]
    added: Sequence[FieldCount]
    uncompared_partitions: Sequence[int]
    first: Difference | None


def run(args: Sequence[str]) -> int:
    """Print what differs, or JSON."""
    settings = parse_settings(ReplaySettings, "onward replay", DESCRIPTION, args)
    with quiet_kafka_clients(), TemporaryDirectory(prefix="onward-replay-") as folder:
        result = _check(settings, Path(folder))
    (print_json if settings.as_json else _print)(result)
    if not result.compared:
        raise UsageError(
            "no output was compared: the topics hold none of the journal records that were folded; begin earlier, with "
            "older --snapshots or --from-ledger, with --archive, or without them"
        )
    return 1 if result.differing else 0


def _check(settings: ReplaySettings, folder: Path) -> Result:
    programs = assemble_all([load_program_spec(path) for path in settings.spec], has_begun=True)
    archive = None if settings.archive is None else archive_at(settings.archive, settings.archive_key_command)
    topics, options = connection.topics(settings), connection.connection(settings)
    differing = 0
    first: Difference | None = None
    with closing(_published(topics, options, folder)) as published, ExitStack() as stack:
        journal = KeptJournal(options, topics.journal, archive)
        checks = {}
        for span in journal.partitions:
            partition = TopicPartition(span.topic, span.partition)
            ledger = folder / f"{span.partition}.sqlite"
            if archive is None or settings.snapshots is not None or settings.from_ledger is not None:
                _begin(settings, partition, ledger)
            else:
                _fetch_checkpoint(archive, span, journal.cut[span.partition], ledger)
            checks[span.partition] = stack.enter_context(
                closing(OutputCheck(programs, topics, partition, ledger, published))
            )
        ahead = [span._replace(begin=max(span.begin, checks[span.partition].offset)) for span in journal.partitions]
        progress = ReadProgress(2 * sum(max(0, span.end - span.begin) for span in ahead))
        for number, forged in read_forged(journal.records(ahead, progress.add)).items():
            checks[number].forged = forged
        for difference in _differences(journal.records(ahead, progress.add), checks):
            differing += 1
            first = first or difference
        records = sum(max(0, span.end - span.begin) for span in ahead)
        compared = sum(check.compared for check in checks.values())
        fields = _most_first(check.differing for check in checks.values())
        added = _most_first(check.added for check in checks.values())
        uncompared = [span.partition for span in journal.partitions if span.end and not checks[span.partition].compared]
    return Result(records, compared, differing, fields, added, uncompared, first)


def _differences(journal: Iterable[Record], checks: Mapping[int, OutputCheck]) -> Iterator[Difference]:
    for record in journal:
        yield from checks[record.partition].feed(record)
    for check in checks.values():
        yield from check.rest()


def _published(topics: Topics, options: KafkaOptions, folder: Path) -> PublishedOutputs:
    published, offsets = PublishedOutputs(folder / "outputs.sqlite"), partition_offsets(options, topics.outputs)
    for span in offsets:
        if span.begin:
            published.cut(TopicPartition(span.topic, span.partition))
    progress = ReadProgress(sum(span.end - span.begin for span in offsets))
    unread = UnreadBatches()
    for record in unread.seen(records_between(options, offsets, progress.add)):
        published.add(record)
    unread.print()
    return published


def _begin(settings: ReplaySettings, journal: TopicPartition, ledger: Path) -> None:
    """Copy the ledger from which the replay begins to ``ledger``, of this schema; nothing for the beginning.

    Of snapshots that is the oldest good one: so most is compared.
    """
    if settings.from_ledger is not None:
        kept = settings.from_ledger / f"{journal.topic}-{journal.partition}.sqlite"
        if kept.exists():
            with ledger_errors(kept):
                copy_ledger(kept, ledger, lambda: None)
            migrate(f"ledger {kept}", ledger)
    elif settings.snapshots is not None:
        fetch_first_good(kept_snapshots(settings.snapshots, journal), ledger)


def _fetch_checkpoint(archive: Archive, span: PartitionOffsets, cut: int, ledger: Path) -> None:
    """Fetch the checkpoint from which least is folded before what the topic holds: outputs of older records are gone.

    None where there is no good one, and the archive has the beginning; else one as early as can be.
    """
    there = kept_checkpoints(archive, TopicPartition(span.topic, span.partition))
    behind = [checkpoint for checkpoint in reversed(there) if span.begin <= checkpoint.offset <= cut]
    ahead = [checkpoint for checkpoint in there if checkpoint.offset > cut] if span.begin else []
    fetch_first_good((*behind, *ahead), ledger)


def _most_first(counts: Iterable[Counter[tuple[str, str]]]) -> list[FieldCount]:
    total = sum(counts, Counter[tuple[str, str]]())
    return sorted((FieldCount(*of, count) for of, count in total.items()), key=lambda field: (-field.outputs, field))


def _print(result: Result) -> None:
    for line in _lines(result):
        print(printable(line))


def _lines(result: Result) -> Iterator[str]:
    counts = f"{result.compared:,} outputs compared, {result.differing:,} differ"
    yield f"{result.journal_records:,} journal records, {counts}"
    for partition in result.uncompared_partitions:
        yield f"journal partition {partition}: no output was compared"
    for topic, field, count in result.added:
        yield f"{topic}: {count:,} have {field}, which the older version never writes"
    for topic, field, count in result.fields:
        yield f"{topic}: {count:,} differ in {field or WHOLE}"
    if (first := result.first) is not None:
        yield (
            f"first: {first.topic} partition {first.partition} at position {first.position}, application "
            f"{first.application or '-'} of program {first.program or '-'}"
        )
        yield f"{first.field or WHOLE}: {first.was[:LONGEST_TEXT]} -> {first.now[:LONGEST_TEXT]}"
