"""How long a scenario goes on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from onward.tests.faults.suite.context import SuiteContext
from onward.tests.faults.suite.environment import ScenarioEnv

SECONDS = 8.0


@pytest.fixture
def env(tmp_path):
    """A scenario that has just started; ``env.pass_time`` moves its clock and ends its sender when it is time."""
    now = 100.0
    context = SuiteContext(SimpleNamespace(bootstrap="127.0.0.1:1"), tmp_path, [], {}, SimpleNamespace(), 0)
    env = ScenarioEnv(context, "scenario", SECONDS, clock=lambda: now)
    env.sender = SimpleNamespace(extended=False, is_done=False)

    def pass_time(seconds):
        nonlocal now
        now += seconds
        env.sender.is_done = not env.sender.extended and now - env.started > SECONDS

    env.pass_time = pass_time
    return env


def test_a_scenario_with_enough_faults_ends_after_its_time(env):
    assert env.keep_going(enough=True)
    env.pass_time(SECONDS + 1)
    assert not env.keep_going(enough=True)
    assert env.surprises == []


def test_a_scenario_goes_on_until_it_has_had_enough_faults(env):
    for _ in range(20):
        assert env.keep_going(enough=False)
        env.pass_time(3 * SECONDS)
    assert not env.keep_going(enough=True)
    assert env.surprises == []


def test_too_few_faults_after_ten_minutes_are_a_surprise(env):
    assert env.keep_going(enough=False)
    env.pass_time(1000)
    assert not env.keep_going(enough=False)
    assert env.surprises == ["what was to happen did not happen often enough in 1000 s"]


def test_the_sender_goes_on_until_the_end_of_the_block(env):
    with env.keep_sending():
        env.pass_time(10 * SECONDS)
        assert not env.sender.is_done
    env.pass_time(0)
    assert env.sender.is_done
