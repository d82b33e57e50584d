"""A worker's process and its log."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from onward.tests.support.process import WatchedProcess

COMMAND = (sys.executable, "-P", "-m", "onward.tests.faults.suite.workers.worker")
OPENED = "opened ledger"
"""The log message of a worker that has opened a ledger."""
FENCED = 6
"""Exit code of a worker that was suspended for so long that its partitions may have another owner."""
BROKERS_LOST = 3
"""Exit code of a worker whose outputs were not acknowledged in time. Time while it was suspended counts too."""
STATE_LOST = 4
"""Exit code of a worker that cannot use its ledger."""


class WorkerProcess(WatchedProcess):
    """The process of one run of a worker. ``was_killed`` is set when the suite has killed it."""

    was_killed = False

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self.was_killed = True
        super().kill()

    def jump_clock(self) -> None:
        """Move its clock by the ``jump_ms`` of its plan."""
        self._signal(signal.SIGUSR1)

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    @property
    def is_suspended(self) -> bool:
        """Whether it was stopped by SIGSTOP and not resumed."""
        return Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def terminate(self, seconds: float) -> int | None:
        """Send SIGTERM and wait; return the exit code, or None when it does not end in time."""
        self._process.terminate()
        self.resume()
        with suppress(Exception):
            self._process.wait(seconds)
        return self.exit_code


def log_entries(log: Path, start: int = 0) -> Iterator[dict[str, Any]]:
    """Read a worker's log from byte ``start`` on. Lines that a kill has cut short are left out."""
    if log.exists():
        for line in log.read_bytes()[start:].decode(errors="replace").splitlines():
            with suppress(ValueError):
                content = json.loads(line)
                if isinstance(content, dict) and "message" in content:
                    yield content
