"""Loops over numbers, compiled to machine code the first time they run."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class compiled(Generic[P, R]):
    """A function on numbers and arrays as machine code, kept on the disk where the disk allows it.

    Numba is imported with the first call, so that who does not use such a function does not wait for it. One may call
    another of the same file; of another file it may not: what is kept on the disk is made anew when the function's own
    file changes, and would not know of the other's.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self._function: Any = function
        self._machine: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Compile it, if that was not done before, and run it."""
        if self._machine is None:
            self._machine = self._compile()
        found: R = self._machine(*args, **kwargs)
        return found

    def _compile(self) -> Any:
        from numba import njit

        function = self._with_others_compiled()
        try:
            return njit(cache=True)(function)
        except RuntimeError:  # no folder that compiled code could be kept in
            return njit(function)

    def _with_others_compiled(self) -> Any:
        """The function, seeing machine code where it names compiled functions of its file."""
        function, own = self._function, self._function.__globals__
        seen = dict(own)
        for name in function.__code__.co_names:
            other = own.get(name)
            if isinstance(other, compiled) and other._function.__globals__ is own:
                other._machine = seen[name] = other._machine or other._compile()
        return FunctionType(function.__code__, seen, function.__name__, function.__defaults__)
