"""Applicants, the decisions on them, their answers and outcomes. The same seed draws the same applicants."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET

from onward.schemas.events import Acted, Answer, Application, Decision, Model, Outcome, RawSpec, Result
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.records import Headers
from onward.streams.topics import Topics
from onward.tests.support.programs import POLICIES, features

OUTCOME_SECONDS = (0.2, 3.5)
"""Delay of an outcome after its application: some come before a window closes, some after."""
_RESULTS: Sequence[Result | None] = ("improved", "improved", "improved", "not_improved", "unseen", None, None)
_PICKS = ("1", "1", "2", "3", "9", None)
"""What people say that they would take; not all have so many options."""
_CHANGED_SHARE = 0.3
_RETURNING_SHARE = 0.3
_TURNS_AN_ANNOUNCEMENT = 20
_TURNS_AN_ASKED = 10
"""Plans are dear: only every so many turns have an applicant who is asked about some."""
_TURNS_AWAY = 20, 180
"""How many turns before it the earlier application of somebody who comes back was sent."""
_ACTED_SHARE = 0.4
_REPEATED_SHARE, _SECOND_SHARE, _NOBODY_SHARE, _APPROVED_SHARE = 0.05, 0.03, 0.03, 0.2


class InputRecord(NamedTuple):
    """A record for an input topic. ``value`` None is a tombstone; ``partition`` None leaves it to the key."""

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
    """Return the ``ce_id`` of any record; empty without one."""
    return dict(headers).get("ce_id", b"").decode(errors="replace")


class PlannedEvent(NamedTuple):
    """An event, and how many seconds after its applicant's turn it is sent."""

    seconds: float
    topic: str
    event: Application | Decision | Answer | Acted | Outcome | Model | RawSpec
    id: str

    def record(self, time_ms: int) -> InputRecord:
        """Make the record as it is sent at ``time_ms``."""
        headers = cloud_event_headers(self.id, "faults", ce_type(self.event), time_ms)
        key = self.event.program if isinstance(self.event, (Model, RawSpec)) else self.event.application
        return InputRecord(self.topic, key.encode(), msgspec.json.encode(self.event), headers)


def applicant_turns(
    topics: Topics, random: np.random.Generator, announced: Sequence[Model | RawSpec] = ()
) -> Iterator[list[PlannedEvent]]:
    """Yield turns without end. A turn has one applicant of every program, but seldom of one that asks: application,
    external decision, answers, outcomes.

    Now and then one of ``announced`` is sent, in turn: a new model of a program, or a changed spec.
    """
    for number in itertools.count():
        programs = [name for name in POLICIES if not (_asks(name) and number % _TURNS_AN_ASKED)]
        turn = [planned for program in programs for planned in _planned(topics, random, program, number)]
        if announced and number % _TURNS_AN_ANNOUNCEMENT == _TURNS_AN_ANNOUNCEMENT - 1:
            times = number // _TURNS_AN_ANNOUNCEMENT
            event = announced[times % len(announced)]
            topic = topics.models if isinstance(event, Model) else topics.specs
            turn.append(PlannedEvent(0.0, topic, event, f"announced/{times}"))
        yield turn


def _asks(program: str) -> bool:
    return "elicitation" in POLICIES[program]


def _returning(application: Application, random: np.random.Generator, number: int) -> Application:
    """Let an applicant come back some turns after an earlier application, with a higher income."""
    earlier = max(0, number - int(random.integers(*_TURNS_AWAY)))
    better = {**application.features, "income": float(random.integers(50, 101))}
    return msgspec.structs.replace(application, previous=f"p{earlier}", applicant=_applicant(earlier), features=better)


def _applicant(number: int) -> str:
    return f"person {number}"


def _answers(topics: Topics, random: np.random.Generator, program: str, number: int) -> list[PlannedEvent]:
    """What an applicant would take; some change their mind, and some answers come after the window.

    Who is asked answers the first questions, whether they come or not, and some after the deadline.
    """
    questions = (1, 2) if _asks(program) else (UNSET,)
    return [
        PlannedEvent(
            float(random.uniform(*OUTCOME_SECONDS)),
            topics.answers,
            Answer(program, f"p{number}", _PICKS[int(random.integers(len(_PICKS)))], question),
            f"{program}/s/{number}/{question or 0}/{time}",
        )
        for question in questions
        for time in range(1 + int(random.random() < _CHANGED_SHARE))
    ]


def _acting(topics: Topics, random: np.random.Generator, program: str, number: int) -> list[PlannedEvent]:
    """That an applicant has carried an option out: some events are sent twice, some name none, some come late."""
    if random.random() > _ACTED_SHARE:
        return []
    option = _PICKS[int(random.integers(len(_PICKS)))]
    seconds = float(random.uniform(*OUTCOME_SECONDS))
    acted = PlannedEvent(seconds, topics.acted, Acted(program, f"p{number}", option), f"{program}/t/{number}")
    return [acted] * (1 + int(random.random() < _REPEATED_SHARE))


def _in_stages(program: str) -> bool:
    return "acted" in POLICIES[program]["policy"]["window"]


def _comes_back(program: str) -> bool:
    return bool({"capacity", "promise"} & POLICIES[program].keys()) or _in_stages(program)


def _planned(topics: Topics, random: np.random.Generator, program: str, number: int) -> list[PlannedEvent]:
    name = f"p{number}"
    application = Application(program, name, features(random), _applicant(number))
    if _comes_back(program) and random.random() < _RETURNING_SHARE:
        application = _returning(application, random, number)
    planned = [PlannedEvent(0.0, topics.applications, application, f"{program}/a/{number}")]
    if "decisions" in POLICIES[program]:
        decision = Decision(program, name, bool(random.random() < _APPROVED_SHARE))
        planned.append(PlannedEvent(0.0, topics.decisions, decision, f"{program}/d/{number}"))
    if "cost" in POLICIES[program]["policy"]:
        planned += _answers(topics, random, program, number)
    if _in_stages(program):
        planned += _acting(topics, random, program, number)
    result = _RESULTS[int(random.integers(len(_RESULTS)))]
    seconds = float(random.uniform(*OUTCOME_SECONDS))
    if result is not None:
        applicant = f"nobody{number}" if random.random() < _NOBODY_SHARE else name
        event = Outcome(program, applicant, result)
        if _in_stages(program) and result == "not_improved":
            event = msgspec.structs.replace(event, acted=bool(random.random() < _ACTED_SHARE))
        outcome = PlannedEvent(seconds, topics.outcomes, event, f"{program}/o/{number}")
        planned.append(outcome)
        if random.random() < _REPEATED_SHARE:
            planned.append(outcome._replace(seconds=seconds + 1.0))
        if random.random() < _SECOND_SHARE:
            planned.append(outcome._replace(seconds=seconds + 1.0, id=f"{program}/o/{number}/second"))
    return planned
