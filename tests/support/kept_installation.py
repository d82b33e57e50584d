"""An installation of an older version (``kept_ledger.py``), and workers of this version that go on with it."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.outputs.emission import OutputPosition
from onward.streams.programs.announced_spec import spec_event
from onward.streams.programs.assembly import assemble
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record, TopicPartition
from onward.streams.snapshots.store import Snapshots
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender, no_clock
from onward.tests.support.kept_ledger import PEOPLE, SINCE_10, story

KEPT = Path(__file__).parents[1] / "streams" / "ledger" / "migrations"
SCHEMAS = (10, 11, 12, 13, 14, 15, 16)
JOURNAL = TopicPartition("journal", 0)
MEANT_BEFORE_12 = {"objective": "cost", "window": {"steps": 10}}
"""What a file without these fields meant in the schemas 10 and 11: their ledgers keep no specs."""
CLOSING = ("rewarded", "censored", "unseen")


@dataclass
class KeptInstallation:
    """The files of an installation in a folder, which must be the working folder; a broker with its topics."""

    schema: int
    folder: Path
    topics: Topics = field(default_factory=Topics)
    broker: MemoryBroker = field(default_factory=MemoryBroker)
    sender: Sender = field(default_factory=Sender)

    def __post_init__(self) -> None:
        with tarfile.open(KEPT / f"schema_{self.schema}.tar.xz") as tar:
            tar.extractall(self.folder, filter="data")
        self.ledger = self.folder / "state" / "journal-0.sqlite"
        self.ledger.parent.mkdir()
        (self.folder / "journal-0.sqlite").rename(self.ledger)
        journal = json.loads((self.folder / "journal.json").read_text())
        self.broker.logs[JOURNAL].extend(
            Record(*JOURNAL, offset, at_ms, None, value.encode(), ()) for offset, (at_ms, value) in enumerate(journal)
        )
        self.written = json.loads((self.folder / "outputs.json").read_text())
        self.write_what_must_be_said()
        if self.schema < 12:
            self.write_what_was_meant()
        else:
            self.announce()

    def write_what_was_meant(self) -> None:
        """Write into the spec files what they meant without saying it."""
        for path in self.folder.glob("*.yaml"):
            content = json.loads(path.read_text())
            content["policy"] = {**MEANT_BEFORE_12, **content.get("policy", {})}
            path.write_text(json.dumps(content))

    def write_what_must_be_said(self) -> None:
        """Write into the spec files what this version refuses to presume: that everybody may read rows of the data."""
        for path in self.folder.glob("*.yaml"):
            content = json.loads(path.read_text())
            if content.get("policy", {}).get("generator") == "instances":
                path.write_text(json.dumps({**content, "instances": {"publish": True}}))

    def announce(self) -> None:
        """Announce the changed specs, as ``onward specs announce`` does: the ledger keeps those before."""
        changed = [spec_event(one) for one in self.programs.values() if one.spec.instances.publish]
        self.broker.logs["specs", 0].extend(
            self.sender.record("specs", event, time_ms=START_MS, id=f"spec-{event.program}") for event in changed
        )

    @cached_property
    def programs(self) -> Mapping[str, Program]:
        """The programs, by this version."""
        specs = (load_program_spec(path.name) for path in sorted(self.folder.glob("*.yaml")))
        return {program.name: program for program in map(assemble, specs)}

    def publish(self, before: int) -> None:
        """Let the output topics hold what the old version published of journal records before this offset."""
        for topic, records in self.written.items():
            log = self.broker.logs[topic, 0]
            log.clear()
            for at_ms, key, value, headers in records:
                pairs = tuple((name, text.encode()) for name, text in headers)
                if OutputPosition.parse(dict(pairs)["onward_position"]).offset < before:
                    record_key = None if key is None else key.encode()
                    log.append(Record(topic, 0, len(log), at_ms, record_key, value.encode(), pairs))

    async def fold(self, directory: Path | None = None, snapshots: Snapshots | None = None) -> int:
        """Let a worker fold the journal to its end; return where it began."""
        config = ProcessorConfig(directory or self.ledger.parent, snapshots=snapshots, snapshot_seconds=0.0)
        processor = PartitionProcessor(self.topics, self.programs, self.broker, Metrics(), no_clock, config)
        start = (await processor.assigned([JOURNAL]))[JOURNAL]
        try:
            if rest := self.broker.logs[JOURNAL][start:]:
                await processor.handle(rest)
        finally:
            await processor.revoked([JOURNAL])
        return start

    async def more_people(self) -> None:
        """Ingest what happens to people after those of the kept journal."""
        first = PEOPLE + PEOPLE // 2
        events = story({name: SINCE_10.get(name, {}) for name in self.programs}, first, first + 12)
        happens = sorted(events, key=lambda one: one[0])
        ingest, sent = Ingest(self.topics, self.programs, self.broker, Metrics(), no_clock), self.sender.sent
        await ingest.assigned(TopicPartition(topic, 0) for topic in self.topics.inputs)
        for announced in self.broker.logs["specs", 0]:
            await ingest.handle([announced])
        for ms, topic, event, id in happens:
            sent[topic] = max(sent[topic], 10_000)
            await ingest.handle([self.sender.record(topic, event, time_ms=START_MS + ms, id=id)])

    def events(self, topic: str, since: int = 0) -> list[Any]:
        """The events of an output topic, from this record on."""
        return [json.loads(record.value or b"") for record in self.broker.logs[topic, 0][since:]]

    def old_events(self, topic: str) -> list[Any]:
        """All events of a topic as the old version would have published them."""
        return [json.loads(value) for _, _, value, _ in self.written.get(topic, ())]


def answered(events: list[Any]) -> Counter[tuple[str, str]]:
    """How often people were answered, without what stands for a broken option."""
    return Counter((one["program"], one["application"]) for one in events if not one.get("revision"))


def closed(events: list[Any]) -> Counter[tuple[str, str]]:
    """How often recourses were closed."""
    return Counter((one["program"], one["application"]) for one in events if one["fate"] in CLOSING)


def run(installation: KeptInstallation) -> None:
    """Go on with an installation, and with more people."""
    asyncio.run(installation.fold())
    asyncio.run(installation.more_people())
    asyncio.run(installation.fold())
