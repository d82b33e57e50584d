"""Records that somebody has written into the journal past ingest."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from onward.schemas.events import Application, SourcePosition, Tick
from onward.schemas.headers import read_headers
from onward.schemas.kinds import kinds
from onward.streams.engine.process import footprint, process
from onward.streams.engine.timing.watermark import required_topics
from onward.streams.errors import LedgerError, UsageError
from onward.streams.ingest.ingest import Ingest
from onward.streams.journal.lines import line_of, pack_lines, read_entries, tick_line
from onward.streams.ledger.ledger import Ledger
from onward.streams.metrics import Metrics
from onward.streams.records import Record, TopicPartition
from onward.streams.replay.output_check import OutputCheck, PublishedOutputs
from onward.streams.topics import DAY_MS, Topics
from onward.streams.worker.line_sources import LineSources
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.ledger import dump
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender, no_clock
from onward.testing.program import build_program

TOPICS = Topics()
JOURNAL = TopicPartition(TOPICS.journal, 0)
APPLICATIONS = TopicPartition(TOPICS.applications, 0)
REJECTED = {"region": "north", "income": 10.0, "debts": 4}


class Broker(MemoryBroker):
    """Its inputs end behind the records that were sent to them."""

    def __init__(self):
        super().__init__()
        self.sent, self.asked = Counter(), 0

    async def end_offsets(self, partitions):
        self.asked += 1
        return {at: self.sent[at] if at.topic in TOPICS.inputs else len(self.logs[at]) for at in partitions}

    async def records_at(self, wanted):
        places = [(at, offset) for at, offsets in wanted.items() for offset in offsets if offset < len(self.logs[at])]
        return {(*at, offset): self.logs[at][offset] for at, offset in places}


class Installation:
    """Topics, and the workers that read them one after the other."""

    def __init__(self, folder, **program):
        self.folder, self.broker, self.sender = folder, Broker(), Sender()
        self.programs = {"loan": build_program(**program)}

    async def send(self, *names):
        """Ingest an application of each."""
        ingest = Ingest(TOPICS, self.programs, self.broker, Metrics(), no_clock)
        await ingest.assigned([APPLICATIONS])
        for name in names:
            self.broker.sent[APPLICATIONS] += 1
            event = Application("loan", name, REJECTED)
            await ingest.handle([self.sender.record("applications", event, time_ms=START_MS, id=name)])

    async def forge(self, offset, source=APPLICATIONS):
        """Append an application that says that it was read from there; return its place in the journal."""
        record = Sender().record("applications", Application("loan", "mallory", REJECTED), time_ms=START_MS, id="m")
        at = Record(*(source or APPLICATIONS), offset, *record[3:])
        line = line_of(read_headers(record.headers), kinds["application"], at, record.value)
        await self.broker.publish(list(pack_lines(*JOURNAL, [line if source else replace(line, topic=None)])))
        return len(self.journal) - 1

    @asynccontextmanager
    async def worker(self, folder="state", **config):
        """A worker that has opened its ledger; it is closed however it ends."""
        config = ProcessorConfig(self.folder / folder, **config)
        processor = PartitionProcessor(TOPICS, self.programs, self.broker, Metrics(), no_clock, config)
        self.start = (await processor.assigned([JOURNAL]))[JOURNAL]
        try:
            yield processor
        finally:
            await processor.revoked([JOURNAL])

    async def fold(self, folder="state", cuts=(), **config):
        """Fold the journal as it is now, in chunks that end at ``cuts``; return the ledger."""
        async with self.worker(folder, **config) as processor:
            ends = [cut for cut in sorted({*cuts, len(self.journal)}) if cut > self.start]
            for start, end in zip([self.start, *ends], ends, strict=False):
                await processor.handle(self.journal[start:end])
        return self.folder / folder / "journal-0.sqlite"

    @property
    def journal(self):
        return self.broker.logs[JOURNAL]

    def answered(self):
        told = self.broker.logs[TOPICS.recourse, 0]
        return [record.value.decode().split('"application":"')[1].split('"')[0] for record in told]


async def test_the_lines_of_an_input_that_is_new_to_a_worker_ask_the_broker_once(tmp_path):
    there = Installation(tmp_path)
    await there.send(*(f"p{number}" for number in range(20)))
    entries = [entry for record in there.journal for entry in read_entries(record)]
    asked = []
    partitions = there.broker.partitions

    async def count(topic):
        asked.append(topic)
        return await partitions(topic)

    there.broker.partitions = count
    assert await LineSources(TOPICS, there.broker).fault(entries) is None
    assert asked == [TOPICS.applications]
    assert there.broker.asked == 1


async def attacked(folder, offset=2**62):
    """An installation in which a record was forged between good ones, and refused; and that record's offset."""
    there = Installation(folder)
    await there.send("ada")
    forged = await there.forge(offset)
    await there.send("bob", "eve")
    with pytest.raises(
        LedgerError, match=rf"at offset {forged} .* offset {offset}, which ends at .*--skip 0:{forged} "
    ):
        await there.fold()
    return there, forged


