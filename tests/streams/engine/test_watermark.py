"""Laws of the watermarks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onward.streams.engine.watermark import Watermarks, required_topics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics

REQUIRED = required_topics(Topics())
sources = st.builds(
    TopicPartition, st.sampled_from(["applications", "outcomes", "decisions", "models"]), st.integers(0, 1)
)
moves = st.lists(st.tuples(sources, st.none() | st.integers(0, 20)))


@given(moves)
def test_each_is_the_earliest_clock_that_it_waits_for_and_never_goes_back(moves):
    watermarks = Watermarks(REQUIRED)
    latest = {}
    told = dict.fromkeys(REQUIRED)
    for source, time_ms in moves:
        moved = watermarks.advance(source, time_ms)
        before = latest.get(source)
        latest[source] = before if time_ms is None else max(time_ms, before or 0)
        expected = {}
        for decider, topics in REQUIRED.items():
            clocks = [clock for place, clock in latest.items() if place.topic in topics]
            complete = {place.topic for place in latest} >= topics and None not in clocks
            expected[decider] = max(told[decider] or 0, min(clocks)) if complete else told[decider]
        assert watermarks.values_ms == expected
        assert moved == (expected != told)
        told = expected


@given(moves, moves)
def test_what_they_will_be_is_what_they_become(before, coming):
    watermarks = Watermarks(REQUIRED)
    for move in before:
        watermarks.advance(*move)
    foreseen = dict(watermarks.after(coming))
    for move in coming:
        watermarks.advance(*move)
    assert watermarks.values_ms == foreseen


def test_a_partition_that_is_only_announced_holds_it_back():
    watermarks = Watermarks(REQUIRED)
    watermarks.advance(TopicPartition("applications", 0), None)
    watermarks.advance(TopicPartition("applications", 1), 5)
    watermarks.advance(TopicPartition("outcomes", 0), 5)
    assert list(watermarks.known()) == []
    assert watermarks.advance(TopicPartition("applications", 0), 3)
    assert list(watermarks.known()) == [("model", 3)]
