"""Checks of what Python programs pass to the public functions: what cannot be used is a ``UsageError`` of one line."""

from __future__ import annotations

import operator
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import UsageError

MOST_SHOWN = 100
"""Characters of a value in a message."""


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
