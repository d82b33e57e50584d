"""Validation: everything that can be said of an input record alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from ...schemas.encoding import Problem
from ...schemas.events import LONGEST_IDENTIFIER, RawApplication, identifier_fields
from ...schemas.feature_check import quoted
from ...schemas.headers import CloudEvent, format_time, read_headers
from ...schemas.identifier import unprintable_in
from ...schemas.json_problems import explain_malformed, repeated_key
from ...schemas.kinds import Kind
from ...schemas.normal_form import json_in_normal_form, normal_form
from ...schemas.problems import JSON_ERRORS
from ...schemas.type_errors import json_type_error
from .. import worker_defaults as defaults
from ..journal.lines import event_time_ms
from ..programs.program import Program
from ..records import Record

_NULL = re.compile(rb'"([a-z_]+)"[ \t\n\r]*:[ \t\n\r]*null')
"""A field that is given as null."""
UNKNOWN_PROGRAM = "unknown_program"
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class RecordLimits:
    """The largest size of a record, and how far its event time may be from the worker's clock.

    An event moves the clock of its partition at most ``future_ms`` beyond the worker's, whatever its own time. One that
    is ahead by more than ``far_future_ms`` is refused: its sender's clock is wrong.
    Beyond ``letters_a_second`` the unusable records of an input partition share dead letters, whatever their reasons.
    ``model_addresses`` are the prefixes of the addresses that model events may name; without them those of the
    program's first model.
    """

    record_bytes: int = defaults.MAX_RECORD_BYTES
    future_ms: int = 1000 * defaults.MAX_FUTURE_SECONDS
    age_ms: int = defaults.MAX_AGE_DAYS * DAY_MS
    letters_a_second: int = defaults.MAX_DEAD_LETTERS_PER_SECOND
    model_addresses: tuple[str, ...] = ()

    @property
    def far_future_ms(self) -> int:
        """A day: local time sent as UTC is less ahead."""
        return max(DAY_MS, self.future_ms)


class Validated(Struct, frozen=True, gc=False):
    """A record as far as it could be read. ``problem`` is None when it can be used; then the rest is there.

    ``body`` is the event as the journal holds it, ``data`` its JSON: as it was sent, the texts of an event about a case
    in Unicode's normal form C.
    """

    problem: Problem | None
    event: CloudEvent | None = None
    body: Any = None
    data: bytes = b""


class Validator:
    """Validates the records of one input topic, whose events are of one kind."""

    def __init__(self, kind: Kind, programs: Mapping[str, Program], limits: RecordLimits) -> None:
        self.kind = kind
        self._programs = programs
        self._limits = limits
        self._shape = _Shape(kind)
        self._longest_name = max([LONGEST_IDENTIFIER, *map(_longest_name, programs.values())])

    def validate(self, record: Record, now_ms: int) -> Validated:
        """Check size, headers, JSON, types, identifiers, program, keys, event time and features, in this order."""
        read = self._read(record)
        if isinstance(read, Problem):
            return Validated(read)
        event, body, data = read
        problem = self._time_problem(record, event, now_ms)
        if problem is None and isinstance(body, RawApplication):
            values = self._programs[body.program].codec.read(body.features)
            problem = values if isinstance(values, Problem) else None
        return Validated(problem, event, body, data)

    def _read(self, record: Record) -> tuple[CloudEvent, Any, bytes] | Problem:
        value, unread = record.value, record.unread
        if unread is not None:
            return Problem(unread.reason, unread.detail)
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
        if not event.id.isascii():
            event = msgspec.structs.replace(event, id=normal_form(event.id))
        read = self._decode(value)
        return read if isinstance(read, Problem) else (event, read[0], read[1])

    def _decode(self, value: bytes) -> tuple[Any, bytes] | Problem:
        # A program's events name files, which are found by the bytes of their names.
        data = json_in_normal_form(value, self._longest_name) if self.kind.about != "program" else value
        try:
            body = self.kind.decode_body(data)
        except msgspec.ValidationError as error:
            return Problem("wrong_type", json_type_error(data, self.kind.structs[0], error))
        except JSON_ERRORS as error:
            return Problem("malformed_json", explain_malformed(value, error))
        if problem := self._shape.unprintable(body):
            return problem
        program = self._programs.get(body.program)
        if program is None:
            return Problem(UNKNOWN_PROGRAM, f"no spec for program {body.program!r} in this installation")
        key = self._shape.repeated_key(body, data, program)
        if key is not None:
            return Problem("duplicate_key", f"{quoted(key)}: given more than once in one object")
        return body, data

    def _time_problem(self, record: Record, event: CloudEvent, now_ms: int) -> Problem | None:
        time_ms = event_time_ms(event, record)
        if time_ms > now_ms + self._limits.far_future_ms:
            return Problem(
                "future_time", f"event time {format_time(time_ms)} is too far ahead of {format_time(now_ms)}"
            )
        if time_ms < now_ms - self._limits.age_ms:
            return Problem("ancient_time", f"{format_time(time_ms)} is too far before the clock, {format_time(now_ms)}")
        return None


class _Shape:
    """The fields of a kind's body: which may be left out, and which hold an identifier."""

    def __init__(self, kind: Kind) -> None:
        struct = kind.body or kind.structs[0]
        fields = msgspec.structs.fields(struct)
        self._optional = [(field.name, field.default) for field in fields if not field.required]
        self._required = len(fields) - len(self._optional)
        self._identifiers = identifier_fields(struct)

    def repeated_key(self, body: Any, data: bytes, program: Program) -> str | None:
        """The first key that an object in the JSON of a body holds twice.

        Features are taken to be those of the program: what lacks one becomes a dead letter anyway.
        """
        keys = self._required
        if isinstance(body, RawApplication):
            if program.codec.keys is None:
                return repeated_key(data, None)
            keys += program.codec.keys
        # Most events have the required keys only, and each once.
        if data.count(b":") == keys:
            return None
        nulls = {name.decode() for name in _NULL.findall(data)}
        keys += sum(getattr(body, name) != default or name in nulls for name, default in self._optional)
        return repeated_key(data, keys)

    def unprintable(self, body: Any) -> Problem | None:
        """The first identifier with a character that cannot be printed."""
        for name in self._identifiers:
            text: str | None = getattr(body, name)
            if text and (fault := unprintable_in(text)):
                return Problem("unprintable_id", f"{name}: {fault}")
        return None


def _longest_name(program: Program) -> int:
    """The characters of the longest text of an application that means anything to a program."""
    features = program.spec.features
    return max(
        len(text)
        for feature in features
        for text in (feature.name, *(feature.categories or ()), *(feature.levels or ()))
    )
