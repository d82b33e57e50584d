"""Ingest: reads the input topics, checks every record, and appends to the journal.

A record that cannot be used is appended too, as the dead letter it will become: the engine publishes it, so dead
letters are lost or doubled as little as everything else. Ingest itself keeps no state: after a crash it may append
records twice, which the engine knows by their source position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from ...schemas.encoding import Problem
from ...schemas.events import Decision, Journaled, Model, Outcome, SourcePosition, Tick
from ...schemas.headers import CloudEvent, format_time, read_headers
from ...schemas.problems import JSON_ERRORS
from ..errors import ModelError
from ..journal.dead_letters import dead_letter_of_record
from ..journal.journal import (
    CE_TYPES,
    RawApplication,
    dead_letter_line,
    journal_key,
    line_of,
    pack,
    seen_line,
    shard_of,
    tick_line,
)
from ..metrics import Metrics
from ..programs.program import Program
from ..records import Lag, OutRecord, Publisher, Record, TopicPartition
from ..topics import Topics
from .partitioning import partition_of

DAY_MS = 24 * 60 * 60 * 1000
Body = RawApplication | Decision | Outcome | Model


@dataclass(frozen=True)
class Limits:
    """What a record may be: its size, and how far its event time may be from the worker's clock."""

    record_bytes: int = 262_144
    future_ms: int = DAY_MS
    age_ms: int = 3650 * DAY_MS


class Checked(Struct, frozen=True, gc=False):
    """A record, as far as it could be read, and what is wrong with it if something is."""

    problem: Problem | None
    event: CloudEvent | None = None
    body: Body | None = None


class Intake:
    """Checks records of one input topic."""

    def __init__(self, kind: type[Body], programs: Mapping[str, Program], limits: Limits) -> None:
        self.type = CE_TYPES[kind]
        self._decode: Callable[[bytes], Body] = msgspec.json.Decoder(kind).decode
        self._programs = programs
        self._limits = limits

    def check(self, record: Record, now_ms: int) -> Checked:
        """Everything that can be told of a record alone."""
        found = self._read(record)
        if isinstance(found, Problem):
            return Checked(found)
        event, body = found
        problem = self._in_time(record, event, now_ms)
        if problem is None and isinstance(body, RawApplication):
            values = self._programs[body.program].codec.read(body.features)
            problem = values if isinstance(values, Problem) else None
        return Checked(problem, event, body)

    def _read(self, record: Record) -> tuple[CloudEvent, Body] | Problem:
        value = record.value
        if value is None:
            return Problem("empty", "the record has no value")
        if len(value) > self._limits.record_bytes:
            return Problem("oversized", f"{len(value)} bytes, the limit is {self._limits.record_bytes}")
        event = read_headers(record.headers)
        if isinstance(event, Problem):
            return event
        if event.type is not None and event.type != self.type:
            return Problem("wrong_event_type", f"ce_type is {event.type!r}, topic {record.topic} takes {self.type!r}")
        try:
            body = self._decode(value)
        except msgspec.ValidationError as error:
            return Problem("wrong_type", str(error))
        except JSON_ERRORS as error:
            return Problem("malformed_json", str(error))
        if body.program not in self._programs:
            return Problem("unknown_program", f"no spec for program {body.program!r} in this installation")
        return event, body

    def _in_time(self, record: Record, event: CloudEvent, now_ms: int) -> Problem | None:
        time_ms = record.timestamp_ms if event.time_ms is None else event.time_ms
        if time_ms > now_ms + self._limits.future_ms:
            return Problem(
                "future_time", f"event time {format_time(time_ms)} is too far ahead of {format_time(now_ms)}"
            )
        if time_ms < now_ms - self._limits.age_ms:
            return Problem("ancient_time", f"{format_time(time_ms)} is too far before the clock, {format_time(now_ms)}")
        return None


