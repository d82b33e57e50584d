"""Workers cut the journal behind their snapshots, and lose ledgers and snapshots."""

from __future__ import annotations

import re

from onward.streams.kafka.admin.offsets import partition_offsets
from onward.tests.faults.suite.environment import PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import STATE_LOST

_KEPT_SECONDS = 12.0
"""Age from which records are cut. It must be longer than all snapshots that are kept take to come."""
_SETTINGS = {"ONWARD_JOURNAL_DAYS": str(_KEPT_SECONDS / (24 * 60 * 60))}
_APART_SECONDS = (0.0, 3.0)
_REST_SECONDS = 2.0
_MIN_REMOVALS = 3
_MIN_ENDS = 2
_POLL_SECONDS = 1.0
_RESTORED = "restored snapshot"
_NOTHING_LEFT = re.compile(
    r"begins at offset \d+, and there is neither a ledger nor a snapshot of it: .*; give --state"
)


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


def cut_journal(env: ScenarioEnv) -> None:
    """Remove ledgers and snapshots behind a cut journal: the worker must end. With the snapshots back it goes on."""
    env.record_journal()
    group = env.start_workers(1, _resting, settings=_SETTINGS)
    [worker] = group.workers
    with env.keep_sending():
        _wait_for_cuts(env, group)
        group.kill(worker)
        _remove_ledgers(worker)
        snapshots, aside = env.folder / "snapshots", env.folder / "snapshots-aside"
        snapshots.rename(aside)
        group.allowed_codes.add(STATE_LOST)
        before = len(env.read(env.topics.outputs))
        group.run_until(lambda: group.exit_counts[STATE_LOST] >= _MIN_ENDS, f"it had ended {_MIN_ENDS} times")
        group.kill(worker)
        ends = group.exit_counts[STATE_LOST]
        lines = [line for line in worker.log.read_text(errors="replace").splitlines() if line.startswith("onward: ")]
        if sum(_NOTHING_LEFT.search(line) is not None for line in lines) != ends:
            env.surprises.append(f"it ended {ends} times with {STATE_LOST}, and said {lines}")
        if len(env.read(env.topics.outputs)) != before:
            env.surprises.append("a worker without ledger and snapshots has published something")
        group.allowed_codes.discard(STATE_LOST)
        snapshots.mkdir(exist_ok=True)
        for folder in aside.iterdir():
            folder.rename(snapshots / folder.name)
        group.wait_for_ledgers(worker, PARTITIONS)
        env.log(f"it ended {ends} times, and went on with the snapshots; the journal begins at {_begins(env)}")


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
