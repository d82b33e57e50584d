"""Snapshots: what they hold, how many are kept, and what a crash leaves."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from threading import Event

import msgspec
import pytest

from onward.streams.errors import UsageError
from onward.streams.ledger.file import copy_ledger
from onward.streams.ledger.ledger import Ledger
from onward.streams.ledger.schema import SCHEMA_VERSION
from onward.streams.snapshots.store import LIST_FILE, SnapshotError, Snapshots
from onward.testing.ledger import dump, rows
from onward.testing.tape import JOURNAL
from onward.tests.support.takeovers import damage, files, offsets, take_snapshot, write_journal


class CrashError(BaseException):
    """Not even what catches every exception survives it."""


def test_a_snapshot_is_the_ledger_and_leaves_no_copy_behind(tmp_path, address):
    story = write_journal(tmp_path)
    ledger = story.fold()
    snapshots = Snapshots(address, keep=3)
    snapshot = take_snapshot(snapshots, ledger, now_ms=5)
    assert snapshots.listed(JOURNAL) == [snapshot]
    assert (snapshot.ledger.offset, snapshot.ledger.schema, snapshot.taken_ms) == (
        len(story.journal),
        SCHEMA_VERSION,
        5,
    )
    assert files(address) == [snapshot.file, LIST_FILE]
    snapshots.fetch(snapshot, tmp_path / "copy", Event())
    assert dump(tmp_path / "copy") == dump(ledger)
    assert [path.name for path in ledger.parent.iterdir()] == [ledger.name]


def test_every_file_of_a_ledger_or_snapshot_is_its_owners_alone_whatever_its_folder_is(tmp_path, owners_and_others):
    """Ledgers hold personal data."""
    state, stored = tmp_path / "state", tmp_path / "snapshots" / "journal-0"
    state.mkdir(mode=0o755)
    stored.mkdir(mode=0o755, parents=True)
    with Ledger(state / "journal-0.sqlite", *JOURNAL) as ledger:
        ledger.claim(0)
        snapshots = Snapshots(str(tmp_path / "snapshots"), keep=1)
        snapshots.fetch(take_snapshot(snapshots, ledger.path), state / "fetched", Event())
        copy_ledger(ledger.path, state / "copied", lambda: None)
        written = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (*state.iterdir(), *stored.iterdir())}
    assert {"journal-0.sqlite", "journal-0.sqlite-wal", "journal-0.sqlite-shm"} <= set(written)
    assert set(written.values()) == {0o600}


@pytest.fixture
def owners_and_others():
    """New files can be read by everybody, unless the program asks for less."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_only_so_many_are_kept_newest_first(tmp_path, address):
    story = write_journal(tmp_path)
    snapshots = Snapshots(address, keep=2)
    for end in range(3, 8):
        take_snapshot(snapshots, story.fold(parts=[story.journal[end - 1 if end > 3 else 0 : end]]))
    assert offsets(snapshots) == [7, 6]
    assert files(address) == [*sorted(snapshot.file for snapshot in snapshots.listed(JOURNAL)), LIST_FILE]


def test_a_worker_that_is_behind_does_not_push_out_what_is_newer(tmp_path, address):
    story = write_journal(tmp_path)
    snapshots = Snapshots(address, keep=1)
    take_snapshot(snapshots, story.fold("ahead"))
    with pytest.raises(SnapshotError, match="later offsets than 3"):
        take_snapshot(snapshots, story.fold("behind", parts=[story.journal[:3]]))
    assert offsets(snapshots) == [len(story.journal)]


def test_another_owner_s_snapshot_of_the_same_offset_takes_the_place_of_the_first(tmp_path, address):
    """Nothing was folded between the two, so the earlier state that is kept beside them is not pushed out."""
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=2)
    take_snapshot(snapshots, story.fold(parts=[story.journal[:3]]))
    first, second = (
        take_snapshot(snapshots, story.fold(parts=[part])) for part in (story.journal[3:], story.journal[-1:])
    )
    assert first.ledger.generation < second.ledger.generation
    assert offsets(snapshots) == [len(story.journal), 3]
    assert snapshots.listed(JOURNAL)[0] == second
    assert first.file not in files(address)


