"""Python functions in processes of their own that start in milliseconds.

The processes are forked from a server that has imported the function's module already. The imports of a worker take
seconds, which a test that starts many workers would spend on little else.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Self

from onward.streams.cli import main
from onward.streams.cli.process import worker_process
from onward.tests.support.compiled_once import compile_once

Main = Callable[[list[str]], int]
_PRELOADED = ["onward.streams.kafka.service", "onward.streams.programs.training.train", "numba", "skops.io", __name__]
"""Modules with slow imports, which the server imports once: a worker imports skops with its first model."""


class ForkedProcess:
    """One call of ``main(argv)`` in ``folder``. Entering the context starts it, leaving kills it.

    Its output goes to ``log``. Variables ``ONWARD_...`` and ``PYTEST_...`` are not inherited; ``environment`` is added
    to the rest.
    """

    def __init__(
        self,
        main: Main,
        argv: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        folder: Path | None = None,
    ) -> None:
        self._log = log
        arguments = (main, list(argv), log, dict(environment), folder or log.parent)
        self._process = _context().Process(target=_run, args=arguments, daemon=True)

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for the end; return the exit code, or None when it does not end in ``seconds``."""
        self._process.join(seconds)
        return self.exit_code

    def terminate(self, seconds: float | None = None) -> int | None:
        """Send SIGTERM and wait; return the exit code, or None when it does not end in ``seconds``."""
        self._process.terminate()
        return self.wait(seconds)

    def last_line(self) -> str:
        """Return the last line of the log that is not blank."""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][-300:] if lines else "it wrote no log"

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()


def script(argv: list[str]) -> int:
    """Run a file of Python, as ``python FILE ...`` does; for ``ForkedProcess``."""
    sys.argv = argv
    sys.path.insert(0, str(Path(argv[0]).parent))
    runpy.run_path(argv[0], run_name="__main__")
    return 0


class _ForkedCommand:
    """What ``WorkerProcess`` uses of ``subprocess.Popen``, for ``python -P -m onward ...``."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], stdin: int, stdout: IO[bytes], stderr: IO[bytes]
    ) -> None:
        assert command[:4] == [sys.executable, "-P", "-m", "onward"], command
        assert stdin == subprocess.DEVNULL
        assert stdout is stderr
        self._command = command
        arguments = (main, command[4:], Path(stdout.name), dict(env), Path.cwd())
        self._process = _context().Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._command, timeout or 0.0)
        return code

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


@contextmanager
def workers_are_forked() -> Iterator[None]:
    """The worker of every ``WorkerProcess`` of this process is forked too."""
    import pytest  # which no forked process needs

    ours = SimpleNamespace(Popen=_ForkedCommand, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_process, "subprocess", ours)
        yield


def _context() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _run(main: Main, argv: list[str], log: Path, environment: Mapping[str, str], folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("ONWARD_", "PYTEST_"))]:
        del os.environ[name]
    os.environ.update(environment)
    os.chdir(folder)
    compile_once()
    with log.open("ab") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
    sys.exit(main(argv))
