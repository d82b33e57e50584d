"""Brokers are killed, suspended and restarted while workers and sender run."""

from __future__ import annotations

from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import BROKERS_LOST

_APART_SECONDS = (1.0, 4.0)
_DOWN_SECONDS = (0.0, 6.0)
_LOST_SHARE, _LOST_SECONDS = 0.92, (35.0, 75.0)
_UNREACHABLE_SHARE, _UNREACHABLE_SECONDS = 3.0, (120.0, 150.0)
"""A share of the scenario's time, but longer than a worker waits for acknowledgements. Sending is extended."""


def _plan(worker: Worker) -> FaultPlan:
    return FaultPlan(chunk_records=worker.random.choice([20, 200]))


def _start_workers(env: ScenarioEnv) -> WorkerGroup:
    group = env.start_workers(2, _plan)
    group.allowed_codes.add(BROKERS_LOST)
    # An application may wait in its sender longer than a program's lateness, while its decision gets through.
    env.may_refuse_records = True
    return group


def _run_undisturbed(env: ScenarioEnv, group: WorkerGroup) -> None:
    group.wait_until_ready()
    group.run_for(env.random.uniform(*_APART_SECONDS))


def brokers_killed_in_turn(env: ScenarioEnv) -> None:
    """Kill one broker after the other with SIGKILL, and restart each on its data."""
    group, brokers, rounds = _start_workers(env), env.context.brokers, 0
    order = env.random.sample(brokers.numbers, len(brokers.numbers))
    while env.keep_going(enough=rounds > 0):
        for number in order:
            _run_undisturbed(env, group)
            brokers.kill(number)
            env.log(f"broker {number} is killed")
            group.run_for(env.random.uniform(*_DOWN_SECONDS))
            brokers.restart(number)
        rounds += 1


def brokers_unreachable(env: ScenarioEnv) -> None:
    """Suspend all brokers, with their connections open, for at least two minutes."""
    group, brokers = _start_workers(env), env.context.brokers
    seconds = _within(_UNREACHABLE_SECONDS, env.seconds * _UNREACHABLE_SHARE)
    with env.keep_sending():
        _run_undisturbed(env, group)
        env.log(f"all brokers are stopped for {seconds:.0f} s")
        for number in brokers.numbers:
            brokers.suspend(number)
        try:
            group.run_for(seconds)
        finally:
            for number in brokers.numbers:
                brokers.resume(number)
    if not group.exit_counts[BROKERS_LOST]:
        env.surprises.append("no worker ended for want of brokers")


def brokers_lost_together(env: ScenarioEnv) -> None:
    """Kill all brokers at once, and restart them after a while."""
    group, brokers = _start_workers(env), env.context.brokers
    seconds = _within(_LOST_SECONDS, env.seconds * _LOST_SHARE)
    with env.keep_sending():
        _run_undisturbed(env, group)
        for number in brokers.numbers:
            brokers.kill(number)
        env.log(f"all brokers are killed for {seconds:.0f} s")
        try:
            group.run_for(seconds)
        finally:
            brokers.start()


def _within(bounds: tuple[float, float], seconds: float) -> float:
    least, most = bounds
    return min(most, max(least, seconds))
