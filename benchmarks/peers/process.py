"""A peer in a process and an environment of its own: ours asks, and the peer's answers.

    kind = Kind("DiCE random", "onward.benchmarks.peers.dice", {"method": "random", "count": 3}, "dice")
    with PeerProcess(kind, files, patience_seconds=10.0) as peer:
        peer.ask(people, required)

Arrays travel in numpy's format npz, which runs no code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import skops.io
from numpy.typing import NDArray

from onward.benchmarks.face import progress
from onward.benchmarks.peers.contract import Answer, Floats

BUILD = Path(__file__).resolve().parents[2] / "build"
"""Each environment is a folder of its name in it, which ``make install-NAME`` makes."""
SPEC, MODEL, ROWS, OPTIONS = "spec.yaml", "model.skops", "rows.npz", "options.json"


class PeerError(Exception):
    """A peer has failed."""


class Kind(NamedTuple):
    """A peer: its title, the module that serves it, its own options, and its environment; None for ours."""

    title: str
    module: str
    options: Mapping[str, Any]
    environment: str | None = None

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return Path(sys.executable) if self.environment is None else BUILD / self.environment / "bin" / "python"


def installed(kinds: Sequence[Kind]) -> list[Kind]:
    """Those that can be asked; say of the others how they are installed."""
    for kind in kinds:
        if not kind.python.exists():
            progress(f"{kind.title} is left out: it is not installed (`make install-{kind.environment}` does it)")
    return [kind for kind in kinds if kind.python.exists()]


class Files(NamedTuple):
    """A ``Setting`` as files: the spec as YAML, a fitted estimator, and the arrays."""

    spec: bytes
    estimator: Any
    rows: Floats
    labels: NDArray[np.int64]
    lowest: Floats
    highest: Floats

    def write(self, folder: Path) -> None:
        """Write them to a folder."""
        (folder / SPEC).write_bytes(self.spec)
        skops.io.dump(self.estimator, folder / MODEL)
        np.savez(folder / ROWS, rows=self.rows, labels=self.labels, lowest=self.lowest, highest=self.highest)


class PeerProcess:
    """Starts a peer and asks it. ``patience_seconds`` is the longest time for a person; then they get nothing."""

    def __init__(self, kind: Kind, files: Files, patience_seconds: float) -> None:
        self._kind = kind
        self._folder = tempfile.TemporaryDirectory(prefix="onward-bench-")
        folder = Path(self._folder.name)
        files.write(folder)
        options = {"options": dict(kind.options), "patience_seconds": patience_seconds}
        (folder / OPTIONS).write_bytes(msgspec.json.encode(options))

    def __enter__(self) -> Self:
        self._connection, theirs = Pipe()
        self._log = (Path(self._folder.name) / "log").open("wb")
        self._process = subprocess.Popen(
            [str(self._kind.python), "-m", self._kind.module, self._folder.name, str(theirs.fileno())],
            stdout=self._log,
            stderr=self._log,
            pass_fds=(theirs.fileno(),),
            # One thread, as ours.
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        theirs.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()  # which ends it
        self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def ask(self, people: Floats, required: Floats, first_seed: int = 0) -> Answer:
        """The counterfactuals of people (n, D), to whom scores above ``required`` (n,) are wanted.

        Seeds count from ``first_seed``. Raises ``PeerError`` where the process has ended.
        """
        try:
            send(self._connection, people=people, required=required, first_seed=np.array(first_seed))
            found = receive(self._connection)
        except (EOFError, OSError):
            self._process.wait()
            raise PeerError(f"{self._kind.title} is left out: {self._last_words()}") from None
        return Answer(found["whose"], found["targets"], float(found["seconds"]))

    def _last_words(self) -> str:
        lines = (Path(self._folder.name) / "log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with {self._process.returncode}"


def send(connection: Connection[Any, Any], **arrays: NDArray[Any]) -> None:
    """Send arrays by name."""
    buffer = BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # its stub reads a name as ``allow_pickle``
    connection.send_bytes(buffer.getvalue())


def receive(connection: Connection[Any, Any]) -> dict[str, NDArray[Any]]:
    """Receive arrays; raise ``EOFError`` where the other side has ended."""
    with np.load(BytesIO(connection.recv_bytes())) as stored:
        return dict(stored)
