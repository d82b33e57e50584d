"""The partition processor: folds the journal and keeps outputs, ledger and Kafka in step.

Delivery stands on the order of these steps:
    1. a portion of the journal is read, from where the ledger stands, or taken as this worker has appended it;
    2. it is folded into effects, in a thread: a long fold must not keep the worker from hearing brokers;
    3. its outputs are published, and all are acknowledged;
    4. its effects are written to the ledger, and committed with state and journal offset in one transaction, which may
       cover several portions;
    5. its offsets are committed to the consumer group (by the caller, when ``handle`` has returned).
After a crash between 3 and the commit the same outputs are computed again from the same journal. Those that the tail of
their output partition already holds are not published a second time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter

from ..archive.store import Archive
from ..engine.handlers.model import announces_models, load_models
from ..engine.portion import PORTION_ENTRIES, PortionChanges
from ..engine.process import footprint, process
from ..engine.state import PartitionState
from ..engine.timing.watermark import required_topics
from ..engine.version import ENGINE_VERSION, EngineSpan
from ..errors import BrokerError, LedgerError
from ..journal.engine_lines import check_declared_engine, engine_records
from ..journal.entries import Entry, JournalPosition
from ..journal.forged_records import ForgedRecords
from ..journal.lines import read_entries
from ..journal.width import check_width, checked_width
from ..ledger.check import LedgerMeta
from ..ledger.file import delete_expired
from ..ledger.ledger import Ledger
from ..metrics import Metrics
from ..outputs.deduplicator import Deduplicator, HighWaterMark
from ..outputs.emission import Emission
from ..outputs.writer import OutputWriter
from ..programs.accepted import AcceptedFile
from ..programs.bundle.loader import ModelBundle
from ..programs.program import Program
from ..records import Publisher, Record, TopicPartition
from ..snapshots.recovery import LedgerRecovery
from ..snapshots.scheduler import SnapshotScheduler
from ..snapshots.store import Snapshots
from ..threads import in_thread
from ..topics import DAY_MS, Topics
from ..worker_defaults import SNAPSHOT_MINUTES, WAITING_LIMIT
from .appended_records import AppendedRecords
from .handover import check_handover, check_not_handed_over, successor_of
from .journal_archiver import JournalArchiver
from .journal_gate import JournalGate
from .journal_trimmer import CUT_SECONDS, JournalTrimmer, Owned
from .lease import always_valid
from .portion_size import PortionSize
from .processor_metrics import ProcessorMetrics
from .spec_check import check_given_specs, check_listed
from .stages import Stage, ignore_stage

log = logging.getLogger(__name__)

TAIL_RECORDS = 5000
"""Records of the tail of an output partition that are read at the start, for outputs of a former owner.

