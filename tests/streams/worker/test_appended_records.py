"""What ingest has appended is folded as it was appended: the same outputs and the same ledger as from the journal."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from onward.schemas.events import Journaled
from onward.schemas.headers import CloudEvent
from onward.schemas.kinds import kinds
from onward.streams.journal.lines import line_of, pack_lines, read_entries
from onward.streams.metrics import Metrics
from onward.streams.records import UNKNOWN_OFFSET, Record
from onward.streams.worker.appended_records import AppendedRecords
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.ledger import dump
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import PipelineRun, no_clock
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, JOURNAL, MINUTE_MS, POOR, RICH, Tape

pytestmark = pytest.mark.usefixtures("crashes")


def appended(offset, size=1):
    return Record("journal", 0, offset, 0, None, b"x" * size, (), lines=())


def read(offset):
    return appended(offset)._replace(lines=None)


def as_is(offset):
    return offset


def offsets(records):
    return [(record.offset, "read" if record.lines is None else "appended") for record in records]


# --- which records are folded ---


def test_records_that_follow_are_taken_and_what_is_between_is_read():
    kept = AppendedRecords()
    for offset in (3, 4, 6, 7):
        assert kept.keep(appended(offset))
    assert kept.unread([appended(3)], 2, as_is) == [], "record 2 is another worker's and not read yet"
    found = kept.unread([read(2), read(3)], 2, as_is)
    assert offsets(found) == [(2, "read"), (3, "appended"), (4, "appended")]
    assert offsets(kept.unread([read(4), read(5), read(6)], 5, as_is)) == [
        (5, "read"),
        (6, "appended"),
        (7, "appended"),
    ]
    assert kept.bytes == 0


def test_acknowledgements_may_come_out_of_order():
    kept = AppendedRecords()
    kept.keep(appended(1))
    assert kept.unread([appended(1)], 0, as_is) == []
    kept.keep(appended(0))
    assert offsets(kept.unread([appended(0)], 0, as_is)) == [(0, "appended"), (1, "appended")]


def test_a_record_at_no_known_offset_is_not_kept():
    kept = AppendedRecords()
    assert not kept.keep(appended(UNKNOWN_OFFSET))
    assert kept.bytes == 0


def test_what_is_left_out_is_passed_over():
    kept = AppendedRecords()
    kept.keep(appended(5))
    assert offsets(kept.unread([], 3, lambda offset: 5 if offset in (3, 4) else offset)) == [(5, "appended")]


def test_what_waits_is_bounded_and_what_was_read_meanwhile_is_forgotten():
    kept = AppendedRecords(most_bytes=1000)
    assert [kept.keep(appended(offset, 300)) for offset in range(5)] == [True, True, True, False, False]
    assert kept.bytes == 900
    assert [record.offset for record in kept.unread([read(9)], 9, as_is)] == [9]
    assert kept.bytes == 0
    assert kept.keep(appended(10, 1000))


@given(
    st.lists(st.sampled_from(["kept", "lost", "foreign"]), max_size=30),
    st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=40),
)
def test_every_record_is_folded_once_and_in_order_however_they_come(fates, events):
    kept, folded, written, fetched = AppendedRecords(most_bytes=5), [], 0, 0

    def fold(chunk):
        folded.extend(kept.unread(chunk, len(folded), as_is))
        assert kept.bytes <= 5

    for is_append, count in [*events, (True, len(fates)), (False, len(fates))]:
        for _ in range(count):
            if is_append and written < len(fates):
                if fates[written] == "kept" and kept.keep(appended(written)):
                    fold([appended(written)])
                written += 1
        if not is_append and fetched < written:
            until = min(written, fetched + count)
            fold([read(offset) for offset in range(fetched, until)])
            fetched = until
    assert [record.offset for record in folded] == list(range(len(fates)))


# --- what a record of this process holds ---

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)


@given(
    st.lists(st.tuples(_TEXTS, _TEXTS, st.sampled_from(["", " ", "\n\t "]), st.integers(-(2**62), 2**62)), min_size=1)
)
def test_lines_that_were_appended_give_the_entries_that_are_read(events):
    lines = []
    for number, (name, source, space, time_ms) in enumerate(events):
        body = msgspec.json.encode({"program": "loan", "application": f"p{number}", "features": {name: name}})
        data = space.encode() + body + space.encode()
        event = CloudEvent(id=name, source=source, type=None, time_ms=time_ms)
        lines.append(
            line_of(event, kinds["application"], Record("applications", 1, number, 5, None, data, ()), data, 0)
        )
    for record in pack_lines("journal", 2, lines, 4):
        own = record.appended(7)
        assert msgspec.json.decode(own.value, type=tuple[Journaled, ...]) == own.lines
        entries = read_entries(own._replace(lines=None))
        assert [msgspec.structs.astuple(entry) for entry in read_entries(own)] == [
            msgspec.structs.astuple(entry) for entry in entries
        ]
        assert [bytes(entry.raw) for entry in read_entries(own)] == [bytes(entry.raw) for entry in entries]


def test_a_line_that_is_damaged_in_memory_would_be_seen():
    [record] = pack_lines("journal", 0, [Journaled("nothing", "1", 0, 0, Raw(b"{}"))])
    assert [entry.kind.name for entry in read_entries(record.appended(0))] == ["dead-letter"]


# --- a worker ---


def told(run):
    """Events of every kind that arrives at one's journal, by the real ingest; a tick is another worker's record."""
    story = Tape(run)
    for number in range(4):
        story.applies(f"p{number}", number * MINUTE_MS)
        story.outcome(f"p{number - 1}", number * MINUTE_MS)
        story.tick(number * MINUTE_MS)
    story.applies("rich", 5 * MINUTE_MS, features=RICH)
    story.again(story.applies("bad", 5 * MINUTE_MS, features={}))
    story.outcome("nobody", 0)
    for number in range(4, 8):
        story.applies(f"p{number}", number * MINUTE_MS, features=POOR)
    story.tick(DAY_MS)
    return story


class Journal:
    """A finished journal, what ingest has handed over of it, and what an uninterrupted worker makes of it."""

    def __init__(self, folder):
        self.programs, self.handed = {"loan": build_program(window={"steps": 3})}, {}
        run = PipelineRun(self.programs, folder, hand_over=self._keep)
        story = told(run)
        self.records, self.inputs = list(story.journal), run.broker.inputs
        self.ledger, self.outputs = dump(story.fold()), run.outputs()

    def _keep(self, records):
        self.handed.update((record.offset, record) for record in records)


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return Journal(tmp_path_factory.mktemp("whole"))


class Worker:
    """A worker whose journal grows, that is handed some of it, and that reads it later."""

    def __init__(self, journal, folder):
        self.journal, self.folder = journal, folder
        self.run = PipelineRun(journal.programs, folder, broker=MemoryBroker(inputs=journal.inputs))
        self.log, self.fetched = self.run.broker.logs[JOURNAL], 0

    async def start(self):
        config = ProcessorConfig(self.folder)
        self.processor = PartitionProcessor(
            self.run.topics, self.journal.programs, self.run.broker, Metrics(), no_clock, config
        )
        self.fetched = (await self.processor.assigned([JOURNAL]))[JOURNAL]

    async def append(self, is_handed_over, is_handled=True):
        if len(self.log) == len(self.journal.records):
            return
        offset = len(self.log)
        self.log.append(self.journal.records[offset])
        if is_handed_over and offset in self.journal.handed:
            kept = self.processor.keep_appended([self.journal.handed[offset]])
            if is_handled and kept:
                await self.processor.handle(kept)

    async def read(self, count):
        chunk = self.log[self.fetched : self.fetched + count]
        if chunk:
            await self.processor.handle(chunk)
            self.fetched += len(chunk)

    async def lose_partitions(self):
        await self.processor.revoked([JOURNAL])
        self.fetched = (await self.processor.assigned([JOURNAL]))[JOURNAL]

    async def finish(self):
        while len(self.log) < len(self.journal.records):
            await self.append(False)
        await self.read(len(self.log))
        await self.processor.revoked([JOURNAL])
        assert self.run.outputs() == self.journal.outputs
        assert dump(self.folder / "journal-0.sqlite") == self.journal.ledger


def test_most_of_a_journal_is_handed_over(journal):
    assert {0, 1, 2} < set(journal.handed) < set(range(len(journal.records)))
    for offset, record in journal.handed.items():
        assert record._replace(lines=None) == journal.records[offset]


async def test_what_is_handed_over_is_folded_before_it_is_read(journal, tmp_path):
    worker = Worker(journal, tmp_path)
    await worker.start()
    for _ in range(3):
        await worker.append(True)
    assert [answer["application"] for answer in worker.run.events("recourse", dict)] == ["p0"]
    assert worker.fetched == 0
    await worker.finish()


async def test_a_worker_that_ends_between_acknowledgement_and_fold_loses_nothing(journal, tmp_path):
    worker = Worker(journal, tmp_path)
    for handled in range(len(journal.records) + 1):
        await worker.start()
        await worker.append(True, is_handled=handled % 2 == 0)
    await worker.start()
    await worker.finish()


STEPS = st.lists(st.tuples(st.sampled_from(["hand over", "lose", "read", "rebalance", "restart"]), st.integers(1, 4)))


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_outputs_and_ledger_are_the_same_however_records_come(journal, steps):
    async def play(folder):
        worker = Worker(journal, folder)
        await worker.start()
        for step, count in steps:
            if step == "read":
                await worker.read(count)
            elif step == "rebalance":
                await worker.lose_partitions()
            elif step == "restart":
                await worker.start()
            else:
                for _ in range(count):
                    await worker.append(step == "hand over")
        await worker.finish()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))


async def test_what_waits_for_a_slow_fold_is_bounded(journal, tmp_path):
    worker = Worker(journal, tmp_path)
    await worker.start()
    [partition] = worker.processor._partitions.values()
    record = journal.handed[1]
    many = [record._replace(offset=offset) for offset in range(5, 20_000)]
    kept = worker.processor.keep_appended(many)
    assert [one.offset for one in kept] == list(range(5, 5 + len(kept))), "the first, which are folded first"
    assert partition.appended.bytes <= 1 << 20 < partition.appended.bytes + len(record.value)
    assert worker.processor.keep_appended([record._replace(partition=9)]) == []
