"""Errors that end a command, each with its exit code.

    OnwardError                1   anything below
    ├── UsageError             2   a flag, setting, spec or data file is wrong
    ├── BrokerError            3   Kafka is not reachable, refuses, or a topic is missing or wrong
    │   └── JournalCutError        the beginning of the journal is gone
    ├── LedgerError            4   the state on disk is missing, corrupt, or belongs to something else
    │   ├── DamagedLedgerError     a ledger's file is damaged
    │   └── HandoverError          another version has answered where this one would begin
    ├── ModelError             5   a model is refused
    └── FencedError            6   the group has given this worker's partitions away

Not in the tree, because no command ends with them: LedgerCheckError, ChecksumError, SnapshotError, MigrationError,
ArchiveError.

An OnwardWarning ends nothing: Python programs get it where the commands print a warning.

A message is one line that says what, which value, and what to do. Bad records are not errors: they are dead letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OnwardError(Exception):
    """Base of every error a command ends with."""

    exit_code = 1


class OnwardWarning(UserWarning):
    """Something is not wrong, but people should look at it: a line that the commands print."""


class UsageError(OnwardError):
    """A flag, setting, spec or data file is wrong."""

    exit_code = 2


class BrokerError(OnwardError):
    """Kafka is not reachable, refuses, or a topic is missing or wrong."""

    exit_code = 3


class JournalCutError(BrokerError):
    """The beginning of the journal is gone, and with it what a command needs."""


class LedgerError(OnwardError):
    """The state on disk is missing, corrupt, or belongs to something else."""

    exit_code = 4


class DamagedLedgerError(LedgerError):
    """A ledger's file is damaged. ``damage`` describes the damage."""

    def __init__(self, path: Path, damage: str) -> None:
        super().__init__(
            f"ledger {path} is damaged ({damage}): start the worker again, it restores the ledger from a snapshot or "
            f"the journal; if the error persists, remove {path.name}*"
        )
        self.damage = " ".join(damage.split())


class HandoverError(LedgerError):
    """Another version of Onward has answered where this one would begin."""


class ModelError(OnwardError):
    """A model file is refused: wrong hash, type that is not allowed, or features that do not fit."""

    exit_code = 5


class FencedError(OnwardError):
    """The lease has run out, because the worker was paused or disconnected.

    Its partitions may have another owner; start the worker again.
    """

    exit_code = 6


def one_line(error: BaseException) -> str:
    """The message of any error in one line; its type's name where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def writing(place: object, output: str = "") -> Iterator[None]:
    """Raise ``UsageError`` in place of an ``OSError``: ``output``, such as "the report ", cannot be written there."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{place}: {output}cannot be written: {error.strerror}") from None
