"""The watermarks: how they follow the clocks of the inputs, and what moves time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onward.streams.engine.timing.watermark import Watermarks, required_topics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics
from onward.testing.tape import DAY_MS, MINUTE_MS, RICH, TIMED, tape

REQUIRED = required_topics(Topics())
sources = st.builds(
    TopicPartition, st.sampled_from(["applications", "outcomes", "decisions", "models"]), st.integers(0, 1)
)
moves = st.lists(st.tuples(sources, st.none() | st.integers(0, 20)))


@given(moves)
def test_each_is_the_earliest_clock_that_it_waits_for_and_never_goes_back(moves):
    watermarks = Watermarks(REQUIRED)
    latest = {}
    known = dict.fromkeys(REQUIRED)
    for source, time_ms in moves:
        moved = watermarks.advance(source, time_ms)
        before = latest.get(source)
        latest[source] = before if time_ms is None else max(time_ms, before or 0)
        expected = {}
        for decider, topics in REQUIRED.items():
            clocks = [clock for place, clock in latest.items() if place.topic in topics]
            complete = {place.topic for place in latest} >= topics and None not in clocks
            expected[decider] = max(known[decider] or 0, min(clocks)) if complete else known[decider]
        assert watermarks.values_ms == expected
        assert moved == (expected != known)
        known = expected


@given(moves, moves)
def test_what_they_will_be_is_what_they_become(before, coming):
    watermarks = Watermarks(REQUIRED)
    for move in before:
        watermarks.advance(*move)
    foreseen = dict(watermarks.values_after(coming))
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


def test_dead_letters_do_not_move_time(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("nobody", 10 * 60 * MINUTE_MS)
    story.applies("bad", 10 * 60 * MINUTE_MS, features={})
    story.fold()
    assert story.fates() == []
    assert story.reasons() == ["missing_feature"]


def test_a_silent_decisions_topic_holds_up_time_only_where_decisions_come_from_it(tmp_path):
    for decisions, fates in (("model", [("nobody", "dangling"), ("x", "dangling")]), ("external", [])):
        story = tape(tmp_path / decisions, decisions=decisions, **TIMED)
        story.outcome("nobody", 0)
        story.outcome("x", DAY_MS)
        story.applies("x", DAY_MS, features=RICH)
        story.fold()
        assert story.fates() == fates


class Clocks:
    """A watermark over topics a (two partitions) and b, all announced."""

    def __init__(self):
        self.watermarks = Watermarks({"model": frozenset("ab")})
        for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
            self(topic, partition, None)

    def __call__(self, topic, partition, time_ms):
        self.watermarks.advance(TopicPartition(topic, partition), time_ms)
        return self.watermarks.values_ms["model"]


def test_the_watermark_waits_for_every_partition_and_never_goes_back():
    clock = Clocks()
    assert clock("a", 0, 10) is None
    assert clock("a", 1, 10) is None
    assert clock("b", 0, 20) == 10
    assert clock("a", 0, 30) == 10
    assert clock("a", 0, 12) == 10
    assert clock("a", 1, 30) == 20
    assert clock("b", 0, 15) == 20
    assert clock("b", 0, 25) == 25
    assert clock("a", 2, None) == 25
    assert clock("b", 0, 40) == 25
    assert clock("a", 2, 5) == 25
    assert clock("a", 2, 60) == 30
    assert list(Watermarks({"model": frozenset("ab")}, {TopicPartition("a", 0): 1}).known()) == []
