"""A case: what the ledger knows of one application, from its arrival to its fate."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, NamedTuple

from msgspec import Struct

from ..journal.journal import CaseKey, JournalPosition
from ..records import TopicPartition


class Status(IntEnum):
    """Where a case stands. The numbers are stored: never renumber."""

    AWAITING_DECISION = 0
    APPROVED = 1
    NO_RECOURSE = 2
    OPEN = 3
    REWARDED = 4
    CENSORED = 5
    UNSEEN = 6


class Case(Struct, gc=False, array_like=True):
    """One application. Stored as an array: never reorder the fields.

    ``time_ms`` is the event time of the application and, once there is one, of the decision if that is later.
    ``event``, ``decision`` and ``outcome`` are the ``ce_id`` of what was applied; a repeat is known by them.
    ``features`` holds the application's JSON while a decision is awaited. An open case closes either when its
    window of steps has passed or when the watermark passes ``closes_ms``; a case
    is forgotten when the watermark passes ``forget_ms``.
    """

    key: CaseKey
    shard: int
    status: Status
    time_ms: int
    event: str
    decision: str | None = None
    outcome: str | None = None
    features: bytes | None = None
    step: int | None = None
    candidate: int | None = None
    execution: float | None = None
    deadline_ms: int | None = None
    closes_ms: int | None = None
    forget_ms: int | None = None


class ProcessedEvent(NamedTuple):
    """What names an event that ended without changing a case."""

    program: str
    event: str


class Waiting(NamedTuple):
    """An event that came before what it refers to. ``place`` is where it stands in the journal, ``expires_ms`` the
    watermark at which nothing it refers to can come any more, ``payload`` its original JSON."""

    place: JournalPosition
    key: CaseKey
    kind: Literal["decision", "outcome"]
    event: str
    time_ms: int
    timestamp_ms: int
    expires_ms: int
    source: TopicPartition | None
    source_offset: int
    payload: bytes
