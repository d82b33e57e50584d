"""Twenty people are planted in every field and forgotten: the search finds all of them before, and none after."""

from __future__ import annotations

import asyncio
import base64
import bz2
import gzip
import io
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import msgspec
import numpy as np
import pytest
from prometheus_client import generate_latest

from onward.schemas.events import Application, Decision, Erasure, Outcome
from onward.streams.records import Record, TopicPartition
from onward.streams.snapshots.store import Snapshots
from onward.streams.topics import plan
from onward.streams.traces.names import Names
from onward.streams.traces.search import TopicRetention, Trace, TraceSearch
from onward.streams.traces.snapshots import snapshot_files
from onward.streams.worker.stages import Stage
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.tape import DAY_MS, JOURNAL, MINUTE_MS, Tape
from onward.tests.streams.engine.promises.stories import promising

CANARIES = range(20)
OTHERS = range(15)
JOURNAL_DAYS = 28


@dataclass(frozen=True)
class Canary:
    """The names of a person who is to be forgotten, and words and numbers that only they have."""

    number: int

    @property
    def application(self) -> str:
        """An application, with letters that are escaped."""
        return f"canary/Zoë-{self.number:02}"

    @property
    def second(self) -> str:
        """A later application, which follows the first; other letters stand beside a name in it."""
        return f"客户{self.called}来电"

    @property
    def called(self) -> str:
        """That name."""
        return f"金丝雀{self.number:02}"

    @property
    def applicant(self) -> str:
        """The person, under a name of 51 bytes: the byte of that length is a digit."""
        return f"canary.who.has.a.name.of.fifty.bytes-{self.number:02}@example.org"

    @property
    def town(self) -> str:
        """A category that no spec has."""
        return f"canarytown{self.number:02}"

    @property
    def income(self) -> float:
        """An income that nobody else has."""
        return 30.0 + (self.number + 1) / 7919

    @property
    def id(self) -> str:
        """A part of the ids and sources of their events."""
        return f"canaryid{self.number:02}"

    @property
    def words(self) -> list[str]:
        """All of that."""
        return [self.application, self.second, self.applicant, self.town, repr(self.income), self.id, self.called]


