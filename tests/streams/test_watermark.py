"""Laws of the watermark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onward.streams.records import TopicPartition
from onward.streams.watermark import Watermark

TOPICS = ("applications", "outcomes")
sources = st.builds(TopicPartition, st.sampled_from([*TOPICS, "models"]), st.integers(0, 1))
moves = st.lists(st.tuples(sources, st.none() | st.integers(0, 20)))


@given(moves)
def test_it_is_the_earliest_clock_and_never_goes_back(moves):
    watermark = Watermark(frozenset(TOPICS))
    latest = {}
    told = None
    for source, time_ms in moves:
        moved = watermark.advance(source, time_ms)
        if source.topic in TOPICS:
            before = latest.get(source)
            latest[source] = before if time_ms is None else max(time_ms, before or 0)
        clocks = list(latest.values())
        complete = {source.topic for source in latest} == set(TOPICS) and None not in clocks
        expected = max(told or 0, min(clocks)) if complete else told
        assert watermark.value_ms == expected
        assert moved == (expected != told)
        told = expected


@given(moves, moves)
def test_what_it_will_be_is_what_it_becomes(before, coming):
    watermark = Watermark(frozenset(TOPICS))
    for move in before:
        watermark.advance(*move)
    foreseen = watermark.after(coming)
    for move in coming:
        watermark.advance(*move)
    assert watermark.value_ms == foreseen


def test_a_partition_that_is_only_announced_holds_it_back():
    watermark = Watermark(frozenset(TOPICS))
    watermark.advance(TopicPartition("applications", 0), None)
    watermark.advance(TopicPartition("applications", 1), 5)
    watermark.advance(TopicPartition("outcomes", 0), 5)
    assert watermark.value_ms is None
    assert watermark.advance(TopicPartition("applications", 0), 3)
    assert watermark.value_ms == 3