class Ingest:
    """The chunk handler of all input topics."""

    takes_partitions_together = True

    def __init__(
        self,
        topics: Topics,
        programs: Mapping[str, Program],
        publisher: Publisher,
        metrics: Metrics,
        clock_ms: Callable[[], int],
        limits: Limits | None = None,
    ) -> None:
        self._topics = topics
        self._programs = programs
        self._publisher = publisher
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._limits = limits or Limits()
        kinds: Mapping[str, type[Body]] = {
            topics.applications: RawApplication,
            topics.decisions: Decision,
            topics.outcomes: Outcome,
            topics.models: Model,
        }
        self._intakes = {topic: Intake(kind, programs, self._limits) for topic, kind in kinds.items()}
        self._owned: set[TopicPartition] = set()
        self._announced: set[TopicPartition] = set()
        self._width = 0
        self._targets: dict[tuple[str, int], int] = {}

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Announce every input partition in the journal, so that the watermark waits for all, whoever reads them."""
        self._owned |= set(partitions)
        self._width = await self._publisher.partitions(self._topics.journal)
        self._targets.clear()
        every = {
            TopicPartition(topic, partition)
            for topic in self._topics.inputs
            for partition in range(await self._publisher.partitions(topic))
        }
        news = sorted(every - self._announced)
        if news:
            await self._append_tick(tuple(SourcePosition(*place, None) for place in news))
            self._announced |= every
        return {}

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop speaking for these partitions."""
        self._owned -= set(partitions)

    async def handle(self, chunk: Sequence[Record]) -> None:
        """Append a chunk to the journal; return when all of it is acknowledged."""
        await self._publisher.publish(await self.journal_records(chunk))
        self._metrics.ingested.labels(chunk[0].topic).inc(len(chunk))

    async def journal_records(self, chunk: Sequence[Record]) -> list[OutRecord]:
        """What a chunk of one topic becomes: for every journal partition its lines, in the chunk's order."""
        intake = self._intakes[chunk[0].topic]
        now_ms = self._clock_ms()
        checked = [intake.check(record, now_ms) for record in chunk]
        lines: dict[int, list[Journaled]] = {}
        for record, found in zip(chunk, checked, strict=True):
            problem, event, body = found.problem, found.event, found.body
            if event is None or body is None:
                assert problem is not None, "what cannot be read has a problem"
                partition = record.partition % self._width
                lines.setdefault(partition, []).append(self._letter(record, problem))
            elif isinstance(body, Model):
                for partition, line in self._model_lines(record, event, body, problem or await self._refused(body)):
                    lines.setdefault(partition, []).append(line)
            else:
                # A dead letter goes where the event would go: the verdict may depend on the clock, and a second one
                # after a crash must meet the first.
                line = line_of(event, intake.type, record) if problem is None else self._letter(record, problem)
                lines.setdefault(self._partition(body), []).append(line)
        return [packed for partition in sorted(lines) for packed in self._packed(partition, lines[partition])]

    async def tick(self, lag: Lag) -> None:
        """Tell the journal that time passes in input partitions that have nothing left to read."""
        now_ms = self._clock_ms()
        idle = tuple(
            SourcePosition(source.topic, source.partition, now_ms)
            for source in sorted(self._owned)
            if lag.lag(source) == 0
        )
        if idle:
            await self._append_tick(idle)

    async def _refused(self, model: Model) -> Problem | None:
        """Load it once here: a model that is refused must not reach the engine."""
        try:
            await asyncio.to_thread(self._programs[model.program].load, model.manifest, model.sha256)
        except ModelError as error:
            return Problem("model_refused", str(error))
        return None

    def _model_lines(
        self, record: Record, event: CloudEvent, body: Model, problem: Problem | None
    ) -> Iterator[tuple[int, Journaled]]:
        """One line for every journal partition that holds a shard of the program.

        All of them learn that the input record was dealt with, even if it was refused: should it be read once more and
        load then, no shard must take it while others keep the old one.
        """
        shards = range(self._programs[body.program].spec.shards)
        for number, partition in enumerate(sorted({self._target(body.program, shard) for shard in shards})):
            if problem is None:
                yield partition, line_of(event, CE_TYPES[Model], record)
            else:
                yield partition, seen_line(record) if number else self._letter(record, problem)

    def _letter(self, record: Record, problem: Problem) -> Journaled:
        letter = dead_letter_of_record(record, problem.reason, problem.detail, self._limits.record_bytes)
        return dead_letter_line(letter, record)

    def _partition(self, body: RawApplication | Decision | Outcome) -> int:
        return self._target(body.program, shard_of(body.application, self._programs[body.program].spec.shards))

    def _target(self, program: str, shard: int) -> int:
        target = self._targets.get((program, shard))
        if target is None:
            target = self._targets[program, shard] = partition_of(journal_key(program, shard), self._width)
        return target

    def _packed(self, partition: int, lines: Iterable[Journaled]) -> Iterator[OutRecord]:
        return pack(self._topics.journal, partition, lines)

    async def _append_tick(self, sources: tuple[SourcePosition, ...]) -> None:
        line = tick_line(Tick(sources), self._clock_ms())
        await self._publisher.publish(
            [packed for partition in range(self._width) for packed in self._packed(partition, [line])]
        )