@pytest.mark.attack
@pytest.mark.parametrize("offset", [2**62, 7])
def test_a_forged_source_offset_drops_nobody_in_silence(tmp_path, offset):
    async def go():
        there, forged = await attacked(tmp_path, offset)
        assert there.answered() == ["ada"]
        # Inputs grow past a small offset: the refusal stands in the journal, once.
        await there.send(*"abcdefgh")
        for folder in ("state", "another"):
            before = len(there.journal)
            with pytest.raises(LedgerError, match=f"--skip 0:{forged} "):
                await there.fold(folder)
            assert len(there.journal) == before
        await there.fold(skipped=frozenset({(0, forged)}))
        await there.fold()
        assert there.answered() == ["ada", "bob", "eve", *"abcdefgh"]

    asyncio.run(go())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("offset", "source", "why"),
    [
        (-1, APPLICATIONS, "offset -1;"),
        (0, TopicPartition("elsewhere", 0), "elsewhere partition 0 offset 0, and that topic is no input"),
        (0, TopicPartition(TOPICS.journal, 0), "that topic is no input"),
        (0, TopicPartition(TOPICS.applications, 5), "there is no such partition"),
        (0, TopicPartition(TOPICS.applications, -1), "there is no such partition"),
        (2**62, TopicPartition(TOPICS.increments, 0), "increments partition 0 offset .*, which ends at offset 0"),
        (0, None, "does not say where it was read from"),
    ],
)
def test_lines_from_nowhere_are_refused(tmp_path, offset, source, why):
    async def go():
        there = Installation(tmp_path)
        await there.send("ada")
        forged = await there.forge(offset, source)
        with pytest.raises(LedgerError, match=f"{why}.*--skip 0:{forged} "):
            await there.fold()
        await there.fold(skipped=frozenset({(0, forged)}))
        assert there.answered() == ["ada"]

    asyncio.run(go())


def test_a_worker_whose_clock_is_behind_that_of_another_goes_on(tmp_path):
    """What it has journaled is no forgery: to refuse it would stop all workers for days."""
    sources = tuple(SourcePosition(topic, 0, no_clock() + 10 * DAY_MS) for topic in TOPICS.inputs)

    async def go():
        there = Installation(tmp_path, window={"time": "P7D"})
        await there.send("ada")
        await there.broker.publish(list(pack_lines(*JOURNAL, [tick_line(Tick(sources), START_MS)])))
        await there.send("bob")
        await there.fold()
        assert there.answered() == ["ada", "bob"]

    asyncio.run(go())


