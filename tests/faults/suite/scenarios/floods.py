"""Floods of bad records between the good ones."""

from __future__ import annotations

from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.load.bad_records import bad_records
from onward.tests.faults.suite.scenarios.kills import at_points

_FLOOD = 60
_APART_SECONDS = (0.5, 2.0)


def poison_records(env: ScenarioEnv) -> None:
    """Send floods of bad records while the worker is killed. Each record must become exactly one dead letter."""
    group = env.start_workers(1, at_points)
    while env.keep_going(enough=bool(group.point_kills)):
        env.sender.send(list(bad_records(env.topics, env.random, _FLOOD)))
        group.run_for(env.random.uniform(*_APART_SECONDS))
