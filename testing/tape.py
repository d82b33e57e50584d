"""A journal written event by event, where the exact order of events matters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType

from ..schemas.events import (
    Answer,
    Application,
    DeadLetter,
    Decision,
    NoRecourse,
    Outcome,
    Recourse,
    Result,
    Reward,
)
from ..schemas.events import Value as FeatureValue
from ..streams.kafka.client import EventWriter
from ..streams.kafka.options import KafkaOptions
from ..streams.metrics import Metrics
from ..streams.records import Record, TopicPartition
from ..streams.worker.stages import Stage, ignore_stage
from .pipeline import START_MS, PipelineRun, Sender, idle_tick
from .program import build_program

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
POOR: Mapping[str, FeatureValue] = {"region": "north", "income": 10.0, "debts": 4}
RICH: Mapping[str, FeatureValue] = {"region": "north", "income": 100.0, "debts": 0}
TIMED: Mapping[str, Any] = {"window": {"time": "PT30M", "lateness": "PT5M"}}
JOURNAL = TopicPartition("journal", 0)


@dataclass
class Tape:
    """A journal written event by event, in the order of the calls. Times are milliseconds after ``START_MS``."""

    run: PipelineRun

    def __post_init__(self) -> None:
        self.sender, self.metrics, self._said = Sender(), Metrics(), 0

    def send(self, topic: str, event: Any, ms: int, id: str) -> Record:
        """Ingest one event; return its input record."""
        record = self.sender.record(topic, event, time_ms=START_MS + ms, id=id)
        asyncio.run(self.run.ingest([record]))
        return record

    def applies(
        self,
        name: str,
        ms: int = 0,
        features: Mapping[str, FeatureValue] = POOR,
        program: str = "loan",
        id: str | None = None,
    ) -> Record:
        """Ingest an application."""
        return self.send("applications", Application(program, name, dict(features)), ms, id or f"a-{name}")

    def decides(
        self, name: str, ms: int, approved: bool = False, program: str = "loan", id: str | None = None
    ) -> Record:
        """Ingest a decision."""
        return self.send("decisions", Decision(program, name, approved), ms, id or f"d-{name}")

    def outcome(
        self,
        name: str,
        ms: int,
        result: Result = "improved",
        program: str = "loan",
        id: str | None = None,
        option: str | None = None,
    ) -> Record:
        """Ingest an outcome."""
        return self.send("outcomes", Outcome(program, name, result, option), ms, id or f"o-{name}")

    def says(
        self,
        name: str,
        ms: int,
        option: str | None,
        program: str = "loan",
        id: str | None = None,
        question: int | UnsetType = UNSET,
    ) -> Record:
        """Ingest an answer to a recourse, or to a question."""
        self._said += 1
        return self.send("answers", Answer(program, name, option, question), ms, id or f"s-{self._said}")

    def again(self, record: Record) -> None:
        """Ingest a record a second time."""
        asyncio.run(self.run.ingest([record]))

    def tick(self, ms: int) -> None:
        """Move the clocks of all inputs to this time."""
        self.journal.append(idle_tick(self.run, START_MS + ms))

    @property
    def journal(self) -> list[Record]:
        """The journal so far."""
        return self.run.broker.logs[JOURNAL]

    def fold(self, name: str = "ledger", parts: Sequence[Sequence[Record]] | None = None) -> Path:
        """Fold the journal, with a restart between the parts; return the ledger."""
        asyncio.run(self.folded(name, parts or [self.journal]))
        return self.run.directory / name / "journal-0.sqlite"

    async def folded(
        self, name: str, parts: Sequence[Sequence[Record]], observe: Callable[[Stage], None] = ignore_stage
    ) -> None:
        """Fold the parts, each with a processor of its own."""
        for part in parts:
            await self.run.handled([list(part)], name, self.metrics, observe)

    def write_to(self, options: KafkaOptions) -> None:
        """Write the journal and what was published to the topics of a broker."""
        with EventWriter(options) as writer:
            for (topic, partition), log in self.run.broker.logs.items():
                for record in log:
                    writer.send(topic, record.value or b"", key=record.key, headers=record.headers, partition=partition)

    def fates(self) -> list[tuple[str, str]]:
        """Return application and fate of every published reward."""
        return [(fate.application, fate.fate) for fate in self.rewards()]

    def rewards(self) -> list[Reward]:
        """Return the published rewards."""
        return self.run.events("rewards", Reward)

    def answers(self) -> list[Recourse | NoRecourse]:
        """Return the published answers."""
        return self.run.events("recourse", Recourse | NoRecourse)

    def reasons(self) -> list[str]:
        """Return the reasons of the published dead letters."""
        return [letter.reason for letter in self.run.events("dead-letters", DeadLetter)]


def tape(tmp_path: Path, **program: Any) -> Tape:
    """Start a journal for one program, with options as of ``build_program``."""
    return Tape(PipelineRun({"loan": build_program(**program)}, tmp_path))