def test_what_another_worker_is_sending_is_not_deleted(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=1)
    ahead = snapshots.send(story.fold("ahead"), JOURNAL, 0, Event())
    behind = take_snapshot(snapshots, story.fold("behind", parts=[story.journal[:3]]))
    assert files(address) == [behind.file, ahead.file, LIST_FILE]
    snapshots.enlist(ahead)
    assert files(address) == [ahead.file, LIST_FILE]


def test_a_snapshot_of_a_ledger_that_is_being_written_is_one_commit_s(tmp_path):
    ledger, snapshots, done = tmp_path / "journal-0.sqlite", Snapshots(str(tmp_path / "snapshots"), keep=1), Event()
    Ledger(ledger, *JOURNAL).close()
    # Whoever opens a file first locks it for a moment; only what happens later is looked at here.
    opened = Event()

    def write():
        with closing(sqlite3.connect(ledger, isolation_level=None, timeout=0)) as db:
            db.execute("SELECT count(*) FROM meta").fetchone()
            opened.set()
            for number in range(100_000):
                if done.is_set():
                    break
                db.execute("BEGIN IMMEDIATE")
                db.executemany(
                    "INSERT INTO processed_events VALUES (?, ?, 0)", [(f"{number}", f"{n}") for n in range(20)]
                )
                db.execute("UPDATE meta SET value = value + 1 WHERE name = 'offset'")
                db.execute("COMMIT")

    writer = threading.Thread(target=write)
    writer.start()
    opened.wait()
    seen = set()
    for _ in range(15):
        snapshot = take_snapshot(snapshots, ledger)
        snapshots.fetch(snapshot, tmp_path / "copy", Event())
        assert rows(tmp_path / "copy", "SELECT count(*) FROM processed_events") == [(20 * snapshot.ledger.offset,)]
        seen.add(snapshot.ledger.offset)
    assert writer.is_alive(), "the writer was stopped by a lock"
    done.set()
    writer.join()
    assert len(seen) > 5


@pytest.mark.parametrize("step", ["send", "list", "tidy"])
def test_a_crash_anywhere_leaves_what_was_there_and_the_next_one_cleans_up(tmp_path, address, monkeypatch, step):
    story = write_journal(tmp_path)
    snapshots = Snapshots(address, keep=1)
    take_snapshot(snapshots, story.fold(parts=[story.journal[:3]]))

    def crash(*_):
        raise CrashError

    with monkeypatch.context() as patch:
        if step == "list":
            patch.setattr(msgspec.json, "format", crash)
        else:
            patch.setattr(f"onward.streams.snapshots.store.{'_check' if step == 'send' else 'Snapshots._tidy'}", crash)
        ledger = story.fold(parts=[story.journal[3:6]])
        with pytest.raises(CrashError):
            take_snapshot(snapshots, ledger)
    (listed,) = Snapshots(address, keep=1).listed(JOURNAL)
    assert listed.ledger.offset == (6 if step == "tidy" else 3)
    snapshots.fetch(listed, tmp_path / "copy", Event())
    newest = take_snapshot(snapshots, story.fold(parts=[story.journal[6:]]))
    assert files(address) == [newest.file, LIST_FILE]


def test_a_damaged_ledger_does_not_push_out_whole_snapshots(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=1)
    good = take_snapshot(snapshots, story.fold(parts=[story.journal[:3]]))
    ledger = story.fold(parts=[story.journal[3:]])
    damage(ledger)
    with pytest.raises(SnapshotError, match="damaged"):
        take_snapshot(snapshots, ledger)
    assert snapshots.listed(JOURNAL) == [good]


def test_what_is_given_up_ends_early(tmp_path, address):
    story, snapshots, stop = write_journal(tmp_path), Snapshots(address, keep=1), Event()
    snapshot = take_snapshot(snapshots, story.fold(parts=[story.journal[:3]]))
    ledger = story.fold(parts=[story.journal[3:]])
    stop.set()
    with pytest.raises(SnapshotError, match="stopped"):
        snapshots.send(ledger, JOURNAL, 0, stop)
    with pytest.raises(SnapshotError, match="stopped"):
        snapshots.fetch(snapshot, tmp_path / "copy", stop)
    assert snapshots.listed(JOURNAL) == [snapshot]


def test_an_address_of_no_known_kind_is_a_wrong_setting():
    with pytest.raises(UsageError, match="--snapshots nothing://x: not an address"):
        Snapshots("nothing://x", keep=1)
