from __future__ import annotations

from faust.types import TP

from onward.streams.kafka.consume.offset_tracker import OffsetTracker

ONE, OTHER = TP("t", 0), TP("t", 1)


def test_gaps_are_skipped_once_the_records_before_them_are_processed():
    tracker = OffsetTracker()
    tracker.assign({ONE: 5, OTHER: 5})
    tracker.mark_queued(ONE, 9)
    tracker.skip_gaps({ONE: 12, OTHER: 7})
    assert tracker.uncommitted() == {OTHER: 7}
    tracker.mark_processed(ONE, 8)
    tracker.skip_gaps({ONE: 12, OTHER: 7})
    assert tracker.processed(ONE) == 9
    tracker.mark_processed(ONE, 9)
    tracker.skip_gaps({ONE: 12, OTHER: 7})
    assert tracker.uncommitted() == {ONE: 12, OTHER: 7}
    tracker.skip_gaps({ONE: 11})
    assert tracker.positions() == {ONE: 12, OTHER: 7}


def test_calls_about_revoked_partitions_change_nothing():
    tracker = OffsetTracker()
    tracker.assign({ONE: 5})
    tracker.mark_queued(ONE, 9)
    tracker.assign({OTHER: 0})
    tracker.mark_processed(ONE, 9)
    tracker.skip_gaps({ONE: 12})
    tracker.mark_committed({ONE: 10})
    assert (tracker.processed(ONE), tracker.uncommitted(), tracker.positions()) == (None, {}, {OTHER: 0})


def test_only_new_offsets_are_uncommitted():
    tracker = OffsetTracker()
    tracker.assign({ONE: 5, OTHER: 5})
    tracker.mark_processed(ONE, 6)
    moved = tracker.uncommitted()
    tracker.mark_processed(ONE, 7)
    tracker.mark_committed(moved)
    assert (moved, tracker.uncommitted()) == ({ONE: 7}, {ONE: 8})
