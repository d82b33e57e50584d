"""Of several processes that need the same machine code, one compiles it; the others wait and read what it has kept.

In a fresh checkout all processes of the tests would compile the same functions at the same time.
"""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from onward.agents.compiled import compiled

_held: Counter[Path] = Counter()
"""The files that this process has locked: a function that calls itself is compiled inside its own compilation."""


def compile_once() -> None:
    """Let every compiled function of this process wait for another process that compiles it."""
    make = compiled._compile

    def shared(self: compiled[Any, Any]) -> Any:
        machine = make(self)
        if folder := machine.stats.cache_path:
            name = f"{machine.py_func.__module__}.{machine.py_func.__name__}.lock"
            machine.compile = partial(_compile_alone, machine.compile, Path(folder) / name)
        return machine

    compiled._compile = shared  # type: ignore[method-assign]


def _compile_alone(compile: Any, lock: Path, signature: Any) -> Any:
    from numba.core.compiler_lock import global_compiler_lock

    # Numba's own lock comes first, so that no two threads of a process hold files that the other one waits for.
    with global_compiler_lock, _locked(lock):
        return compile(signature)


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    if _held[lock]:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held[lock] += 1
        try:
            yield
        finally:
            _held[lock] -= 1
