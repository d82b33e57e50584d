"""The processor of journal partitions: folds chunks and keeps output, ledger and Kafka in step.

The order of the steps is what delivery stands on:
    1. a portion is read from the journal, where the ledger says;
    2. it is computed;
    3. its outputs are published, and all acknowledged;
    4. effects, state and journal offset are committed to the ledger in one transaction;
    5. its chunk is acknowledged to Kafka (by the caller, when ``handle`` returns).
After a crash between 3 and 4 the same outputs are computed again from the same journal: those that the tail of their
output partition shows to be there are not published a second time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import perf_counter

from prometheus_client import Counter as Metric

from ...schemas.events import NoRecourse, Recourse
from ..engine.effects import Effects
from ..engine.fates import CLOSED
from ..engine.process import process
from ..engine.state import PartitionState
from ..engine.watermark import required_topics
from ..errors import LedgerError
from ..journal.journal import Entry, read
from ..ledger.ledger import Ledger
from ..metrics import Family, Metrics
from ..outputs.deduplicator import Deduplicator, HighWaterMark
from ..outputs.emission import Emission, OutputPosition, topic_of
from ..programs.program import Program
from ..records import Publisher, Record, TopicPartition
from ..snapshots.recovery import LedgerRecovery
from ..snapshots.scheduler import SnapshotScheduler
from ..snapshots.store import Snapshots
from ..topics import Topics
from .lease import always_valid

log = logging.getLogger(__name__)

PORTION_ENTRIES = 2000
"""Events that are folded, published and committed together, or a journal record's more."""
PUBLISHED_TOGETHER = 10_000
"""Outputs, so that what a clock's leap closes at once need not be acknowledged within one publish's time."""
TAIL_RECORDS = 5000
"""How far back the tail of an output partition is read: what a former owner may have had under way.

What is farther back is published once more, and readers drop it.
"""


class Stage(StrEnum):
    """Points between the steps, in order; what observes them is told the stage that has just been reached."""

    COMPUTED = "computed"
    OUTPUTS_IN_FLIGHT = "outputs in flight"
    OUTPUTS_ACKNOWLEDGED = "outputs acknowledged"
    LEDGER_COMMITTED = "ledger committed"


def nothing(stage: Stage) -> None:
    """Observe no stage."""


@dataclass(frozen=True)
class ProcessorConfig:
    """How state is kept. ``waiting_limit`` is of one partition; ``snapshots`` are taken every ``snapshot_seconds``."""

    directory: Path
    waiting_limit: int = 10_000
    snapshots: Snapshots | None = None
    snapshot_seconds: float = 600.0


@dataclass
class _Partition:
    """``journal_end`` is as it was when the ledger was opened."""

    ledger: Ledger
    journal_end: int
    state: PartitionState
    generation: int
    published: dict[str, OutputPosition]
    open: Counter[str]


