"""A process and its children, observed from outside: processor time, memory, suspended and resumed.

    with WatchedProcess(command, log) as process:
        process.cpu_seconds()                  # user and system time of all threads and child processes
        process.suspend(); process.resume()    # none of them runs in between

The process leads a process group, so that signals reach its children; those that lead one of their own are suspended
and resumed too. For Linux: it reads /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.001
_NOT_RUNNING = "TXZ"
"""States of /proc/PID/stat: stopped, dead, zombie."""
_SCHEDULED = 2
_TICK_SECONDS = 1.0 / os.sysconf("SC_CLK_TCK")
_ENDED_CHILDREN = slice(13, 15)
"""The fields ``cutime`` and ``cstime``, counted from the one after the name in /proc/PID/stat."""


class WatchedProcess:
    """One command. Entering the context starts it, leaving ends it. Its output goes to ``log``.

    Variables ``ONWARD_...`` of the caller are not inherited; ``environment`` is added to the rest.
    """

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._log = log
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith("ONWARD_")}
        self._environment |= environment or {}

    @property
    def has_ended(self) -> bool:
        """Whether the process has exited."""
        return self._process.poll() is not None

    def cpu_seconds(self) -> float:
        """Return the processor time so far."""
        return sum(_cpu_seconds(pid) for pid in self._tree())

    def resident_bytes(self, *, peak: bool = False) -> int:
        """Return the resident memory now, or the sum of each process's peak."""
        return sum(resident_bytes(pid, peak=peak) for pid in self._tree())

    def suspend(self) -> None:
        """Send SIGSTOP; return when neither the process nor a child of it runs any more."""
        self._signal(signal.SIGSTOP)
        while running := [pid for pid in self._tree() if _state(pid) not in _NOT_RUNNING]:
            self._signal_each(running, signal.SIGSTOP)
            time.sleep(_POLL_SECONDS)

    def resume(self) -> None:
        """Send SIGCONT."""
        self._signal_each(self._tree(), signal.SIGCONT)
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def lines(self) -> list[str]:
        """Return the complete lines of the log so far."""
        return self._log.read_text(errors="replace").split("\n")[:-1]

    def last_line(self) -> str:
        """Return the last line of the log that is not blank."""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][-300:] if lines else "it wrote no log"

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                # Stock Faust and Quix Streams create folders in the working directory.
                cwd=self._log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self.resume()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self.kill()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    @staticmethod
    def _signal_each(pids: Iterable[int], number: int) -> None:
        """Signal processes by their ids: a child that leads a group of its own hears nothing of this one's."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _tree(self) -> Iterator[int]:
        waiting = [self._process.pid]
        while waiting:
            pid = waiting.pop()
            yield pid
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting.extend(map(int, _read(children).split()))


def _state(pid: int) -> str:
    return _stat(pid)[0]


def _stat(pid: int) -> list[str]:
    """Return the fields after the name in /proc/PID/stat; those of a dead process when it is gone."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["X", *["0"] * 50]


def _cpu_seconds(pid: int) -> float:
    try:
        # The clock that clock_getcpuclockid(3) returns on Linux: nanoseconds, where /proc counts hundredths.
        own = time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError:
        return 0.0
    return own + sum(map(int, _stat(pid)[_ENDED_CHILDREN])) * _TICK_SECONDS


def resident_bytes(pid: int, *, peak: bool = False) -> int:
    """Return the resident memory of one process, or its peak; 0 when it is gone."""
    name = "VmHWM:" if peak else "VmRSS:"
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: Path) -> str:
    """Return the text of a file of /proc; empty when the process is gone."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