def test_only_what_was_refused_can_be_skipped(tmp_path):
    async def go():
        there, forged = await attacked(tmp_path)
        for offset in (forged + 1, len(there.journal), 10**17):
            with pytest.raises(UsageError, match=f"--skip 0:{offset}: no worker has refused"):
                await there.fold(skipped=frozenset({(0, offset)}))
        # Partitions of others, and what stands behind the ledger by now, are not asked about.
        before = len(there.journal)
        await there.fold(skipped=frozenset({(0, forged), (3, 9)}))
        await there.fold(skipped=frozenset({(0, forged), (0, 1)}))
        assert len(there.journal) == before + 1

    asyncio.run(go())


def test_an_input_that_was_made_again_is_told_as_that(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.send("ada", "bob")
        async with there.worker() as processor:
            await processor.handle(list(there.journal))
            there.broker.sent[APPLICATIONS] = 0
            line = await there.forge(2)
            with pytest.raises(LedgerError, match=r"ends at offset 0, but ledger .* has folded offset 1"):
                await processor.handle(there.journal[line:])
        assert len(there.journal) == line + 1

    asyncio.run(go())


def test_brokers_are_asked_only_for_what_is_new(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.send(*"abcdefgh")
        await there.fold()
        # Once where the ledger is opened anew, and once by the first line.
        assert there.broker.asked <= 2

    asyncio.run(go())


@pytest.fixture(scope="module")
def skipped(tmp_path_factory):
    """An installation whose forged record is skipped, and its ledger without that record."""

    async def go():
        there, forged = await attacked(tmp_path_factory.mktemp("skipped"), 5)
        await there.send("sue", "tom", "una")
        await there.fold(skipped=frozenset({(0, forged)}))
        return there, forged

    there, forged = asyncio.run(go())
    path = there.folder / "without" / "journal-0.sqlite"
    path.parent.mkdir()
    emissions = []
    with Ledger(path, *JOURNAL) as ledger:
        ledger.keep_width(1)
        state = ledger.load(there.programs, required_topics(TOPICS), 10_000)
        ledger.claim(0)
        for record in there.journal:
            if record.offset != forged:
                entries = read_entries(record)
                effects = process(state, entries, ledger.view(state, footprint(entries), {}))
                ledger.commit(state, effects)
                emissions += [(one.offset, one.number, one.id, one.value) for one in effects.emissions]
    return there, dump(path), emissions


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example({3}, 1, 1)
@given(st.sets(st.integers(1, 12), max_size=5), st.integers(1, 4), st.integers(0, 12))
def test_a_skipped_record_changes_nothing_whatever_the_chunks_and_wherever_a_fold_begins(
    skipped, tmp_path_factory, cuts, portion, checkpoint
):
    there, without, emissions = skipped

    async def go():
        folder = tmp_path_factory.mktemp("fold")
        before = {at: list(log) for at, log in there.broker.logs.items()}
        # What was published before is not known: all outputs are there to be compared.
        there.broker.logs = there.broker.logs.copy()
        for topic in TOPICS.outputs:
            there.broker.logs[topic, 0] = []
        try:
            async with there.worker(folder, portion_entries=portion) as processor:
                await processor.handle(there.journal[: max(1, checkpoint)])
            ledger = await there.fold(folder, cuts, portion_entries=portion)
            told = [record for topic in TOPICS.outputs for record in there.broker.logs[topic, 0]]
        finally:
            there.broker.logs.clear()
            there.broker.logs.update(before)
        assert dump(ledger) == without
        assert sorted(record.value for record in told) == sorted(one[3] for one in emissions)

    asyncio.run(go())


def test_a_replay_leaves_out_what_was_skipped(skipped, tmp_path):
    there, _, _ = skipped
    published = PublishedOutputs(tmp_path / "outputs.sqlite")
    for topic in TOPICS.outputs:
        for record in there.broker.logs[topic, 0]:
            published.add(record)
    check = OutputCheck(there.programs, TOPICS, JOURNAL, tmp_path / "ledger.sqlite", published)
    try:
        for record in there.journal:
            check.forged.see(record)
        differences = [one for record in there.journal for one in check.feed(record)] + list(check.rest())
        assert check.compared >= 6
        assert not differences
    finally:
        check.close()
        published.close()
