"""Targets that take records: inputs, the journal, outputs."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from pathlib import Path

import msgspec
from fuzz_events import EVENTS, HEADER_WORDS, INPUT_SEEDS, INPUTS, JSON_WORDS, PERSON, PROGRAMS, sent
from fuzz_inputs import LARGEST_INT64, RECORD, TOPICS, Target, folder, local_file_systems, record_of, written

from onward.environments.figures.recording import Recording
from onward.schemas.events import (
    Application,
    DeadLetter,
    NoRecourse,
    Recourse,
    Reward,
    SourcePosition,
    Tick,
)
from onward.schemas.headers import CloudEvent
from onward.schemas.kinds import kinds
from onward.streams.errors import OnwardError
from onward.streams.ingest.ingest import Ingest
from onward.streams.ingest.partitioning import partition_of
from onward.streams.ingest.validation import RecordLimits, Validator
from onward.streams.journal.entries import Entry, journal_key, shard_of
from onward.streams.journal.lines import dead_letter_line, line_of, pack_lines, read_entries, tick_line
from onward.streams.metrics import Metrics
from onward.streams.outputs.decoder import DecodedEvent, EventDecoder
from onward.streams.outputs.deduplicator import Classification, Deduplicator
from onward.streams.records import OutRecord, Record, TopicPartition
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, PipelineRun, no_clock

LARGEST_KAFKA_RECORD = 1 << 20
JOURNAL_PARTITIONS = 3
HOUR_MS = 3_600_000
KINDS = {TOPICS.topic_of(kind): kind for kind in kinds.of_flow("input")}

# --- inputs ---------------------------------------------------------------------------------------------------------


def ingest(data: bytes) -> None:
    """Every record is one line in each journal partition it concerns, which ``read_entries`` reads again."""
    record = record_of(data, offset=7)
    with local_file_systems():
        packed = asyncio.run(_journal_records(record))
    lines = [(out.partition, entry) for out in packed for entry in _read(out)]
    assert sorted(partition for partition, _ in lines) == _concerned(record)
    letters = 0
    for _, entry in lines:
        assert (entry.source, entry.source_offset) == (TopicPartition(record.topic, 0), 7)
        if isinstance(entry.body, DeadLetter):
            letters += 1
            assert (
                entry.body.value is None if record.value is None else record.value.startswith(entry.body.value or b"")
            )
        else:
            assert entry.kind in (KINDS[record.topic], kinds["tick"])
    assert letters <= 1
    for out in packed:
        assert len(out.value) < LARGEST_KAFKA_RECORD
        assert abs(out.timestamp_ms) <= LARGEST_INT64 + 1


async def _journal_records(record: Record) -> list[OutRecord]:
    ingest = Ingest(TOPICS, PROGRAMS, MemoryBroker(JOURNAL_PARTITIONS), Metrics(), no_clock)
    await ingest.assigned([])
    return await ingest.journal_records([record])


def _read(out: OutRecord) -> list[Entry]:
    return read_entries(Record(out.topic, out.partition, 0, out.timestamp_ms, out.key, out.value, out.headers))


def _concerned(record: Record) -> list[int]:
    """The journal partitions that must learn of a record."""
    validated = Validator(KINDS[record.topic], PROGRAMS, RecordLimits()).validate(record, no_clock())
    body = validated.body
    if body is None:
        assert validated.problem is not None
        return [0]
    shards = PROGRAMS[body.program].spec.shards
    is_of_case = KINDS[record.topic].about == "case"
    concerned = [shard_of(body.application, shards)] if is_of_case else range(shards)
    return sorted({partition_of(journal_key(body.program, shard), JOURNAL_PARTITIONS) for shard in concerned})


def pipeline(data: bytes) -> None:
    """Any inputs, one after the other, through ingest and engine: a line each, and the next good record is answered."""
    records = [record_of(text, offset=offset) for offset, text in enumerate(data.split(RECORD)[:8])]
    name = f"good-{hashlib.sha256(data).hexdigest()}"
    good = record_of(sent(Application("loan", name, PERSON), id=name.encode()), offset=len(records))
    place = Path(tempfile.mkdtemp(dir=folder()))
    try:
        run = PipelineRun(PROGRAMS, place)
        with local_file_systems():
            written = asyncio.run(run.ingest([*records, good]))
            lines = [entry for record in written for entry in read_entries(record)]
            assert [entry.source_offset for entry in lines if entry.source] == list(range(len(records) + 1))
            asyncio.run(run.fold(written))
    finally:
        shutil.rmtree(place)
    assert name in [answer.application for answer in run.events(TOPICS.recourse, Recourse | NoRecourse)]
    letters = run.events(TOPICS.dead_letters, DeadLetter)
    assert len(letters) <= len(records)
    assert len({(letter.topic, letter.offset) for letter in letters}) == len(letters)
    decoder = EventDecoder(TOPICS)
    assert all(decoder.read(record) is not None for record in run.broker.logs[TOPICS.rewards, 0])


PIPELINE_SEEDS = [RECORD.join(INPUT_SEEDS[:9]), RECORD.join(INPUT_SEEDS[9:]), *INPUT_SEEDS]

# --- the journal ----------------------------------------------------------------------------------------------------


def journal_values(data: bytes) -> None:
    """Entries, and a dead letter for what is no journal record; their numbers are such as Kafka and SQLite hold."""
    for entry in read_entries(Record(TOPICS.journal, 0, 5, START_MS, None, data, ())):
        assert entry.position.offset == 5
        for number in (entry.timestamp_ms, entry.time_ms, entry.source_offset, *(entry.source or ())[1:]):
            assert abs(number) <= LARGEST_INT64 + 1
        assert entry.kind.in_journal
        if isinstance(entry.body, DeadLetter) and entry.body.reason == "foreign_record":
            assert entry.body.detail


def fold(data: bytes) -> None:
    """Whatever stands in the journal and in the outputs is folded, or ends the worker with an error that says so."""
    before, _, values = data.partition(RECORD + RECORD)
    place = Path(tempfile.mkdtemp(dir=folder()))
    try:
        run = PipelineRun(PROGRAMS, place)
        output = record_of(before, TOPICS.outputs)
        run.broker.logs[output.topic, 0].append(output)
        for offset, value in enumerate(values.split(RECORD)[:8]):
            record = Record(TOPICS.journal, 0, offset, START_MS, None, value, ())
            run.broker.logs[TOPICS.journal, 0].append(record)
        with local_file_systems():
            asyncio.run(run.fold(run.broker.logs[TOPICS.journal, 0]))
    except OnwardError:
        return
    finally:
        shutil.rmtree(place)


def _line(event: msgspec.Struct, time_ms: int = START_MS, offset: int = 0) -> bytes:
    kind = type(event)
    topics = dict(zip(INPUTS.values(), INPUTS, strict=True))
    record = Record(topics.get(kind, "applications"), 0, offset, time_ms, None, msgspec.json.encode(event), ())
    if isinstance(event, Tick):
        line = tick_line(event, time_ms)
    elif isinstance(event, DeadLetter):
        line = dead_letter_line(event, record)
    else:
        line = line_of(CloudEvent(f"id-{offset}", "test", None, time_ms), kinds.by_struct[kind], record, record.value)
    [packed] = pack_lines(TOPICS.journal, 0, [line])
    return packed.value


LETTER = DeadLetter("malformed_json", "detail", "applications", 0, 3, 1, "0" * 64, b"{", None, (("ce_id", b"\xff"),))
JOURNAL_SEEDS = [
    *map(_line, EVENTS),
    _line(Tick((SourcePosition("applications", 0, None), SourcePosition("outcomes", 0, START_MS)))),
    _line(LETTER),
    b"[" + b",".join(_line(event, offset=offset)[1:-1] for offset, event in enumerate(EVENTS)) + b"]",
    b"[]",
    b"hello",
]
_TICK = _line(
    Tick((*(SourcePosition(t, 0, START_MS + 9 * HOUR_MS) for t in ("applications", "decisions", "outcomes")),))
)
FOLD_SEEDS = [
    RECORD
    + RECORD
    + RECORD.join([JOURNAL_SEEDS[1], JOURNAL_SEEDS[3], JOURNAL_SEEDS[6], _TICK, JOURNAL_SEEDS[0], b"foreign"]),
    RECORD + RECORD + JOURNAL_SEEDS[-3],
    written(0, 0, [(b"onward_position", b"0.0"), (b"onward_generation", b"1")], b"{}")
    + RECORD
    + RECORD
    + JOURNAL_SEEDS[0],
]

# --- outputs --------------------------------------------------------------------------------------------------------

SHOWN = (TOPICS.applications, TOPICS.outcomes, *TOPICS.outputs)


def outputs(data: bytes) -> None:
    """What is read from the topics is an event or none, is new or a repeat, and can be counted."""
    decoder, stats, repeats = EventDecoder(TOPICS), Recording(lambda program, application: True), Deduplicator()
    for offset, text in enumerate(data.split(RECORD)[:8]):
        record = record_of(text, SHOWN, offset)
        assert isinstance(repeats.classify(record), Classification)
        found = decoder.read(record)
        if found is not None:
            assert isinstance(found, DecodedEvent)
            stats.add(record, found.id, found.event, 1e12)
    msgspec.json.encode(stats.summary({}))


_NONE = NoRecourse("loan", 0, "a", 1, "immutable", "region", "linucb", "v", "s", "m")
OUTPUT_SEEDS = [
    written(topic, START_MS, [(b"ce_id", b"1"), (b"onward_position", b"7.0"), (b"onward_generation", b"2")], value)
    for topic, value in enumerate(
        msgspec.json.encode(event) for event in (EVENTS[0], EVENTS[5], _NONE, Reward("loan", 0, "a", "late"), LETTER)
    )
]
OUTPUT_SEEDS.append(RECORD.join(OUTPUT_SEEDS))

KEPT_OUTPUTS = {
    "text that is not UTF-8": written(2, 0, [(b"ce_id", b"1")], b'{"kind":"none","program":"\xff"}'),
    "a header without content": written(2, 0, [(b"onward_position", b"1.0"), (b"onward_generation", None)], b"{}"),
    "a position without content": written(2, 0, [(b"onward_position", None)], b"{}"),
}
KEPT_JOURNALS = {
    "numbers that SQLite cannot hold": RECORD
    + RECORD
    + RECORD.join(
        JOURNAL_SEEDS[0].replace(old, old[:-1] + b"9" * 30)
        for old in (b'"time":1790000000000', b'"timestamp":1790000000000', b'"offset":0', b'"partition":0')
    ),
    "a program without a spec": RECORD + RECORD + JOURNAL_SEEDS[0].replace(b'"loan"', b'"loam"'),
    "a generation that SQLite cannot hold": written(
        0, 0, [(b"onward_position", b"0.0"), (b"onward_generation", b"9" * 19)], b"{}"
    )
    + RECORD
    + RECORD
    + JOURNAL_SEEDS[0],
}

TARGETS = {
    "ingest": Target(ingest, INPUT_SEEDS, HEADER_WORDS),
    "pipeline": Target(pipeline, PIPELINE_SEEDS, HEADER_WORDS, share=0.05),
    "journal": Target(journal_values, JOURNAL_SEEDS, JSON_WORDS),
    "fold": Target(fold, FOLD_SEEDS, HEADER_WORDS, KEPT_JOURNALS, share=0.05),
    "outputs": Target(outputs, OUTPUT_SEEDS, HEADER_WORDS, KEPT_OUTPUTS),
}
