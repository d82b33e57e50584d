"""Workers that begin with a snapshot end where all others do."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing

import pytest

from onward.streams.errors import BrokerError
from onward.streams.ledger.check import check_ledger
from onward.streams.snapshots.store import Snapshots
from onward.testing.ledger import dump
from onward.testing.pipeline import no_clock
from onward.tests.support.takeovers import (
    FIRST,
    SECOND,
    Worker,
    crash_after_two_snapshots,
    damage_case,
    offsets,
    write_journal,
)

pytestmark = pytest.mark.usefixtures("crashes")


def test_a_takeover_goes_on_from_the_newest_snapshot_to_the_same_end(tmp_path, address, uninterrupted):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    crash_after_two_snapshots(story, snapshots)
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == SECOND
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert second.count("onward_snapshot_seconds_count", action="restore") == 1


def test_a_ledger_of_long_ago_gives_way_to_a_snapshot(tmp_path, address, uninterrupted):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    asyncio.run(Worker(story, "second").run(end=2))
    crash_after_two_snapshots(story, snapshots)
    second = Worker(story, "second", snapshots)
    second.ledger.with_name(f"{second.ledger.name}.0123abcd.copy").write_text("left by a crash")
    assert asyncio.run(second.run()) == SECOND
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted
    assert [path.name for path in second.ledger.parent.iterdir()] == [second.ledger.name]


def test_a_ledger_that_is_ahead_of_all_snapshots_stays(tmp_path, address, uninterrupted):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    first = crash_after_two_snapshots(story, snapshots)
    again = Worker(story, first.ledger.parent.name, snapshots)
    assert asyncio.run(again.run()) == SECOND + 1
    assert (story.run.outputs(), dump(again.ledger)) == uninterrupted


def test_a_worker_that_ends_in_good_order_leaves_nothing_to_fold_again(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    asyncio.run(Worker(story, "first", snapshots, seconds=600).run(end=SECOND))
    assert asyncio.run(Worker(story, "second", snapshots).run()) == SECOND


def test_a_large_ledger_holds_up_no_rebalance(tmp_path, address, monkeypatch):
    monkeypatch.setattr("onward.streams.snapshots.scheduler.LAST_BYTES", 1000)
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)
    asyncio.run(Worker(story, "first", snapshots, seconds=600).run())
    assert offsets(snapshots) == []


def test_a_last_snapshot_that_takes_too_long_is_given_up(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("onward.streams.snapshots.scheduler.LAST_SECONDS", 0.05)
    monkeypatch.setattr(Snapshots, "send", lambda self, ledger, journal, now_ms, stop, values: stop.wait(10))
    story = write_journal(tmp_path)
    asyncio.run(Worker(story, "first", Snapshots(str(tmp_path / "snapshots"), keep=3), seconds=600).run())
    assert "was given up" in caplog.text


def test_a_snapshot_is_taken_when_it_is_due_and_something_is_new(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=3)

    async def work(seconds):
        worker = Worker(story, "first", snapshots, seconds)
        start = await worker.open()
        for end in (start + 1, start + 2):
            await worker.fold(end - 1, end)
            await worker.processor.take_snapshots()
            await worker.processor.take_snapshots()
        return worker

    not_yet = asyncio.run(work(seconds=600))
    assert not_yet.count("onward_snapshot_seconds_count", action="take") is None
    due = asyncio.run(work(seconds=0))
    assert due.count("onward_snapshot_seconds_count", action="take") == 2
    assert due.count("onward_snapshot_timestamp_seconds", partition="0") == no_clock() / 1000
    assert offsets(snapshots) == [4, 3]


@pytest.fixture
def examined(monkeypatch):
    """The ledgers that are examined, in order."""
    seen = []
    monkeypatch.setattr(
        "onward.streams.snapshots.recovery.check_ledger",
        lambda ledger, *_: seen.append(ledger) or check_ledger(ledger, *_),
    )
    return seen


def test_a_ledger_that_comes_back_as_it_was_left_is_not_examined_again(tmp_path, uninterrupted, examined):
    story = write_journal(tmp_path)
    worker = Worker(story, "first")

    async def work():
        for end in (FIRST, SECOND, None):
            await worker.run(end)

    asyncio.run(work())
    assert examined == [worker.ledger]
    assert (story.run.outputs(), dump(worker.ledger)) == uninterrupted


def written_by_another(story, ledger):
    asyncio.run(Worker(story, ledger.parent.name).run(SECOND))


def claimed_in_the_same_moment(story, ledger):
    before = ledger.stat()
    with closing(sqlite3.connect(ledger)) as db, db:
        db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    assert ledger.stat().st_size == before.st_size
    os.utime(ledger, ns=(before.st_atime_ns, before.st_mtime_ns))


def written_anew(story, ledger):
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("VACUUM")


def an_older_copy_put_back(story, ledger):
    ledger.write_bytes(ledger.with_name("older").read_bytes())


def damaged_by_hand(story, ledger):
    damage_case(ledger, "p1", b"\xa2p1", b"\xa2p9")


@pytest.mark.parametrize(
    "touch",
    [written_by_another, claimed_in_the_same_moment, written_anew, an_older_copy_put_back, damaged_by_hand],
)
def test_a_ledger_that_somebody_has_touched_is_examined(tmp_path, uninterrupted, examined, touch):
    story = write_journal(tmp_path)
    worker = Worker(story, "first")
    asyncio.run(worker.run(3))
    worker.ledger.with_name("older").write_bytes(worker.ledger.read_bytes())
    asyncio.run(worker.run(FIRST))
    examined.clear()
    touch(story, worker.ledger)
    touched = len(examined)
    asyncio.run(worker.run())
    assert len(examined) == touched + 1
    assert (story.run.outputs(), dump(worker.ledger)) == uninterrupted


def test_what_cannot_be_taken_is_told_and_ends_nothing(tmp_path, uninterrupted, caplog):
    (tmp_path / "snapshots").write_text("a file, not a folder")
    story = write_journal(tmp_path)
    first = crash_after_two_snapshots(story, Snapshots(str(tmp_path / "snapshots"), keep=3))
    assert first.count("onward_snapshot_failures_total", action="take") == 2
    assert "no snapshot was taken" in caplog.text
    second = Worker(story, "second", Snapshots(str(tmp_path / "snapshots"), keep=3))
    assert asyncio.run(second.run()) == 0
    assert second.count("onward_snapshot_failures_total", action="restore") == 1
    assert (story.run.outputs(), dump(second.ledger)) == uninterrupted


@pytest.mark.parametrize("whole_portions", [0, 1, 3])
def test_outputs_that_are_many_are_published_in_portions_and_a_crash_between_them_doubles_none(
    tmp_path, uninterrupted, monkeypatch, whole_portions
):
    monkeypatch.setattr("onward.streams.outputs.writer.PUBLISHED_TOGETHER", 2)
    story = write_journal(tmp_path)
    publish, sizes = story.run.broker.publish, []

    async def dying(records):
        if len(sizes) == whole_portions:
            raise BrokerError("gone")
        sizes.append(len(records))
        await publish(records)

    monkeypatch.setattr(story.run.broker, "publish", dying)
    with pytest.raises(BrokerError):
        asyncio.run(Worker(story, "only").run())
    assert sizes == [2] * whole_portions
    monkeypatch.setattr(story.run.broker, "publish", publish)
    again = Worker(story, "only")
    asyncio.run(again.run())
    assert (story.run.outputs(), dump(again.ledger)) == uninterrupted
