"""Former owners: a worker whose lease is over writes nothing, and what it had under way does no harm."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.schemas.events import Application, DeadLetter, NoRecourse, Recourse
from onward.streams.errors import FencedError
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.snapshots.store import Snapshots
from onward.streams.worker.lease import Lease
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.streams.worker.stages import Stage
from onward.testing.ledger import dump
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, PipelineRun, Sender, no_clock
from onward.testing.program import build_program
from onward.testing.tape import JOURNAL, POOR, tape
from onward.tests.support.kafka_handlers import until

pytestmark = pytest.mark.usefixtures("crashes")


def processor(story, directory, lease, observe):
    run = story.run
    return PartitionProcessor(
        run.topics,
        run.programs,
        run.broker,
        Metrics(),
        no_clock,
        ProcessorConfig(directory),
        observe,
        lease.wait_until_valid,
    )


class Stopped:
    """A clock that jumps when a stage is reached, as if the process was stopped there."""

    def __init__(self, stage):
        self.now, self.stage = 0.0, stage

    def __call__(self):
        return self.now

    def observe(self, stage):
        if stage == self.stage:
            self.now += 100.0


def test_an_owner_with_an_empty_folder_writes_under_a_higher_generation_than_those_before(tmp_path):
    story = tape(tmp_path)
    for name, folder in (("a", "first"), ("b", "first"), ("c", "empty")):
        story.applies(name)
        story.fold(folder)
    written = [int(dict(record.headers)["onward_generation"]) for record in story.run.broker.logs["recourse", 0]]
    assert written == sorted(set(written))
    assert len(written) == 3


@pytest.mark.parametrize("stage", [Stage.COMPUTED, Stage.OUTPUTS_IN_FLIGHT, Stage.OUTPUTS_ACKNOWLEDGED])
@pytest.mark.parametrize("partitions_lost", [True, False])
def test_a_worker_that_was_stopped_writes_nothing_until_the_group_has_spoken(tmp_path, stage, partitions_lost):
    story = tape(tmp_path)
    story.applies("x")
    clock = Stopped(stage)
    lease = Lease(10.0, 60.0, clock)
    lease.grant(0.0)
    ledger = tmp_path / "journal-0.sqlite"

    async def stopped():
        stopped = processor(story, tmp_path, lease, clock.observe)
        await stopped.assigned([JOURNAL])
        before = dump(ledger)
        handling = asyncio.ensure_future(stopped.handle(list(story.journal)))
        await until(lambda: clock.now)
        await asyncio.sleep(0.05)
        assert not handling.done()
        assert dump(ledger) == before
        assert len(story.answers()) == (0 if stage is Stage.COMPUTED else 1)
        if partitions_lost:
            lease.lose()
            with pytest.raises(FencedError, match="may have another owner"):
                await handling
            assert dump(ledger) == before
        else:
            lease.renew(100.0)
            await handling
        await stopped.revoked([JOURNAL])

    asyncio.run(stopped())
    assert len(story.answers()) == (0 if stage is Stage.COMPUTED and partitions_lost else 1)
    if not partitions_lost:
        assert dump(ledger) == dump(story.fold("without a stop"))


def test_a_worker_that_was_fenced_lists_no_snapshot_and_does_not_end_of_it(tmp_path, caplog):
    story, snapshots, lease = tape(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=1), Lease(10.0, 60.0)
    lease.grant(lease.clock())
    story.applies("x")
    first = len(story.journal)
    story.applies("y")
    run, config = story.run, ProcessorConfig(tmp_path, snapshots=snapshots, snapshot_seconds=0.0)
    worker = PartitionProcessor(
        run.topics, run.programs, run.broker, Metrics(), no_clock, config, wait_until_valid=lease.wait_until_valid
    )

    async def work():
        await worker.assigned([JOURNAL])
        await worker.handle(story.journal[:first])
        await worker.take_snapshots()
        await worker.handle(story.journal[first:])
        lease.lose()
        await worker.take_snapshots()
        await worker.revoked([JOURNAL])

    asyncio.run(work())
    assert [snapshot.ledger.offset for snapshot in snapshots.listed(JOURNAL)] == [first]
    assert "no snapshot was taken" in caplog.text


PEOPLE = 12


@settings(max_examples=30)
@given(
    owned=st.integers(0, PEOPLE),
    told=st.integers(0, PEOPLE),
    under_way=st.lists(st.integers(1, 4), max_size=4),
    chunk=st.integers(1, 5),
    late=st.lists(st.integers(0, PEOPLE), min_size=4, max_size=4),
)
def test_what_a_former_reader_of_the_inputs_still_appends_changes_nothing(
    tmp_path_factory, owned, told, under_way, chunk, late
):
    """The former owner has appended ``owned`` records and told the group of at most so many; batches of the chunk it
    was stopped in arrive anywhere among its successor's."""
    folder = tmp_path_factory.mktemp("run")
    sender, programs = Sender(), {"loan": build_program()}
    inputs = [
        sender.record("applications", Application("loan", f"p{n}", POOR), time_ms=START_MS, id=f"a{n}")
        for n in range(PEOPLE)
    ]
    # Half of them are bad: a dead letter has no other way to be known again than the position of its input.
    inputs = [record._replace(value=b"{") if record.offset % 2 else record for record in inputs]

    def read(start, sizes):
        chunks = []
        for size in sizes:
            chunks.append(inputs[start : start + size])
            start += size
        return [found for found in chunks if found]

    former = read(owned, under_way)
    successor = read(min(owned, told), [chunk] * PEOPLE)
    order = [(number, 1, records) for number, records in enumerate(successor)]
    order += [(place, 0, records) for place, records in zip(sorted(late), former, strict=False)]

    async def outputs(chunks, name):
        run = PipelineRun(programs, folder / name, broker=MemoryBroker())
        ingest = Ingest(run.topics, programs, run.broker, Metrics(), no_clock)
        await ingest.assigned([TopicPartition("applications", 0)])
        for records in chunks:
            await ingest.handle(records)
        await run.fold(run.broker.logs[run.topics.journal, 0])
        return [run.events("recourse", Recourse | NoRecourse), run.events("dead-letters", DeadLetter)]

    moved = [inputs[:owned]] if owned else []
    moved += [records for _, _, records in sorted(order, key=lambda item: item[:2])]
    assert asyncio.run(outputs(moved, "moved")) == asyncio.run(outputs([inputs], "whole"))
