"""All inputs are sent twice and out of order."""

from __future__ import annotations

from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.scenarios.kills import at_any_time, kill_randomly

_APART_SECONDS = (2.0, 5.0)


def repeated_and_shuffled_input(env: ScenarioEnv) -> None:
    """Send all inputs out of time order, within the lateness, and then all of them again in random order."""
    group = env.start_workers(2, at_any_time)
    kill_randomly(env, group, 1)
    env.sender.finish()
    env.sender.send_again(env.order_random)
    env.log("everything is sent again")
    group.run_for(env.random.uniform(*_APART_SECONDS))
    group.kill(env.random.choice(group.workers))
