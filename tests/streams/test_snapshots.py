"""Snapshots: what they hold, what is refused, and that a worker that begins with one ends where all others do."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

import fsspec
import msgspec
import pytest
from pipeline import MemoryBroker, build_program, dump, no_clock
from tape import DAY_MS, JOURNAL, MINUTE_MS, TIMED, rows, tape

from onward.streams.errors import LedgerError, UsageError
from onward.streams.keeper import Keeper, Keeping
from onward.streams.ledger import Ledger
from onward.streams.ledgerfile import DAMAGED_KEPT
from onward.streams.ledgerschema import SCHEMA_VERSION
from onward.streams.metrics import Metrics
from onward.streams.snapshots import POINTER, SnapshotError, Snapshots

FIRST, SECOND = 9, 16
"""Journal offsets at which the first worker takes snapshots."""


class CrashError(BaseException):
    """Not even what catches every exception survives it."""


@pytest.fixture(params=["memory", "file"])
def address(request, tmp_path):
    return f"{request.param}://{tmp_path}/snapshots"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    story = told(tmp_path_factory.mktemp("whole"))
    ledger = story.fold()
    return story.run.outputs(), dump(ledger)


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


class Worker:
    """A keeper with a folder of its own."""

    def __init__(self, story, name, snapshots=None, seconds=0.0, clock_ms=no_clock):
        run, self.metrics = story.run, Metrics()
        self.journal = list(story.journal)
        self.ledger = run.directory / name / "journal-0.sqlite"
        keeping = Keeping(self.ledger.parent, snapshots=snapshots, snapshot_seconds=seconds)
        self.keeper = Keeper(run.topics, run.programs, run.broker, self.metrics, clock_ms, keeping)

    async def begins(self):
        """Where it goes on."""
        return (await self.keeper.assigned([JOURNAL]))[JOURNAL]

    async def folds(self, start, end=None):
        await self.keeper.handle(self.journal[start:end])

    async def works(self, end=None):
        """Begin, fold, end in good order; return where it went on."""
        start = await self.begins()
        await self.folds(start, end)
        await self.keeper.revoked([JOURNAL])
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
            await worker.keeper.take_snapshots()
        await worker.folds(SECOND, SECOND + 1)
        return worker

    return asyncio.run(work())


def taken(snapshots, ledger, now_ms=0):
    return snapshots.take(ledger, JOURNAL, now_ms, Event())


def offsets(snapshots):
    return [snapshot.ledger.offset for snapshot in snapshots.listed(JOURNAL)]


def folder(address):
    system, root = fsspec.core.url_to_fs(address)
    return system, f"{root}/journal-0"


def files(address):
    system, root = folder(address)
    return sorted(str(path).rpartition("/")[2] for path in system.ls(root, detail=False))


# --- a snapshot -------------------------------------------------------------------------------------------------


def test_a_snapshot_is_the_ledger_and_leaves_no_copy_behind(tmp_path, address):
    story = told(tmp_path)
    ledger = story.fold()
    snapshots = Snapshots(address, keep=3)
    snapshot = taken(snapshots, ledger, now_ms=5)
    assert snapshots.listed(JOURNAL) == [snapshot]
    assert (snapshot.ledger.offset, snapshot.ledger.schema, snapshot.taken_ms) == (
        len(story.journal),
        SCHEMA_VERSION,
        5,
    )
    assert files(address) == [snapshot.file, POINTER]
    snapshots.fetch(snapshot, tmp_path / "copy", Event())
    assert dump(tmp_path / "copy") == dump(ledger)
    assert [path.name for path in ledger.parent.iterdir()] == [ledger.name]


def test_only_so_many_are_kept_newest_first(tmp_path, address):
    story = told(tmp_path)
    snapshots = Snapshots(address, keep=2)
    for end in range(3, 8):
        taken(snapshots, story.fold(parts=[story.journal[end - 1 if end > 3 else 0 : end]]))
    assert offsets(snapshots) == [7, 6]
    assert files(address) == [*sorted(snapshot.file for snapshot in snapshots.listed(JOURNAL)), POINTER]


def test_a_worker_that_is_behind_does_not_push_out_what_is_newer(tmp_path, address):
    story = told(tmp_path)
    snapshots = Snapshots(address, keep=1)
    taken(snapshots, story.fold("ahead"))
    with pytest.raises(SnapshotError, match="later journal offsets than 3"):
        taken(snapshots, story.fold("behind", parts=[story.journal[:3]]))
    assert offsets(snapshots) == [len(story.journal)]


def test_a_snapshot_of_a_ledger_that_is_being_written_is_one_commit_s(tmp_path):
    ledger, snapshots, done = tmp_path / "journal-0.sqlite", Snapshots(str(tmp_path / "snapshots"), keep=1), Event()
    Ledger(ledger, *JOURNAL).close()

    def write():
        with closing(sqlite3.connect(ledger, isolation_level=None, timeout=0)) as db:
            for number in range(100_000):
                if done.is_set():
                    break
                db.execute("BEGIN IMMEDIATE")
                db.executemany("INSERT INTO settled VALUES (?, ?, 0)", [(f"{number}", f"{n}") for n in range(20)])
                db.execute("UPDATE meta SET value = value + 1 WHERE name = 'offset'")
                db.execute("COMMIT")

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    for _ in range(15):
        snapshot = taken(snapshots, ledger)
        snapshots.fetch(snapshot, tmp_path / "copy", Event())
        assert rows(tmp_path / "copy", "SELECT count(*) FROM settled") == [(20 * snapshot.ledger.offset,)]
        seen.add(snapshot.ledger.offset)
    assert writer.is_alive(), "the writer was stopped by a lock"
    done.set()
    writer.join()
    assert len(seen) > 10


@pytest.mark.parametrize("step", ["send", "list", "tidy"])
def test_a_crash_anywhere_leaves_what_was_there_and_the_next_one_cleans_up(tmp_path, address, monkeypatch, step):
    story = told(tmp_path)
    snapshots = Snapshots(address, keep=1)
    taken(snapshots, story.fold(parts=[story.journal[:3]]))

    def crash(*_):
        raise CrashError

    with monkeypatch.context() as patch:
        if step == "list":
            patch.setattr(msgspec.json, "format", crash)
        else:
            patch.setattr(f"onward.streams.snapshots.{'_check' if step == 'send' else 'Snapshots._tidy'}", crash)
        ledger = story.fold(parts=[story.journal[3:6]])
        with pytest.raises(CrashError):
            taken(snapshots, ledger)
    (listed,) = Snapshots(address, keep=1).listed(JOURNAL)
    assert listed.ledger.offset == (6 if step == "tidy" else 3)
    snapshots.fetch(listed, tmp_path / "copy", Event())
    newest = taken(snapshots, story.fold(parts=[story.journal[6:]]))
    assert files(address) == [newest.file, POINTER]


def test_a_damaged_ledger_does_not_push_out_whole_snapshots(tmp_path, address):
    story, snapshots = told(tmp_path), Snapshots(address, keep=1)
    good = taken(snapshots, story.fold(parts=[story.journal[:3]]))
    ledger = story.fold(parts=[story.journal[3:]])
    damage(ledger)
    with pytest.raises(SnapshotError, match="damaged"):
        taken(snapshots, ledger)
    assert snapshots.listed(JOURNAL) == [good]


def test_what_is_given_up_ends_early(tmp_path, address):
    story, snapshots, stop = told(tmp_path), Snapshots(address, keep=1), Event()
    snapshot = taken(snapshots, story.fold(parts=[story.journal[:3]]))
    ledger = story.fold(parts=[story.journal[3:]])
    stop.set()
    with pytest.raises(SnapshotError, match="given up"):
        snapshots.take(ledger, JOURNAL, 0, stop)
    with pytest.raises(SnapshotError, match="given up"):
        snapshots.fetch(snapshot, tmp_path / "copy", stop)
    assert snapshots.listed(JOURNAL) == [snapshot]


def test_an_address_of_no_known_kind_is_a_wrong_setting():
    with pytest.raises(UsageError, match="--snapshots nothing://x: not an address"):
        Snapshots("nothing://x", keep=1)


# --- a takeover -------------------------------------------------------------------------------------------------


def test_a_takeover_goes_on_from_the_newest_snapshot_to_the_same_end(tmp_path, address, uninterrupted):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    dies_after_two(story, snapshots)
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.works()) == SECOND
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert second.count("onward_snapshot_seconds_count", action="restore") == 1


def test_a_ledger_of_long_ago_gives_way_to_a_snapshot(tmp_path, address, uninterrupted):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    asyncio.run(Worker(story, "second").works(end=2))
    dies_after_two(story, snapshots)
    second = Worker(story, "second", snapshots)
    second.ledger.with_name(f"{second.ledger.name}.0123abcd.copy").write_text("left by a crash")
    assert asyncio.run(second.works()) == SECOND
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert [path.name for path in second.ledger.parent.iterdir()] == [second.ledger.name]


def test_a_ledger_that_is_ahead_of_all_snapshots_stays(tmp_path, address, uninterrupted):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    first = dies_after_two(story, snapshots)
    again = Worker(story, first.ledger.parent.name, snapshots)
    assert asyncio.run(again.works()) == SECOND + 1
    assert (story.run.outputs(), dump(again.ledger)) == uninterrupted


def test_a_worker_that_ends_in_good_order_leaves_nothing_to_fold_again(tmp_path, address):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    asyncio.run(Worker(story, "first", snapshots, seconds=600).works(end=SECOND))
    assert asyncio.run(Worker(story, "second", snapshots).works()) == SECOND


def test_a_large_ledger_holds_up_no_rebalance(tmp_path, address, monkeypatch):
    monkeypatch.setattr("onward.streams.taking.LAST_BYTES", 1000)
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    asyncio.run(Worker(story, "first", snapshots, seconds=600).works())
    assert offsets(snapshots) == []


def test_a_last_snapshot_that_takes_too_long_is_given_up(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("onward.streams.taking.LAST_SECONDS", 0.05)
    monkeypatch.setattr(Snapshots, "take", lambda self, ledger, journal, now_ms, stop: stop.wait(10))
    story = told(tmp_path)
    asyncio.run(Worker(story, "first", Snapshots(str(tmp_path / "snapshots"), keep=3), seconds=600).works())
    assert "was given up" in caplog.text


def test_a_snapshot_is_taken_when_it_is_due_and_something_is_new(tmp_path, address):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)

    async def work(seconds):
        worker = Worker(story, "first", snapshots, seconds)
        start = await worker.begins()
        for end in (start + 1, start + 2):
            await worker.folds(end - 1, end)
            await worker.keeper.take_snapshots()
            await worker.keeper.take_snapshots()
        return worker

    not_yet = asyncio.run(work(seconds=600))
    assert not_yet.count("onward_snapshot_seconds_count", action="take") is None
    due = asyncio.run(work(seconds=0))
    assert due.count("onward_snapshot_seconds_count", action="take") == 2
    assert due.count("onward_snapshot_timestamp_seconds", partition="0") == no_clock() / 1000
    assert offsets(snapshots) == [4, 3]


def test_what_cannot_be_taken_is_told_and_ends_nothing(tmp_path, uninterrupted, caplog):
    (tmp_path / "snapshots").write_text("a file, not a folder")
    story = told(tmp_path)
    first = dies_after_two(story, Snapshots(str(tmp_path / "snapshots"), keep=3))
    assert first.count("onward_snapshot_failures_total", action="take") == 2
    assert "no snapshot was taken" in caplog.text
    second = Worker(story, "second", Snapshots(str(tmp_path / "snapshots"), keep=3))
    assert asyncio.run(second.works()) == 0
    assert second.count("onward_snapshot_failures_total", action="restore") == 1
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


# --- what is refused --------------------------------------------------------------------------------------------


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
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    dies_after_two(story, snapshots)
    newest = snapshots.listed(JOURNAL)[0]
    system, root = folder(address)
    spoil(system, f"{root}/{newest.file}", system.cat_file(f"{root}/{newest.file}"))
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.works()) == FIRST
    assert f"snapshot {newest.file} is refused" in caplog.text
    assert second.count("onward_snapshot_failures_total", action="restore") == 1
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert [path.name for path in second.ledger.parent.iterdir()] == [second.ledger.name]


def listed_as(address, change):
    """Change what the list says of the newest."""
    system, root = folder(address)
    newest, *older = Snapshots(address, keep=3).listed(JOURNAL)
    system.pipe_file(f"{root}/{POINTER}", msgspec.json.encode({"snapshots": [change(newest), *older]}))


def stands(**changes):
    return lambda snapshot: msgspec.structs.replace(
        snapshot, ledger=msgspec.structs.replace(snapshot.ledger, **changes)
    )


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
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    dies_after_two(story, snapshots)
    listed_as(address, change)
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.works()) == FIRST
    assert "is refused" in caplog.text
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


def test_a_list_that_cannot_be_understood_is_told_and_written_anew(tmp_path, address, uninterrupted, caplog):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    dies_after_two(story, snapshots)
    system, root = folder(address)
    system.pipe_file(f"{root}/{POINTER}", b'{"snapshots": [{"file": "../../../etc/passwd"}]}')
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.works()) == 0
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
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    dies_after_two(story, snapshots)
    listed_as(address, change)
    with pytest.raises(LedgerError, match=words):
        asyncio.run(Worker(story, "second", snapshots).works())


def test_a_snapshot_of_another_spec_is_refused_as_a_ledger_is(tmp_path, address):
    story, snapshots = told(tmp_path), Snapshots(address, keep=3)
    dies_after_two(story, snapshots)
    story.run.programs = {"loan": replace(build_program(**TIMED), sha256="9" * 64)}
    with pytest.raises(LedgerError, match="spec of program 'loan'"):
        asyncio.run(Worker(story, "second", snapshots).works())


# --- damaged ledgers --------------------------------------------------------------------------------------------


def damage(ledger: Path):
    """A page in the middle is lost."""
    content = bytearray(ledger.read_bytes())
    middle = len(content) // 4096 // 2 * 4096
    content[middle : middle + 4096] = bytes(4096)
    ledger.write_bytes(content)


def cut(ledger: Path):
    ledger.write_bytes(ledger.read_bytes()[:4096])


def overwritten(ledger: Path):
    ledger.write_bytes(b"nothing of it is left" * 1000)


@pytest.mark.parametrize("spoil", [damage, cut, overwritten])
@pytest.mark.parametrize("kept", [True, False])
def test_a_damaged_ledger_is_kept_aside_and_made_anew(tmp_path, uninterrupted, caplog, spoil, kept):
    story, snapshots = told(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=3) if kept else None
    first = dies_after_two(story, snapshots)
    asyncio.run(first.keeper.revoked([JOURNAL]))
    story.run.broker = MemoryBroker(logs=story.run.broker.logs)
    spoil(first.ledger)
    spoiled = first.ledger.read_bytes()
    again = Worker(story, "first", snapshots)
    assert asyncio.run(again.works()) == (SECOND + 1 if kept else 0)
    assert [record.levelno for record in caplog.records if "is damaged" in record.message] == [logging.ERROR]
    (aside,) = first.ledger.parent.glob("*.damaged-*Z")
    assert aside.read_bytes() == spoiled
    assert (story.run.outputs(), dump(again.ledger)) == uninterrupted


@pytest.mark.parametrize("gone", [False, True])
def test_what_a_killed_worker_left_unmerged_is_not_read_into_a_snapshot(tmp_path, uninterrupted, gone):
    story, snapshots = told(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=3)
    killed, second = Worker(story, "killed"), Worker(story, "second", snapshots)

    async def work():
        await killed.begins()
        await killed.folds(0, 3)
        shutil.copytree(killed.ledger.parent, second.ledger.parent)

    asyncio.run(work())
    assert second.ledger.with_name(f"{second.ledger.name}-wal").stat().st_size
    if gone:
        second.ledger.unlink()
    dies_after_two(story, snapshots)
    assert asyncio.run(second.works()) == SECOND
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


def test_only_so_many_damaged_ledgers_are_kept(tmp_path):
    story = told(tmp_path)
    for number in range(DAMAGED_KEPT + 2):
        worker = Worker(story, "first", clock_ms=lambda ms=number: ms)
        worker.ledger.parent.mkdir(exist_ok=True)
        overwritten(worker.ledger)
        asyncio.run(worker.works(end=3))
    kept = sorted(path.name for path in worker.ledger.parent.iterdir())
    assert kept == [
        "journal-0.sqlite",
        "journal-0.sqlite.damaged-19700101T000000.002000Z",
        "journal-0.sqlite.damaged-19700101T000000.003000Z",
    ]
