"""Restarts at every record, crashes between the steps, and what ingest tells the partitions of the journal."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from onward.schemas.events import DeadLetter, Model, RawSpec, SourcePosition, Tick
from onward.streams.errors import LedgerError
from onward.streams.ingest.ingest import Ingest
from onward.streams.journal.lines import pack_lines as pack
from onward.streams.journal.lines import read_entries as read
from onward.streams.journal.lines import tick_line
from onward.streams.ledger.ledger import Ledger
from onward.streams.metrics import Metrics
from onward.streams.programs.program import Program
from onward.streams.records import Record, TopicPartition
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.streams.worker.stages import DELIVERY_STAGES
from onward.testing.ledger import dump, rows
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, PipelineRun, Sender, no_clock
from onward.testing.program import build_program
from onward.testing.tape import JOURNAL, MINUTE_MS, TIMED, Tape, tape

pytestmark = pytest.mark.usefixtures("crashes")


def long_story(directory):
    """Something of everything: waiting, settled, open by steps and by time, undecided, appended twice."""
    programs = {
        "steps": build_program("steps", window={"steps": 3}),
        "timed": build_program("timed", **TIMED),
        "external": build_program("external", decisions="external", **TIMED),
    }
    story = Tape(PipelineRun(programs, directory))
    story.outcome("nobody", 0, program="timed")
    story.outcome("t3", 4 * MINUTE_MS, program="timed")
    story.decides("e1", 3 * MINUTE_MS, program="external")
    story.decides("nobody", MINUTE_MS, program="external")
    people = [(minute, name) for minute in range(6) for name in programs]
    twice = [story.applies(f"{name[0]}{minute}", minute * MINUTE_MS, program=name) for minute, name in people]
    story.outcome("s2", 5 * MINUTE_MS, program="steps")
    story.outcome("s0", 5 * MINUTE_MS, program="steps")
    story.tick(12 * MINUTE_MS)
    story.outcome("nobody", 0, program="timed")
    story.decides("nobody", MINUTE_MS, program="external")
    story.again(story.applies("bad", 12 * MINUTE_MS, features={}, program="steps"))
    for record in twice[-3:]:
        story.again(record)
    story.applies("s9", 12 * MINUTE_MS, program="steps")
    story.decides("e2", 12 * MINUTE_MS, program="external")
    story.outcome("t1", 13 * MINUTE_MS, program="timed")
    story.tick(60 * MINUTE_MS)
    story.outcome("t1", 13 * MINUTE_MS, program="timed")
    story.tick(61 * MINUTE_MS)
    return story


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    story = long_story(tmp_path_factory.mktemp("whole"))
    ledger = story.fold()
    return list(story.journal), story.run.outputs(), dump(ledger)


def retold(directory, journal):
    """The same journal for another worker, nothing of it folded."""
    story = long_story(directory)
    story.run.broker = MemoryBroker(inputs=story.run.broker.inputs)
    story.run.broker.logs["journal", 0] = list(journal)
    return story


def test_a_restart_after_every_record_changes_nothing(tmp_path, uninterrupted):
    journal, outputs, ledger = uninterrupted
    story = retold(tmp_path, journal)
    assert dump(story.fold(parts=[[record] for record in journal])) == ledger
    assert story.run.outputs() == outputs
    identities = Counter(dict(headers)["ce_id"] for topic in outputs.values() for *_, headers in topic)
    assert max(identities.values()) == 1
    assert {fate for _, fate in story.fates()} == {"rewarded", "censored", "late", "dangling"}


class CrashError(Exception):
    pass


def crash(stage):
    def observe(reached):
        if reached == stage:
            raise CrashError

    return observe


@pytest.mark.parametrize("stage", DELIVERY_STAGES)
def test_a_crash_between_the_steps_repeats_and_loses_nothing(tmp_path, uninterrupted, stage):
    journal, outputs, ledger = uninterrupted
    story = retold(tmp_path, journal)
    half = len(journal) // 2
    with pytest.raises(CrashError):
        asyncio.run(story.folded("ledger", [journal[:half]], crash(stage)))
    config = ProcessorConfig(tmp_path / "ledger")

    async def go_on():
        processor = PartitionProcessor(
            story.run.topics, story.run.programs, story.run.broker, Metrics(), no_clock, config
        )
        start = (await processor.assigned([JOURNAL]))[JOURNAL]
        await processor.handle(journal[start:half] or journal[half : half + 1])
        await processor.handle(journal[half - 3 :])
        await processor.revoked([JOURNAL])

    asyncio.run(go_on())
    assert story.run.outputs() == outputs
    assert dump(tmp_path / "ledger" / "journal-0.sqlite") == ledger


def test_outputs_that_reached_kafka_in_part_are_completed(tmp_path, uninterrupted):
    journal, outputs, ledger = uninterrupted
    total = sum(map(len, outputs.values()))
    for sent in range(0, total, 3):
        story = retold(tmp_path / str(sent), journal)
        broker = story.run.broker
        publish = broker.publish

        async def partly(records, count=sent, publish=publish):
            await publish(records[:count])
            raise CrashError

        broker.publish = partly
        with pytest.raises(CrashError):
            story.fold()
        broker.publish = publish
        for topic in outputs:
            log = broker.logs[topic, 0]
            log.append(Record(topic, 0, len(log), 0, None, b"not ours", ()))
        assert dump(story.fold()) == ledger
        for topic, expected in outputs.items():
            found = [record for record in story.run.outputs()[topic] if record[1] != b"not ours"]
            assert found == expected


def test_a_commit_is_whole_or_not_at_all(tmp_path, monkeypatch, uninterrupted):
    journal, _, ledger = uninterrupted
    story = retold(tmp_path, journal)

    def breaks(self, state):
        raise CrashError

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_write_progress", breaks)
        with pytest.raises(CrashError):
            story.fold()
    assert rows(tmp_path / "ledger" / "journal-0.sqlite", "SELECT count(*) FROM cases") == [(0,)]
    assert dump(story.fold()) == ledger


def heard(story, **minutes):
    """Tell the clock of the second partition of a topic; None announces it."""
    sources = tuple(
        SourcePosition(topic, 1, None if minute is None else START_MS + minute * MINUTE_MS)
        for topic, minute in minutes.items()
    )
    [out] = pack("journal", 0, [tick_line(Tick(sources), START_MS)])
    story.journal.append(Record("journal", 0, len(story.journal), START_MS, None, out.value, ()))


def test_a_restart_knows_the_partitions_that_are_behind_or_only_announced(tmp_path):
    story = Tape(PipelineRun({"loan": build_program(**TIMED)}, tmp_path))
    story.applies("x")
    story.tick(20 * MINUTE_MS)
    heard(story, applications=5, outcomes=None)
    story.tick(60 * MINUTE_MS)
    heard(story, applications=60)
    whole = dump(story.fold("whole"))
    assert story.fates() == []
    story.run.broker.logs["rewards", 0].clear()
    assert dump(story.fold("cut", parts=[[record] for record in story.journal])) == whole
    heard(story, outcomes=60)
    story.fold("whole")
    assert story.fates() == [("x", "censored")]


def test_two_workers_cannot_write_one_ledger(tmp_path, uninterrupted):
    journal, _, _ = uninterrupted
    story = retold(tmp_path, journal)

    async def both():
        config = ProcessorConfig(tmp_path / "ledger")
        run = story.run
        old, new = (
            PartitionProcessor(run.topics, run.programs, run.broker, Metrics(), no_clock, config) for _ in range(2)
        )
        await old.assigned([JOURNAL])
        await new.assigned([JOURNAL])
        await new.handle(journal[:9])
        with pytest.raises(LedgerError, match="another worker"):
            await old.handle(journal[:5])
        await new.handle(journal[9:])
        await new.revoked([JOURNAL])
        await old.revoked([JOURNAL])

    asyncio.run(both())


def test_a_journal_with_a_gap_or_another_journal_is_refused(tmp_path, uninterrupted):
    journal, _, _ = uninterrupted
    story = retold(tmp_path, journal)
    story.fold(parts=[journal[:5]])
    with pytest.raises(LedgerError, match="records between are gone"):
        story.fold(parts=[journal[6:]])
    story.run.broker.logs["journal", 0] = list(journal[:4])
    with pytest.raises(LedgerError, match="another journal"):
        story.fold(parts=[journal[5:]])


def test_a_journal_of_a_program_without_its_spec_is_refused(tmp_path):
    story = tape(tmp_path)
    story.applies("x")
    story.run.programs = {"other": build_program("other")}
    with pytest.raises(LedgerError, match="holds records of program 'loan': start the worker with its spec too"):
        story.fold()


def test_an_input_topic_that_was_made_anew_is_refused(tmp_path):
    story = tape(tmp_path)
    story.applies("x")
    story.applies("y")
    story.fold()
    story.run.broker.logs["applications", 0] = [Record("applications", 0, 0, START_MS, None, b"{}", ())]
    with pytest.raises(
        LedgerError, match=r"applications partition 0 ends at offset 1, but .* has folded offset 1 of it"
    ):
        story.fold()


def test_an_input_topic_that_was_made_anew_is_refused_by_a_ledger_that_is_made_from_the_journal(tmp_path):
    story = tape(tmp_path)
    story.applies("x")
    story.applies("y")
    story.sender.sent.clear()
    story.run.broker.logs["applications", 0] = [story.applies("z")]
    refused = r"applications partition 0 offset 1, which ends at offset 1; .* unless that topic was made again"
    with pytest.raises(LedgerError, match=refused):
        story.fold()
    assert [answer.application for answer in story.answers()] == ["x"]
    with pytest.raises(LedgerError, match=refused):
        story.fold()


def test_what_another_choice_has_learned_is_refused(tmp_path):
    story = tape(tmp_path, choice="linucb")
    story.applies("x")
    story.fold()
    story.run.programs = {"loan": build_program(choice="posterior")}
    with pytest.raises(LedgerError, match=r"policy\.choice cannot change: what is learned was learned with it"):
        story.fold()


def test_what_another_default_choice_has_learned_is_refused(tmp_path):
    story = tape(tmp_path, choice="linucb")
    story.applies("x")
    with closing(sqlite3.connect(story.fold())) as db, db:
        db.execute("UPDATE shards SET choice = 'posterior'")
    with pytest.raises(LedgerError, match="name posterior in its spec"):
        story.fold()


# --- ingest to several journal partitions ---


class SomeLag:
    """Partition 0 of every topic is read to its end, of 1 nothing is known, and of 2 some records are left."""

    def lag(self, partition):
        return (0, None, 5)[partition.partition]


def test_ingest_speaks_to_every_journal_partition(monkeypatch):
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: self.bundle)
    broker, sender = MemoryBroker(width=3), Sender()
    programs = {"loan": build_program(shards=12)}
    run = PipelineRun(programs, None, broker=broker)
    ingest = Ingest(run.topics, programs, broker, Metrics(), no_clock)
    owned = [TopicPartition(topic, partition) for topic in run.topics.inputs for partition in (0, 1, 2)]
    bad = sender.record("applications", None, time_ms=START_MS, id="bad", raw=b"{")._replace(partition=1)
    model = sender.record("models", Model("loan", "v1", "memory", "3" * 64), time_ms=START_MS, id="m")

    async def go():
        await ingest.assigned(owned)
        await ingest.handle([bad])
        await ingest.handle([model])
        await ingest.tick(SomeLag())

    asyncio.run(go())
    told = [[entry.body for record in broker.logs["journal", place] for entry in read(record)] for place in range(3)]
    assert [[type(body) for body in bodies] for bodies in told] == [
        [RawSpec, Tick, Model, Tick],
        [RawSpec, Tick, DeadLetter, Model, Tick],
        [RawSpec, Tick, Model, Tick],
    ]
    for _, first, *_, last in told:
        assert {(at.topic, at.partition, at.time_ms) for at in first.sources} == {
            (topic, partition, None) for topic in run.topics.ingested for partition in range(3)
        }
        assert {(at.topic, at.partition) for at in last.sources} == {(topic, 0) for topic in run.topics.inputs}
