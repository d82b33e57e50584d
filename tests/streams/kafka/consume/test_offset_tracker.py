from __future__ import annotations

from faust.types import TP

from onward.streams.kafka.consume.offset_tracker import Positions

ONE, OTHER = TP("t", 0), TP("t", 1)


def test_offsets_without_records_are_passed_over_once_everything_before_them_is_handled():
    positions = Positions()
    positions.begin({ONE: 5, OTHER: 5})
    positions.handed_on(ONE, 9)
    positions.pass_over({ONE: 12, OTHER: 7})
    assert positions.moved() == {OTHER: 7}
    positions.handled(ONE, 8)
    positions.pass_over({ONE: 12, OTHER: 7})
    assert positions.get(ONE) == 9
    positions.handled(ONE, 9)
    positions.pass_over({ONE: 12, OTHER: 7})
    assert positions.moved() == {ONE: 12, OTHER: 7}
    positions.pass_over({ONE: 11})
    assert positions.next() == {ONE: 12, OTHER: 7}


def test_what_comes_late_of_partitions_given_up_is_not_booked():
    positions = Positions()
    positions.begin({ONE: 5})
    positions.handed_on(ONE, 9)
    positions.begin({OTHER: 0})
    positions.handled(ONE, 9)
    positions.pass_over({ONE: 12})
    positions.committed({ONE: 10})
    assert (positions.get(ONE), positions.moved(), positions.next()) == (None, {}, {OTHER: 0})


def test_only_what_the_group_does_not_know_is_to_be_committed():
    positions = Positions()
    positions.begin({ONE: 5, OTHER: 5})
    positions.handled(ONE, 6)
    moved = positions.moved()
    positions.handled(ONE, 7)
    positions.committed(moved)
    assert (moved, positions.moved()) == ({ONE: 7}, {ONE: 8})
