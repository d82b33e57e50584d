"""A story in which windows close, workers that fold it and take over from each other, and their snapshots."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event

import fsspec
from pipeline import dump, no_clock
from tape import DAY_MS, JOURNAL, MINUTE_MS, TIMED, tape

from onward.streams.metrics import Metrics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig

FIRST, SECOND = 9, 16
"""Journal offsets at which the first worker takes snapshots."""


def told(directory):
    story = tape(directory, **TIMED)
    story.tells("nobody", 0)
    for minute in range(8):
        story.applies(f"p{minute}", minute * MINUTE_MS)
        story.tells(f"p{minute - 1}", minute * MINUTE_MS)
    story.tick(33 * MINUTE_MS)
    story.tells("p7", 34 * MINUTE_MS)
    story.tick(DAY_MS)
    assert len(story.journal) > SECOND + 2
    return story


def whole(directory):
    """The outputs and the ledger of a worker that is never interrupted."""
    story = told(directory)
    ledger = story.fold()
    return story.run.outputs(), dump(ledger)


class Worker:
    """A processor with a folder of its own."""

    def __init__(self, story, name, snapshots=None, seconds=0.0, clock_ms=no_clock):
        run, self.metrics = story.run, Metrics()
        self.journal = list(story.journal)
        self.ledger = run.directory / name / "journal-0.sqlite"
        config = ProcessorConfig(self.ledger.parent, snapshots=snapshots, snapshot_seconds=seconds)
        self.processor = PartitionProcessor(run.topics, run.programs, run.broker, self.metrics, clock_ms, config)

    async def begins(self):
        """Where it goes on."""
        return (await self.processor.assigned([JOURNAL]))[JOURNAL]

    async def folds(self, start, end=None):
        await self.processor.handle(self.journal[start:end])

    async def works(self, end=None):
        """Begin, fold, end in good order; return where it went on."""
        start = await self.begins()
        await self.folds(start, end)
        await self.processor.revoked([JOURNAL])
        return start

    def count(self, metric, **labels):
        return self.metrics.registry.get_sample_value(metric, labels)


def dies_after_two(story, snapshots, name="first"):
    """A worker that takes two snapshots and is never heard of again."""

    async def work():
        worker = Worker(story, name, snapshots)
        await worker.begins()
        for start, end in ((0, FIRST), (FIRST, SECOND)):
            await worker.folds(start, end)
            await worker.processor.take_snapshots()
        await worker.folds(SECOND, SECOND + 1)
        return worker

    return asyncio.run(work())


def taken(snapshots, ledger, now_ms=0):
    snapshot = snapshots.send(ledger, JOURNAL, now_ms, Event())
    snapshots.enlist(snapshot)
    return snapshot


def offsets(snapshots):
    return [snapshot.ledger.offset for snapshot in snapshots.listed(JOURNAL)]


def folder(address):
    system, root = fsspec.core.url_to_fs(address)
    return system, f"{root}/journal-0"


def files(address):
    system, root = folder(address)
    return sorted(str(path).rpartition("/")[2] for path in system.ls(root, detail=False))


def damage(ledger: Path):
    """A page in the middle is lost."""
    content = bytearray(ledger.read_bytes())
    middle = len(content) // 4096 // 2 * 4096
    content[middle : middle + 4096] = bytes(4096)
    ledger.write_bytes(content)


def damage_case(ledger: Path, name: str, old: bytes, new: bytes):
    """Other bytes in a case's body: SQLite finds nothing wrong with them."""
    with closing(sqlite3.connect(ledger)) as db, db:
        [(body,)] = db.execute("SELECT body FROM cases WHERE application = ?", (name,))
        assert old in body
        db.execute("UPDATE cases SET body = ? WHERE application = ?", (body.replace(old, new, 1), name))


def damage_index(ledger: Path, name: str, other: str):
    """Another name in the index by which cases are found, their rows are as they were."""
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(root,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'cases_name'")
    content = bytearray(ledger.read_bytes())
    at = content.index(name.encode(), (root - 1) * 4096)
    assert at < root * 4096
    content[at : at + len(name)] = other.encode()
    ledger.write_bytes(content)
