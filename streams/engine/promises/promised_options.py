"""Promised options: what people may take up, until they come back or the promise expires."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....schemas.encoding import Problem
from ...journal.entries import CaseKey
from ...programs.program import Program
from ..program_state import RowTable

Array = NDArray[np.float64]


class OpenOption(Struct, frozen=True, gc=False, array_like=True):
    """An option that is promised to hold under later models, as far as the program's promise goes.

    ``target`` is its encoded row, as the bytes of float64. ``model`` is the hash of the manifest of the model that
    it was made for. Where the option is ``honoured``, a newer model rejects it, and that one judges who takes it.
    Stored as an array: never reorder the fields.
    """

    id: str
    arm: int
    target: bytes
    model: str
    honoured: bool = False


class PromisedOptions(Struct, frozen=True, gc=False, array_like=True):
    """The open options of one person, until the event time ``until_ms``.

    ``features`` is the application's JSON, and ``step`` that of the answer. ``path_limit`` is the length of
    the program's path of models up to which the options need not be revalidated (``screen.py``). ``revision``
    counts the revised recourses. Stored as an array: never reorder the fields.
    """

    key: CaseKey
    applicant: str | None
    shard: int
    step: int
    until_ms: int
    features: bytes
    options: tuple[OpenOption, ...]
    path_limit: float
    revision: int = 0


PROMISED_OPTIONS = RowTable("promised_options", PromisedOptions, {"applicant": "TEXT", "path_limit": "REAL"})


def people_of(program: Program, promises: Sequence[PromisedOptions]) -> Array:
    """The people of promises as they were when they applied, encoded, once for each of their options, (n, D)."""
    read = [program.codec.read(promise.features) for promise in promises]
    values = [features for features in read if not isinstance(features, Problem)]
    assert len(values) == len(promises), "these features have been read before"
    return np.repeat(program.codec.encode_read(values), [len(promise.options) for promise in promises], axis=0)


def rows_of(options: Sequence[OpenOption]) -> Array:
    """The targets of options, encoded, shape (n, D)."""
    # Of bytes the array could only be read, for which compiled functions would be compiled once more.
    return np.frombuffer(bytearray().join([option.target for option in options])).reshape(len(options), -1)
