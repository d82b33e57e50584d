"""What must come of the inputs, told by the input and output topics alone: nothing of the engine is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from onward.schemas.events import Application, DeadLetter, Decision, NoRecourse, Outcome, Recourse, Reward
from onward.streams.programs.program import Program
from onward.streams.records import Record
from onward.streams.topics import Topics

POISON = b"poison"
"""How the key of a record begins that can only become a dead letter."""
CLOSING = ("rewarded", "censored", "unseen")

_application = msgspec.json.Decoder(Application).decode
_decision = msgspec.json.Decoder(Decision).decode
_outcome = msgspec.json.Decoder(Outcome).decode
_answer = msgspec.json.Decoder(Recourse | NoRecourse).decode
_reward = msgspec.json.Decoder(Reward).decode
_letter = msgspec.json.Decoder(DeadLetter).decode


class Place(NamedTuple):
    """Where a record stands."""

    topic: str
    partition: int
    offset: int


class Told(NamedTuple):
    """An outcome: of which answer, and where it was sent."""

    answer: str
    places: set[Place]


@dataclass
class Demands:
    """What the inputs ask for. An answer is named as its event is, an outcome by its ``ce_id``.

    ``answers`` are owed to the rejected; with each stand the places of what was sent for it.
    """

    answers: Mapping[str, set[Place]]
    outcomes: Mapping[str, Told]
    poison: set[Place]


@dataclass
class Met:
    """What has come, and what has not: the names in ``missing``. ``refused`` are answers that became dead letters."""

    missing: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)


def demands_of(programs: Mapping[str, Program], topics: Topics, inputs: Iterable[Record]) -> Demands:
    """Read the inputs, and the journal for what others may have written into it."""
    applied: dict[str, dict[str, Application]] = defaultdict(dict)
    rejected: set[str] = set()
    places: dict[str, set[Place]] = defaultdict(set)
    outcomes: dict[str, Told] = {}
    poison: set[Place] = set()
    for record in inputs:
        place, value = Place(record.topic, record.partition, record.offset), record.value or b""
        if (record.key or b"").startswith(POISON):
            poison.add(place)
        elif record.topic == topics.applications:
            application = _application(value)
            applied[application.program][application.application] = application
            places[_answer_to(application)].add(place)
        elif record.topic == topics.decisions:
            decision = _decision(value)
            if programs[decision.program].spec.decisions == "external":
                places[_answer_to(decision)].add(place)
                if not decision.approved:
                    rejected.add(_answer_to(decision))
        elif record.topic == topics.outcomes:
            outcome = _outcome(value)
            identity = dict(record.headers)["ce_id"].decode()
            outcomes.setdefault(identity, Told(_answer_to(outcome), set())).places.add(place)
    for name, people in applied.items():
        if programs[name].spec.decisions == "model":
            rejected |= _rejected(programs[name], list(people.values()))
    return Demands({identity: places[identity] for identity in sorted(rejected)}, outcomes, poison)


def met(demands: Demands, topics: Topics, outputs: Iterable[Record]) -> Met:
    """Compare with what has been published."""
    answers: dict[str, Recourse | NoRecourse] = {}
    steps: dict[tuple[str, int], int] = defaultdict(int)
    closed: set[str] = set()
    told: set[str] = set()
    letters: set[Place] = set()
    for record in outputs:
        value = record.value or b""
        if record.topic == topics.recourse:
            answer = _answer(value)
            answers[_answer_to(answer)] = answer
            steps[answer.program, answer.shard] = max(answer.step, steps[answer.program, answer.shard])
        elif record.topic == topics.rewards:
            reward = _reward(value)
            told.add(reward.outcome or "")
            if reward.fate in CLOSING:
                closed.add(_answer_to(reward))
        else:
            letter = _letter(value)
            letters.add(Place(letter.topic, letter.partition, letter.offset))
    found = Met({_letter_of(place) for place in demands.poison - letters})
    for identity, places in demands.answers.items():
        if identity not in answers:
            (found.refused if places & letters else found.missing).add(identity)
    found.missing |= {
        f"outcome/{identity}"
        for identity, outcome in demands.outcomes.items()
        if outcome.answer in answers and identity not in told and not outcome.places & letters
    }
    found.missing |= {
        f"reward/{answer.program}/{answer.application}"
        for identity, answer in answers.items()
        if isinstance(answer, Recourse) and identity not in closed and _must_be_closed(answer, steps)
    }
    return found


def _rejected(program: Program, people: list[Application]) -> set[str]:
    scores = program.bundle.model.score(program.codec.encode_many([person.features for person in people]))
    approved = program.approves(scores)
    return {_answer_to(person) for person, good in zip(people, approved, strict=True) if not good}


def _must_be_closed(recourse: Recourse, steps: Mapping[tuple[str, int], int]) -> bool:
    """A window of event time is over when the suite looks: it waits for that. One of steps may still be open."""
    if recourse.closes_after_steps is None:
        return True
    return steps[recourse.program, recourse.shard] >= recourse.step + recourse.closes_after_steps


def _answer_to(event: Application | Decision | Outcome | Recourse | NoRecourse | Reward) -> str:
    return f"recourse/{event.program}/{event.application}"


def _letter_of(place: Place) -> str:
    return f"dead-letter/{place.topic}/{place.partition}/{place.offset}"
