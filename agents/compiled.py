"""Loops over numbers, compiled to machine code the first time they run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """A function on numbers and arrays as machine code, kept on the disk where the disk allows it.

    Numba is imported with the first call, so that who does not use such a function does not wait for it.
    """
    machine: Callable[P, R] | None = None

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal machine
        if machine is None:
            machine = _compile(function)
        return machine(*args, **kwargs)

    return call


def _compile(function: Any) -> Any:
    from numba import njit

    try:
        return njit(cache=True)(function)
    except RuntimeError:  # no folder that compiled code could be kept in
        return njit(function)
