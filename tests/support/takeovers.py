"""A journal in which windows close, workers that fold it and take over from each other, and their snapshots."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import fsspec

from onward.streams.archive.store import Archive
from onward.streams.metrics import Metrics
from onward.streams.snapshots.store import Snapshot, Snapshots
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.streams.worker.stages import Stage, ignore_stage
from onward.testing.ledger import Dump, dump
from onward.testing.pipeline import no_clock
from onward.testing.tape import DAY_MS, JOURNAL, MINUTE_MS, TIMED, Tape, tape

FIRST, SECOND = 5, 9
"""Journal offsets at which the first worker takes snapshots."""


def write_journal(directory: Path) -> Tape:
    """Write the journal."""
    story = tape(directory, **TIMED)
    story.outcome("nobody", 0)
    for minute in range(8):
        story.applies(f"p{minute}", minute * MINUTE_MS)
        story.outcome(f"p{minute - 1}", minute * MINUTE_MS)
    story.tick(33 * MINUTE_MS)
    story.outcome("p7", 34 * MINUTE_MS)
    story.tick(DAY_MS)
    assert len(story.journal) > SECOND + 2
    return story


def fold_uninterrupted(directory: Path) -> tuple[dict[str, Any], Dump]:
    """Return the outputs and the ledger of a worker that is never interrupted."""
    story = write_journal(directory)
    ledger = story.fold()
    return story.run.outputs(), dump(ledger)


class Worker:
    """A processor with a folder of its own."""

    def __init__(
        self,
        story: Tape,
        name: str,
        snapshots: Snapshots | None = None,
        seconds: float = 0.0,
        clock_ms: Callable[[], int] = no_clock,
        journal_days: float | None = None,
        observe: Callable[[Stage], None] = ignore_stage,
        archive: Archive | None = None,
    ) -> None:
        run, self.metrics = story.run, Metrics()
        self.journal = list(story.journal)
        self.ledger = run.directory / name / "journal-0.sqlite"
        config = ProcessorConfig(self.ledger.parent, snapshots=snapshots, snapshot_seconds=seconds)
        config = replace(config, journal_days=journal_days, cut_seconds=0, archive=archive)
        self.processor = PartitionProcessor(
            run.topics, run.programs, run.broker, self.metrics, clock_ms, config, observe
        )

    async def open(self) -> int:
        """Open the ledger; return the offset from which it goes on."""
        return (await self.processor.assigned([JOURNAL]))[JOURNAL]

    async def fold(self, start: int, end: int | None = None) -> None:
        """Fold the journal from ``start`` to ``end``."""
        await self.processor.handle(self.journal[start:end])

    async def run(self, end: int | None = None) -> int:
        """Open, fold and close the ledger; return the offset from which it went on."""
        start = await self.open()
        await self.fold(start, end)
        await self.processor.revoked([JOURNAL])
        return start

    def count(self, metric: str, **labels: str) -> float | None:
        """Return the value of a metric."""
        return self.metrics.registry.get_sample_value(metric, labels)


def crash_after_two_snapshots(story: Tape, snapshots: Snapshots, name: str = "first") -> Worker:
    """Run a worker that takes two snapshots and ends without closing its ledger."""

    async def work() -> Worker:
        worker = Worker(story, name, snapshots)
        await worker.open()
        for start, end in ((0, FIRST), (FIRST, SECOND)):
            await worker.fold(start, end)
            await worker.processor.take_snapshots()
        await worker.fold(SECOND, SECOND + 1)
        return worker

    return asyncio.run(work())


def take_snapshot(snapshots: Snapshots, ledger: Path, now_ms: int = 0) -> Snapshot:
    """Take a snapshot of a ledger."""
    snapshot = snapshots.send(ledger, JOURNAL, now_ms, Event())
    snapshots.enlist(snapshot)
    return snapshot


def offsets(snapshots: Snapshots) -> list[int]:
    """Return the journal offsets of the listed snapshots."""
    return [snapshot.ledger.offset for snapshot in snapshots.listed(JOURNAL)]


def folder(address: str) -> tuple[Any, str]:
    """Return file system and folder of a partition's snapshots."""
    system, root = fsspec.core.url_to_fs(address)
    return system, f"{root}/journal-0"


def files(address: str) -> list[str]:
    """Return the names of all files beside a partition's snapshots."""
    system, root = folder(address)
    return sorted(str(path).rpartition("/")[2] for path in system.ls(root, detail=False))


def damage(ledger: Path) -> None:
    """Overwrite a page in the middle with zeros."""
    content = bytearray(ledger.read_bytes())
    middle = len(content) // 4096 // 2 * 4096
    content[middle : middle + 4096] = bytes(4096)
    ledger.write_bytes(content)


def damage_case(ledger: Path, name: str, old: bytes, new: bytes) -> None:
    """Replace bytes in the body of a case: SQLite does not detect that."""
    with closing(sqlite3.connect(ledger)) as db, db:
        [(body,)] = db.execute("SELECT body FROM cases WHERE application = ?", (name,))
        assert old in body
        db.execute("UPDATE cases SET body = ? WHERE application = ?", (body.replace(old, new, 1), name))


def damage_index(ledger: Path, name: str, other: str) -> None:
    """Replace a name in the index of cases, not in their rows."""
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(root,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'cases_name'")
    content = bytearray(ledger.read_bytes())
    at = content.index(name.encode(), (root - 1) * 4096)
    assert at < root * 4096
    content[at : at + len(name)] = other.encode()
    ledger.write_bytes(content)
