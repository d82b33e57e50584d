"""Numerical loops, compiled to machine code at their first call."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"no_cfunc_wrapper": True}
"""No code in C calls the functions, and what would let it takes a tenth of the time to compile."""


class compiled(Generic[P, R]):
    """A function of numbers and arrays as machine code, cached on disk where there is a writable folder.

    Numba is imported at the first call, so programs that call no compiled function do not wait for it. A compiled
    function may call others of its own file only: the cached code is renewed when that file changes, and would miss
    changes of other files. Of constants of other files it may read ``ROUNDING`` only. For the same reason its arguments
    are arrays, numbers and tuples of them, and named tuples stand in its file.
    """

    __wrapped__: Any

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.machine: Any = None
        """The machine code that runs at a call, None until the first one."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Compile the function at the first call, and run it."""
        if self.machine is None:
            self.machine = self._compile()
        found: R = self.machine(*args, **kwargs)
        return found

    def _compile(self) -> Any:
        from numba import njit

        function = self._with_others_compiled()
        try:
            machine = njit(cache=True, **_OPTIONS)(function)
        except RuntimeError:  # no folder that compiled code could be kept in
            return njit(**_OPTIONS)(function)
        _forget_former(machine)
        return machine

    def _with_others_compiled(self) -> Any:
        """The function, with machine code in place of the compiled functions of its file that it calls."""
        function: Any = self.__wrapped__
        names = function.__globals__
        seen = dict(names)
        for name in function.__code__.co_names:
            other = names.get(name)
            if isinstance(other, compiled) and other.__wrapped__.__globals__ is names:
                other.machine = seen[name] = other.machine or other._compile()
        return FunctionType(function.__code__, seen, function.__name__, function.__defaults__)


def _forget_former(machine: Any) -> None:
    """Empty the index of what was kept where it cannot be read: numba would fail at the first call.

    It names the classes of arguments, of which an older version of the file may have had others.
    """
    kept = machine._cache
    read = kept._cache_file._load_index
    try:
        read()
    except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
        kept.flush()
