"""Workers are suspended (SIGSTOP) until others have taken their partitions over, and then resumed."""

from __future__ import annotations

import time

from onward.streams.worker.stages import Stage
from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import SESSION_SECONDS, Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import BROKERS_LOST, OPENED, log_entries

_SUSPENDED_SECONDS = (SESSION_SECONDS + 1.0, SESSION_SECONDS + 6.0)
_APART_SECONDS = (1.0, 3.0)
_TAKEOVER_SECONDS = 120.0
_MAX_VISITS = 12


def _without_faults(worker: Worker) -> FaultPlan:
    return FaultPlan(chunk_records=worker.random.choice([5, 50, 500]))


def _suspended_at_point(worker: Worker) -> FaultPlan:
    random = worker.random
    point = random.choice([Stage.COMPUTED, Stage.OUTPUTS_IN_FLIGHT, Stage.OUTPUTS_ACKNOWLEDGED])
    return FaultPlan(point, random.randint(3, _MAX_VISITS), signal="SIGSTOP", chunk_records=random.choice([5, 50, 500]))


def zombies_at_any_time(env: ScenarioEnv) -> None:
    """Suspend one worker of two at random times."""
    group = env.start_workers(2, _without_faults, static=False)
    group.allowed_codes.add(BROKERS_LOST)
    while env.keep_going(enough=env.zombies > 0):
        # A worker without partitions leaves nothing to take over.
        group.wait_until_ready()
        group.run_for(env.random.uniform(*_APART_SECONDS))
        worker = env.random.choice(group.workers)
        if worker.process is not None and worker.is_running:
            worker.process.suspend()
            _resume_when_replaced(env, group, worker)


def zombies_in_mid_step(env: ScenarioEnv) -> None:
    """Let workers suspend themselves between the steps of delivery."""
    group = env.start_workers(2, _suspended_at_point, static=False)
    group.allowed_codes.add(BROKERS_LOST)
    while env.keep_going(enough=env.zombies > 0):
        group.run_for(0.2)
        for worker in group.workers:
            if _is_suspended(worker):
                _resume_when_replaced(env, group, worker)


def _is_suspended(worker: Worker) -> bool:
    return worker.process is not None and worker.is_running and worker.process.is_suspended


def _resume_when_replaced(env: ScenarioEnv, group: WorkerGroup, worker: Worker) -> None:
    """Resume a suspended worker when the other has its partitions; return when it has ended or joined again."""
    process, own = worker.process, _opened(worker)
    taken_over = _wait_for_takeover(env, group, worker)
    if process is not None:
        process.resume()
    if taken_over:
        env.zombies += 1
        group.run_until(
            lambda: worker.process is not process or _opened(worker) > own,
            f"zombie {worker.number} ended or joined again",
        )


def _wait_for_takeover(env: ScenarioEnv, group: WorkerGroup, worker: Worker) -> bool:
    """Wait until the other worker has opened the ledgers of a suspended one; return whether it has."""
    others = [other for other in group.workers if other is not worker]
    before = sum(_opened(other) for other in others)
    group.run_for(env.random.uniform(*_SUSPENDED_SECONDS))
    deadline = time.monotonic() + _TAKEOVER_SECONDS
    while sum(_opened(other) for other in others) == before and time.monotonic() < deadline:
        if all(_is_suspended(other) for other in others):
            # No worker is left to take over.
            return False
        group.run_for(0.2)
    return sum(_opened(other) for other in others) > before


def _opened(worker: Worker) -> int:
    return sum(entry["message"] == OPENED for entry in log_entries(worker.log))
