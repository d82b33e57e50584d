"""A new version goes on with the ledgers of an older one, and is killed while it migrates them."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from onward.streams.ledger.schema import SCHEMA_VERSION
from onward.tests.faults.suite.environment import PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.scenarios.kills import at_points
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import COMMAND, STATE_LOST

_OLDER = (sys.executable, "-P", "-m", "onward.tests.faults.suite.workers.older_worker")
_OLDER_SECONDS = 2.0
_OLDER_SCHEMA = 16
_TO_OLDER_SCHEMA = f"""
DELETE FROM meta WHERE name IN ('engine', 'engine_since', 'unscrubbed', 'width');
DROP TABLE erasures;
DROP TABLE erased_names;
ALTER TABLE sources DROP COLUMN ahead_ms;
UPDATE meta SET value = {_OLDER_SCHEMA} WHERE name = 'schema';
"""
_MAX_DELAY_SECONDS = 0.02
_MAX_KILLS = 3
_START_SECONDS = 60.0


def upgrade(env: ScenarioEnv) -> None:
    """Kill workers of an older version, end them in order, and kill the new version while it migrates and afterwards.

    At the end the older version is started again, and must refuse to go on.
    """
    group = env.start_workers(1, at_points, command=_OLDER)
    [worker] = group.workers
    with env.keep_sending():
        group.run_until(lambda: bool(group.point_kills), "the older version was killed")
        env.wait_until(lambda: bool(env.read([env.topics.recourse])), "the older version had answered somebody")
        _end_older_version(env, group)
        for ledger in group.ledgers:
            with closing(sqlite3.connect(ledger)) as db:
                db.executescript(_TO_OLDER_SCHEMA)
        group.command = COMMAND
        env.log(f"{_kill_while_migrating(env, group, worker)} kills while ledgers of schema {_OLDER_SCHEMA} migrate")
        group.point_kills.clear()
        group.draw_plan = at_points
        # The run that is planned or under way has no fault ahead.
        group.kill(worker)
    while env.keep_going(enough=bool(group.point_kills)):
        group.run_for(0.5)
    env.catch_up()
    group.stop()
    _start_older_version_again(env, group)
    env.settle()


def _end_older_version(env: ScenarioEnv, group: WorkerGroup) -> None:
    """End it with SIGTERM, when it has folded again what it had published before it was killed."""
    group.stop_faults()
    while True:
        group.wait_until_ready()
        group.run_for(_OLDER_SECONDS)
        group.stop()
        if env.ledgers_cover(env.read(env.topics.outputs)):
            return


def _kill_while_migrating(env: ScenarioEnv, group: WorkerGroup, worker: Worker) -> int:
    """Kill the worker as soon as there is a copy of a ledger, while ledgers of the older schema are left."""
    kills = 0
    group.draw_plan = lambda _worker: FaultPlan()
    while kills < _MAX_KILLS and any(_schema(ledger) < SCHEMA_VERSION for ledger in group.ledgers):
        group.restart_ended()
        # A copy that a kill has left is deleted at the next start.
        end, before = time.monotonic() + _START_SECONDS, set(worker.state.glob("*.copy"))
        while set(worker.state.glob("*.copy")) <= before and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(env.random.uniform(0.0, _MAX_DELAY_SECONDS))
        group.kill(worker)
        kills += 1
    if len(group.ledgers) != PARTITIONS:
        env.surprises.append(f"after the kills there are {len(group.ledgers)} ledgers")
    return kills


def _start_older_version_again(env: ScenarioEnv, group: WorkerGroup) -> None:
    before = len(env.read(env.topics.outputs))
    group.command = _OLDER
    group.allowed_codes.add(STATE_LOST)
    group.run_until(lambda: group.exit_counts[STATE_LOST] > 0, f"the older version had ended with {STATE_LOST}")
    [worker] = group.workers
    if "run that version" not in worker.log.read_text(errors="replace"):
        env.surprises.append("the older version did not say that a newer one has gone on")
    if len(env.read(env.topics.outputs)) != before:
        env.surprises.append("the older version has published something")


def _schema(ledger: Path) -> int:
    with closing(sqlite3.connect(ledger)) as db:
        [(schema,)] = db.execute("SELECT value FROM meta WHERE name = 'schema'")
    return int(schema)
