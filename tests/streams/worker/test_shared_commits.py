"""A commit of the ledger covers several portions: whatever ends a worker between them, nothing is lost or repeated."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.schemas.events import Erasure
from onward.streams.errors import BrokerError, LedgerError
from onward.streams.ledger.ledger import Ledger
from onward.streams.metrics import Metrics
from onward.streams.worker import partition_processor
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.streams.worker.stages import Stage
from onward.testing.ledger import dump, rows
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import PipelineRun, no_clock
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, JOURNAL, MINUTE_MS, RICH, TIMED, Tape

pytestmark = pytest.mark.usefixtures("crashes")

NEVER = 1e9
"""Seconds from one commit to the next: only those that do not wait for them."""


def told(directory, more=0):
    programs = {
        "steps": build_program("steps", window={"steps": 3}),
        "timed": build_program("timed", **TIMED, policy={"choice": "residual"}),
        "external": build_program("external", decisions="external", **TIMED),
    }
    story = Tape(PipelineRun(programs, directory))
    story.outcome("t1", MINUTE_MS, program="timed")
    for minute in range(6):
        for name in programs:
            story.applies(f"{name[0]}{minute}", minute * MINUTE_MS, program=name)
        story.outcome(f"t{minute - 1}", minute * MINUTE_MS, program="timed")
    story.decides("e1", 3 * MINUTE_MS, program="external")
    story.applies("rich", 6 * MINUTE_MS, program="steps", features=RICH)
    story.again(story.applies("bad", 6 * MINUTE_MS, features={}, program="steps"))
    story.tick(60 * MINUTE_MS)
    story.outcome("s1", 60 * MINUTE_MS, program="steps")
    story.tick(40 * DAY_MS)
    story.applies("t0", DAY_MS, program="timed")
    story.tick(41 * DAY_MS)
    for number in range(more):
        story.applies(f"more{number}" + "x" * 60, DAY_MS, program="timed")
    return story


class Whole:
    """A finished journal, and what a worker that commits each portion makes of it."""

    def __init__(self, folder, more=0):
        story = told(folder, more)
        self.programs, self.journal, self.inputs = story.run.programs, list(story.journal), story.run.broker.inputs
        self.ledger, self.outputs = dump(story.fold()), story.run.outputs()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return Whole(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    return Whole(tmp_path_factory.mktemp("larger"), more=60)


class CrashError(Exception):
    """A worker ends here."""


class Worker:
    """Workers, one after the other, on one ledger; each commits when it is told."""

    def __init__(self, whole, folder):
        self.whole, self.path = whole, folder / "journal-0.sqlite"
        logs = MemoryBroker().logs.__class__(list, {(*JOURNAL,): whole.journal})
        self.run = PipelineRun(whole.programs, folder, broker=MemoryBroker(logs=logs, inputs=whole.inputs))
        self.read = 0

    async def start(self, observe=lambda stage: None, seconds=NEVER):
        config = ProcessorConfig(self.path.parent, commit_seconds=seconds)
        self.metrics = Metrics()
        self.processor = PartitionProcessor(
            self.run.topics, self.whole.programs, self.run.broker, self.metrics, no_clock, config, observe
        )
        self.read = (await self.processor.assigned([JOURNAL]))[JOURNAL]

    async def fold_the_rest(self):
        """Fold record by record, each a portion of its own."""
        while self.read < len(self.whole.journal):
            await self.fold()

    async def fold(self, count=1):
        chunk = self.whole.journal[self.read : self.read + count]
        if chunk:
            await self.processor.handle(chunk)
            self.read += len(chunk)

    @property
    def ledger(self):
        return self.processor._partitions[0].ledger

    def die(self):
        """End as by SIGKILL: SQLite finds an open transaction that nobody commits."""
        self.ledger._db.close()

    async def commit(self):
        owned = self.processor._partitions[0]
        owned.written_at = -NEVER
        await self.processor.commit_due()

    async def finish(self):
        await self.fold(len(self.whole.journal))
        await self.processor.revoked([JOURNAL])
        assert self.run.outputs() == self.whole.outputs
        assert dump(self.path) == self.whole.ledger

    @property
    def stored(self):
        """The offset that another connection reads."""
        with closing(sqlite3.connect(self.path)) as db:
            [(offset,)] = db.execute("SELECT value FROM meta WHERE name = 'offset'")
        return offset


async def test_portions_share_a_commit_and_give_what_portions_of_their_own_give(whole, tmp_path):
    worker, stages = Worker(whole, tmp_path), []
    await worker.start(stages.append)
    await worker.fold_the_rest()
    assert (worker.stored, worker.processor._partitions[0].ledger.committed[0]) == (0, 0)
    assert worker.run.outputs() == whole.outputs, "outputs wait for no commit"
    await worker.finish()
    assert stages.count(Stage.ROWS_WRITTEN) == len(whole.journal)
    assert stages[-1] is Stage.LEDGER_COMMITTED
    assert stages.count(Stage.LEDGER_COMMITTED) == 1


@pytest.mark.parametrize("stage", [Stage.COMPUTED, Stage.OUTPUTS_ACKNOWLEDGED, Stage.ROWS_WRITTEN])
async def test_a_worker_that_is_killed_between_the_portions_of_a_commit_repeats_nothing(whole, tmp_path, stage):
    for nth in (1, 2, 5, 11):
        folder = tmp_path / f"{nth}"
        visits = []

        def observe(reached, visits=visits, nth=nth):
            visits.append(reached)
            if visits.count(stage) == nth and reached == stage:
                raise CrashError

        worker = Worker(whole, folder)
        await worker.start(observe)
        with pytest.raises(CrashError):
            await worker.fold_the_rest()
        worker.die()
        assert worker.stored == 0
        await worker.start()
        await worker.finish()


async def test_a_worker_that_ends_in_the_middle_of_a_portion_commits_nothing_of_a_state_that_is_ahead(whole, tmp_path):
    worker = Worker(whole, tmp_path)
    await worker.start()
    await worker.fold(4)
    publish = worker.run.broker.publish

    async def refuse(records):
        raise BrokerError("not acknowledged")

    worker.run.broker.publish = refuse
    with pytest.raises(BrokerError):
        await worker.fold(6)
    await worker.commit()
    await worker.processor.revoked([JOURNAL])
    assert worker.stored == 0
    worker.run.broker.publish = publish
    await worker.start()
    await worker.finish()


async def test_a_disk_that_is_full_in_the_middle_of_a_commit_stops_nothing_that_was_said(larger, tmp_path):
    worker = Worker(larger, tmp_path)
    await worker.start()
    await worker.fold(3)
    said = worker.run.outputs()
    db = worker.ledger._db
    [(pages,)] = db.execute("PRAGMA page_count").fetchall()
    db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="database or disk is full"):
        await worker.fold_the_rest()
    assert not worker.ledger.is_written
    assert all(worker.run.outputs()[topic][: len(before)] == before for topic, before in said.items())
    await worker.processor.revoked([JOURNAL])
    assert worker.stored == 0
    await worker.start()
    await worker.finish()


async def test_a_disk_that_is_full_when_a_commit_is_due_ends_the_worker(whole, tmp_path, monkeypatch):
    worker = Worker(whole, tmp_path)
    await worker.start()
    await worker.fold(5)

    def full(self, state):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_write_progress", full)
        with pytest.raises(LedgerError, match="database or disk is full; nothing is lost"):
            await worker.commit()
    await worker.processor.revoked([JOURNAL])
    assert worker.stored == 0
    await worker.start()
    await worker.finish()


async def test_a_disk_that_is_full_when_partitions_are_revoked_is_told_and_the_ledger_closed(
    whole, tmp_path, monkeypatch, caplog
):
    worker = Worker(whole, tmp_path)
    await worker.start()
    await worker.fold(5)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_write_progress", lambda self, state: self._db.execute("nonsense"))
        await worker.processor.revoked([JOURNAL])
    assert [line.getMessage()[:41] for line in caplog.records if line.levelname == "WARNING"] == [
        "the last portions will be folded again: l"
    ]
    assert worker.processor.partitions == frozenset()
    await worker.start()
    await worker.finish()


async def test_what_nothing_follows_is_committed_when_it_is_due(whole, tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(partition_processor, "monotonic", lambda: now[0])
    worker = Worker(whole, tmp_path)
    await worker.start(seconds=5.0)
    await worker.fold(2)
    now[0] += 4.9
    await worker.processor.commit_due()
    assert worker.stored == 0
    await worker.fold(1)
    now[0] += 0.2
    await worker.processor.commit_due()
    assert worker.stored == 3
    now[0] += 100.0
    await worker.fold(1)
    await worker.processor.commit_due()
    assert worker.stored == 3, "a portion's time begins when it is written"
    now[0] += 5.0
    await worker.fold(1)
    assert worker.stored == 5, "a portion that is due with those before it is committed with them"
    await worker.finish()


async def test_nothing_is_committed_while_a_portion_is_folded(whole, tmp_path):
    worker = Worker(whole, tmp_path)
    await worker.start()
    await worker.fold(3)
    publish, begun, go = worker.run.broker.publish, asyncio.Event(), asyncio.Event()

    async def slowly(records):
        begun.set()
        await go.wait()
        return await publish(records)

    worker.run.broker.publish = slowly
    folding = asyncio.create_task(worker.fold(6))
    await begun.wait()
    await worker.commit()
    assert worker.stored == 0
    go.set()
    await folding
    assert worker.stored == 9, "it was due, and is committed with the portion"
    await worker.finish()


def test_an_erasure_does_not_wait_until_a_commit_is_due(tmp_path):
    story = Tape(PipelineRun({"loan": build_program(**TIMED)}, tmp_path))
    story.applies("canary")
    before = len(story.journal)
    story.send("erasures", Erasure("loan", "canary"), MINUTE_MS, "e")
    whole = Whole.__new__(Whole)
    whole.programs, whole.journal, whole.inputs = story.run.programs, story.journal, story.run.broker.inputs

    async def play():
        worker = Worker(whole, tmp_path / "ledger")
        await worker.start()
        await worker.fold(before)
        assert worker.stored == 0
        await worker.fold(1)
        assert worker.stored == before + 1
        assert worker.ledger.is_scrubbed
        assert rows(worker.path, "SELECT count(*) FROM cases") == [(0,)]
        assert b"canary" not in worker.path.read_bytes()
        await worker.processor.revoked([JOURNAL])

    asyncio.run(play())


STEPS = st.lists(st.tuples(st.sampled_from(["fold", "fold", "commit", "kill", "revoke"]), st.integers(1, 6)))


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_outputs_and_ledger_are_the_same_wherever_commits_and_ends_fall(whole, steps):
    async def play(folder):
        worker = Worker(whole, folder)
        await worker.start()
        for step, count in steps:
            if step == "fold":
                await worker.fold(count)
            elif step == "commit":
                await worker.commit()
            else:
                if step == "kill":
                    worker.die()
                else:
                    await worker.processor.revoked([JOURNAL])
                await worker.start()
        await worker.finish()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
