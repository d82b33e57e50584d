"""The supervisor of the fault suite: planned faults happen, and unplanned ones are surprises."""

from __future__ import annotations

import signal
from itertools import repeat

import pytest

from onward.tests.faults.suite.workers.group import WorkerGroup, start_process
from onward.tests.faults.suite.workers.plan import FaultPlan

KILLS_ITSELF_AS_PLANNED = ("sh", "-c", 'case "$*" in *--point*) kill -9 $$ ;; *) exec sleep 60 ;; esac', "sh")
IGNORES_ITS_PLAN = ("sh", "-c", "exec sleep 60", "sh")
KILLS_ITSELF = ("sh", "-c", "kill -9 $$")


@pytest.fixture
def make_group(tmp_path):
    def make(draw_plan, command=KILLS_ITSELF_AS_PLANNED, size=1, **options):
        return WorkerGroup(tmp_path, {}, size, draw_plan, "seed", command=command, **options)

    return make


def drawing(*plans):
    """Draw these plans one after the other, and the last one from then on."""
    left = iter([*plans[:-1], *repeat(plans[-1], 1000)])
    return lambda _worker: next(left)


def test_a_planned_kill_is_counted_at_its_point(make_group):
    with make_group(drawing(FaultPlan("computed"), FaultPlan("ledger committed"), FaultPlan())) as group:
        group.run_until(lambda: len(group.point_kills) == 2, "both points were reached")
        assert group.point_kills == {"computed": 1, "ledger committed": 1}
        assert group.surprises == []


def test_an_unplanned_kill_is_a_surprise(make_group):
    with make_group(drawing(FaultPlan()), KILLS_ITSELF) as group:
        group.run_until(lambda: group.kills, "it was killed")
        assert "worker 1 ended with -9" in group.surprises[0]
        assert not group.point_kills


def test_a_kill_by_the_suite_is_neither_planned_nor_a_surprise(make_group):
    with make_group(drawing(FaultPlan("computed"), FaultPlan()), IGNORES_ITS_PLAN) as group:
        group.kill(group.workers[0])
        assert (group.exit_counts, group.point_kills, group.surprises) == ({-signal.SIGKILL: 1}, {}, [])


def test_a_worker_that_rests_when_the_faults_stop_has_no_fault_afterwards(make_group):
    with make_group(drawing(FaultPlan(), FaultPlan("computed", rest_seconds=0.3))) as group:
        [worker] = group.workers
        group.kill(worker)
        assert worker.process is None
        group.stop_faults()
        group.run_for(0.6)
        assert worker.is_running
        group.stop()
    assert (group.point_kills, group.surprises) == ({}, [])


def test_the_last_runs_have_the_final_clock(make_group):
    with make_group(drawing(FaultPlan(clock_ms=60_000), FaultPlan())) as group:
        [worker] = group.workers
        group.final_clock_ms = 60_000
        group.stop_faults()
        assert (worker.runs, worker.plan.clock_ms) == (1, 60_000)
        group.kill(worker)
        assert worker.plan.clock_ms == 60_000
        group.final_clock_ms = 0
        group.stop_faults()
        assert worker.plan == FaultPlan()
        group.stop()


def test_a_worker_is_ready_when_its_present_run_has_opened_a_ledger(make_group):
    with make_group(drawing(FaultPlan())) as group:
        [worker] = group.workers
        opened = '{"message": "opened ledger"}\n'
        worker.log.write_text(opened)
        assert worker.is_ready()
        worker.log.write_text(opened + '{"message": "cut')
        group.kill(worker)
        assert not worker.is_ready()
        group.run_until(lambda: worker.process is not None, "it was started again")
        assert not worker.is_ready()
        with worker.log.open("a") as log:
            log.write(opened)
        assert worker.is_ready()


def test_an_interrupted_start_ends_the_workers_that_have_started(make_group):
    def interrupted(command, log, environment):
        if log.name == "worker-2.log":
            raise KeyboardInterrupt
        return start_process(command, log, environment)

    group = make_group(drawing(FaultPlan()), IGNORES_ITS_PLAN, size=2, start=interrupted)
    with pytest.raises(KeyboardInterrupt), group:
        pass
    assert group.workers[0].process.has_ended
