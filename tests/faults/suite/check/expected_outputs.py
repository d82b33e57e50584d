"""The outputs that the inputs require, derived from the topics alone, without the engine."""

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
"""Prefix of the key of every record that can only become a dead letter."""
CLOSING = ("rewarded", "censored", "unseen")
"""Fates that close a recourse."""

_application = msgspec.json.Decoder(Application).decode
_decision = msgspec.json.Decoder(Decision).decode
_outcome = msgspec.json.Decoder(Outcome).decode
_answer = msgspec.json.Decoder(Recourse | NoRecourse).decode
_reward = msgspec.json.Decoder(Reward).decode
_dead_letter = msgspec.json.Decoder(DeadLetter).decode


class RecordPosition(NamedTuple):
    """The position of a record in its topic."""

    topic: str
    partition: int
    offset: int


class SentOutcome(NamedTuple):
    """An outcome: the answer that it refers to, and the positions at which it was sent."""

    answer: str
    positions: set[RecordPosition]


@dataclass
class ExpectedOutputs:
    """The outputs that the inputs require. Answers are named by the ``ce_id`` of their event, outcomes by their own.

    ``answers`` has one entry for each rejected applicant: the positions of the records that were sent for it.
    """

    answers: Mapping[str, set[RecordPosition]]
    outcomes: Mapping[str, SentOutcome]
    poison: set[RecordPosition]


@dataclass
class ObservedOutputs:
    """The names of required outputs that are ``missing``, and of answers that became dead letters (``refused``)."""

    missing: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)


def expected_outputs(programs: Mapping[str, Program], topics: Topics, inputs: Iterable[Record]) -> ExpectedOutputs:
    """Derive the required outputs from the input topics, and from foreign records in the journal."""
    applied: dict[str, dict[str, Application]] = defaultdict(dict)
    rejected: set[str] = set()
    positions: dict[str, set[RecordPosition]] = defaultdict(set)
    outcomes: dict[str, SentOutcome] = {}
    poison: set[RecordPosition] = set()
    for record in inputs:
        position, value = RecordPosition(record.topic, record.partition, record.offset), record.value or b""
        if (record.key or b"").startswith(POISON):
            poison.add(position)
        elif record.topic == topics.applications:
            application = _application(value)
            applied[application.program][application.application] = application
            positions[_answer_to(application)].add(position)
        elif record.topic == topics.decisions:
            decision = _decision(value)
            if programs[decision.program].spec.decisions == "external":
                positions[_answer_to(decision)].add(position)
                if not decision.approved:
                    rejected.add(_answer_to(decision))
        elif record.topic == topics.outcomes:
            outcome = _outcome(value)
            identity = dict(record.headers)["ce_id"].decode()
            outcomes.setdefault(identity, SentOutcome(_answer_to(outcome), set())).positions.add(position)
    for name, applications in applied.items():
        if programs[name].spec.decisions == "model":
            rejected |= _rejected(programs[name], list(applications.values()))
    return ExpectedOutputs({identity: positions[identity] for identity in sorted(rejected)}, outcomes, poison)


def observe_outputs(expected: ExpectedOutputs, topics: Topics, outputs: Iterable[Record]) -> ObservedOutputs:
    """Compare the required outputs with the published ones."""
    answers: dict[str, Recourse | NoRecourse] = {}
    steps: dict[tuple[str, int], int] = defaultdict(int)
    closed: set[str] = set()
    rewarded_outcomes: set[str] = set()
    dead_letters: set[RecordPosition] = set()
    for record in outputs:
        value = record.value or b""
        if record.topic == topics.recourse:
            answer = _answer(value)
            answers[_answer_to(answer)] = answer
            steps[answer.program, answer.shard] = max(answer.step, steps[answer.program, answer.shard])
        elif record.topic == topics.rewards:
            reward = _reward(value)
            rewarded_outcomes.add(reward.outcome or "")
            if reward.fate in CLOSING:
                closed.add(_answer_to(reward))
        else:
            letter = _dead_letter(value)
            dead_letters.add(RecordPosition(letter.topic, letter.partition, letter.offset))
    observed = ObservedOutputs({_dead_letter_name(position) for position in expected.poison - dead_letters})
    for identity, positions in expected.answers.items():
        if identity not in answers:
            (observed.refused if positions & dead_letters else observed.missing).add(identity)
    observed.missing |= {
        f"outcome/{identity}"
        for identity, outcome in expected.outcomes.items()
        if outcome.answer in answers and identity not in rewarded_outcomes and not outcome.positions & dead_letters
    }
    observed.missing |= {
        f"reward/{answer.program}/{answer.application}"
        for identity, answer in answers.items()
        if isinstance(answer, Recourse) and identity not in closed and _must_be_closed(answer, steps)
    }
    return observed


def _rejected(program: Program, applications: list[Application]) -> set[str]:
    features = program.codec.encode_many([application.features for application in applications])
    approved = program.approves(program.bundle.model.score(features))
    return {_answer_to(one) for one, is_approved in zip(applications, approved, strict=True) if not is_approved}


def _must_be_closed(recourse: Recourse, steps: Mapping[tuple[str, int], int]) -> bool:
    """Return whether the window has ended. Windows of event time always have: the suite waits until they do."""
    if recourse.closes_after_steps is None:
        return True
    return steps[recourse.program, recourse.shard] >= recourse.step + recourse.closes_after_steps


def _answer_to(event: Application | Decision | Outcome | Recourse | NoRecourse | Reward) -> str:
    return f"recourse/{event.program}/{event.application}"


def _dead_letter_name(position: RecordPosition) -> str:
    return f"dead-letter/{position.topic}/{position.partition}/{position.offset}"
