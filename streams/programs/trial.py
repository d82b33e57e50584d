"""A model's trial: its first load, in a process of its own that has little memory and time.

    async with Trials(LoadLimits()) as trials:
        await trials.hold(Trial(Model("loans", "v2", "s3://models/loans/v2/manifest.json", sha256), spec))

Importing what loads models takes seconds, so one process (``trial_server.py``) stays for a while and forks another for
each trial. It is started anew by its own command, and gets nothing of this one's but the settings of ``KEPT``: a file
that takes over its process finds no password there. So another process (``trial_fetch.py``) fetches the files, which
may need credentials, and only copies them. Signals that end a worker do not reach them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec
from msgspec import Struct

from ...schemas.events import Model
from ...schemas.spec import ProgramSpec
from ..errors import ModelError, OnwardError
from .load_limits import LoadLimits

FETCHER = (sys.executable, "-P", "-m", "onward.streams.programs.trial_fetch")
"""The command of a process that fetches a bundle."""
SERVER = (sys.executable, "-P", "-m", "onward.streams.programs.trial_server")
"""The command of a process that tries models."""
KEPT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV")
KEPT_PREFIXES = ("NUMBA_", "OMP_", "PYTHON")
"""The variables that the process that tries models gets, and their beginnings."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process that forks should have no other threads."""
_IDLE_SECONDS = 60.0
"""How long the process stays for another trial."""
Process = subprocess.Popen[bytes]
SENT_TO_WORKERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Trial(Struct, frozen=True):
    """The model that is announced, the spec of its program, and the ``bounds`` that its features are encoded with."""

    model: Model
    spec: ProgramSpec
    bounds: Mapping[str, tuple[float, float]] = {}


class Request(Struct, frozen=True):
    """A trial, its limits and the ``folder`` with a copy of the bundle, as a line of JSON."""

    trial: Trial
    limits: LoadLimits
    folder: str


class TrialVerdict(Struct, frozen=True):
    """The ``problem`` for which a model is refused; or the signal that ended its process."""

    problem: str | None = None
    signal: int | None = None


class Trials:
    """Holds trials, one after the other. Leaving the context ends the process, which ``command`` starts."""

    def __init__(self, limits: LoadLimits, command: Sequence[str] = SERVER) -> None:
        self._limits, self._command = limits, command
        self._one_at_a_time = asyncio.Lock()
        self._process: Process | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def hold(self, trial: Trial) -> None:
        """Return when the model can be loaded within the limits; raise ``ModelError`` when it is refused.

        Raises ``OnwardError`` where the process cannot do its work.
        """
        async with self._one_at_a_time:
            if self._idle is not None:
                self._idle.cancel()
            try:
                with tempfile.TemporaryDirectory(prefix="onward-trial-", ignore_cleanup_errors=True) as folder:
                    request = Request(trial, self._limits, folder)
                    verdict = await _fetched(request)
                    if verdict == TrialVerdict():
                        verdict = await self._verdict(request)
            except BaseException:
                self._end()
                raise
            self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._end)
        if verdict.signal is not None:
            raise self._ended(trial, verdict.signal)
        if verdict.problem is not None:
            raise ModelError(verdict.problem)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._end()

    async def _verdict(self, request: Request) -> TrialVerdict:
        if self._process is None:
            self._process = _start(self._command, without_secrets(os.environ))
            # The first line says that everything is imported.
            await self._line(request.trial)
        line = msgspec.json.encode(request) + b"\n"
        return msgspec.json.decode(await self._line(request.trial, line), type=TrialVerdict)

    async def _line(self, trial: Trial, request: bytes = b"") -> bytes:
        """Send the request, and read a line."""
        assert self._process is not None
        process = self._process
        if line := await asyncio.to_thread(_answer, process, request):
            return line
        assert process.stderr is not None
        said = (await asyncio.to_thread(process.stderr.read)).decode(errors="replace").strip().rpartition("\n")[2]
        raise OnwardError(f"{trial.model.manifest}: the process that tries models has ended: {said or 'no message'}")

    def _ended(self, trial: Trial, number: int) -> OnwardError:
        address, limits, name = trial.model.manifest, self._limits, signal.Signals(number).name
        if number == signal.SIGXCPU:
            return ModelError(
                f"{address}: loading it takes more than {limits.seconds:g} s of processor time (setting "
                "max_model_seconds)"
            )
        if number in SENT_TO_WORKERS:
            return OnwardError(f"{address}: its trial was ended by {name}")
        return ModelError(
            f"{address}: loading it ended its process ({name}), which may take {limits.memory_bytes} bytes of memory "
            "(setting max_model_bytes)"
        )

    def _end(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            _end(process)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``KEPT``, and those that keep a process to one thread."""
    kept = {name: value for name, value in environment.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    return {**kept, **_ONE_THREAD}


async def _fetched(request: Request) -> TrialVerdict:
    """Copy the files of a bundle to the request's folder, in a process that is ended when it takes too long."""
    limits, process = request.limits, _start(FETCHER, os.environ)
    try:
        async with asyncio.timeout(limits.waiting_seconds + limits.waiting_factor * limits.seconds):
            line = await asyncio.to_thread(_answer, process, msgspec.json.encode(request) + b"\n")
    except TimeoutError:
        return TrialVerdict(f"{request.trial.model.manifest}: loading it does not end")
    finally:
        _end(process)
    if not line and process.returncode == -signal.SIGXCPU:
        return TrialVerdict(signal=signal.SIGXCPU)
    if not line:
        raise OnwardError(f"{request.trial.model.manifest}: the process that fetches models has ended")
    return msgspec.json.decode(line, type=TrialVerdict)


def _start(command: Sequence[str], environment: Mapping[str, str]) -> Process:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, env=environment)


def _end(process: Process) -> None:
    """End a process and those that it has forked."""
    with process, contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _answer(process: Process, request: bytes) -> bytes:
    """The next line of the process; nothing when it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(request)
        process.stdin.flush()
    return process.stdout.readline()