@dataclass
class World:
    """A program that promises options, canaries and others in it, and everything that is kept of them."""

    folder: Path
    erases: bool = True
    tape: Tape = field(init=False)

    def __post_init__(self) -> None:
        self.tape = Tape(PipelineRun({"loan": promising(decisions="external")}, self.folder))

    def send(self, topic: str, event: object, ms: int, id: str, mark: str = "", raw: bytes | None = None) -> None:
        """Ingest an event, with a mark in its key and headers."""
        record = self.tape.sender.record(topic, event, time_ms=START_MS + ms, id=id, raw=raw)
        headers = [(name, mark.encode() if name == "ce_source" and mark else value) for name, value in record.headers]
        record = record._replace(key=mark.encode() or None, headers=(*headers, ("trace", mark.encode())))
        self.tape.run.broker.logs[topic, 0].append(record)
        asyncio.run(self.tape.run.ingest([record]))

    def live(self) -> None:
        """Everybody applies, most are rejected and answered, some wait, some are known by the end."""
        for number in OTHERS:
            self._applies(f"other-{number}", number, f"person-{number}", 20.0 + number)
        for one in map(Canary, CANARIES):
            self._applies(one.application, one.number, one.applicant, one.income, one.id)
            if one.number % 3 == 0:
                event = Outcome("loan", one.application, "improved", "1")
                self.send("outcomes", event, 10 * MINUTE_MS, f"o-{one.id}", one.id)
            features = {"region": "north", "income": one.income, "debts": 4}
            event = Application("loan", one.second, features, one.applicant, one.application)
            self.send("applications", event, 11 * MINUTE_MS, f"second-{one.id}", one.id)
            self._is_refused(one)
            self.send("outcomes", Outcome("loan", f"lost-{one.id}", "improved"), DAY_MS // 3, f"lost-{one.id}", one.id)

    def _applies(self, name: str, number: int, who: str, income: float, mark: str = "") -> None:
        event = Application("loan", name, {"region": "north", "income": income, "debts": 4}, who)
        self.send("applications", event, number * 1000, f"a-{mark or name}", mark)
        self.send("decisions", Decision("loan", name, number % 5 == 4), number * 1000 + 1, f"d-{mark or name}", mark)

    def _is_refused(self, one: Canary) -> None:
        """Send what cannot be used: each with all that is theirs."""
        features = {"region": one.town, "income": one.income, "debts": 4}
        event = Application("loan", f"refused-{one.second}", features, one.applicant)
        self.send("applications", event, 12 * MINUTE_MS, f"town-{one.id}", one.id)
        cut = msgspec.json.encode(event)[:-1]
        self.send("applications", event, 12 * MINUTE_MS, f"cut-{one.id}", one.id, raw=cut)
        self.send(
            "outcomes", Outcome("loan", one.application, "improved", "99"), 12 * MINUTE_MS, f"no-{one.id}", one.id
        )

    def forget(self) -> None:
        """Erase every canary, one half by what they applied with, and what nobody knows to be theirs."""
        for one in map(Canary, CANARIES):
            if self.erases:
                self.send("erasures", Erasure("loan", f"lost-{one.id}"), DAY_MS // 2, f"e-lost-{one.number}")
            if self.erases and one.number % 2:
                self.send("erasures", Erasure("loan", applicant=one.applicant), DAY_MS // 2, f"e-{one.number}")
            elif self.erases:
                for name in (one.application, one.second):
                    self.send("erasures", Erasure("loan", name), DAY_MS // 2, f"e-{name}")
            self.send("outcomes", Outcome("loan", one.application, "improved"), DAY_MS // 2, f"later-{one.id}")

    def goes_on(self) -> None:
        """Time passes, and others still come."""
        for day in range(3, 70, 3):
            self._applies(f"new-{day}", 0, f"person-{day}", 20.0 + day / 10)
            self.tape.tick(day * DAY_MS)

    def fold(self, observe: Callable[[Stage], None] = lambda _: None) -> Path:
        """Fold the journal so far; return the ledger."""
        asyncio.run(self.tape.folded("ledger", [self.tape.journal], observe))
        return self.ledger

    @property
    def ledger(self) -> Path:
        """The file of the ledger."""
        return self.folder / "ledger" / f"{JOURNAL.topic}-{JOURNAL.partition}.sqlite"

    def answers_to_others(self) -> dict[str, list[bytes]]:
        """What was published about everybody else."""
        mine = Names([word for one in map(Canary, CANARIES) for word in one.words])
        return {
            topic: [
                value
                for _, value, _, headers in outputs
                if not mine.found_in(value) and dict(headers)["ce_type"] != b"onward.erased.v1"
            ]
            for topic, outputs in self.tape.run.outputs().items()
        }


class Finder:
    """Searches a world, as ``onward erase verify`` does."""

    def __init__(self, world: World) -> None:
        self.words = [word for one in map(Canary, CANARIES) for word in one.words]
        self._world, topics = world, world.tape.run.topics
        self._search = TraceSearch(Names(self.words), TopicRetention(topics, JOURNAL_DAYS * DAY_MS))

    def topics(self) -> list[Trace]:
        """The traces in all topics."""
        logs = self._world.tape.run.broker.logs.values()
        return [trace for log in logs for record in log if (trace := self._search.in_record(record))]

    def files(self, folder: Path) -> list[Trace]:
        """The traces in a folder."""
        return list(self._search.in_folder(folder))

    def snapshots(self, address: Path, place: Path) -> list[Trace]:
        """The traces in snapshots."""
        place.mkdir(exist_ok=True)
        found = snapshot_files(str(address), place)
        return [trace for file, until_ms, copy in found for trace in self._search.in_file(copy, until_ms, file)]

    def canaries(self, traces: list[Trace]) -> set[str]:
        """The words that traces hold."""
        return {self.words[number - 1] for trace in traces for number in trace.names}


def snapshot(world: World, ledger: Path, address: Path, at_ms: int) -> None:
    """Take a snapshot, of which one is kept."""
    snapshots = Snapshots(str(address), keep=1)
    snapshots.enlist(snapshots.send(ledger, TopicPartition(*JOURNAL), at_ms, Event()))


def let_expire(world: World, now_ms: int, folded: int) -> None:
    """Delete what Kafka deletes of the topics, and what their owner cuts of the journal behind a snapshot."""
    topics = world.tape.run.topics
    kept_ms = {one.name: int(one.config["retention.ms"]) for one in plan(topics, 1, 1)}
    kept_ms[topics.journal] = JOURNAL_DAYS * DAY_MS

    def is_kept(record: Record) -> bool:
        is_needed = record.topic == topics.journal and record.offset >= folded
        return is_needed or record.timestamp_ms >= now_ms - kept_ms[record.topic]

    for log in world.tape.run.broker.logs.values():
        log[:] = filter(is_kept, log)


def metrics_of(world: World) -> bytes:
    """The metrics page."""
    return generate_latest(world.tape.metrics.registry)


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """All lines that are logged, with what comes beside them."""
    lines: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {record.__dict__}")

    keeper, root = Keeper(), logging.getLogger()
    before = root.level
    root.addHandler(keeper), root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(keeper), root.setLevel(before)


@pytest.mark.attack
def test_nothing_names_a_forgotten_person_after_retention(tmp_path, logged):
    world = World(tmp_path / "world")
    finder, address = Finder(world), tmp_path / "snapshots"
    world.live()
    while_open = tmp_path / "open"

    def copy(stage: Stage) -> None:
        if stage is Stage.LEDGER_COMMITTED:
            shutil.copytree(world.ledger.parent, while_open, dirs_exist_ok=True)

    ledger = world.fold(copy)
    assert any(path.stat().st_size for path in while_open.glob("*-wal"))
    snapshot(world, ledger, address, START_MS)
    for name, traces in (
        ("topics", finder.topics()),
        ("open ledger", finder.files(while_open)),
        ("ledger", finder.files(ledger.parent)),
        ("snapshots", finder.snapshots(address, tmp_path / "copies")),
    ):
        missing = set(finder.words) - finder.canaries(traces)
        assert not missing or (name != "topics" and all(word.startswith("canarytown") for word in missing)), name
    tables = {trace.note for trace in finder.files(ledger.parent)}
    assert {f"table {name}" for name in ("cases", "timers", "waiting", "promised_options")} <= tables

    world.forget()
    ledger = world.fold()
    assert finder.files(ledger.parent) == []
    assert finder.snapshots(address, tmp_path / "copies")
    snapshot(world, ledger, address, START_MS + DAY_MS)
    assert finder.snapshots(address, tmp_path / "copies") == []
    assert finder.topics()
    assert not any(trace.is_left(START_MS + 5 * DAY_MS) for trace in finder.topics())

    world.goes_on()
    world.fold()
    now_ms = START_MS + 31 * DAY_MS
    let_expire(world, now_ms, len(world.tape.journal))
    assert finder.topics() == []
    assert finder.files(ledger.parent) == []
    names = Names(finder.words)
    assert not names.found_in(metrics_of(world)), "metrics"
    assert not any(names.found_in(line.encode()) for line in logged), "logs"


@pytest.mark.attack
@pytest.mark.parametrize("wraps", [bytes, gzip.compress, bz2.compress, base64.b64encode], ids=lambda one: one.__name__)
def test_rows_of_people_are_found_in_each_file_of_a_bundle(tmp_path, wraps):
    finder = Finder(World(tmp_path / "world"))
    people = [*map(Canary, CANARIES)]
    words = [word.encode() for one in people for word in one.words if word != repr(one.income)]
    arrays = io.BytesIO()
    np.savez_compressed(arrays, words=np.array(words), incomes=np.array([one.income for one in people]))
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "rows").write_bytes(wraps(arrays.getvalue()))
    assert finder.canaries(finder.files(tmp_path / "bundle")) == set(finder.words)


@pytest.mark.attack
def test_a_journal_without_an_end_still_names_everybody(tmp_path):
    """What is searched for does not call that well: nothing ends what such a journal holds."""
    world = World(tmp_path / "world")
    world.live()
    world.forget()
    search = TraceSearch(Names(Finder(world).words), TopicRetention(world.tape.run.topics, None))
    traces = [trace for record in world.tape.journal if (trace := search.in_record(record))]
    assert all(trace.is_left(START_MS) for trace in traces)
    assert {number for trace in traces for number in trace.names} == set(range(1, len(Finder(world).words) + 1))


@pytest.mark.attack
def test_nobody_else_is_answered_otherwise(tmp_path):
    answers = {}
    for erases in (True, False):
        world = World(tmp_path / str(erases), erases)
        world.live()
        world.forget()
        world.fold()
        world.goes_on()
        world.fold()
        answers[erases] = world.answers_to_others()
    assert answers[True]["recourse"]
    assert answers[True]["rewards"]
    assert answers[True] == answers[False]
