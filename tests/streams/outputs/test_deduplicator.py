"""Former owners of a partition: how what they had under way is recognised."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.metrics import Metrics
from onward.streams.outputs.deduplicator import BEFORE_ALL, Classification, Deduplicator
from onward.streams.outputs.emission import GENERATION, POSITION, OutputPosition
from onward.streams.records import Record
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.pipeline import no_clock
from onward.testing.tape import JOURNAL, tape


def output(position, generation, value=b""):
    headers = ((POSITION, OutputPosition(*position).header()), (GENERATION, b"%d" % generation))
    return Record("recourse", 0, 0, 0, None, value, headers)


def processor(story, directory, **options):
    run = story.run
    return PartitionProcessor(
        run.topics, run.programs, run.broker, Metrics(), no_clock, ProcessorConfig(directory), **options
    )


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3))),
    st.integers(0, 9),
)
def test_every_position_is_new_once_and_in_order(records, unknown):
    repeats, seen = Deduplicator(), BEFORE_ALL
    for at, generation in records:
        position = OutputPosition(at, 0)
        verdict = repeats.classify(output(position, generation))
        assert (verdict is Classification.NEW) == (position > seen)
        seen = max(seen, position)
        assert repeats.classify(output(position, generation)) is not Classification.NEW
    assert repeats.mark("recourse", 0).position == seen
    assert repeats.classify(Record("recourse", 0, unknown, 0, None, b"{}", ())) is Classification.NEW


def test_what_a_former_owner_still_wrote_is_stale():
    repeats = Deduplicator()
    assert repeats.classify(output((3, 0), 1)) is Classification.NEW
    assert repeats.classify(output((4, 0), 2)) is Classification.NEW
    assert repeats.classify(output((4, 0), 1)) is Classification.STALE
    assert repeats.classify(output((4, 0), 2)) is Classification.REPEATED
    assert repeats.classify(output((5, 1), 1)) is Classification.NEW, (
        "ahead of its successor: the same bytes, so the first counts"
    )


@pytest.mark.usefixtures("crashes")
def test_a_successor_drops_nothing_and_repeats_nothing_that_its_readers_count(tmp_path):
    """The former owner is stopped with outputs under way, which arrive after its successor's."""
    story = tape(tmp_path)
    for name in ("x", "y", "z"):
        story.applies(name)
    log = story.run.broker.logs
    publish = story.run.broker.publish
    under_way = []

    async def swallow(records):
        under_way.extend(records)

    async def both():
        former, successor = processor(story, tmp_path / "former"), processor(story, tmp_path / "successor")
        await former.assigned([JOURNAL])
        await former.handle(list(story.journal[:2]))
        story.run.broker.publish = swallow
        await former.handle(list(story.journal[2:]))
        story.run.broker.publish = publish
        await successor.assigned([JOURNAL])
        await successor.handle(list(story.journal[:3]))
        await publish(under_way)
        await successor.handle(list(story.journal[3:]))
        third = processor(story, tmp_path / "third")
        await third.assigned([JOURNAL])
        await third.handle(list(story.journal))

    asyncio.run(both())
    repeats = Deduplicator()
    verdicts = [(repeats.classify(record), record) for record in log["recourse", 0]]
    new = [record for verdict, record in verdicts if verdict is Classification.NEW]
    whole = tape(tmp_path / "whole")
    whole.run.broker.logs["journal", 0] = list(story.journal)
    whole.fold()
    assert [record.value for record in new] == [record.value for record in whole.run.broker.logs["recourse", 0]]
    assert {record.value for verdict, record in verdicts if verdict is not Classification.NEW} <= {
        record.value for record in new
    }
    assert Classification.STALE in [verdict for verdict, _ in verdicts]


def test_each_owner_writes_under_a_later_generation(tmp_path):
    story = tape(tmp_path)
    for number in range(3):
        story.applies(f"x{number}")
        story.fold(f"ledger of owner {number % 2}", parts=[story.journal])
    generations = [int(dict(record.headers)[GENERATION]) for record in story.run.broker.logs["recourse", 0]]
    assert generations == sorted(set(generations))
