"""The production worker as a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from ...errors import OnwardError
from ...settings import BrokerSettings
from .stall_timeout import StallTimeout

STOP_SECONDS = 30.0
"""Longer than a worker takes that gives up a chunk, then its clients, then its threads."""
POLL_SECONDS = 0.5
KILL_SECONDS = 5.0


class WorkerProcess:
    """``onward worker`` with the connection of ``settings``; its log goes to a file.

        with WorkerProcess(settings, ["--spec", "a.yaml", "--state-dir", "state"], Path("worker.log")) as worker:
            worker.check()

    Leaving the context stops it. With ``command`` it is another one of ours that serves until a signal. The
    connection travels in the environment, where a process list does not show it.
    """

    def __init__(
        self, settings: BrokerSettings, flags: Iterable[str], log: Path, command: Sequence[str] = ("worker",)
    ) -> None:
        self._log = log
        self._command = [sys.executable, "-P", "-m", "onward", *command, *flags]
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("ONWARD_")}
        self._environment |= dict(_variables(settings))
        self._process: subprocess.Popen[bytes] | None = None

    def check(self) -> None:
        """Raise ``OnwardError`` with the last line of its log when the worker has ended."""
        code = None if self._process is None else self._process.poll()
        if code is not None:
            raise OnwardError(f"the worker has ended {_exit_description(code)}: {self.last_log_line()}")

    def progress(self) -> int:
        """How many lines its log has that are no complaints: a worker writes one every few seconds while it works."""
        return sum(b'"level": "info"' in line for line in self._log_lines())

    def last_log_line(self) -> str:
        """The message of the last line of its log."""
        lines = [line.decode(errors="replace").strip() for line in self._log_lines()]
        line = next(filter(None, reversed(lines)), "its log is empty")
        try:
            return str(json.loads(line)["message"])
        except (ValueError, KeyError, TypeError):
            return line

    def stop(self) -> None:
        """Send SIGTERM and wait; raise ``OnwardError`` when it does not end with exit code 0, or makes no progress."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        silence = StallTimeout(STOP_SECONDS)
        while (code := process.poll()) is None:
            if not silence.keep_waiting(self.progress()):
                self._kill(process)
                raise OnwardError(
                    f"the worker did not end within {STOP_SECONDS:g} s of SIGTERM and was killed: "
                    f"{self.last_log_line()}"
                )
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
        if code:
            raise OnwardError(f"the worker ended {_exit_description(code)} when it was told to: {self.last_log_line()}")

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill(self._process)
        except KeyboardInterrupt:
            self._kill(self._process)
            raise

    def _log_lines(self) -> list[bytes]:
        return self._log.read_bytes().split(b"\n") if self._log.exists() else []

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()


def _exit_description(code: int) -> str:
    return f"with exit code {code}" if code >= 0 else f"by signal {-code}"


def _variables(settings: BrokerSettings) -> Iterable[tuple[str, str]]:
    for name in BrokerSettings.names():
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        elif isinstance(value, tuple):
            value = ",".join(value)
        if value is not None:
            yield f"ONWARD_{name.upper()}", str(value)
