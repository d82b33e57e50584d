"""How long a simulation waits for the pipeline."""

from __future__ import annotations

from itertools import count

import pytest

from onward.environments.play.driver import drive
from onward.streams.errors import OnwardError

PATIENCE_SECONDS = 30.0


class Silent:
    """A simulation that waits for an answer, and a client that reads nothing."""

    def __init__(self, polls, pass_time, seconds):
        self._polls, self._pass_time, self._seconds = polls, pass_time, seconds
        self.awaited = ("a recourse",)

    @property
    def done(self):
        return not self._polls

    def next_events(self, now_ms, limit):
        return []

    def receive(self, event):
        raise AssertionError("nothing is read")

    def publish(self, events):
        pass

    def read(self, seconds):
        self._polls -= 1
        self._pass_time(self._seconds)
        return []


def wait(silent, progress=lambda: None):
    drive(
        silent,
        silent,
        on_event=lambda *_: None,
        on_poll=lambda: None,
        patience_seconds=PATIENCE_SECONDS,
        advice=lambda: "look at the worker",
        progress=progress,
    )


def test_an_answer_that_does_not_come_ends_it(held_loop):
    with pytest.raises(OnwardError, match="nothing came back for a recourse within 30 s: look at the worker"):
        wait(Silent(100, held_loop.hold, seconds=1.0))


def test_it_waits_while_the_worker_makes_progress(held_loop):
    steps = count()
    wait(Silent(1000, held_loop.hold, seconds=1.0), progress=lambda: next(steps) // 20)


def test_time_in_which_the_simulation_stood_still_is_not_the_pipeline_s(held_loop):
    wait(Silent(10, held_loop.hold, seconds=3600.0))
