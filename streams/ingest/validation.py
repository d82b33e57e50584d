"""Validation: everything that can be said of an input record alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from ...schemas.encoding import Problem
from ...schemas.events import RawApplication
from ...schemas.headers import CloudEvent, format_time, read_headers
from ...schemas.kinds import Kind
from ...schemas.problems import JSON_ERRORS
from ..programs.program import Program
from ..records import Record

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class Limits:
    """The largest size of a record, and the farthest that its event time may be from the worker's clock."""

    record_bytes: int = 262_144
    future_ms: int = DAY_MS
    age_ms: int = 3650 * DAY_MS


class Validated(Struct, frozen=True, gc=False):
    """A record as far as it could be read. ``problem`` is None when it can be used; then the rest is there.

    ``body`` is the event as the journal holds it.
    """

    problem: Problem | None
    event: CloudEvent | None = None
    body: Any = None


class Validator:
    """Validates the records of one input topic, whose events are of one kind."""

    def __init__(self, kind: Kind, programs: Mapping[str, Program], limits: Limits) -> None:
        self.kind = kind
        self._programs = programs
        self._limits = limits

    def validate(self, record: Record, now_ms: int) -> Validated:
        """Check size, headers, JSON, types, program, event time and features, in this order."""
        read = self._read(record)
        if isinstance(read, Problem):
            return Validated(read)
        event, body = read
        problem = self._time_problem(record, event, now_ms)
        if problem is None and isinstance(body, RawApplication):
            values = self._programs[body.program].codec.read(body.features)
            problem = values if isinstance(values, Problem) else None
        return Validated(problem, event, body)

    def _read(self, record: Record) -> tuple[CloudEvent, Any] | Problem:
        value = record.value
        if value is None:
            return Problem("empty", "the record has no value")
        if len(value) > self._limits.record_bytes:
            return Problem("oversized", f"{len(value)} bytes, the limit is {self._limits.record_bytes}")
        event = read_headers(record.headers)
        if isinstance(event, Problem):
            return event
        expected = self.kind.ce_type
        if event.type is not None and event.type != expected:
            return Problem("wrong_event_type", f"ce_type is {event.type!r}, topic {record.topic} takes {expected!r}")
        try:
            body = self.kind.decode_body(value)
        except msgspec.ValidationError as error:
            return Problem("wrong_type", str(error))
        except JSON_ERRORS as error:
            return Problem("malformed_json", str(error))
        if body.program not in self._programs:
            return Problem("unknown_program", f"no spec for program {body.program!r} in this installation")
        return event, body

    def _time_problem(self, record: Record, event: CloudEvent, now_ms: int) -> Problem | None:
        time_ms = record.timestamp_ms if event.time_ms is None else event.time_ms
        if time_ms > now_ms + self._limits.future_ms:
            return Problem(
                "future_time", f"event time {format_time(time_ms)} is too far ahead of {format_time(now_ms)}"
            )
        if time_ms < now_ms - self._limits.age_ms:
            return Problem("ancient_time", f"{format_time(time_ms)} is too far before the clock, {format_time(now_ms)}")
        return None