Outputs farther back are published once more, and readers drop them.
"""
COMMIT_SECONDS = 0.05
"""From the first portion that is written to the ledger to the commit, about: what is folded again after a crash."""
SCRUB_SECONDS = 30.0
"""Seconds between two scrubs of a ledger, each of which writes it anew: erasures that come together share one."""
SCRUB_AGAIN_SECONDS = 5.0
"""Seconds until a scrub that did not succeed is tried again."""


@dataclass(frozen=True)
class ProcessorConfig:
    """The folder of the state, and how it is kept.

    ``waiting_limit`` is the most events of a partition that may wait; ``snapshots`` are taken every
    ``snapshot_seconds``. Journal records older than ``journal_days`` are deleted behind them, at most every
    ``cut_seconds``; none where it is None. Before, they are kept in an ``archive``, if there is one. At most
    ``portion_entries`` events are folded, published and committed together; more where one journal record holds more.
    A commit of the ledger covers the portions of ``commit_seconds``: by default each has its own.
    ``accepted`` lists the models and changed specs that the journal may hold; None for any. ``skipped`` are records of
    the journal that were refused and are left out, by partition and offset.
    """

    directory: Path
    waiting_limit: int = WAITING_LIMIT
    snapshots: Snapshots | None = None
    snapshot_seconds: float = 60.0 * SNAPSHOT_MINUTES
    portion_entries: int = PORTION_ENTRIES
    accepted: AcceptedFile | None = None
    journal_days: float | None = None
    cut_seconds: float = CUT_SECONDS
    archive: Archive | None = None
    skipped: frozenset[tuple[int, int]] = frozenset()
    commit_seconds: float = 0.0


@dataclass
class _Partition:
    """A journal partition that this worker owns.

    ``journal_end`` is the end offset at the time when the ledger was opened, ``successor`` a newer engine that had
    answered. ``open_recourses`` counts by program. ``is_unfinished`` is as of the last portion that was written: while
    one is folded, the state belongs to the thread of the fold. ``using`` is held while a portion is folded or the
    ledger committed. ``is_whole`` says that the ledger holds what the state says, up to a commit, and ``written_at`` is
    when the first portion of that was written, in seconds of the monotonic clock.
    ``scrub_from`` is when the ledger may be scrubbed again, in seconds of the monotonic clock.
    """

    ledger: Ledger
    journal_end: int
    state: PartitionState
    outputs: OutputWriter
    successor: EngineSpan | None
    open_recourses: Counter[str]
    is_unfinished: bool
    portion: PortionSize
    forged: ForgedRecords
    appended: AppendedRecords = field(default_factory=AppendedRecords)
    using: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_whole: bool = True
    written_at: float = 0.0
    scrub_from: float = 0.0


class PartitionProcessor:
    """The chunk handler of the journal.

    Parameters
    ----------
    observe
        Is called at each stage, for tests that stop a worker there.
    wait_until_valid
        Returns while the worker's lease runs; is awaited before outputs are published and before the ledger is
        committed.
    """

    takes_partitions_together = False

    def __init__(
        self,
        topics: Topics,
        programs: Mapping[str, Program],
        publisher: Publisher,
        metrics: Metrics,
        clock_ms: Callable[[], int],
        config: ProcessorConfig,
        observe: Callable[[Stage], None] = ignore_stage,
        wait_until_valid: Callable[[], Awaitable[None]] = always_valid,
    ) -> None:
        self._topics = topics
        self._programs = programs
        self._publisher = publisher
        self._metrics = ProcessorMetrics(metrics, programs, clock_ms)
        self._clock_ms = clock_ms
        self._config = config
        self._observe = observe
        self._wait_until_valid = wait_until_valid
        self._recovery = LedgerRecovery(config.snapshots, metrics, clock_ms)
        self._scheduler = SnapshotScheduler(
            config.snapshots, config.snapshot_seconds, metrics, clock_ms, wait_until_valid
        )
        keep_ms = None if config.journal_days is None else round(config.journal_days * DAY_MS)
        archiver = None if config.archive is None else JournalArchiver(config.archive, publisher, clock_ms, observe)
        self._trimmer = JournalTrimmer(
            config.snapshots,
            keep_ms,
            publisher,
            metrics,
            clock_ms,
            wait_until_valid,
            observe,
            config.cut_seconds,
            archiver,
        )
        self._gate = JournalGate(topics, publisher, clock_ms, wait_until_valid, config.skipped)
        self._partitions: dict[int, _Partition] = {}
        self._opening: frozenset[int] = frozenset()
        self._folding = asyncio.Lock()
        self._width = 0
        self.assigned_once = False

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The journal partitions that this worker owns."""
        return frozenset(TopicPartition(self._topics.journal, partition) for partition in self._partitions)

    @property
    def unfinished_partitions(self) -> frozenset[TopicPartition]:
        """The journal partitions with work that later entries carry on, such as a round that is not closed yet."""
        return frozenset(
            TopicPartition(self._topics.journal, partition)
            for partition, owned in self._partitions.items()
            if owned.is_unfinished
        )

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Open the ledgers. The journal is read from where each of them stands."""
        self._width = self._gate.width = await self._checked_width()
        partitions = sorted(partitions)
        self._opening = frozenset(journal.partition for journal in partitions)
        for journal in partitions:
            if journal.partition not in self._partitions:
                self._partitions[journal.partition] = await self._open_partition(journal)
        self._opening = frozenset()
        self.assigned_once = True
        return self._offsets(partitions)

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Close the ledgers."""
        revoked = sorted(self.partitions & set(partitions))
        for journal in revoked:
            owned = self._partitions[journal.partition]
            try:
                async with owned.using:
                    await self._commit(owned)
            except LedgerError as error:
                log.warning("the last portions will be folded again: %s", error, extra={"partition": journal.partition})
        await self._scheduler.revoked(self._offsets(revoked))
        for journal in revoked:
            owned = self._partitions.pop(journal.partition)
            self._recovery.close(owned.ledger)
            self._metrics.forget(journal.partition)
            log.info("closed ledger", extra={"partition": journal.partition, "offset": owned.ledger.committed[0]})

    async def commit_due(self) -> None:
        """Commit the ledgers whose last portions were written a while ago, and that nothing followed."""
        for owned in list(self._partitions.values()):
            if not owned.using.locked() and self._is_due(owned):
                async with owned.using:
                    await self._commit(owned)

    async def take_snapshots(self) -> None:
        """Take the snapshots that are due, and cut the journal behind them."""
        await self._scheduler.take_due(self._offsets(self.partitions))
        for journal in sorted(self.partitions):
            if owned := self._partitions.get(journal.partition):
                programs = tuple(owned.state.programs.values())
                await self._trimmer.cut_if_due(journal, Owned(owned.ledger.path, owned.ledger.committed[0], programs))

    async def delete_expired(self) -> None:
        """Delete damaged ledgers, and those of partitions that other workers have, when they are old."""
        if not self.assigned_once:
            return
        # Not in a thread: a ledger that is being opened must stay.
        owned = self._partitions.keys() | self._opening
        deleted = delete_expired(self._config.directory, self._topics.journal, owned, self._clock_ms())
        if deleted:
            log.info("deleted old ledgers", extra={"files": [path.name for path in deleted]})

    async def check_topics(self) -> None:
        """Raise ``LedgerError`` when partitions were added to the journal, or an input was made again, since the start.

        The records of such an input would count as folded already.
        """
        if not self._partitions:
            return
        # Brokers may be away for a while.
        with suppress(BrokerError):
            check_width("when its partitions were assigned", self._width, await self._journal_partitions())
            # While a portion is folded, the state belongs to its thread.
            async with self._folding:
                folded = [(owned.ledger, dict(owned.state.positions)) for owned in self._partitions.values()]
            for ledger, positions in folded:
                await self._check_inputs(ledger, positions)

    def keep_appended(self, records: Sequence[Record]) -> Sequence[Record]:
        """Keep what was appended to partitions of this worker, for the fold; return what is kept."""
        return [
            record
            for record in records
            if (owned := self._partitions.get(record.partition)) is not None and owned.appended.keep(record)
        ]

    async def handle(self, chunk: Sequence[Record]) -> None:
        """Fold the chunk, and what is kept and follows, in portions: read, fold, publish, commit."""
        owned = self._partitions[chunk[0].partition]
        unread = owned.appended.unread(chunk, owned.state.offset, owned.forged.next_offset)
        if not unread:
            return
        if unread[0].first_offset > owned.forged.next_offset(owned.state.offset):
            raise LedgerError(
                f"journal partition {unread[0].partition} continues at offset {unread[0].first_offset}, the ledger "
                f"stands at {owned.state.offset}: records between are gone (its retention must be unlimited)"
            )
        replayed = [record for record in unread if record.offset < owned.journal_end]
        if replayed:
            await self._fold_in_portions(owned, replayed)
            if owned.forged.next_offset(owned.state.offset) == owned.journal_end:
                # A ledger that was rebuilt, or stood behind, knows only now how far its inputs have been read.
                await self._check_inputs(owned.ledger, owned.state.positions)
                await check_given_specs(self._programs, owned.state, self._publisher, self._topics)
        await self._fold_in_portions(owned, unread[len(replayed) :])

    # --- folding ----------------------------------------------------------------------------------------------------

    async def _fold_in_portions(self, owned: _Partition, records: Sequence[Record]) -> None:
        # Step 1: read portions of whole records, because outputs are numbered within a record.
        entries: list[Entry] = []
        for record in records:
            if owned.forged.leaves_out(record.offset):
                continue
            read = read_entries(record)
            try:
                check_not_handed_over(record.offset, owned.successor)
                check_declared_engine(read)
                await self._gate.check(record, read, owned.forged, partial(self._check_input, owned))
            except LedgerError:
                # What stands before it can be used.
                if entries:
                    await self._fold_and_write(owned, entries)
                raise
            entries.extend(read)
            if len(entries) >= owned.portion.entries:
                await self._fold_and_write(owned, entries)
                entries = []
        if entries:
            await self._fold_and_write(owned, entries)

    async def _fold_and_write(self, owned: _Partition, entries: Sequence[Entry]) -> None:
        async with owned.using:
            owned.is_whole = False
            await self._fold_portion(owned, entries)
            owned.is_whole = True
            if self._is_due(owned):
                await self._commit(owned)
            await self._scrub_if_due(owned)

    async def _fold_portion(self, owned: _Partition, entries: Sequence[Entry]) -> None:
        # Step 2: fold. Models are loaded before, so that the fold reads nothing but the ledger.
        extra = {"partition": owned.state.partition, "records": len(entries)}
        models: Mapping[JournalPosition, ModelBundle] = {}
        if self._config.accepted is not None:
            self._config.accepted.check_journal(entries, self._programs)
        if announces_models(entries):
            models = await in_thread(
                load_models, owned.state, entries, to_its_end=True, name="load new models", extra=extra
            )
        # One fold at a time: programs are shared.
        async with self._folding:
            started = perf_counter()
            effects = await in_thread(
                _folded, owned, entries, models, to_its_end=True, name="fold the journal", extra=extra
            )
        self._observe(Stage.COMPUTED)
        computed = perf_counter()
        owned.portion.folded(len(entries), computed - started)

        # Step 3: publish the outputs that are not there yet; return when all are acknowledged.
        in_flight = partial(self._observe, Stage.OUTPUTS_IN_FLIGHT)
        outputs = await owned.outputs.publish(effects.emissions, self._wait_until_valid, in_flight)
        self._observe(Stage.OUTPUTS_ACKNOWLEDGED)
        published = perf_counter()

        # Step 4: write.
        await self._wait_until_valid()
        if not owned.ledger.is_written:
            owned.written_at = monotonic()
        owned.ledger.write(owned.state, effects)
        owned.is_unfinished = owned.state.is_unfinished
        self._observe(Stage.ROWS_WRITTEN)
        seconds = {"compute": computed - started, "publish": published - computed, "write": perf_counter() - published}
        self._measure(owned, effects, outputs, len(entries), seconds)

    def _is_due(self, owned: _Partition) -> bool:
        return owned.ledger.is_written and monotonic() >= owned.written_at + self._config.commit_seconds

    async def _commit(self, owned: _Partition) -> None:
        """Commit what was written; nothing after a portion that was not written whole."""
        if owned.is_whole and owned.ledger.is_written:
            owned.is_whole, started = False, perf_counter()
            extra = {"partition": owned.state.partition}
            await in_thread(
                owned.ledger.commit_written, owned.state, to_its_end=True, name="commit the ledger", extra=extra
            )
            owned.is_whole = True
            open_recourses = [partition.open_recourses for partition in self._partitions.values()]
            seconds = perf_counter() - started
            self._metrics.observe_commit(owned.state, seconds, open_recourses, owned.ledger.count_due)
            self._observe(Stage.LEDGER_COMMITTED)

    async def _scrub_if_due(self, owned: _Partition) -> None:
        """Let the ledger's file forget the erased: at once, but not again and again."""
        now = monotonic()
        if now < owned.scrub_from or owned.ledger.is_scrubbed:
            return
        await self._commit(owned)
        extra = {"partition": owned.state.partition}
        try:
            done = await in_thread(
                owned.ledger.scrub, to_its_end=True, name="scrub the ledger of the erased", extra=extra
            )
        except LedgerError as error:
            done = False
            log.warning("the ledger still holds traces of the erased, and is scrubbed later: %s", error, extra=extra)
        owned.scrub_from = monotonic() + (SCRUB_SECONDS if done else SCRUB_AGAIN_SECONDS)

    def _measure(
        self,
        owned: _Partition,
        effects: PortionChanges,
        published: Sequence[Emission],
        entries: int,
        seconds: Mapping[str, float],
    ) -> None:
        for name in sorted(effects.specs):
            extra = {"program": name, "sha256": owned.state.programs[name].sha256, "partition": owned.state.partition}
            log.info("a changed spec is in force", extra=extra)
        _tell_models(owned.state, self._programs, sorted(effects.models))
        self._metrics.observe(owned.state, effects, published, entries, seconds, owned.open_recourses)

    # --- opening a ledger ------------------------------------------------------------------------------------------

    async def _open_partition(self, journal: TopicPartition) -> _Partition:
        path = self._config.directory / f"{journal.topic}-{journal.partition}.sqlite"
        check = partial(self._check_handover, path)
        ledger, journal_end, newest = await self._recovery.open(path, journal, self._journal_range, check)
        try:
            owned = await self._restore_partition(ledger, journal, journal_end)
        except BaseException:
            ledger.close()
            raise
        self._scheduler.opened(journal, path, newest)
        return owned

    async def _restore_partition(self, ledger: Ledger, journal: TopicPartition, journal_end: int) -> _Partition:
        extra = {"partition": journal.partition}
        state = await in_thread(
            ledger.load,
            self._programs,
            required_topics(self._topics),
            self._config.waiting_limit,
            to_its_end=True,
            name="load the ledger",
            extra=extra,
        )
        if state.offset > journal_end:
            raise LedgerError(
                f"ledger {ledger.path} stands at journal offset {state.offset}, but the journal ends at {journal_end}: "
                "this is another journal, use another state directory"
            )
        if self._config.accepted is not None:
            check_listed(self._programs, state, self._config.accepted)
        check_width(f"ledger {ledger.path}", ledger.keep_width(self._width), self._width)
        marks = await self._high_water_marks(journal.partition)
        check_handover(f"ledger {ledger.path}", state.offset, marks)
        for topic, (position, _, _) in marks.items():
            if position.offset >= journal_end:
                raise LedgerError(
                    f"topic {topic} partition {journal.partition} holds outputs of journal offset {position.offset}, "
                    f"but the journal ends at {journal_end}: they are another journal's, delete them or restore it"
                )
        await self._check_inputs(ledger, state.positions)
        if state.offset == journal_end:
            await check_given_specs(self._programs, state, self._publisher, self._topics)
        await self._declare_engine(ledger, journal)
        forged = await self._gate.open(journal, state.offset, journal_end)
        generation = ledger.claim(max(mark.generation for mark in marks.values()))
        published = {topic: mark.position for topic, mark in marks.items()}
        written_by = b"%d" % generation, ledger.engine.header()
        outputs = OutputWriter(self._topics, self._publisher, journal.partition, *written_by, published)
        behind = {"offset": state.offset, "behind": journal_end - state.offset}
        log.info("opened ledger", extra={**extra, **behind})
        _tell_models(state, self._programs, sorted(self._programs))
        return _Partition(
            *(ledger, journal_end, state, outputs, successor_of(marks)),
            *(ledger.open_recourses(), state.is_unfinished),
            PortionSize(self._config.portion_entries),
            forged,
        )

    async def _check_handover(self, path: Path, ledger: LedgerMeta) -> None:
        """Raise ``HandoverError`` where this version must not go on with a ledger or snapshot."""
        check_handover(f"ledger {path}", ledger.offset, await self._high_water_marks(ledger.partition))

    async def _declare_engine(self, ledger: Ledger, journal: TopicPartition) -> None:
        """Declare in the journal that another engine goes on from here, where one has folded before."""
        if ledger.committed[0] and ledger.engine.version != ENGINE_VERSION:
            await self._publisher.publish(list(engine_records(*journal, ENGINE_VERSION, self._clock_ms(), self._width)))

    async def _high_water_marks(self, partition: int) -> dict[str, HighWaterMark]:
        return {topic: await self._high_water_mark(topic, partition) for topic in self._topics.outputs}

    async def _high_water_mark(self, topic: str, partition: int) -> HighWaterMark:
        """How far an output partition has been written. Its last record need not be the furthest: records of a former
        owner may have arrived behind its successor's."""
        tail = Deduplicator()
        await self._publisher.tail(topic, partition, tail.classify, TAIL_RECORDS)
        return tail.mark(topic, partition)

    async def _journal_range(self, journal: TopicPartition) -> tuple[int, int]:
        """The first offset of a journal partition, and its end."""
        begin = await self._publisher.begin_offset(journal)
        ends = await self._publisher.tail(*journal, lambda record: record.offset + 1)
        # Its records may all have been cut.
        return begin, ends[-1] if ends else begin

    async def _journal_partitions(self) -> int:
        return await self._publisher.partitions(self._topics.journal)

    async def _checked_width(self) -> int:
        """The journal's number of partitions, which every output has too, and for which its records were written."""
        width = await checked_width(self._publisher, self._topics)
        for topic in self._topics.outputs:
            partitions = await self._publisher.partitions(topic)
            if partitions != width:
                raise LedgerError(
                    f"topic {topic} has {partitions} partitions, the journal {width}: they must be the same "
                    "(`onward topics check`)"
                )
        return width

    async def _check_input(self, owned: _Partition, source: TopicPartition) -> None:
        position = owned.state.positions.get(source)
        await self._check_inputs(owned.ledger, {} if position is None else {source: position})

    async def _check_inputs(self, ledger: Ledger, folded: Mapping[TopicPartition, int]) -> None:
        """Refuse inputs that were deleted and created again: their records would count as folded already."""
        for topic in sorted({source.topic for source in folded}):
            last = max(source.partition for source in folded if source.topic == topic)
            if (partitions := await self._publisher.partitions(topic)) <= last:
                raise LedgerError(
                    f"topic {topic} has {partitions} partitions, but ledger {ledger.path} has folded records of "
                    f"partition {last}: it was made again with fewer; restore it, or recreate journal, outputs and all "
                    "ledgers too (docs/operations.md, Starting again)"
                )
        ends = await self._publisher.end_offsets(folded) if folded else {}
        for source, end in sorted(ends.items()):
            if end <= folded[source]:
                raise LedgerError(
                    f"topic {source.topic} partition {source.partition} ends at offset {end}, but ledger {ledger.path} "
                    f"has folded offset {folded[source]} of it: it was recreated or has lost records; restore it, or "
                    "recreate journal, outputs and all ledgers too"
                )

    def _offsets(self, journals: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {journal: self._partitions[journal.partition].ledger.committed[0] for journal in journals}


def _tell_models(state: PartitionState, given: Mapping[str, Program], names: Iterable[str]) -> None:
    """Log which model of these programs is in force in a journal partition."""
    for name in names:
        current = state.models.get(name) or given[name]
        extra = {"program": name, "version": current.bundle.version, "partition": state.partition}
        log.info("model in force", extra=extra)


def _folded(
    owned: _Partition, entries: Sequence[Entry], models: Mapping[JournalPosition, ModelBundle]
) -> PortionChanges:
    """Fold a portion into the state."""
    return process(owned.state, entries, owned.ledger.view(owned.state, footprint(entries), models))