class PartitionProcessor:
    """The chunk handler of the journal."""

    takes_partitions_together = False

    def __init__(
        self,
        topics: Topics,
        programs: Mapping[str, Program],
        publisher: Publisher,
        metrics: Metrics,
        clock_ms: Callable[[], int],
        config: ProcessorConfig,
        observe: Callable[[Stage], None] = nothing,
        hold: Callable[[], Awaitable[None]] = always_valid,
    ) -> None:
        self._topics = topics
        self._programs = programs
        self._publisher = publisher
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._config = config
        self._observe = observe
        self._hold = hold
        self._opener = LedgerRecovery(config.snapshots, metrics, clock_ms)
        self._taker = SnapshotScheduler(config.snapshots, config.snapshot_seconds, metrics, clock_ms, hold)
        self._partitions: dict[int, _Partition] = {}
        self.assigned_once = False

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The journal partitions this worker keeps."""
        return frozenset(TopicPartition(self._topics.journal, partition) for partition in self._partitions)

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Open the ledgers; the journal is read from where each of them stands."""
        await self._check_widths()
        offsets: dict[TopicPartition, int] = {}
        for journal in sorted(partitions):
            if journal.partition not in self._partitions:
                self._partitions[journal.partition] = await self._open(journal)
            offsets[journal] = self._partitions[journal.partition].state.offset
        self.assigned_once = True
        return offsets

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Close the ledgers."""
        given_up = sorted(self.partitions & set(partitions))
        await self._taker.let_go(self._offsets(given_up))
        for journal in given_up:
            kept = self._partitions.pop(journal.partition)
            self._opener.close(kept.ledger)
            self._metrics.waiting_events.remove(journal.partition)
            self._metrics.watermark_timestamp_seconds.remove(journal.partition)
            log.info("closed ledger", extra={"partition": journal.partition, "offset": kept.state.offset})

    async def take_snapshots(self) -> None:
        """Take the snapshots that are due."""
        await self._taker.take_due(self._offsets(self.partitions))

    def _offsets(self, journals: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {journal: self._partitions[journal.partition].state.offset for journal in journals}

    async def handle(self, chunk: Sequence[Record]) -> None:
        """Steps 2 to 4 of a chunk, in portions: journal records hold many events."""
        kept = self._partitions[chunk[0].partition]
        chunk = [record for record in chunk if record.offset >= kept.state.offset]
        if not chunk:
            return
        if chunk[0].offset != kept.state.offset:
            raise LedgerError(
                f"journal partition {chunk[0].partition} continues at offset {chunk[0].offset}, the ledger stands at "
                f"{kept.state.offset}: records between are gone (retention of the journal must be unlimited)"
            )
        replayed = [record for record in chunk if record.offset < kept.journal_end]
        if replayed:
            await self._fold_all(kept, replayed)
            if kept.state.offset == kept.journal_end:
                # Only now a ledger that was made anew, or stood behind, knows how far its inputs have been read.
                await self._check_inputs(kept.ledger, kept.state.positions)
        await self._fold_all(kept, chunk[len(replayed) :])

    async def _fold_all(self, kept: _Partition, records: Sequence[Record]) -> None:
        entries: list[Entry] = []
        for record in records:
            entries.extend(read(record))
            if len(entries) >= PORTION_ENTRIES:
                await self._fold(kept, entries)
                entries = []
        if entries:
            await self._fold(kept, entries)

    async def _fold(self, kept: _Partition, entries: Sequence[Entry]) -> None:
        started = perf_counter()

        # Step 2: compute.
        effects = process(kept.state, entries, kept.ledger.view(kept.state, entries))
        self._observe(Stage.COMPUTED)
        computed = perf_counter()

        # Step 3: publish what is not there yet; return when all is acknowledged.
        news = self._news(kept, effects.emissions)
        for start in range(0, len(news), PUBLISHED_TOGETHER):
            await self._publish(kept, news[start : start + PUBLISHED_TOGETHER])
        self._observe(Stage.OUTPUTS_ACKNOWLEDGED)
        published = perf_counter()

        # Step 4: commit.
        await self._hold()
        kept.ledger.commit(kept.state, effects)
        self._observe(Stage.LEDGER_COMMITTED)
        times = {"compute": computed - started, "publish": published - computed, "commit": perf_counter() - published}
        self._measure(kept, effects, news, len(entries), times)

    async def _publish(self, kept: _Partition, emissions: Sequence[Emission]) -> None:
        generation = b"%d" % kept.generation
        records = [emission.record(self._topics, kept.state.partition, generation) for emission in emissions]
        await self._hold()
        publishing = asyncio.ensure_future(self._publisher.publish(records))
        await asyncio.sleep(0)
        self._observe(Stage.OUTPUTS_IN_FLIGHT)
        await publishing

    async def _check_widths(self) -> None:
        width = await self._publisher.partitions(self._topics.journal)
        for topic in self._topics.outputs:
            found = await self._publisher.partitions(topic)
            if found != width:
                raise LedgerError(
                    f"topic {topic} has {found} partitions, the journal {width}: they must be the same "
                    "(`onward topics check`)"
                )

    async def _open(self, journal: TopicPartition) -> _Partition:
        path = self._config.directory / f"{journal.topic}-{journal.partition}.sqlite"
        ledger, journal_end, newest = await self._opener.open(path, journal, self._end)
        try:
            kept = await self._loaded(ledger, journal, journal_end)
        except BaseException:
            ledger.close()
            raise
        self._taker.opened(journal, path, newest)
        return kept

    async def _end(self, journal: TopicPartition) -> int:
        ends = await self._publisher.tail(*journal, lambda record: record.offset + 1)
        return ends[-1] if ends else 0

    async def _loaded(self, ledger: Ledger, journal: TopicPartition, journal_end: int) -> _Partition:
        state = ledger.load(self._programs, required_topics(self._topics), self._config.waiting_limit)
        if state.offset > journal_end:
            raise LedgerError(
                f"ledger {ledger.path} stands at journal offset {state.offset}, but the journal ends at {journal_end}: "
                "this is another journal, use another state directory"
            )
        marks = {topic: await self._mark(topic, journal.partition) for topic in self._topics.outputs}
        for topic, (position, _) in marks.items():
            if position.offset >= journal_end:
                raise LedgerError(
                    f"topic {topic} partition {journal.partition} holds outputs of journal offset {position.offset}, "
                    f"but the journal ends at {journal_end}: they are another journal's, delete them or restore it"
                )
        await self._check_inputs(ledger, state.positions)
        generation = ledger.claim(max(mark.generation for mark in marks.values()))
        published = {topic: mark.position for topic, mark in marks.items()}
        extra = {"partition": journal.partition, "offset": state.offset, "behind": journal_end - state.offset}
        log.info("opened ledger", extra=extra)
        return _Partition(ledger, journal_end, state, generation, published, ledger.open_recourses())

    async def _check_inputs(self, ledger: Ledger, folded: Mapping[TopicPartition, int]) -> None:
        """Refuse inputs that were made anew: what they hold now would be taken for what has been folded already."""
        ends = await self._publisher.end_offsets(folded) if folded else {}
        for source, end in sorted(ends.items()):
            if end <= folded[source]:
                raise LedgerError(
                    f"topic {source.topic} partition {source.partition} ends at offset {end}, but ledger {ledger.path} "
                    f"has folded offset {folded[source]} of it: it was made anew or has lost records; restore it, or "
                    "make journal, outputs and all ledgers anew too"
                )

    async def _mark(self, topic: str, partition: int) -> HighWaterMark:
        """How far an output partition has been written. Its last record need not be the furthest: a former owner may
        have had some under way."""
        tail = Deduplicator()
        await self._publisher.tail(topic, partition, tail.judge, TAIL_RECORDS)
        return tail.mark(topic, partition)

    def _news(self, kept: _Partition, emissions: Sequence[Emission]) -> Sequence[Emission]:
        """What is not in the output topics yet: all, but for what is folded again after a crash."""
        last = kept.published
        if not emissions or emissions[0].position > max(last.values()):
            return emissions
        return [emission for emission in emissions if emission.position > last[topic_of(emission.event, self._topics)]]

    def _measure(
        self, kept: _Partition, effects: Effects, news: Sequence[Emission], size: int, times: Mapping[str, float]
    ) -> None:
        metrics, partition = self._metrics, kept.state.partition
        metrics.chunk_records.observe(size)
        for stage, seconds in times.items():
            metrics.chunk_seconds.labels(stage).observe(seconds)
        self._count(kept, effects)
        self._time(effects, news)
        metrics.waiting_events.labels(partition).set(kept.state.waiting.size)
        watermark_ms = min(kept.state.watermark_ms(program) or 0 for program in self._programs.values())
        if watermark_ms:
            metrics.watermark_timestamp_seconds.labels(partition).set(watermark_ms / 1000)

    def _time(self, effects: Effects, news: Sequence[Emission]) -> None:
        metrics, now_ms = self._metrics, self._clock_ms()
        for program in {program for program, _, _ in effects.delays}:
            delays = [(ms / 1000, steps) for name, ms, steps in effects.delays if name == program]
            metrics.outcome_delay_seconds.observe(program, [seconds for seconds, _ in delays])
            metrics.outcome_delay_steps.observe(program, [steps for _, steps in delays])
        answers = [
            (emission.event.program, max(0, now_ms - emission.timestamp_ms) / 1000)
            for emission in news
            if isinstance(emission.event, (Recourse, NoRecourse))
        ]
        for program in {program for program, _ in answers}:
            latencies = [seconds for name, seconds in answers if name == program]
            metrics.recourse_latency_seconds.observe(program, latencies)

    def _count(self, kept: _Partition, effects: Effects) -> None:
        metrics = self._metrics
        counted: Mapping[str, Family[Metric]] = {
            "applications": metrics.applications,
            "decisions": metrics.decisions,
            "recourses": metrics.recourses,
            "fates": metrics.fates,
            "duplicates": metrics.duplicates,
            "dead_letters": metrics.dead_letters,
        }
        for (what, which, detail), times in effects.counts.items():
            if what in counted:
                counted[what].labels(*filter(None, (which, detail))).inc(times)
            if (what, detail) == ("recourses", "recourse"):
                kept.open[which] += times
            elif what == "fates" and detail in CLOSED.values():
                kept.open[which] -= times
        for program in self._programs:
            total = sum(partition.open[program] for partition in self._partitions.values())
            metrics.open_recourses.labels(program).set(total)
