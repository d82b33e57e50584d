"""Ingest: reads the input topics, validates every record, and appends it to the journal.

A record that cannot be used is appended as a dead letter. The engine publishes it, so a dead letter is neither lost nor
doubled. Ingest keeps no state: after a crash it may append records twice, and the engine recognises them by their
source position.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from ...schemas.encoding import Problem
from ...schemas.events import Journaled, Model, RawApplication, RawErasure, RawReturn, RawSpec, SourcePosition, Tick
from ...schemas.headers import CloudEvent
from ...schemas.kinds import Kind, kinds
from ...schemas.spec_document import sha256_of
from ..errors import ModelError
from ..journal.entries import journal_key, shard_of
from ..journal.lines import JournalRecord, handled_line, line_of, pack_lines, spec_line, tick_line
from ..journal.width import checked_width
from ..metrics import Metrics
from ..programs.accepted import NOT_ACCEPTED, AcceptedFile
from ..programs.announced_spec import SPEC_REFUSED, check_announced, read_spec, spec_event
from ..programs.assembly import check_model
from ..programs.bundle.addresses import home_of, is_allowed
from ..programs.program import Program
from ..programs.spec_changes import SpecRefusedError
from ..records import HandOver, Lag, Publisher, Record, TopicPartition
from ..threads import in_thread
from ..topics import Topics
from .partitioning import partition_of
from .refusals import Quota, Refusals, UnusableRun
from .validation import RecordLimits, Validated, Validator

SMALL_BYTES = 65_536
"""Of a chunk that needs no thread: the work on it is linear, and a change of threads would take longer."""
HEADER_BYTES = 10
"""What a header counts for: its name and content are looked at in no time, most of them not at all."""
log = logging.getLogger(__name__)

FirstLoad = Callable[[Program, Model], Awaitable[None]]
"""Loads an announced model of a program for the first time; raises ``ModelError`` when it is refused."""


async def load_here(program: Program, model: Model) -> None:
    """Load a model in a thread of this process."""
    extra = {"program": model.program}
    bundle = await in_thread(program.load, model.manifest, model.sha256, name="load a model", extra=extra)
    check_model(bundle, model, program.spec)


def keep_nothing(records: Sequence[Record]) -> None:
    """Hand nothing over: what was appended is read from the journal."""


class Ingest:
    """The chunk handler of all input topics.

    What it has appended it hands over, by ``hand_over``, when the journal has acknowledged it.
    """

    takes_partitions_together = True

    def __init__(
        self,
        topics: Topics,
        programs: Mapping[str, Program],
        publisher: Publisher,
        metrics: Metrics,
        clock_ms: Callable[[], int],
        limits: RecordLimits | None = None,
        first_load: FirstLoad = load_here,
        draw_key: Callable[[], str] = secrets.token_hex,
        accepted: AcceptedFile | None = None,
        hand_over: HandOver = keep_nothing,
    ) -> None:
        self._topics = topics
        self._programs = programs
        self._publisher = publisher
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._limits = limits or RecordLimits()
        self._first_load = first_load
        self._quota = Quota(self._limits.letters_a_second)
        self._draw_key = draw_key
        self._hand_over = hand_over
        self._accepted = accepted
        self._validators = {topics.topic_of(kind): Validator(kind, programs, self._limits) for kind in kinds.ingested}
        self._assigned: set[TopicPartition] = set()
        self._announced: set[TopicPartition] = set()
        self._width = 0
        self._targets: dict[tuple[str, int], int] = {}

    @property
    def works_in_pieces(self) -> bool:
        """Whether a program closes rounds, or looks at open options under a new model."""
        return any(program.closes_rounds or program.promises for program in self._programs.values())

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The input partitions that this worker reads."""
        return frozenset(self._assigned)

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Announce every input partition in the journal, whoever reads it, so that the watermark waits for all.

        Before that, and so before any event of theirs, declare the worker's programs: the first declaration of a
        program says for ever with which spec it began.
        """
        self._width = await checked_width(self._publisher, self._topics)
        self._assigned |= set(partitions)
        self._targets.clear()
        every = {
            TopicPartition(topic, partition)
            for topic in self._topics.ingested
            for partition in range(await self._publisher.partitions(topic))
        }
        new = sorted(every - self._announced)
        if new:
            declarations = {} if self._announced else self._declarations()
            await self._append_tick(tuple(SourcePosition(*partition, None) for partition in new), declarations)
            self._announced |= every
        return {}

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Send no more ticks for these partitions."""
        self._assigned -= set(partitions)

    def count_expired(self, partition: TopicPartition, first: int, until: int) -> None:
        """Tell of records that Kafka deleted before anybody read them, from offset ``first`` to before ``until``."""
        self._metrics.expired_records.labels(partition.topic).inc(until - first)
        log.error(
            "%s partition %d: the records from offset %d to %d were deleted before they were read, and are lost: raise "
            "the topic's retention.ms, and have their senders send them again; reading goes on at %d",
            *partition, first, until - 1, until,
        )  # fmt: skip

    async def handle(self, chunk: Sequence[Record]) -> None:
        """Append a chunk to the journal; return when all of it is acknowledged."""
        await self._append(await self.journal_records(chunk))
        self._metrics.ingested.labels(chunk[0].topic).inc(len(chunk))

    async def tick(self, lag: Lag) -> None:
        """Append to the journal that time passes in the input partitions that have nothing left to read."""
        now_ms = self._clock_ms()
        idle = tuple(
            SourcePosition(source.topic, source.partition, now_ms)
            for source in sorted(self._assigned)
            if lag.lag(source) == 0
        )
        if idle:
            await self._append_tick(idle)

    async def carry_on(self, partitions: Iterable[int]) -> None:
        """Append a tick without a clock to these partitions of the journal, which have work in pieces to do."""
        line = tick_line(Tick(()), self._clock_ms())
        await self._append([packed for partition in partitions for packed in self._packed(partition, [line])])

    async def journal_records(self, chunk: Sequence[Record]) -> list[JournalRecord]:
        """The journal records of a chunk of one topic: for every journal partition its lines, in the chunk's order.

        The work on many bytes is done in a thread, so that the worker goes on hearing brokers whatever they take.
        """
        validator, now_ms = self._validators[chunk[0].topic], self._clock_ms()
        is_small = sum(len(record.value or b"") + HEADER_BYTES * len(record.headers) for record in chunk) <= SMALL_BYTES
        if is_small and validator.kind.about == "case":
            return self._journal_records(validator.kind, chunk, _validated(validator, chunk, now_ms), now_ms)
        read = await in_thread(_validated, validator, chunk, now_ms)
        if validator.kind.about != "case":
            read = [await self._loaded(body) for body in read]
        return await in_thread(self._journal_records, validator.kind, chunk, read, now_ms)

    def _journal_records(
        self, kind: Kind, chunk: Sequence[Record], validated: Sequence[Validated], now_ms: int
    ) -> list[JournalRecord]:
        lines: dict[int, list[Journaled | UnusableRun]] = {}
        refusals = Refusals(self._quota, now_ms, self._over_quota)
        for record, read in zip(chunk, validated, strict=True):
            problem, event, body = read.problem, read.event, read.body
            if event is None:
                assert problem is not None, "a record that cannot be read has a problem"
                partition = record.partition % self._width
                if (run := refusals.refused(record, problem, partition, may_join=True)) is not None:
                    lines.setdefault(partition, []).append(run)
                continue
            # A dead letter goes where the event would go: whether there is a problem may depend on the clock or on a
            # model's file, and when the record is read again after a crash its second result must meet the first.
            first, *others = self._partitions(kind, body)
            data = self._keyed(body) if isinstance(body, RawErasure) else read.data
            line: Journaled | UnusableRun | None
            if problem is None:
                refusals.used(record)
                line = self._line(event, kind, record, data, now_ms)
            else:
                line = refusals.refused(record, problem, first, may_join=False)
            if line is not None:
                lines.setdefault(first, []).append(line)
            if problem is None and (back := self._return(body)) is not None:
                where = self._partitions(kinds["return"], back)[0]
                if where != first:
                    copy = self._line(event, kinds["return"], record, msgspec.json.encode(back), now_ms)
                    lines.setdefault(where, []).append(copy)
            # For the same reason every partition of an event about a program learns that the record was handled.
            for partition in others:
                copy = handled_line(record) if line is None or isinstance(line, UnusableRun) else line
                lines.setdefault(partition, []).append(copy)
        made = {
            partition: [line.line() if isinstance(line, UnusableRun) else line for line in lines[partition]]
            for partition in sorted(lines)
        }
        return [packed for partition, packing in made.items() for packed in self._packed(partition, packing)]

    async def _loaded(self, read: Validated) -> Validated:
        """The same, with the problem of an announced model or spec that the program cannot take."""
        if read.problem is not None:
            return read
        problem: Problem | None = None
        if isinstance(read.body, Model):
            problem = await self._refused(read.body)
        if isinstance(read.body, RawSpec):
            problem = await in_thread(_refused_spec, read.body, self._programs[read.body.program], self._accepted)
        if isinstance(read.body, RawErasure):
            problem = _refused_erasure(read.body, self._programs[read.body.program])
        return msgspec.structs.replace(read, problem=problem)

    def _partitions(self, kind: Kind, body: Any) -> Sequence[int]:
        """The journal partitions of an event: that of its case's shard, or those of all shards of its program."""
        program = self._programs[body.program]
        if kind.about == "case":
            return (self._target(program.name, shard_of(body.application, program.spec.shards)),)
        return self._shard_partitions(program)

    def _return(self, body: Any) -> RawReturn | None:
        """The message to the shard of an earlier application that somebody comes back, where it learns from that."""
        if not isinstance(body, RawApplication) or body.previous is None or body.applicant is None:
            return None
        if not self._programs[body.program].learns_by_stages:
            return None
        return RawReturn(body.program, body.previous, body.application, body.features, body.applicant)

    def _shard_partitions(self, program: Program) -> Sequence[int]:
        return sorted({self._target(program.name, shard) for shard in range(program.spec.shards)})

    async def _refused(self, model: Model) -> Problem | None:
        """Load a model once before it is journaled: a model that is refused must not reach the engine."""
        program = self._programs[model.program]
        prefixes = self._limits.model_addresses or (home_of(program.bundle.address),)
        if not is_allowed(model.manifest, prefixes):
            detail = f"{model.manifest}: models may be read from {', '.join(prefixes)} (setting model_addresses)"
            return Problem("model_address_not_allowed", detail)
        if self._accepted and (refusal := self._accepted.refusal("model", model.program, model.sha256)):
            return Problem(NOT_ACCEPTED, refusal)
        try:
            await self._first_load(program, model)
        except ModelError as error:
            return Problem("model_refused", str(error))
        return None

    def _keyed(self, erasure: RawErasure) -> bytes:
        """The JSON of an erasure as the journal holds it. The key is drawn here, so that a replay has the same."""
        return msgspec.json.encode(msgspec.structs.replace(erasure, key=self._draw_key()))

    def _line(self, event: CloudEvent, kind: Kind, record: Record, data: bytes, now_ms: int) -> Journaled:
        line = line_of(event, kind, record, data, now_ms + self._limits.future_ms)
        if line.clock is not None:
            self._metrics.events_ahead.labels(record.topic).inc()
        return line

    def _over_quota(self, record: Record) -> None:
        self._metrics.merged_dead_letters.labels(record.topic).inc()

    def _target(self, program: str, shard: int) -> int:
        target = self._targets.get((program, shard))
        if target is None:
            target = self._targets[program, shard] = partition_of(journal_key(program, shard), self._width)
        return target

    def _packed(self, partition: int, lines: Iterable[Journaled]) -> Iterator[JournalRecord]:
        # By a record's own time the journal is cut, so it is no sender's. Lines keep theirs.
        now_ms = self._clock_ms()
        for out in pack_lines(self._topics.journal, partition, lines, self._width):
            yield msgspec.structs.replace(out, timestamp_ms=now_ms)

    def _declarations(self) -> Mapping[int, Sequence[Journaled]]:
        """The specs of the programs, by the journal partitions of their shards."""
        lines: dict[int, list[Journaled]] = {}
        for _, program in sorted(self._programs.items()):
            line = spec_line(spec_event(program), program.sha256, self._clock_ms())
            for partition in self._shard_partitions(program):
                lines.setdefault(partition, []).append(line)
        return lines

    async def _append_tick(
        self, sources: tuple[SourcePosition, ...], before: Mapping[int, Sequence[Journaled]] = MappingProxyType({})
    ) -> None:
        """Append a tick to every journal partition, behind the lines that belong ``before`` it, by partition."""
        line = tick_line(Tick(sources), self._clock_ms())
        await self._append(
            [
                packed
                for partition in range(self._width)
                for packed in self._packed(partition, [*before.get(partition, ()), line])
            ]
        )

    async def _append(self, records: Sequence[JournalRecord]) -> None:
        """Append the records to the journal, and hand over what it has acknowledged."""
        offsets = await self._publisher.publish(records)
        self._hand_over([record.appended(offset) for record, offset in zip(records, offsets, strict=True)])


def _validated(validator: Validator, chunk: Sequence[Record], now_ms: int) -> list[Validated]:
    return [validator.validate(record, now_ms) for record in chunk]


def _refused_spec(event: RawSpec, program: Program, accepted: AcceptedFile | None) -> Problem | None:
    """Why a program cannot go on with a spec. One that is refused must not reach the engine."""
    try:
        check_announced(event, program)
    except SpecRefusedError as error:
        return Problem(SPEC_REFUSED, str(error))
    if accepted and (refusal := accepted.refusal("spec", program.name, sha256_of(read_spec(event, program)))):
        return Problem(NOT_ACCEPTED, refusal)
    return None


def _refused_erasure(erasure: RawErasure, program: Program) -> Problem | None:
    """Why nobody can be erased in a program, or what an erasure must not say."""
    if erasure.key:
        return Problem("wrong_type", "key: there is no such key")
    if program.keeps_people:
        choice = program.spec.policy.choice
        detail = f"policy `choice: {choice}` keeps rows of people, which cannot be taken out of it: choose another"
        return Problem("erasure_not_possible", detail)
    return None
