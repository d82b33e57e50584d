"""Snapshots and ledgers that are damaged, or another's: what is refused, and what is used instead."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from onward.streams.errors import DamagedLedgerError, LedgerError
from onward.streams.ledger.file import DAMAGED_KEPT
from onward.streams.ledger.schema import SCHEMA_VERSION
from onward.streams.snapshots.store import LIST_FILE, Snapshots
from onward.testing.ledger import dump
from onward.testing.memory_broker import MemoryBroker
from onward.testing.program import build_program
from onward.testing.tape import JOURNAL, TIMED
from onward.tests.support.takeovers import (
    FIRST,
    SECOND,
    Worker,
    crash_after_two_snapshots,
    damage,
    damage_case,
    damage_index,
    files,
    folder,
    offsets,
    write_journal,
)

pytestmark = pytest.mark.usefixtures("crashes")


def truncated(system, path, content):
    system.pipe_file(path, content[: len(content) // 2])


def longer(system, path, content):
    system.pipe_file(path, content + b"\0" * 4096)


def flipped(system, path, content):
    middle = len(content) // 2
    system.pipe_file(path, content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


def missing(system, path, content):
    system.rm_file(path)


@pytest.mark.parametrize("spoil", [truncated, longer, flipped, missing])
def test_a_snapshot_that_is_not_what_is_listed_is_refused_for_the_one_before(
    tmp_path, address, uninterrupted, caplog, spoil
):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    newest = snapshots.listed(JOURNAL)[0]
    system, root = folder(address)
    spoil(system, f"{root}/{newest.file}", system.cat_file(f"{root}/{newest.file}"))
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == FIRST
    assert f"snapshot {newest.file} is refused" in caplog.text
    assert second.count("onward_snapshot_failures_total", action="restore") == 1
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert [path.name for path in second.ledger.parent.iterdir()] == [second.ledger.name]


def listed_as(address, change):
    """Change what the list says of the newest."""
    system, root = folder(address)
    newest, *older = Snapshots(address, keep=3).listed(JOURNAL)
    system.pipe_file(f"{root}/{LIST_FILE}", msgspec.json.encode({"snapshots": [change(newest), *older]}))


def stands(**changes):
    return lambda snapshot: msgspec.structs.replace(
        snapshot, ledger=msgspec.structs.replace(snapshot.ledger, **changes)
    )


def stored(**changes):
    return lambda snapshot: msgspec.structs.replace(snapshot, **changes)


@pytest.mark.parametrize(
    "change",
    [
        stands(partition=1),
        stands(journal="eu-journal"),
        stands(offset=SECOND + 1),
        stands(generation=40),
        stands(schema=SCHEMA_VERSION - 1),
    ],
)
def test_a_snapshot_of_something_else_is_refused_for_the_one_before(tmp_path, address, uninterrupted, caplog, change):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    listed_as(address, change)
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == FIRST
    assert "is refused" in caplog.text
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


def test_a_list_that_cannot_be_understood_is_told_and_written_anew(tmp_path, address, uninterrupted, caplog):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    system, root = folder(address)
    system.pipe_file(f"{root}/{LIST_FILE}", b'{"snapshots": [{"file": "../../../etc/passwd"}]}')
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == 0
    assert "cannot be understood" in caplog.text
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert offsets(snapshots) == [len(story.journal)]
    assert len(files(address)) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (stands(schema=SCHEMA_VERSION + 1), f"of schema {SCHEMA_VERSION + 1}, this version reads {SCHEMA_VERSION}"),
        (stands(offset=1000), "stands at journal offset 1000, but partition 0 of journal ends at"),
    ],
)
def test_a_snapshot_that_says_the_setting_is_wrong_ends_the_worker(tmp_path, address, change, words):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    listed_as(address, change)
    with pytest.raises(LedgerError, match=words):
        asyncio.run(Worker(story, "second", snapshots).run())


def test_a_snapshot_of_another_spec_is_refused_as_a_ledger_is(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    story.run.programs = {"loan": build_program(shards=2, **TIMED)}
    with pytest.raises(LedgerError, match="cannot go on with this spec: shards cannot change"):
        asyncio.run(Worker(story, "second", snapshots).run())


# --- damaged ledgers --------------------------------------------------------------------------------------------


def cut(ledger: Path):
    ledger.write_bytes(ledger.read_bytes()[:4096])


def overwritten(ledger: Path):
    ledger.write_bytes(b"nothing of it is left" * 1000)


def not_utf8(ledger: Path):
    damage_case(ledger, "p3", b"\xa2p3", b"\xa2\xff3")


def another_name(ledger: Path):
    damage_case(ledger, "p3", b"\xa2p3", b"\xa2p9")


def another_index(ledger: Path):
    damage_index(ledger, "p3", "p9")


def changed(statement):
    def change(ledger: Path):
        with closing(sqlite3.connect(ledger)) as db, db:
            assert db.execute(statement).rowcount == 1

    return change


IN_THE_VALUES = [
    not_utf8,
    another_name,
    changed("UPDATE timers SET due = due + 1 WHERE key = 'p3'"),
    changed("DELETE FROM timers WHERE key = 'p3'"),
    changed("INSERT INTO timers SELECT program, kind, shard, due, 'p9' FROM timers WHERE key = 'p3'"),
    changed("INSERT INTO timers SELECT program, 'wait', -1, due, '1.0' FROM timers WHERE key = 'p3'"),
    changed("UPDATE cases SET program = 9 WHERE application = 'p3'"),
    changed("UPDATE cases SET pooled = 1 WHERE application = 'p3'"),
    changed("UPDATE shards SET learner = substr(learner, 2)"),
    changed("UPDATE shards SET program = 'lo'"),
    changed("UPDATE meta SET value = 'x' WHERE name = 'offset'"),
    changed("UPDATE waiting SET payload = substr(payload, 2) WHERE application = 'nobody'"),
    changed("UPDATE waiting SET kind = 'no kind' WHERE application = 'nobody'"),
    changed("UPDATE sources SET time_ms = 'late' WHERE topic = 'outcomes'"),
    changed("UPDATE watermarks SET watermark = CAST(X'ff' AS TEXT)"),
]
"""What SQLite finds nothing wrong with."""


@pytest.mark.parametrize("spoil", [damage, cut, overwritten, another_index, *IN_THE_VALUES])
@pytest.mark.parametrize("kept", [True, False])
def test_a_damaged_ledger_is_kept_aside_and_made_anew(tmp_path, uninterrupted, caplog, spoil, kept):
    story, snapshots = write_journal(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=3) if kept else None
    first = crash_after_two_snapshots(story, snapshots)
    asyncio.run(first.processor.revoked([JOURNAL]))
    story.run.broker = MemoryBroker(logs=story.run.broker.logs)
    spoil(first.ledger)
    spoiled = first.ledger.read_bytes()
    again = Worker(story, "first", snapshots)
    assert asyncio.run(again.run()) == (SECOND + 1 if kept else 0)
    assert [record.levelno for record in caplog.records if "is damaged" in record.message] == [logging.ERROR]
    (aside,) = first.ledger.parent.glob("*.damaged-*Z")
    assert aside.read_bytes() == spoiled
    assert (story.run.outputs(), dump(again.ledger)) == uninterrupted


@pytest.mark.parametrize("kept", [True, False])
def test_a_value_that_is_damaged_under_a_worker_ends_it_once(tmp_path, uninterrupted, kept):
    story, snapshots = write_journal(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=3) if kept else None
    first = crash_after_two_snapshots(story, snapshots)
    not_utf8(first.ledger)
    with pytest.raises(DamagedLedgerError, match="start the worker again"):
        asyncio.run(first.fold(SECOND + 1))
    again = Worker(story, "first", snapshots)
    assert asyncio.run(again.run()) == (SECOND if kept else 0)
    assert (story.run.outputs(), dump(again.ledger)) == uninterrupted


async def after_a_snapshot(story, snapshots):
    """A worker that took a snapshot and has folded more since."""
    worker = Worker(story, "first", snapshots)
    await worker.open()
    await worker.fold(0, FIRST)
    await worker.processor.take_snapshots()
    await worker.fold(FIRST, SECOND)
    return worker


def test_a_damaged_value_is_not_taken_into_a_snapshot(tmp_path, uninterrupted):
    story, snapshots = write_journal(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=1)

    async def work():
        worker = await after_a_snapshot(story, snapshots)
        not_utf8(worker.ledger)
        await worker.processor.take_snapshots()
        assert worker.count("onward_snapshot_failures_total", action="take") == 1

    asyncio.run(work())
    assert offsets(snapshots) == [FIRST]
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == FIRST
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


@pytest.mark.parametrize(("spoil", "end"), [(not_utf8, SECOND), (damage, FIRST)])
def test_a_last_snapshot_is_checked_in_its_pages_when_taken_and_in_its_values_when_it_comes_to_be_used(
    tmp_path, uninterrupted, caplog, spoil, end
):
    story, snapshots = write_journal(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=2)

    async def work():
        worker = await after_a_snapshot(story, snapshots)
        with closing(sqlite3.connect(worker.ledger)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        spoil(worker.ledger)
        await worker.processor.revoked([JOURNAL])

    asyncio.run(work())
    assert offsets(snapshots) == [end, FIRST][: 2 if end == SECOND else 1]
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == FIRST
    assert ("is refused: its ledger is damaged" in caplog.text) == (end == SECOND)
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


@pytest.mark.parametrize("spoil", [another_index, *IN_THE_VALUES])
def test_a_snapshot_taken_of_a_damaged_ledger_is_refused_for_the_one_before(tmp_path, uninterrupted, caplog, spoil):
    story, address = write_journal(tmp_path), str(tmp_path / "snapshots")
    snapshots = Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    newest, place = snapshots.listed(JOURNAL)[0], tmp_path / "snapshots" / "journal-0"
    spoil(place / newest.file)
    content = (place / newest.file).read_bytes()
    listed_as(address, stored(size=len(content), sha256=hashlib.sha256(content).hexdigest()))
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == FIRST
    assert f"snapshot {newest.file} is refused: its ledger is damaged" in caplog.text
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


@pytest.mark.parametrize("gone", [False, True])
def test_what_a_killed_worker_left_unmerged_is_not_read_into_a_snapshot(tmp_path, uninterrupted, gone):
    story, snapshots = write_journal(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=3)
    killed, second = Worker(story, "killed"), Worker(story, "second", snapshots)

    async def work():
        await killed.open()
        await killed.fold(0, 3)
        shutil.copytree(killed.ledger.parent, second.ledger.parent)

    asyncio.run(work())
    assert second.ledger.with_name(f"{second.ledger.name}-wal").stat().st_size
    if gone:
        second.ledger.unlink()
    crash_after_two_snapshots(story, snapshots)
    assert asyncio.run(second.run()) == SECOND
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


def test_only_so_many_damaged_ledgers_are_kept(tmp_path):
    story = write_journal(tmp_path)
    for number in range(DAMAGED_KEPT + 2):
        worker = Worker(story, "first", clock_ms=lambda ms=number: ms)
        worker.ledger.parent.mkdir(exist_ok=True)
        overwritten(worker.ledger)
        asyncio.run(worker.run(end=3))
    kept = sorted(path.name for path in worker.ledger.parent.iterdir())
    assert kept == [
        "journal-0.sqlite",
        "journal-0.sqlite.damaged-19700101T000000.002000Z",
        "journal-0.sqlite.damaged-19700101T000000.003000Z",
    ]
