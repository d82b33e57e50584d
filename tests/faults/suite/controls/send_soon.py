"""A worker that does not wait for acknowledgements."""

from __future__ import annotations

import sys

from onward.streams.worker.stages import Stage
from onward.tests.faults.suite.check.checker import Findings
from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker
from onward.tests.faults.suite.workers.plan import FaultPlan

_COMMAND = (sys.executable, "-P", "-m", "onward.tests.faults.suite.workers.send_soon_worker")
_VISITS = (10, 30)
"""The first portions have few outputs or none."""
_KILLS = 3


def send_soon_output(env: ScenarioEnv) -> Findings:
    """Kill a worker that commits to its ledger before its outputs are acknowledged."""
    group = env.start_workers(1, _plan, command=_COMMAND)
    while env.keep_going(enough=sum(group.point_kills.values()) >= _KILLS):
        group.run_for(0.5)
    env.settle()
    return env.check()


def _plan(worker: Worker) -> FaultPlan:
    return FaultPlan(Stage.LEDGER_COMMITTED, worker.random.randint(*_VISITS))
