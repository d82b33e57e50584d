"""Commands wait for a slow machine, but not for one that makes no progress."""

from __future__ import annotations

from onward.streams.cli.process.stall_timeout import StallTimeout


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def polls(states, seconds=2.0, max_seconds=1000.0, apart=1.2):
    """The number of polls until the timeout ends."""
    clock = Clock()
    timeout = StallTimeout(seconds, max_seconds=max_seconds, clock=clock)
    for number, state in enumerate(states):
        clock.now += apart
        if not timeout.keep_waiting(state):
            return number
    return len(states)


def test_the_timeout_restarts_whenever_the_state_changes():
    assert polls(range(100)) == 100


def test_a_state_that_does_not_change_ends_it():
    assert polls([1, 2, 3, 3, 3, 3]) == 4


def test_a_return_to_an_earlier_state_is_a_change():
    assert polls([(5, 0), (4, 1), (5, 0), (4, 1)]) == 4


def test_it_ends_after_the_maximum_time_in_any_case():
    assert polls(range(100), max_seconds=12.0) == 9


def test_time_in_which_nobody_has_watched_counts_little():
    assert polls([0, 0, 0], seconds=30.0, apart=3600.0) == 3
