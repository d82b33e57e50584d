"""A group of workers under a supervisor, as in production: a worker that ends is started again, whatever its code."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self

from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import COMMAND, FENCED, OPENED, WorkerProcess, log_entries

SESSION_SECONDS = 6.0
"""The shortest session timeout that brokers accept by default."""
_POLL_SECONDS = 0.1
_STOP_SECONDS = 120.0
_STOPPED = {0, -signal.SIGTERM}
"""Exit codes of an orderly stop; the second is of a worker that does not handle signals yet."""
_WAIT_SECONDS = 240.0
_RESTART_SECONDS = 0.5


@dataclass
class Worker:
    """One worker. Its state folder outlives its processes.

    ``runs`` counts the runs that were planned; ``plan`` is the present or next one, which starts at ``start_at``.
    ``log_start`` is the byte of the log at which the present run begins.
    """

    number: int
    state: Path
    log: Path
    random: Random
    process: WorkerProcess | None = None
    runs: int = 0
    start_at: float = 0.0
    plan: FaultPlan = field(default_factory=FaultPlan)
    log_start: int = 0

    @property
    def is_running(self) -> bool:
        """Whether its process exists and has not ended."""
        return self.process is not None and not self.process.has_ended

    def is_ready(self) -> bool:
        """Return whether its present run has opened a ledger."""
        return self.is_running and any(entry["message"] == OPENED for entry in log_entries(self.log, self.log_start))


DrawPlan = Callable[[Worker], FaultPlan]
"""Draws the plan of a worker's next run."""
Start = Callable[[Sequence[str], Path, Mapping[str, str]], WorkerProcess]


