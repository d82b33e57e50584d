"""The outputs that the inputs require, derived from the topics alone, without the engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from onward.schemas.events import (
    Application,
    DeadLetter,
    Decision,
    Erased,
    Erasure,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    Recourse,
    Revalidation,
    Reward,
    Threshold,
)
from onward.schemas.kinds import ce_type
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key
from onward.streams.programs.program import Program
from onward.streams.records import Record
from onward.streams.topics import Topics

ANSWER = "recourse/"
"""Before program and application it names the answer."""
POISON = b"poison"
"""Prefix of the key of every record that can only become a dead letter."""
CLOSING = ("rewarded", "censored", "unseen")
"""Fates that close a recourse."""

_RECEIPT = ce_type(Erased).encode()

_application = msgspec.json.Decoder(Application).decode
_decision = msgspec.json.Decoder(Decision).decode
_outcome = msgspec.json.Decoder(Outcome).decode
_erasure = msgspec.json.Decoder(Erasure).decode
_answer = msgspec.json.Decoder(Recourse | NoRecourse).decode
_reward = msgspec.json.Decoder(Reward).decode
_model_decision = msgspec.json.Decoder(ModelDecision).decode
_threshold = msgspec.json.Decoder(Threshold).decode
_promise = msgspec.json.Decoder(PromiseChange | Revalidation).decode
_dead_letter = msgspec.json.Decoder(DeadLetter).decode

AboutACase = Application | Decision | Outcome | Recourse | NoRecourse | Reward | ModelDecision | PromiseChange


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
    ``decided`` has one for each applicant of a program that decides by its own model, whose decision is published.
    What is about ``erased`` people, by the name of their answer, is not required. Each erasure has ``receipts``.
    """

    answers: Mapping[str, set[RecordPosition]]
    decided: Mapping[str, set[RecordPosition]]
    outcomes: Mapping[str, SentOutcome]
    poison: set[RecordPosition]
    erased: set[str]
    receipts: set[str]


@dataclass
class ObservedOutputs:
    """The names of required outputs that are ``missing``, and of those ``refused`` the reason of the dead letter."""

    missing: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)

    def lack(self, name: str, positions: set[RecordPosition], dead_letters: Mapping[RecordPosition, str]) -> None:
        """Note an output that is not there, due for the inputs at these positions."""
        reasons = sorted({dead_letters[position] for position in positions & dead_letters.keys()})
        if reasons:
            self.refused[name] = ", ".join(reasons)
        else:
            self.missing.add(name)


def expected_outputs(
    programs: Mapping[str, Program], topics: Topics, inputs: Iterable[Record], width: int = 1
) -> ExpectedOutputs:
    """Derive the required outputs from the input topics, and from foreign records in the journal.

    ``width`` is the journal's number of partitions.
    """
    applied: dict[str, dict[str, Application]] = defaultdict(dict)
    rejected: set[str] = set()
    positions: dict[str, set[RecordPosition]] = defaultdict(set)
    outcomes: dict[str, SentOutcome] = {}
    poison: set[RecordPosition] = set()
    erasures: dict[RecordPosition, Erasure] = {}
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
        elif record.topic == topics.erasures:
            erasures[position] = _erasure(value)
    decided: set[str] = set()
    for name, applications in applied.items():
        if programs[name].spec.decisions == "model":
            decided |= {_answer_to(application) for application in applications.values()}
        if programs[name].spec.decisions == "model" and not programs[name].closes_rounds:
            rejected |= _rejected(programs[name], list(applications.values()))
    erased = set().union(*(_erased(event, applied[event.program]) for event in erasures.values()))
    return ExpectedOutputs(
        {identity: positions[identity] for identity in sorted(rejected - erased)},
        {identity: positions[identity] for identity in sorted(decided - erased)},
        {identity: one for identity, one in outcomes.items() if one.answer not in erased},
        poison,
        erased,
        {
            f"erased/{at.topic}/{at.partition}/{at.offset}/{partition_of(journal_key(event.program, shard), width)}"
            for at, event in erasures.items()
            for shard in range(programs[event.program].spec.shards)
        },
    )


