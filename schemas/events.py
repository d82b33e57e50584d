"""The events that cross Onward's topics, as msgspec structs.

On the wire an event is JSON in the record's value, and its CloudEvents 1.0 attributes are record headers
(binary mode, see ``headers.py``). An event never carries scaled or encoded numbers: features are in the units
of the program spec. Event time travels in the ``ce_time`` header, not in the value.

Events hold no cycles, so they are kept from the garbage collector (``gc=False``), which would look at each again and
again.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

Identifier = Annotated[str, Meta(min_length=1, max_length=200)]
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


class Decision(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An external system's answer to an application."""

    program: ProgramName
    application: Identifier
    approved: bool
    score: float | None = None


class Outcome(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What happened in the real world after a recourse.

    ``improved``: the person carried the suggestion out and it really improved their situation (reward 1);
    ``not_improved``: it is known that it did not (reward 0); ``unseen``: the person was never shown it.
    """

    program: ProgramName
    application: Identifier
    result: Result


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
    """One concrete set of changes. ``cost`` is in the unit of the program's cost function (dimensionless for l1)."""

    candidate: str
    changes: tuple[Change, ...]
    cost: float
    execution_probability: float
    propensity: float


class Recourse(Struct, frozen=True, gc=False, tag_field="kind", tag="recourse"):
    """A way forward for one rejected application. ``step`` counts the program shard's answers from 0;
    ``policy_version`` changes with everything that makes the policy pick as it does, but for what it has learned."""

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


class NoRecourse(Struct, frozen=True, gc=False, tag_field="kind", tag="none"):
    """A rejected application for which no candidate is feasible, with the rule that excluded the last ones."""

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


class Reward(Struct, frozen=True, gc=False):
    """A fate. ``rewarded``, ``censored`` and ``unseen`` close a recourse, exactly once each; ``late`` and
    ``dangling`` tell what became of an outcome that could not count any more, or never could."""

    program: str
    shard: int
    application: str
    fate: Fate
    reward: float | None = None
    step: int | None = None
    candidate: str | None = None
    outcome: str | None = None


class DeadLetter(Struct, frozen=True, gc=False):
    """A record that Onward could not use: why, where it stood, and its original bytes (base64 in JSON).

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
    """How far one input partition has been read, in event time. ``time_ms`` is None while it is not known."""

    topic: str
    partition: Int64
    time_ms: Milliseconds | None


class Tick(Struct, frozen=True, gc=False):
    """Event time passing in input partitions that have nothing to read (appended to the journal by ingest)."""

    sources: tuple[SourcePosition, ...]


class Journaled(Struct, frozen=True, gc=False, omit_defaults=True):
    """One event as a line of a journal record, which is an array of them.

    ``time`` is the event time, ``timestamp`` that of the input's Kafka record, both in milliseconds since the epoch.
    ``topic``, ``partition`` and ``offset`` say where it was read; ticks were read nowhere. ``data`` is the event's own
    JSON, as it was sent.
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


Input = Application | Decision | Outcome | Model
Output = Recourse | NoRecourse | Reward | DeadLetter