def start_process(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> WorkerProcess:
    """Start a worker's process."""
    return WorkerProcess(command, log, environment).__enter__()


@dataclass
class WorkerGroup:
    """The workers of one consumer group. ``draw_plan`` plans each of their runs.

    Unexpected events are listed in ``surprises``: an exit code other than SIGKILL's that is not in ``allowed_codes``,
    and a SIGKILL that no plan and no call of ``kill`` accounts for. ``point_kills`` counts the points at which workers
    killed themselves. ``static`` members keep their partitions while they restart. A ``command`` without ``flags`` has
    no plans. After ``stop_faults`` the clocks of workers are ``final_clock_ms`` ahead.
    """

    folder: Path
    environment: Mapping[str, str]
    size: int
    draw_plan: DrawPlan
    seed: str
    static: bool = True
    state: Path | None = None
    command: Sequence[str] = COMMAND
    flags: bool = True
    start: Start = start_process
    allowed_codes: set[int] = field(default_factory=lambda: {FENCED})
    final_clock_ms: int = 0
    exit_counts: Counter[int] = field(default_factory=Counter)
    point_kills: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        state = self.state or self.folder
        self.workers = [
            Worker(n, state / f"state-{n}", self.folder / f"worker-{n}.log", Random(f"{self.seed}/worker {n}"))
            for n in range(1, self.size + 1)
        ]

    def __enter__(self) -> Self:
        try:
            for worker in self.workers:
                self._plan_next(worker)
            self.restart_ended()
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._kill_all()

    # --- waiting ------------------------------------------------------------------------------------------------

    def run_for(self, seconds: float) -> None:
        """Supervise the workers for ``seconds``."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.restart_ended()
            time.sleep(min(left, _POLL_SECONDS))

    def run_until(self, condition: Callable[[], bool], name: str, *, poll_seconds: float = _POLL_SECONDS) -> None:
        """Supervise the workers until ``condition`` holds. It is a surprise when that takes minutes."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                self.surprises.append(f"it took more than {_WAIT_SECONDS:g} s until {name}")
                return
            self.run_for(poll_seconds)

    def wait_for_ledgers(self, worker: Worker, count: int) -> None:
        """Supervise the workers until this one has opened the ledgers of so many partitions from here on."""
        start = worker.log.stat().st_size

        def opened() -> set[int]:
            return {entry["partition"] for entry in log_entries(worker.log, start) if entry["message"] == OPENED}

        # A rebalance may open one of them twice before another is opened at all.
        self.run_until(lambda: len(opened()) >= count, f"{count} ledgers were opened")

    def wait_until_ready(self, *workers: Worker) -> None:
        """Supervise the workers until these, or all, are ready."""
        for worker in workers or self.workers:
            self.run_until(worker.is_ready, f"worker {worker.number} was ready")

    # --- starting and stopping ----------------------------------------------------------------------------------

    def restart_ended(self) -> None:
        """Plan the next run of every worker that has ended, and start the runs that are due."""
        for worker in self.workers:
            if worker.process is not None and (code := worker.process.exit_code) is not None:
                self._record_end(worker, worker.process, code)
            if worker.process is None and time.monotonic() >= worker.start_at:
                self._start(worker)

    def stop_faults(self) -> None:
        """Plan no further faults. Kill every worker with a fault ahead or a clock that is not the final one."""
        self.draw_plan = lambda _worker: FaultPlan(clock_ms=self.final_clock_ms)
        for worker in self.workers:
            if worker.process is None:
                # The plan that was drawn for the time after its rest must not be carried out either.
                self._plan_next(worker)
        for worker in self.workers:
            if worker.plan.point or worker.plan.jump_ms or worker.plan.clock_ms != self.final_clock_ms:
                self.kill(worker)

    def kill(self, worker: Worker) -> None:
        """Kill a worker's process, if it runs, and plan its next run."""
        if worker.process is not None and not worker.process.has_ended:
            worker.process.kill()
        self.restart_ended()

    def stop(self) -> None:
        """Stop all workers with SIGTERM."""
        for worker in self.workers:
            process = worker.process
            if process is not None and (code := process.terminate(_STOP_SECONDS)) not in _STOPPED | self.allowed_codes:
                self.surprises.append(f"worker {worker.number} ended with {code}: {process.last_line()}")
                process.kill()
            worker.process = None

    # --- observations -------------------------------------------------------------------------------------------

    @property
    def ledgers(self) -> list[Path]:
        """The ledger files of all workers."""
        return [path for worker in self.workers for path in sorted(worker.state.glob("*.sqlite"))]

    @property
    def kills(self) -> int:
        """Number of runs that ended with SIGKILL."""
        return self.exit_counts[-signal.SIGKILL]

    @property
    def takeovers(self) -> int:
        """Number of times that a partition's ledger was opened by another worker than before."""
        opened = sorted(
            (entry["time"], entry["partition"], worker.number)
            for worker in self.workers
            for entry in log_entries(worker.log)
            if entry["message"] == OPENED
        )
        owners: dict[int, int] = {}
        count = 0
        for _, partition, number in opened:
            count += owners.setdefault(partition, number) != number
            owners[partition] = number
        return count

    def count_messages(self, text: str) -> int:
        """Return the number of log messages that contain ``text``."""
        return sum(text in entry["message"] for worker in self.workers for entry in log_entries(worker.log))

    # --- internals ----------------------------------------------------------------------------------------------

    def _plan_next(self, worker: Worker) -> None:
        worker.plan = self.draw_plan(worker)
        worker.start_at = time.monotonic() + worker.plan.rest_seconds
        worker.runs += 1

    def _start(self, worker: Worker) -> None:
        own = {"ONWARD_STATE_DIR": str(worker.state), "ONWARD_CHUNK_RECORDS": str(worker.plan.chunk_records)}
        if self.static:
            own["ONWARD_GROUP_INSTANCE_ID"] = f"worker-{worker.number}"
        worker.log_start = worker.log.stat().st_size if worker.log.exists() else 0
        command = [*self.command, *(worker.plan.flags if self.flags else [])]
        worker.process = self.start(command, worker.log, {**self.environment, **own})

    def _record_end(self, worker: Worker, process: WorkerProcess, code: int) -> None:
        self.exit_counts[code] += 1
        is_kill = code == -signal.SIGKILL
        if is_kill and not process.was_killed and worker.plan.point and worker.plan.signal == "SIGKILL":
            self.point_kills[worker.plan.point] += 1
        elif not (is_kill and process.was_killed) and code not in self.allowed_codes:
            self.surprises.append(f"worker {worker.number} ended with {code}: {process.last_line()}")
        worker.process = None
        self._plan_next(worker)
        if not is_kill:
            worker.start_at += _RESTART_SECONDS

    def _kill_all(self) -> None:
        for worker in self.workers:
            if worker.process is not None and not worker.process.has_ended:
                worker.process.kill()
