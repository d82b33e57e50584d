"""Python functions in processes of their own that start in milliseconds.

The processes are forked from a server that has imported the function's module already. The imports of a worker take
seconds, which a test that starts many workers would spend on little else.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

Main = Callable[[list[str]], int]
_PRELOADED = ["onward.streams.kafka.service", "onward.streams.programs.training.train"]
"""Modules with slow imports, which the server imports once."""


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
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        self._log = log
        arguments = (main, list(argv), log, dict(environment), folder or log.parent)
        self._process = context.Process(target=_run, args=arguments, daemon=True)

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


def _run(main: Main, argv: list[str], log: Path, environment: Mapping[str, str], folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("ONWARD_", "PYTEST_"))]:
        del os.environ[name]
    os.environ.update(environment)
    os.chdir(folder)
    with log.open("ab") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
    sys.exit(main(argv))
