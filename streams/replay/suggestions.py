"""Suggestions without Kafka: the answers that a worker with a fresh learner would publish to people of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from msgspec import Raw, Struct

from ...schemas.events import Decision, NoRecourse, RawApplication, Recourse, Value
from ...schemas.kinds import kinds
from ..engine.assessment import NO_SCORE
from ..engine.process import footprint, process
from ..engine.timing.watermark import required_topics
from ..errors import ModelError, UsageError
from ..journal.entries import CaseKey, Entry, JournalPosition
from ..ledger.ledger import Ledger
from ..programs.program import Program
from ..topics import Topics

PORTION_PEOPLE = 100
"""People who are scored together."""

LIMITED_PLACES = (
    "program {!r} has limited places (goal: {}), so who is rejected and which score wins a place is known only when a "
    "round is closed: give a copy of the spec without `capacity`, with `policy: {{goal: threshold, margin: 0}}` and "
    "with the score to reach as `model.threshold`"
)

Features = Mapping[str, Value | None]
_encode = msgspec.json.Encoder().encode


def suggest(program: Program, people: Mapping[str, Features], time_ms: int) -> Iterator[Recourse | NoRecourse]:
    """The answers to those people whom the program's model rejects, in their order.

    ``people`` are raw features by the name of the application; they must have passed the codec's check. Who is approved
    gets no answer. All of them apply at ``time_ms``, each to a learner that has seen nobody: an answer does not depend
    on the other people. Raise ``UsageError`` for a program whose places are limited: its answers depend on them.
    """
    if program.closes_rounds:
        raise UsageError(LIMITED_PLACES.format(program.name, program.spec.policy.goal))
    return _answers(program, people, time_ms)


def _answers(program: Program, people: Mapping[str, Features], time_ms: int) -> Iterator[Recourse | NoRecourse]:
    with TemporaryDirectory(prefix="onward-") as folder, Ledger(Path(folder) / "ledger.sqlite", "suggest", 0) as ledger:
        state = ledger.load({program.name: program}, required_topics(Topics()), waiting_limit=1)
        state.asks = False
        everybody = list(people.items())
        for start in range(0, len(everybody), PORTION_PEOPLE):
            portion = everybody[start : start + PORTION_PEOPLE]
            for name, features in _rejected(program, portion):
                entries = list(_entries(program, name, features, state.offset, time_ms))
                effects = process(state, entries, ledger.view(state, footprint(entries), {}))
                ledger.commit(state, effects)
                state.shards.clear()
                for emission in effects.emissions:
                    if emission.struct in (Recourse, NoRecourse):
                        yield emission.event


def _rejected(program: Program, portion: Sequence[tuple[str, Features]]) -> Iterator[tuple[str, Features]]:
    scores = program.bundle.model.score(program.codec.encode_many([features for _, features in portion]))
    for (name, _), score in zip(portion, scores.tolist(), strict=True):
        if isnan(score):
            raise ModelError(f"{name}: {NO_SCORE.detail}")
    return (portion[index] for index in np.flatnonzero(~program.approves(scores)).tolist())


def _entries(program: Program, name: str, features: Features, offset: int, time_ms: int) -> Iterator[Entry]:
    """The journal of an application, with its decision where the program has them from elsewhere."""
    events: list[Struct] = [RawApplication(program.name, name, Raw(_encode(features)))]
    if program.spec.decisions == "external":
        events.append(Decision(program.name, name, approved=False))
    for line, event in enumerate(events):
        kind, position = kinds.by_struct[type(event)], JournalPosition(offset, line)
        key, raw = CaseKey(program.name, name), Raw(_encode(event))
        yield Entry(position, key, time_ms, f"{kind.name}/{name}", time_ms, None, 0, kind, event, raw)
