from __future__ import annotations

from faust.types import TP

from onward.streams.kafka.consume.offset_tracker import OffsetTracker

ONE, OTHER = TP("t", 0), TP("t", 1)


def test_offsets_without_records_are_passed_over_once_everything_before_them_is_handled():
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


def test_what_comes_late_of_partitions_given_up_is_not_booked():
    tracker = OffsetTracker()
    tracker.assign({ONE: 5})
    tracker.mark_queued(ONE, 9)
    tracker.assign({OTHER: 0})
    tracker.mark_processed(ONE, 9)
    tracker.skip_gaps({ONE: 12})
    tracker.mark_committed({ONE: 10})
    assert (tracker.processed(ONE), tracker.uncommitted(), tracker.positions()) == (None, {}, {OTHER: 0})


def test_only_what_the_group_does_not_know_is_to_be_committed():
    tracker = OffsetTracker()
    tracker.assign({ONE: 5, OTHER: 5})
    tracker.mark_processed(ONE, 6)
    moved = tracker.uncommitted()
    tracker.mark_processed(ONE, 7)
    tracker.mark_committed(moved)
    assert (moved, tracker.uncommitted()) == ({ONE: 7}, {ONE: 8})
