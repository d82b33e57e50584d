"""The events that cross Onward's topics, as msgspec structs.

On the wire an event is JSON in the record's value, and its CloudEvents 1.0 attributes are record headers
(binary mode, see ``headers.py``). An event never carries scaled or encoded numbers: features are in the units
of the program spec. Event time travels in the ``ce_time`` header, not in the value.

Events hold no cycles, so they are kept from the garbage collector (``gc=False``), which would look at each again and
again.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_type_hints

from msgspec import Meta, Raw, Struct

UNPRINTABLE = "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
"""The control and format characters of Unicode's first plane, for a regular expression."""
Identifier = Annotated[str, Meta(min_length=1, max_length=200, extra_json_schema={"pattern": f"^[^{UNPRINTABLE}]+$"})]
"""The name of a case, person, option or model version. Ingest refuses one that cannot be printed; decoding does not,
because journals of earlier versions may hold some."""
ProgramName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
Value = int | float | str
"""One raw feature value: a number in the feature's unit, or the name of a category or level."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""What Kafka and SQLite hold."""
Milliseconds = Annotated[int, Meta(ge=-(2**62), le=2**62)]
"""A time since the epoch to which any duration of a spec can be added."""

Fate = Literal["rewarded", "censored", "late", "dangling", "unseen"]
Result = Literal["improved", "not_improved", "unseen"]


class Application(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a person sent. ``application`` names the case; every later event refers to it."""

    program: ProgramName
    application: Identifier
    features: dict[str, Value]
    applicant: Identifier | None = None


class RawApplication(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An application whose features are still JSON: only its program knows how to read them."""

    program: str
    application: Identifier
    features: Raw
    applicant: Identifier | None = None


class Decision(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An external system's answer to an application."""

    program: ProgramName
    application: Identifier
    approved: bool
    score: float | None = None


class Outcome(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What happened in the real world after a recourse.

    ``improved``: the person carried a suggestion out and it really improved their situation (reward 1);
    ``not_improved``: it is known that it did not (reward 0); ``unseen``: the person was never shown it. ``option`` is
    the id of the option that the outcome is about; it may be left out where the recourse has only one.
    """

    program: ProgramName
    application: Identifier
    result: Result
    option: Identifier | None = None


class Model(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A new model version of a program. ``manifest`` is any fsspec address, ``sha256`` that of the manifest's bytes."""

    program: ProgramName
    version: Identifier
    manifest: str
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Change(Struct, frozen=True, gc=False):
    """One feature to change, in raw values."""

    feature: str
    current: Value
    target: Value
    unit: str | None = None


class Option(Struct, frozen=True, gc=False):
    """One concrete set of changes.

    ``id`` names the option within its recourse, ``candidate`` the arm that the choice learns about. ``cost`` is in the
    unit of the program's cost function (dimensionless for l1). ``promise`` holds what the program's promise guarantees,
    as numbers by name.
    """

    candidate: str
    changes: tuple[Change, ...]
    cost: float
    execution_probability: float
    propensity: float
    id: str = "1"
    promise: dict[str, float] | None = None


class Recourse(Struct, frozen=True, gc=False, tag_field="kind", tag="recourse"):
    """A way forward for one rejected application: one option or more, best first.

    ``step`` counts the program shard's answers from 0. ``policy_version`` changes with everything that makes the policy
    pick as it does, except what it has learned. ``applicant`` is the one that the application named. ``expires_at`` is
    the event time until which the goal holds.
    """

    program: str
    shard: int
    application: str
    step: int
    options: tuple[Option, ...]
    policy: str
    policy_version: str
    spec: str
    model: str
    closes_after_steps: int | None = None
    closes_at: str | None = None
    applicant: str | None = None
    expires_at: str | None = None


class NoRecourse(Struct, frozen=True, gc=False, tag_field="kind", tag="none"):
    """A rejected application without any option, with the rule that excluded the last candidates."""

    program: str
    shard: int
    application: str
    step: int
    reason: str
    detail: str
    policy: str
    policy_version: str
    spec: str
    model: str
    applicant: str | None = None


class Reward(Struct, frozen=True, gc=False):
    """A fate.

    ``rewarded``, ``censored`` and ``unseen`` close a recourse, exactly once each. ``late`` and ``dangling`` are for
    outcomes that came too late to count, or that have no recourse. ``option`` and ``candidate`` are those of the
    credited option; they are None where a recourse has several and the outcome names none.
    """

    program: str
    shard: int
    application: str
    fate: Fate
    reward: float | None = None
    step: int | None = None
    candidate: str | None = None
    outcome: str | None = None
    option: str | None = None


class DeadLetter(Struct, frozen=True, gc=False):
    """A record that Onward could not use: the reason, its position, and its original bytes (base64 in JSON).

    ``value`` is cut at the size limit when the record was oversized; ``size`` and ``sha256`` are of the whole.
    """

    reason: Annotated[str, Meta(min_length=1)]
    detail: str
    topic: str
    partition: int
    offset: int
    size: int
    sha256: str
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


class SourcePosition(Struct, frozen=True, gc=False, array_like=True):
    """The clock of one input partition: the latest event time read from it, None while it is not known."""

    topic: str
    partition: Int64
    time_ms: Milliseconds | None


class Tick(Struct, frozen=True, gc=False):
    """Event time passing in input partitions that have nothing to read. Ingest appends it to the journal."""

    sources: tuple[SourcePosition, ...]


class Journaled(Struct, frozen=True, gc=False, omit_defaults=True):
    """One event as a line of a journal record, which is an array of lines.

    ``time`` is the event time, ``timestamp`` that of the input's Kafka record, both in milliseconds since the epoch.
    ``topic``, ``partition`` and ``offset`` are the position of the input record; a tick has none. ``data`` is the
    event's own JSON, as it was sent.
    """

    type: str
    id: str
    time: Milliseconds
    timestamp: Int64
    data: Raw
    topic: str | None = None
    partition: Int64 = -1
    offset: Int64 = -1
    source: str | None = None


def identifier_fields(struct: type[Struct]) -> tuple[str, ...]:
    """The names of a struct's fields that hold an identifier."""
    hints: dict[str, Any] = get_type_hints(struct, include_extras=True)
    return tuple(name for name, hint in hints.items() if Identifier in (hint, *get_args(hint)))
