"""The clock of a worker jumps between runs and during a run: by minutes and by days, forward and back.

A clock that was ahead has moved the watermark of idle inputs ahead, which is not undone. Windows of event time that
open afterwards close when the clock has reached that time. The final clocks are that far ahead, to avoid the wait.
Until then a decision that is read before its application no longer waits for it: it becomes a dead letter.
"""

from __future__ import annotations

from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker
from onward.tests.faults.suite.workers.plan import FaultPlan

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_DAYS_BEHIND_MS = -3 * _DAY_MS
"""With this clock a worker refuses every record as one from the future."""
_WAIT_MS = 2 * _MINUTE_MS
"""How long an event waits for its application: twice the lateness, by the inputs' clocks."""
_JUMPS_MS = (-_MINUTE_MS, _MINUTE_MS, -10 * _MINUTE_MS, 10 * _MINUTE_MS)
_MIN_CLOCKS = 5
_APART_SECONDS = (1.0, 4.0)


def clock_jumps(env: ScenarioEnv) -> None:
    """Let the clock of one worker jump while it works, then kill the worker. Its next run has another clock."""

    def draw_plan(worker: Worker) -> FaultPlan:
        random = worker.random
        clock_ms = random.choice([0, _DAYS_BEHIND_MS, *_JUMPS_MS])
        jump_ms = random.choice(_JUMPS_MS)
        env.may_refuse_records |= clock_ms == _DAYS_BEHIND_MS or max(clock_ms, clock_ms + jump_ms) > _WAIT_MS
        return FaultPlan(clock_ms=clock_ms, jump_ms=jump_ms, chunk_records=random.choice([20, 200]))

    group = env.start_workers(1, draw_plan)
    [worker] = group.workers
    clocks: set[int] = set()
    while env.keep_going(enough=len(clocks) >= _MIN_CLOCKS):
        group.wait_until_ready(worker)
        process, (start_ms, jump_ms) = worker.process, (worker.plan.clock_ms, worker.plan.jump_ms)
        clocks |= {start_ms, start_ms + jump_ms}
        group.final_clock_ms = max(0, *clocks)
        group.run_for(env.random.uniform(*_APART_SECONDS))
        if process is not None:
            process.jump_clock()
        group.run_for(env.random.uniform(*_APART_SECONDS))
        group.kill(worker)
        env.log(f"the clock was {start_ms / 1000:+g} s ahead, and jumped by {jump_ms / 1000:+g} s")
