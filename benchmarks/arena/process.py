"""A process and whatever it starts, watched from outside: processor time, memory, held and let go.

    with WatchedProcess(command, log) as process:
        process.cpu_seconds()                  # user and system, of all threads and of all processes it started
        process.hold(); process.let_go()       # all of them stand still in between

It leads a process group, so that nothing it starts is missed. For Linux: it reads /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

_STOP_SECONDS = 15.0
_LOOK_SECONDS = 0.001
_STANDING = "TXZ"
_SCHEDULED = 2
_TICK_SECONDS = 1.0 / os.sysconf("SC_CLK_TCK")
_ENDED_CHILDREN = slice(13, 15)
"""Where ``cutime`` and ``cstime`` stand behind the name in /proc/PID/stat."""


class WatchedProcess:
    """One command. Entering the context starts it, leaving ends it. Its output goes to ``log``."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._log = log
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith("ONWARD_")}
        self._environment |= environment or {}

    @property
    def ended(self) -> bool:
        """Whether it has."""
        return self._process.poll() is not None

    def cpu_seconds(self) -> float:
        """Processor time so far."""
        return sum(_cpu_seconds(pid) for pid in self._tree())

    def resident_bytes(self, *, peak: bool = False) -> int:
        """Resident memory now, or the most there ever was (of each process, added up)."""
        return sum(resident_bytes(pid, peak=peak) for pid in self._tree())

    def hold(self) -> None:
        """Stop it where it stands; return when it does."""
        self._signal(signal.SIGSTOP)
        while not all(_state(pid) in _STANDING for pid in self._tree()):
            time.sleep(_LOOK_SECONDS)

    def let_go(self) -> None:
        """Let it run on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a crash would."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def lines(self) -> list[str]:
        """Its output so far, without a line that has no end yet."""
        return self._log.read_text(errors="replace").split("\n")[:-1]

    def last_words(self) -> str:
        """The last line of its output."""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][-300:] if lines else "it said nothing"

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                # Stock Faust and Quix Streams leave folders where they start.
                cwd=self._log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self.let_go()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self.kill()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

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
    """What follows the name in /proc/PID/stat; a dead process when it is gone."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["X", *["0"] * 50]


def _cpu_seconds(pid: int) -> float:
    try:
        # What clock_getcpuclockid(3) gives for a process on Linux: nanoseconds, where /proc counts hundredths.
        own = time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError:
        return 0.0
    return own + sum(map(int, _stat(pid)[_ENDED_CHILDREN])) * _TICK_SECONDS


def resident_bytes(pid: int, *, peak: bool = False) -> int:
    """Resident memory of one process, now or at most; 0 when it is gone."""
    name = "VmHWM:" if peak else "VmRSS:"
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: Path) -> str:
    """Empty when the process is gone."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
