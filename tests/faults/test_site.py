"""How long a scenario goes on."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from onward.faults.site import Ground, Site

SECONDS = 8.0


@pytest.fixture
def site(tmp_path):
    """A scenario that has just begun; ``site.later`` lets time pass."""
    ground = Ground(SimpleNamespace(bootstrap="127.0.0.1:1"), tmp_path, [], {}, SimpleNamespace(), 0)
    site = Site(ground, "scenario", SECONDS)
    site.sender, site._began = SimpleNamespace(open=False, done=False), time.monotonic()

    def later(seconds):
        site._began -= seconds
        site.sender.done = not site.sender.open and time.monotonic() - site._began > SECONDS

    site.later = later
    return site


def test_it_goes_on_for_its_time_when_there_is_enough_at_once(site):
    assert site.goes_on(enough=True)
    site.later(SECONDS + 1)
    assert not site.goes_on(enough=True)
    assert site.surprises == []


def test_a_slow_machine_is_given_the_time_it_needs(site):
    for _ in range(20):
        assert site.goes_on(enough=False)
        site.later(3 * SECONDS)
    assert not site.goes_on(enough=True)
    assert site.surprises == []


def test_what_never_happens_is_a_surprise(site):
    assert site.goes_on(enough=False)
    site.later(1000)
    assert not site.goes_on(enough=False)
    assert site.surprises == ["what was to happen did not happen often enough in 1000 s"]


def test_people_apply_until_the_end_of_the_block(site):
    with site.applying():
        site.later(10 * SECONDS)
        assert site.loading
    site.later(0)
    assert not site.loading
