"""The suite waits for a slow machine, and not for one that stands still."""

from __future__ import annotations

from onward.faults.patience import Patience


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def waited(states, seconds=10.0, most_seconds=1000.0):
    """How many looks, 6 s apart, it waits."""
    clock = Clock()
    patience = Patience(seconds, most_seconds=most_seconds, clock=clock)
    for number, state in enumerate(states):
        clock.now += 6.0
        if not patience.lasts(state):
            return number
    return len(states)


def test_what_moves_is_waited_for_however_long_it_takes():
    assert waited(range(100)) == 100


def test_what_stands_still_is_given_up():
    assert waited([1, 2, 3, 3, 3, 3]) == 4


def test_coming_back_is_a_move_too():
    assert waited([(5, 0), (4, 1), (5, 0), (4, 1)]) == 4


def test_there_is_an_end():
    assert waited(range(100), most_seconds=60.0) == 9
