"""Workers are killed with SIGKILL: at named points, and at random times."""

from __future__ import annotations

from onward.streams.engine.portion import PORTION_ENTRIES
from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import SESSION_SECONDS, Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.worker import POINTS

CHUNKS = (1, 7, 40, 200, 1000)
_MAX_VISITS = 12
_MAX_DELAY_MS = 5.0
_APART_SECONDS = (0.0, 4.0)
_READY_SHARE = 0.75
"""Share of the kills at random times for which the suite waits until the worker is ready."""
ABSENT_SECONDS = SESSION_SECONDS + 3.0
_BACKLOG_RECORDS = 10_000
_BACKLOG_VISITS = 3
_BACKLOG_CHUNK_RECORDS = 1000


def at_points(worker: Worker) -> FaultPlan:
    """Plan a kill at the next of all points, after a random delay, with a random chunk size."""
    random, point = worker.random, POINTS[(worker.number - 1 + worker.runs) % len(POINTS)]
    delay_ms = random.choice([0.0, random.uniform(0.0, _MAX_DELAY_MS)])
    return FaultPlan(point, random.randint(1, _MAX_VISITS), delay_ms, chunk_records=random.choice(CHUNKS))


def at_any_time(worker: Worker) -> FaultPlan:
    """Plan a run that begins at once, or after the group has reassigned the worker's partitions."""
    rest_seconds = worker.random.choice([0.0, ABSENT_SECONDS]) if worker.runs else 0.0
    return FaultPlan(chunk_records=worker.random.choice(CHUNKS), rest_seconds=rest_seconds)


def kill_randomly(env: ScenarioEnv, group: WorkerGroup, min_ready: int) -> None:
    """Kill random workers at random times, at least ``min_ready`` times one that is ready."""
    kills_when_ready = 0
    while env.keep_going(enough=kills_when_ready >= min_ready):
        worker = env.random.choice(group.workers)
        if env.random.random() < _READY_SHARE:
            group.wait_until_ready(worker)
        group.run_for(env.random.uniform(*_APART_SECONDS))
        kills_when_ready += worker.is_ready()
        group.kill(worker)


def one_worker_at_named_points(env: ScenarioEnv) -> None:
    """Kill one worker between the steps of delivery, at every point at least once."""
    _run_until_all_points(env, env.start_workers(1, at_points))


def one_worker_at_any_time(env: ScenarioEnv) -> None:
    """Kill one worker at random times."""
    kill_randomly(env, env.start_workers(1, at_any_time), 2)


def three_workers_at_named_points(env: ScenarioEnv) -> None:
    """Kill three workers that share the partitions, each at its own points."""

    def draw_plan(worker: Worker) -> FaultPlan:
        rest_seconds = worker.random.choice([0.0, 0.0, ABSENT_SECONDS]) if worker.runs else 0.0
        return at_points(worker)._replace(rest_seconds=rest_seconds)

    _run_until_all_points(env, env.start_workers(3, draw_plan))


def three_workers_at_any_time(env: ScenarioEnv) -> None:
    """Kill three workers at random times. A worker that is absent for long loses its partitions to the others."""
    kill_randomly(env, env.start_workers(3, at_any_time), 3)


def one_worker_in_a_backlog(env: ScenarioEnv) -> None:
    """Kill one worker that has thousands of records to catch up, with portions and chunks as large as in production."""

    def draw_plan(worker: Worker) -> FaultPlan:
        nth = worker.random.randint(1, _BACKLOG_VISITS)
        return at_points(worker)._replace(
            nth=nth, chunk_records=_BACKLOG_CHUNK_RECORDS, portion_entries=PORTION_ENTRIES
        )

    with env.keep_sending():
        env.wait_until(lambda: len(env.sender.sent) >= _BACKLOG_RECORDS, f"{_BACKLOG_RECORDS} records were sent")
    _run_until_all_points(env, env.start_workers(1, draw_plan))


def _run_until_all_points(env: ScenarioEnv, group: WorkerGroup) -> None:
    while env.keep_going(enough=group.point_kills.keys() >= set(POINTS)):
        group.run_for(0.5)
