"""A story with an event of a kind, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ...schemas.kinds import Kind, kinds
from ...streams.engine.handlers import handlers, timer_handlers
from ...streams.worker.stages import Stage, ignore_stage
from ..laws import require
from ..ledger import Dump, dump
from ..pipeline import PipelineRun
from ..program import build_program
from ..tape import DAY_MS, MINUTE_MS, TIMED, Tape

LATER_MS = (2 * MINUTE_MS, 12 * MINUTE_MS, 60 * MINUTE_MS, DAY_MS)
"""When the clocks move after an event at the first minute."""


class CrashError(Exception):
    """A worker ends here."""


class Played(NamedTuple):
    """What has come of a story: the published bytes by topic, the ledger, and the reasons of dead letters."""

    outputs: Mapping[str, Any]
    ledger: Dump
    refused: list[str]

    @property
    def events(self) -> dict[str, list[bytes]]:
        """The published events by topic, without their positions in the journal."""
        return {topic: [value for _, value, *_ in records] for topic, records in self.outputs.items()}


@dataclass(frozen=True)
class Input:
    """An event of a kind, and a story that it is part of: what happens ``before`` it, and the program that gets it.

    ``restart`` makes the handlers those of a new process.
    """

    event: Any
    before: Callable[[Tape, Any], None]
    program: Mapping[str, Any]
    restart: Callable[[], None]

    @property
    def kind(self) -> Kind:
        """The kind of the event."""
        return kinds.by_struct[type(self.event)]

    @contextmanager
    def story(self) -> Iterator[Tape]:
        """A journal of the program, in a folder for a while."""
        name: str = self.event.program
        with TemporaryDirectory() as folder:
            program = build_program(name, **{**TIMED, **self.program})
            yield Tape(PipelineRun({name: program}, Path(folder), draw_key=lambda: "0" * 64))

    def comes(self, tape: Tape, ms: int = MINUTE_MS) -> None:
        """Ingest the event; each call repeats it."""
        tape.send(str(self.kind.topic), self.event, ms, "the-event")

    def plays(self, *repeats: int, came_first: bool = False, alone: bool = False) -> Played:
        """The event and its repeats, in the order of time."""
        with self.story() as tape:
            if came_first or alone:
                self.comes(tape, 0)
            if not alone:
                self.before(tape, self.event)
            for ms in () if came_first or alone else (MINUTE_MS, *repeats):
                self.comes(tape, ms)
            return self.played(tape)

    def played(self, tape: Tape, cuts: Iterable[int] = (), observe: Callable[[Stage], None] = ignore_stage) -> Played:
        """Let time pass and fold the journal, by a worker of its own for each part between the cuts."""
        for ms in LATER_MS:
            tape.tick(ms)
        ends = [*cuts, len(tape.journal)]
        try:
            for begin, end in zip([0, *ends], ends, strict=False):
                if begin:
                    self.restart()
                asyncio.run(tape.folded("ledger", [tape.journal[begin:end]], observe))
        except CrashError:
            self.restart()
            asyncio.run(tape.folded("ledger", [tape.journal]))
        ledger = tape.run.directory / "ledger" / "journal-0.sqlite"
        return Played(tape.run.outputs(), dump(ledger), tape.reasons())


def restarts() -> Callable[[], None]:
    """A function that gives all handlers the attributes that they have now, as a worker in a new process has them."""
    kept = [vars(handler) for handler in (*handlers.values(), *timer_handlers.values())]
    before = deepcopy(kept)

    def restart() -> None:
        for values, attributes in zip(kept, deepcopy(before), strict=True):
            values.clear()
            values.update(attributes)

    return restart


def require_same(found: Played, expected: Played, what: str) -> None:
    """Require the same outputs and ledger."""
    topics = differing(found, expected)
    require(not topics, f"{what} gives other events on the topics {topics}")
    lines = sorted({*found.ledger} ^ {*expected.ledger})
    require(not lines, f"{what} gives another ledger: {lines[0][:200] if lines else ''}")


def differing(one: Played, other: Played) -> list[str]:
    """The topics on which two stories have published different bytes."""
    return [topic for topic in one.outputs if one.outputs[topic] != other.outputs[topic]]
