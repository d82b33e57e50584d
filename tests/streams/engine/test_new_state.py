"""A kind of state of one's own is a class and an entry: it survives commits, restarts, snapshots and replays.

The toy kind of these tests counts visits to a program's office, and greets visitors when there is time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from onward.schemas.kinds import Kind, kinds
from onward.streams.engine import handlers
from onward.streams.engine.contract import WorkBudget
from onward.streams.engine.handlers import Handler, Work
from onward.streams.engine.program_state import RowTable, UnfinishedState
from onward.streams.errors import DamagedLedgerError
from onward.streams.journal.entries import CaseKey
from onward.streams.ledger.array_codec import record_decoder
from onward.streams.ledger.check import check_ledger
from onward.streams.replay.journal_replay import JournalReplay, ReplayedStep
from onward.streams.snapshots.store import Snapshots
from onward.streams.topics import Topics
from onward.streams.worker.stages import Stage
from onward.testing.ledger import dump, rows
from onward.testing.program import build_program
from onward.testing.tape import JOURNAL, MINUTE_MS, TIMED, Tape, tape
from onward.tests.support.changed_specs import announce, policy
from onward.tests.support.takeovers import Worker

# --- the room --------------------------------------------------------------------------------------------------------


class Visit(msgspec.Struct, frozen=True):
    program: str
    application: str
    town: str


class Greeting(msgspec.Struct, frozen=True):
    program: str
    application: str
    visits: int
    of_town: list[str]
    rarest: list[str]
    seed: int


VISIT = Kind("visit", (Visit,), "Somebody comes by", "input", "visits", about="program")
GREETING = Kind("greeting", (Greeting,), "They are greeted", "output", "greetings")


class Visitor(msgspec.Struct, frozen=True, array_like=True):
    key: CaseKey
    town: str
    visits: int


VISITORS = RowTable("visitors", Visitor, {"town": "TEXT", "visits": "INTEGER"})


class Visits(UnfinishedState):
    table: ClassVar[str] = "visits"
    rows: ClassVar[Any] = (VISITORS,)

    by_hour: NDArray[np.float64] = msgspec.field(default_factory=lambda: np.zeros(24))
    to_greet: list[str] = msgspec.field(default_factory=list)
    seed: int = 0

    def change(self, program):
        super().change(program)
        self.seed = program.spec.policy.seed

    @property
    def is_unfinished(self):
        return bool(self.to_greet)


class VisitHandler(Handler):
    kind = "visit"

    def apply(self, entry, event, fold):
        visits = fold.change(Visits, fold.state.program(event.program))
        visits.by_hour[entry.time_ms // (60 * MINUTE_MS) % 24] += 1
        visits.to_greet.append(event.application)
        visitors, key = fold.rows(VISITORS), CaseKey(event.program, event.application)
        before = visitors.get(key)
        visitors.put(Visitor(key, event.town, 1 if before is None else before.visits + 1))


class Welcome(Work[Visits]):
    state, budget = Visits, WorkBudget(tick=2, other=0)

    def do_piece(self, state, fold):
        name, program = state.to_greet.pop(0), state.program.name
        visitors = fold.rows(VISITORS)
        visitor = visitors.get(CaseKey(program, name))
        of_town = sorted(other.key.application for other in visitors.equal(program, "town", visitor.town))
        rarest = [other.key.application for other in visitors.up_to(program, "visits", 2, 3)]
        greeting = Greeting(program, name, visitor.visits, of_town, rarest, state.seed)
        fold.emit(greeting, f"greeting/{name}/{visitor.visits}/{len(state.to_greet)}", fold.entry.time_ms, program)
        return 1


# --- the entry -------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _visits():
    added = VisitHandler(), Visits, Welcome()
    kinds.add(VISIT, GREETING)
    handlers.add(*added)
    yield
    handlers.discard(*added)
    kinds.discard(VISIT, GREETING)


# --- the laws --------------------------------------------------------------------------------------------------------


TOWNS = ("north", "south", "west")


def told(tmp_path) -> Tape:
    """Visitors and applicants; the spec changes in the middle, and a clock goes on to the end."""
    story, random = tape(tmp_path, **TIMED), np.random.default_rng(4)
    for number in range(30):
        name, town = f"v{random.integers(0, 12)}", TOWNS[random.integers(0, 3)]
        story.send("visits", Visit("loan", name, town), number * MINUTE_MS, f"visit {number}")
        if number % 5 == 0:
            story.applies(f"a{number}", number * MINUTE_MS)
        if number % 4 == 0:
            story.tick(number * MINUTE_MS)
        if number == 15:
            announce(story, policy(seed=9), number * MINUTE_MS)
    for number in range(20):
        story.tick(60 * MINUTE_MS + number)
    return story


def greetings(story) -> list[Greeting]:
    return story.run.events("greetings", Greeting)


@pytest.mark.parametrize("size", [1, 7])
def test_restarts_change_nothing(tmp_path, size):
    whole, cut = told(tmp_path / "whole"), told(tmp_path / "cut")
    expected = dump(whole.fold())
    journal = cut.journal
    ledger = cut.fold(parts=[journal[start : start + size] for start in range(0, len(journal), size)])
    assert cut.run.outputs() == whole.run.outputs()
    assert dump(ledger) == expected
    assert len(greetings(whole)) == 30
    assert {greeting.seed for greeting in greetings(whole)} == {0, 9}


def test_rows_are_found_as_they_are_now_whether_a_commit_stands_between(tmp_path):
    """Computed anew from the visits alone: everybody is greeted by the visits so far."""
    story, at, visits = tape(tmp_path, **TIMED), dict[str, str](), dict[str, int]()
    expected = []
    for number, (name, town) in enumerate([("a", "x"), ("b", "x"), ("a", "y"), ("c", "x"), ("a", "x"), ("b", "y")]):
        story.send("visits", Visit("loan", name, town), number, f"visit {number}")
        story.tick(number)
        at[name], visits[name] = town, visits.get(name, 0) + 1
        of_town = sorted(other for other in at if at[other] == town)
        rarest = sorted((other for other in visits if visits[other] <= 2), key=lambda other: (visits[other], other))
        expected.append((name, visits[name], of_town, rarest[:3]))
    for name, size in (("whole", len(story.journal)), ("singly", 1)):
        story.run.broker.logs["greetings", 0] = []
        story.fold(name, [story.journal[start : start + size] for start in range(0, len(story.journal), size)])
        found = [(one.application, one.visits, one.of_town, one.rarest) for one in greetings(story)]
        assert found == expected


def test_units_of_work_are_not_saved_up(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.send("visits", Visit("loan", "a", "x"), 0, "a visit")
    story.tick(0)
    [(body,)] = rows(story.fold(), "SELECT body FROM visits")
    assert len(greetings(story)) == 1
    assert record_decoder(Visits)(body).credit == 0


def test_a_worker_that_is_killed_before_its_commit_does_the_same_again(tmp_path):
    whole, killed = told(tmp_path / "whole"), told(tmp_path / "killed")
    whole.fold()

    def kill(stage):
        if stage is Stage.OUTPUTS_ACKNOWLEDGED:
            raise KeyboardInterrupt

    for end in range(5, len(killed.journal), 9):
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(killed.folded("ledger", [killed.journal[:end]], kill))
        killed.fold(parts=[killed.journal[:end]])
    killed.fold()
    assert killed.run.outputs() == whole.run.outputs()


def test_a_snapshot_holds_it(tmp_path):
    story, snapshots = told(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=1)
    expected = dump(story.fold("whole"))
    outputs = story.run.outputs()

    async def work():
        first = Worker(story, "first", snapshots)
        await first.open()
        await first.fold(0, 30)
        await first.processor.take_snapshots()
        await first.processor.revoked([JOURNAL])

    asyncio.run(work())
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == 30
    assert (dump(second.ledger), story.run.outputs()) == (expected, outputs)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE visits SET body = substr(body, 2)",
        "UPDATE visits SET program = 'another'",
        "UPDATE visitors SET body = substr(body, 2) WHERE application = 'v1'",
        "UPDATE visitors SET application = 'somebody' WHERE application = 'v1'",
        "UPDATE visitors SET town = 'elsewhere' WHERE application = 'v1'",
        "UPDATE visitors SET visits = 'many' WHERE application = 'v1'",
    ],
)
def test_damage_to_it_is_found(tmp_path, statement):
    ledger = told(tmp_path).fold()
    assert check_ledger(ledger)
    with closing(sqlite3.connect(ledger)) as db, db:
        assert db.execute(statement).rowcount == 1
    with pytest.raises(DamagedLedgerError):
        check_ledger(ledger)


def test_a_replay_computes_it_too(tmp_path):
    story = told(tmp_path)
    ledger = story.fold()
    with closing(JournalReplay(build_program(**TIMED), Topics(), JOURNAL, tmp_path / "replay")) as replay:
        replayed = [event for record in story.journal for event in replay.feed(record)] + list(replay.rest())
    assert sum(isinstance(event, ReplayedStep) for event in replayed) == 6
    for table in ("visits", "visitors"):
        query = f"SELECT * FROM {table} ORDER BY 1, 2"
        assert rows(tmp_path / "replay" / "0.sqlite", query) == rows(ledger, query)
