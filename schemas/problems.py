"""Why a record or a spec file cannot be used, as values: a bad input is an expected case, not an exception."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that msgspec raises for bytes that are not JSON of the expected type."""

MAX_NAME_CHARACTERS = 100
"""A longer text is not compared with names: comparing takes quadratic time."""


class Problem(NamedTuple):
    """Why a record cannot be used.

    ``reason`` is one of a fixed set of words (it labels metrics). ``detail`` is one line that names the field and the
    allowed values; it never holds the value of a personal (``pii``) feature.
    """

    reason: str
    detail: str


class SpecProblem(NamedTuple):
    """One error of a spec file.

    ``line`` and ``column`` count from 1; they are 0 where the file cannot be read. ``path`` is such as
    ``features[2].bounds``, empty for the file as a whole.
    """

    line: int
    column: int
    path: str
    message: str


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`` (did you mean ...?)`` when one of the names is close to this one, else nothing."""
    if len(name) > MAX_NAME_CHARACTERS:
        return ""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