def observe_outputs(expected: ExpectedOutputs, topics: Topics, outputs: Iterable[Record]) -> ObservedOutputs:
    """Compare the required outputs with the published ones."""
    answers: dict[str, Recourse | NoRecourse] = {}
    steps: dict[tuple[str, int], int] = defaultdict(int)
    closed: set[str] = set()
    rewarded_outcomes: set[str] = set()
    dead_letters: dict[RecordPosition, str] = {}
    receipts: set[str] = set()
    promised = ObservedPromises(expected.erased)
    for record in outputs:
        value = record.value or b""
        if record.topic == topics.recourse:
            answer = _answer(value)
            if isinstance(answer, Recourse):
                promised.open(record, answer)
                if answer.is_revision:
                    continue
            answers[_answer_to(answer)] = answer
            steps[answer.program, answer.shard] = max(answer.step, steps[answer.program, answer.shard])
        elif record.topic == topics.rewards and dict(record.headers)["ce_type"] == _RECEIPT:
            receipts.add(dict(record.headers)["ce_id"].decode())
        elif record.topic == topics.rewards:
            reward = _reward(value)
            rewarded_outcomes.add(reward.outcome or "")
            if reward.fate in CLOSING:
                closed.add(_answer_to(reward))
        elif record.topic == topics.dead_letters:
            letter = _dead_letter(value)
            last = letter.offset if letter.last_offset is msgspec.UNSET else letter.last_offset
            every = range(letter.offset, last + 1)
            at = (RecordPosition(letter.topic, letter.partition, offset) for offset in every)
            dead_letters |= dict.fromkeys(at, letter.reason)
        elif record.topic not in (topics.increments, topics.questions):
            promised.add(record, topics)
    required = {**expected.answers, **{one: expected.decided.get(one, set()) for one in promised.rejected}}
    observed = ObservedOutputs({_dead_letter_name(position) for position in expected.poison - dead_letters.keys()})
    observed.missing |= expected.receipts - receipts
    for identity, positions in required.items():
        if identity not in answers:
            observed.lack(identity, positions, dead_letters)
    for identity, positions in expected.decided.items():
        if identity not in promised.decisions:
            name = f"model-decision/{identity.removeprefix(ANSWER)}"
            observed.lack(name, positions, dead_letters)
    observed.missing |= promised.faults(answers)
    observed.missing |= promised.open_options
    observed.missing |= {
        f"outcome/{identity}"
        for identity, outcome in expected.outcomes.items()
        if outcome.answer in answers
        and identity not in rewarded_outcomes
        and not outcome.positions & dead_letters.keys()
    }
    observed.missing |= {
        f"reward/{answer.program}/{answer.application}"
        for identity, answer in answers.items()
        if isinstance(answer, Recourse) and identity not in closed | expected.erased and _must_be_closed(answer, steps)
    }
    return observed


@dataclass
class ObservedPromises:
    """What was published of decisions, rounds and promises: decisions by application, closed rounds, ended promises.

    ``opened`` and ``ended`` are the options of each event that opens or ends some, with the name of the answer.
    Of ``erased`` people nothing more is published.
    """

    erased: set[str] = field(default_factory=set)
    decisions: dict[str, ModelDecision] = field(default_factory=dict)
    thresholds: dict[tuple[str, int], Threshold] = field(default_factory=dict)
    promises: dict[str, PromiseChange] = field(default_factory=dict)
    opened: dict[bytes, list[tuple[str, str]]] = field(default_factory=dict)
    ended: dict[bytes, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, record: Record, topics: Topics) -> None:
        """Read an output of a round."""
        value = record.value or b""
        if record.topic == topics.model_decisions:
            decision = _model_decision(value)
            self.decisions[_answer_to(decision)] = decision
        elif record.topic == topics.thresholds:
            threshold = _threshold(value)
            self.thresholds[threshold.program, threshold.round] = threshold
        else:
            promise = _promise(value)
            if isinstance(promise, PromiseChange):
                self.promises[_answer_to(promise)] = promise
                name = dict(record.headers)["ce_id"]
                self.ended[name] = [(_answer_to(promise), id) for id in promise.options or ()]

    @property
    def rejected(self) -> set[str]:
        """Who was rejected, and must have an answer."""
        rejected = {identity for identity, decision in self.decisions.items() if not decision.approved}
        return rejected - self.erased

    def faults(self, answers: Mapping[str, Recourse | NoRecourse]) -> set[str]:
        """Rounds with more approved than places or without a threshold, and promises that have not ended."""
        approved = Counter(
            (one.program, one.round) for one in self.decisions.values() if one.approved and isinstance(one.round, int)
        )
        found = {f"threshold of {at}" for at in approved if at not in self.thresholds}
        found |= {f"places of {at}" for at, one in self.thresholds.items() if approved[at] > one.places}
        return found | {
            f"promise/{identity}"
            for identity, answer in answers.items()
            if answer.until_round is not UNSET and identity not in self.promises.keys() | self.erased
        }

    def open(self, record: Record, answer: Recourse) -> None:
        """Read an answer, whose options may be promised."""
        promised = [(_answer_to(answer), option.id) for option in answer.options if option.status == "open"]
        self.opened[dict(record.headers)["ce_id"]] = promised

    @property
    def open_options(self) -> set[str]:
        """Promised options that have not ended as often as they were opened."""
        opened, ended = (Counter(chain.from_iterable(one.values())) for one in (self.opened, self.ended))
        return {f"end of option {id} of {identity}" for identity, id in opened - ended if identity not in self.erased}


def _rejected(program: Program, applications: list[Application]) -> set[str]:
    features = program.codec.encode_many([application.features for application in applications])
    approved = program.approves(program.bundle.model.score(features))
    return {_answer_to(one) for one, is_approved in zip(applications, approved, strict=True) if not is_approved}


def _erased(event: Erasure, applied: Mapping[str, Application]) -> set[str]:
    """Whose answers are not required. What an erased applicant sends later may still be answered."""
    applications = {
        name for name, one in applied.items() if one.applicant is not None and one.applicant == event.applicant
    }
    return {f"{ANSWER}{event.program}/{name}" for name in applications | set(filter(None, [event.application]))}


def _must_be_closed(recourse: Recourse, steps: Mapping[tuple[str, int], int]) -> bool:
    """Return whether the window has ended. Windows of event time always have: the suite waits until they do."""
    if recourse.closes_after_steps is None:
        return True
    return steps[recourse.program, recourse.shard] >= recourse.step + recourse.closes_after_steps


def _answer_to(event: AboutACase) -> str:
    return f"{ANSWER}{event.program}/{event.application}"


def _dead_letter_name(position: RecordPosition) -> str:
    return f"dead-letter/{position.topic}/{position.partition}/{position.offset}"
