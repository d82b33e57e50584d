"""Checks of what Python programs pass to the public functions: what cannot be used is a ``UsageError`` of one line."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ..errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")

MOST_SHOWN = 100
"""Characters of a value in a message."""


class ArgumentsError(UsageError, TypeError):
    """A function is called with an argument that it does not take, or without one that it needs."""


def checks_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which raises ``ArgumentsError`` where Python would raise a ``TypeError``."""
    takes = signature(function)

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> T:
        try:
            takes.bind(*args, **keywords)
        except TypeError as error:
            unknown = next((name for name in keywords if name not in takes.parameters), None)
            why = str(error) if unknown is None else _unknown(unknown, [*takes.parameters])
            raise ArgumentsError(f"{function.__name__}: {why}") from None
        return function(*args, **keywords)

    return call


def _unknown(name: str, names: Sequence[str]) -> str:
    names = [other for other in names if other != "self"]
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(names)}"
    return f"there is no argument {shown(name)}: {hint}"


def path_of(name: str, value: Any) -> Path:
    """A path that a file may have, in one line: more lines are the text of a file."""
    try:
        path = Path(value)
        if b"\0" not in os.fsencode(path) and str(path).splitlines() == [str(path)]:
            return path
    except (TypeError, ValueError):
        pass
    raise UsageError(f"{name} is {shown(value)}: give a path")


def text_of(name: str, value: Any) -> str:
    """A text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise UsageError(f"{name} is {shown(value)}: give a text")


def whole_number_of(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within bounds; numpy's are whole numbers too."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise UsageError(f"{name} is {shown(value)}: give a whole number from {least} to {most}")
    return number


def switch_of(name: str, value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    raise UsageError(f"{name} is {shown(value)}: give True or False")


def milliseconds_of(name: str, value: Any) -> int:
    """A time with its zone, as milliseconds since the epoch."""
    # Pandas' value for no time is a datetime too, whose time is not a number.
    if not isinstance(value, datetime) or value != value:
        raise UsageError(f"{name} is {shown(value)}: give a datetime with a time zone, such as datetime.now(UTC)")
    if value.utcoffset() is None:
        raise UsageError(f"{name} is {value.isoformat()} without a time zone: give one, such as datetime.now(UTC)")
    return round(value.timestamp() * 1000)


def shown(value: Any) -> str:
    """A value in one short line."""
    if value is None or isinstance(value, str | int | float):
        # Python writes no number of very many digits.
        with suppress(ValueError):
            text = repr(value)
            return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
    return f"a {type(value).__name__}"
