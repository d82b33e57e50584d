"""The contract of inputs as laws: what the engine makes of events of a kind of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct, structs

from ...schemas.events import Erasure
from ...schemas.kinds import kinds
from ...streams.engine.handlers import handlers
from ...streams.worker.stages import Stage
from ..laws import BreachError, Contract, require
from ..ledger import rows
from ..tape import MINUTE_MS, Tape
from .story import LATER_MS, CrashError, Input, require_same, restarts

READ = 'INSERT INTO "meta"', 'INSERT INTO "sources"'
"""The rows of a ledger that say how far it has read."""

INPUT: Contract[Input] = Contract()
"""The laws of every input."""


def check_input(
    event: Struct, *, before: Callable[[Tape, Any], None] | None = None, program: Mapping[str, Any] | None = None
) -> None:
    """Check every law of inputs with an example of an event; raise ``ContractError`` at the first that is broken.

    ``before`` ingests what comes before an event: by default its application, if it is about a case. ``program`` has
    options of ``build_program``; its name is the event's, and people have 30 minutes for an outcome.
    """
    INPUT.hold(type(event).__name__, Input(event, before or _applies, program or {}, restarts()))


def _applies(tape: Tape, event: Any) -> None:
    if kinds.by_struct[type(event)].about == "case":
        tape.applies(event.application, program=event.program)


@INPUT.law()
def its_kind_is_in_the_table(given: Input) -> None:
    """A kind of events has a frozen struct, a topic and a handler, and its events name what they are about."""
    struct = type(given.event)
    require(struct in kinds.by_struct, f"no kind has the struct {struct.__name__}: `kinds.add` adds one")
    kind = given.kind
    require(kind.flow == "input", f"the flow of {kind.name} is {kind.flow}")
    require(kind.topic, f"{kind.name} has no topic")
    require(kind.name in handlers, f"no handler is of the kind {kind.name}: `handlers.add` adds one")
    require(struct.__struct_config__.frozen, f"{struct.__name__} is not frozen")
    named = {"case": {"program", "application"}, "program": {"program"}, "person": {"program"}}
    require(kind.about in named, f"{kind.name} is about {kind.about}: say `case`, `program` or `person`")
    missing = named[str(kind.about)] - set(struct.__struct_fields__)
    require(not missing, f"{struct.__name__} has no {' and '.join(sorted(missing))}")


@INPUT.law()
def its_json_is_read_back(given: Input) -> None:
    """The JSON of an event is read back as the same event, has a schema, and a required field may not be missing."""
    body = msgspec.json.encode(given.event)
    found = given.kind.decode(body)
    require(found == given.event, f"{body.decode()} is read as {found}")
    msgspec.json.schema(type(given.event))
    first = msgspec.json.decode(body)
    name = next(iter(first))
    try:
        given.kind.decode(msgspec.json.encode({key: value for key, value in first.items() if key != name}))
    except msgspec.ValidationError:
        return
    raise BreachError(f"it is read without its first field, {name}")


@INPUT.law()
def it_has_an_effect(given: Input) -> None:
    """An event changes the ledger or what is published, and is not refused where what it waits for has come."""
    with given.story() as tape:
        given.before(tape, given.event)
        without = given.played(tape)
    found = given.plays()
    require(not found.refused, f"it is a dead letter, {' and '.join(found.refused)}")
    changed = [line for line in {*found.ledger} ^ {*without.ledger} if not line.startswith(READ)]
    require(changed or found.events != without.events, "the ledger and the outputs are as without it")


@INPUT.law()
def the_journal_decides(given: Input) -> None:
    """The same journal gives the same bytes.

    ``apply`` and ``fire`` read no clock, draw no numbers of their own and keep nothing in ``self``.
    """
    require_same(given.plays(), given.plays(), "the same journal")


@INPUT.law()
def a_restart_changes_nothing(given: Input) -> None:
    """A worker that goes on from the ledger, wherever the one before it ended, publishes the same.

    What a handler keeps as an attribute of its own is lost then.
    """
    whole = given.plays()
    with given.story() as tape:
        given.before(tape, given.event)
        given.comes(tape)
        records = len(tape.journal) + len(LATER_MS)
    for cut in range(1, records):
        with given.story() as tape:
            given.before(tape, given.event)
            given.comes(tape)
            require_same(given.played(tape, [cut]), whole, f"a restart after record {cut} of {records}")


@INPUT.law()
def a_crash_changes_nothing(given: Input) -> None:
    """What was published before a crash, and is not in the ledger, is not published again."""

    def crash(stage: Stage) -> None:
        if stage is Stage.OUTPUTS_ACKNOWLEDGED:
            raise CrashError

    with given.story() as tape:
        given.before(tape, given.event)
        given.comes(tape)
        require_same(given.played(tape, observe=crash), given.plays(), "a crash behind the outputs")


@INPUT.law()
def a_repeat_changes_nothing(given: Input) -> None:
    """An event that its sender repeats, with the same id, is applied once: ``was_processed`` knows it."""
    once, twice = given.plays(), given.plays(MINUTE_MS, 13 * MINUTE_MS)
    for topic, events in once.events.items():
        again = twice.events[topic]
        require(again == events, f"the topic {topic} has {len(again)} events with repeats, and {len(events)} without")


@INPUT.law()
def it_may_come_first(given: Input) -> None:
    """An event that comes before what its kind ``waits_for`` is applied when that comes."""
    if given.kind.waits_for is None:
        return
    found, usual = given.plays(came_first=True), given.plays()
    require(not found.refused, f"it is a dead letter, {' and '.join(found.refused)}")
    topics = [topic for topic, records in usual.outputs.items() if len(records) != len(found.outputs[topic])]
    require(not topics, f"the topics {topics} have more or fewer events")


@INPUT.law()
def it_is_given_up(given: Input) -> None:
    """Of an event that waits in vain something is published, as a dead letter: ``give_up`` says so."""
    if given.kind.waits_for is None:
        return
    require(any(given.plays(alone=True).outputs.values()), "nothing is published")


@INPUT.law()
def who_is_erased_is_forgotten(given: Input) -> None:
    """A day after somebody is erased no table of the ledger names their application."""
    if given.kind.about != "case":
        return
    name = "somebody who is erased"
    given = replace(given, event=structs.replace(given.event, application=name))
    with given.story() as tape:
        given.before(tape, given.event)
        given.comes(tape)
        tape.send("erasures", Erasure(given.event.program, name), 3 * MINUTE_MS, "erasure")
        given.played(tape)
        ledger = tape.run.directory / "ledger" / "journal-0.sqlite"
        for (table,) in rows(ledger, "SELECT name FROM sqlite_master WHERE type = 'table'"):
            texts = [str(value) for row in rows(ledger, f"SELECT * FROM {table}") for value in row]
            require(not any(name in text for text in texts), f"the table {table} does")
