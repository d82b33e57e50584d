"""Who applies, what is decided and what becomes of it: the same seed gives the same people."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from onward.faults.programs import POLICIES, person
from onward.schemas.events import Application, Decision, Outcome, Result
from onward.schemas.headers import TYPES, cloud_event_headers
from onward.streams.records import Headers
from onward.streams.topics import Topics

OUTCOME_SECONDS = (0.2, 3.5)
"""How long after the application an outcome may come: before and after windows close."""
_RESULTS: Sequence[Result | None] = ("improved", "improved", "improved", "not_improved", "unseen", None, None)
_REPEATED_SHARE, _SECOND_SHARE, _NOBODY_SHARE, _APPROVED_SHARE = 0.05, 0.03, 0.03, 0.2


class Sent(NamedTuple):
    """A record for an input topic; ``value`` None is a tombstone, ``partition`` None leaves it to the key."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int | None = None

    @property
    def identity(self) -> str:
        """Its ``ce_id``."""
        return identity_of(self.headers)


def identity_of(headers: Headers) -> str:
    """The ``ce_id`` of a record, whatever it is; empty without one."""
    return dict(headers).get("ce_id", b"").decode(errors="replace")


class Planned(NamedTuple):
    """What is to be sent about somebody, and how many seconds after their turn."""

    seconds: float
    topic: str
    event: Application | Decision | Outcome
    id: str

    def record(self, time_ms: int) -> Sent:
        """As it is sent now."""
        headers = cloud_event_headers(self.id, "faults", TYPES[type(self.event)], time_ms)
        return Sent(self.topic, self.event.application.encode(), msgspec.json.encode(self.event), headers)


def everybody(topics: Topics, random: np.random.Generator) -> Iterator[list[Planned]]:
    """Turn after turn, one person of every program: application, decision where it comes from outside, outcomes."""
    for number in itertools.count():
        yield [planned for program in POLICIES for planned in _planned(topics, random, program, number)]


def _planned(topics: Topics, random: np.random.Generator, program: str, number: int) -> list[Planned]:
    name = f"p{number}"
    application = Application(program, name, person(random))
    planned = [Planned(0.0, topics.applications, application, f"{program}/a/{number}")]
    if "decisions" in POLICIES[program]:
        decision = Decision(program, name, bool(random.random() < _APPROVED_SHARE))
        planned.append(Planned(0.0, topics.decisions, decision, f"{program}/d/{number}"))
    result = _RESULTS[int(random.integers(len(_RESULTS)))]
    seconds = float(random.uniform(*OUTCOME_SECONDS))
    if result is not None:
        about = f"nobody{number}" if random.random() < _NOBODY_SHARE else name
        outcome = Planned(seconds, topics.outcomes, Outcome(program, about, result), f"{program}/o/{number}")
        planned.append(outcome)
        if random.random() < _REPEATED_SHARE:
            planned.append(outcome._replace(seconds=seconds + 1.0))
        if random.random() < _SECOND_SHARE:
            planned.append(outcome._replace(seconds=seconds + 1.0, id=f"{program}/o/{number}/second"))
    return planned
