"""How much memory and processor time loading a model may take.

A file of a few hundred bytes may ask for gigabytes or for minutes, in every format that describes arrays.
"""

from __future__ import annotations

import contextlib
import math
import re
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

MODEL_LIBRARIES = ("skops.io", "sklearn.ensemble", "sklearn.linear_model", "sklearn.neural_network")
"""The libraries of a model of scikit-learn. They take some 100 MB, which are not the model's."""
_STATUS = Path("/proc/self/status")
_OWN_DATA = re.compile(r"^VmData:\s*(\d+) kB$", re.MULTILINE)
_OUT_OF_MEMORY_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_GO = "1000"


@dataclass(frozen=True)
class LoadLimits:
    """The memory in bytes that loading takes beside what the process has, and its processor time.

    By the clock it may last ``waiting_seconds`` and ``waiting_factor`` times its processor time: it may wait for a file
    system, or for a processor.
    """

    memory_bytes: int = 512 << 20
    seconds: float = 30.0
    waiting_seconds: int = 60
    waiting_factor: int = 10


def import_model_libraries() -> None:
    """Import what a model may need, before memory is limited or processes are forked."""
    for name in MODEL_LIBRARIES:
        import_module(name)


def limit_process(limits: LoadLimits) -> None:
    """Limit what this process takes from here on, for good.

    Beyond the memory an allocation fails, beyond the time the process is ended. Where the system does not tell how much
    memory a process has, as on macOS, only the time is limited.
    """
    if (size := _allowed_data(limits.memory_bytes)) is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    seconds = math.ceil(time.process_time() + limits.seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Where the machine itself runs out of memory, the worker is not to be the one that is ended.
    with contextlib.suppress(OSError):
        _OUT_OF_MEMORY_SCORE.write_text(_FIRST_TO_GO)


@contextlib.contextmanager
def limited_memory(memory_bytes: int) -> Iterator[None]:
    """Limit what this process takes within the block: an allocation beyond it raises MemoryError."""
    import_model_libraries()
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if (size := _allowed_data(memory_bytes)) is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _allowed_data(memory_bytes: int) -> int | None:
    """The limit of private memory that allows so much more than there is; None where that is not known."""
    try:
        used = _OWN_DATA.search(_STATUS.read_text())
    except OSError:
        return None
    if used is None:
        return None
    allowed = int(used[1]) * 1024 + memory_bytes
    current = resource.getrlimit(resource.RLIMIT_DATA)
    return min([allowed, *(limit for limit in current if limit != resource.RLIM_INFINITY)])
