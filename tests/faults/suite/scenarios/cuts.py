"""Workers cut the journal behind their snapshots, and lose their ledgers."""

from __future__ import annotations


from onward.streams.kafka.admin.offsets import partition_offsets
from onward.tests.faults.suite.environment import PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan

_KEPT_SECONDS = 12.0
"""Age from which records are cut. It must be longer than all snapshots that are kept take to come."""
_SETTINGS = {"ONWARD_JOURNAL_DAYS": str(_KEPT_SECONDS / (24 * 60 * 60))}
_APART_SECONDS = (0.0, 3.0)
_REST_SECONDS = 2.0
_MIN_REMOVALS = 3
_POLL_SECONDS = 1.0
_RESTORED = "restored snapshot"


def removed_ledgers(env: ScenarioEnv) -> None:
    """Kill the worker when the journal was cut once more, and remove its ledgers: snapshots must be restored."""
    env.record_journal()
    group, removals = env.start_workers(1, _resting, settings=_SETTINGS), 0
    [worker] = group.workers
    while env.keep_going(enough=removals >= _MIN_REMOVALS):
        _wait_for_cuts(env, group)
        group.run_for(env.random.uniform(*_APART_SECONDS))
        before = group.count_messages(_RESTORED)
        group.kill(worker)
        _remove_ledgers(worker)
        group.wait_for_ledgers(worker, PARTITIONS)
        removals += 1
        if (restored := group.count_messages(_RESTORED) - before) != PARTITIONS:
            env.surprises.append(f"after ledgers were removed {restored} snapshots were restored")
    env.log(f"ledgers were removed {removals} times; the journal begins at {_begins(env)}")


def _resting(worker: Worker) -> FaultPlan:
    return FaultPlan(chunk_records=worker.random.choice([20, 200]), rest_seconds=_REST_SECONDS if worker.runs else 0.0)


def _begins(env: ScenarioEnv) -> list[int]:
    """Where each partition of the journal begins."""
    return [one.begin for one in partition_offsets(env.options, [env.topics.journal])]


def _wait_for_cuts(env: ScenarioEnv, group: WorkerGroup) -> None:
    """Supervise the workers until every partition was cut once more."""
    before = _begins(env)

    def are_cut() -> bool:
        return all(now > then for now, then in zip(_begins(env), before, strict=True))

    group.run_until(are_cut, "every partition of the journal was cut", poll_seconds=_POLL_SECONDS)


def _remove_ledgers(worker: Worker) -> None:
    for path in worker.state.glob("*.sqlite*"):
        path.unlink()
