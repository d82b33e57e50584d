"""A journal written event by event, for tests that need to say exactly what came when."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import msgspec
from pipeline import START_MS, Run, Sender, build_program, idle_tick, no_clock

from onward.schemas.events import Application, DeadLetter, Decision, NoRecourse, Outcome, Recourse, Reward
from onward.streams.engine.cases import Case
from onward.streams.ledger.checksum import without_checksum
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
RETENTION_MS = 30 * DAY_MS
POOR = {"region": "north", "income": 10.0, "debts": 4}
RICH = {"region": "north", "income": 100.0, "debts": 0}
TIMED = {"window": {"time": "PT30M", "lateness": "PT5M"}}
JOURNAL = TopicPartition("journal", 0)


@dataclass
class Tape:
    """A journal written event by event, in the order of the calls, and ticks between them."""

    run: Run

    def __post_init__(self):
        self.sender = Sender()

    def send(self, topic, event, ms, id):
        record = self.sender.record(topic, event, time_ms=START_MS + ms, id=id)
        asyncio.run(self.run.ingest([record]))
        return record

    def applies(self, name, ms=0, features=POOR, program="loan", id=None):
        return self.send("applications", Application(program, name, features), ms, id or f"a-{name}")

    def decides(self, name, ms, approved=False, program="loan", id=None):
        return self.send("decisions", Decision(program, name, approved), ms, id or f"d-{name}")

    def tells(self, name, ms, result="improved", program="loan", id=None, option=None):
        return self.send("outcomes", Outcome(program, name, result, option), ms, id or f"o-{name}")

    def again(self, record):
        """Ingest appends a record a second time."""
        asyncio.run(self.run.ingest([record]))

    def tick(self, ms):
        """All clocks move to this time."""
        self.journal.append(idle_tick(self.run, START_MS + ms))

    @property
    def journal(self):
        return self.run.broker.logs["journal", 0]

    def fold(self, name="ledger", parts=None):
        """Fold the journal, with a restart between the parts; return the ledger."""
        asyncio.run(self.folded(name, parts or [self.journal]))
        return self.run.directory / name / "journal-0.sqlite"

    async def folded(self, name, parts, observe=lambda _: None):
        for part in parts:
            config = ProcessorConfig(self.run.directory / name, self.run.waiting_limit)
            processor = PartitionProcessor(
                self.run.topics, self.run.programs, self.run.broker, Metrics(), no_clock, config, observe
            )
            await processor.assigned([JOURNAL])
            try:
                await processor.handle(list(part))
            finally:
                await processor.revoked([JOURNAL])

    def fates(self):
        return [(fate.application, fate.fate) for fate in self.rewards()]

    def rewards(self):
        return self.run.events("rewards", Reward)

    def answers(self):
        return self.run.events("recourse", Recourse | NoRecourse)

    def reasons(self):
        return [letter.reason for letter in self.run.events("dead-letters", DeadLetter)]


def tape(tmp_path, **program):
    return Tape(Run({"loan": build_program(**program)}, tmp_path))


def cases(ledger):
    """The cases at rest in a ledger."""
    bodies = rows(ledger, "SELECT body FROM cases ORDER BY rowid")
    return [msgspec.msgpack.decode(without_checksum(body), type=Case) for (body,) in bodies]


def rows(ledger, query):
    with closing(sqlite3.connect(ledger)) as db:
        return db.execute(query).fetchall()
