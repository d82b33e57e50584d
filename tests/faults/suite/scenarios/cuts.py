"""Workers cut the journal behind their snapshots, are killed while they do it, and lose ledgers and snapshots."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from onward.streams.archive.reading import archived_records
from onward.streams.archive.segments import are_same
from onward.streams.archive.store import Archive, ArchiveError
from onward.streams.kafka.admin.offsets import partition_offsets
from onward.streams.records import Record, TopicPartition
from onward.streams.worker.stages import ARCHIVE_STAGES, CUT_STAGES, Stage
from onward.tests.faults.suite.environment import PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.scenarios.kills import ABSENT_SECONDS, CHUNKS
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import STATE_LOST, log_entries
from onward.tests.support.ledgers import ledger_position

_KEPT_SECONDS = 12.0
"""Age from which records are cut. It must be longer than all snapshots that are kept take to come."""
_SETTINGS = {"ONWARD_JOURNAL_DAYS": str(_KEPT_SECONDS / (24 * 60 * 60))}
_STEPS = (*ARCHIVE_STAGES, *CUT_STAGES)
_MAX_DELAY_MS = 5.0
_APART_SECONDS = (0.0, 3.0)
_REST_SECONDS = 2.0
_MIN_REMOVALS = 3
_MIN_ENDS = 2
_POLL_SECONDS = 1.0
_RESTORED = "restored snapshot"
_NOTHING_LEFT = re.compile(
    r"begins at offset \d+, and there is neither a ledger nor a snapshot of it: .*; give --state"
)


def trimming(env: ScenarioEnv) -> None:
    """Kill two workers at every step of a cut, and then keep one away until the journal is cut behind its ledgers.

    At the end the archive must hold every record that was cut.
    """
    recorder = env.record_journal()
    archive = env.folder / "archive"
    group = env.start_workers(2, _at_cuts, settings={**_SETTINGS, "ONWARD_ARCHIVE": str(archive)})
    while env.keep_going(enough=group.point_kills.keys() >= set(_STEPS)):
        group.run_for(0.5)
    _keep_away(env, group, group.workers[0])
    env.settle()
    begins = _begins(env)
    env.log(f"killed at {dict(group.point_kills)}; the journal begins at {begins}")
    for number, (begin, listed) in enumerate(zip(begins, env.listed_snapshots(), strict=True)):
        if not 0 < begin <= listed[-1].ledger.offset:
            oldest = listed[-1].ledger.offset
            env.surprises.append(f"partition {number} begins at {begin}, and its oldest snapshot stands at {oldest}")
    _check_archive(env, Archive(str(archive)), recorder.finish(), begins)


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


def _keep_away(env: ScenarioEnv, group: WorkerGroup, worker: Worker) -> None:
    """Kill a worker, and start it again when the other has cut the journal behind all its ledgers."""
    group.draw_plan = _resting
    worker.start_at = math.inf
    group.kill(worker)
    # The end of its run has planned the next one.
    worker.start_at = math.inf
    stand = {ledger_position(path) for path in worker.state.glob("*.sqlite")}

    def are_passed() -> bool:
        begins = _begins(env)
        return all(begins[at.partition] > at.offset for at in stand)

    name = "the journal was cut behind all ledgers of a worker that is away"
    group.run_until(are_passed, name, poll_seconds=_POLL_SECONDS)
    worker.start_at = 0.0
    group.wait_until_ready(worker)
    env.log(f"a worker was away that stood at {[tuple(at) for at in sorted(stand)]}; cut to {_begins(env)}")
    entries = log_entries(worker.log, worker.log_start)
    if not stand or not any(_RESTORED in entry["message"] for entry in entries):
        env.surprises.append("a worker that was away has restored no snapshot")


def _check_archive(env: ScenarioEnv, archive: Archive, journal: Sequence[Record], begins: Sequence[int]) -> None:
    """Compare what was cut with the archive."""
    for number, begin in enumerate(begins):
        cut = [record for record in journal if record.partition == number and record.offset < begin]
        try:
            kept = list(archived_records(archive, TopicPartition(env.topics.journal, number), 0, begin))
        except ArchiveError as error:
            env.surprises.append(f"the archive does not hold what was cut: {error}")
            continue
        if not are_same(kept, cut):
            env.surprises.append(f"the archive holds other records of partition {number} than were cut")


def _at_cuts(worker: Worker) -> FaultPlan:
    random, steps = worker.random, len(_STEPS)
    point, nth = _STEPS[((worker.number - 1) * steps // 2 + worker.runs) % steps], random.randint(1, PARTITIONS)
    if point is Stage.CHECKPOINT_WRITTEN:
        # A partition has one a month: there is none to write when workers were killed at every other step.
        point, nth = (Stage.ARCHIVED, nth) if worker.runs else (point, 1)
    delay_ms = random.choice([0.0, random.uniform(0.0, _MAX_DELAY_MS)])
    rest_seconds = random.choice([0.0, ABSENT_SECONDS]) if worker.runs else 0.0
    return FaultPlan(point, nth, delay_ms, chunk_records=random.choice(CHUNKS), rest_seconds=rest_seconds)


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
