"""Checks of ledgers can be told to stop: nobody waits for the values of a million cases."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from threading import Event

import pytest

from onward.streams.errors import LedgerError
from onward.streams.ledger import check
from onward.streams.ledger.check import LedgerCheckError, check_copy, check_ledger
from onward.streams.ledger.ledger import Ledger
from onward.streams.snapshots.store import SnapshotError, Snapshots
from onward.testing.tape import JOURNAL
from onward.tests.support.takeovers import Worker, write_journal


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A ledger that takes a while, with few steps between two looks at whether to stop."""
    monkeypatch.setattr(check, "STEPS_BETWEEN_LOOKS", 1000)
    path = tmp_path / "journal-0.sqlite"
    Ledger(path, *JOURNAL).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO processed_events VALUES ('loan', ?, 0)", [(f"{number:030}",) for number in range(60_000)]
        )
    return path


class Soon(Event):
    """Is set when it has been asked a few times."""

    def __init__(self, asked):
        super().__init__()
        self.left = asked

    def is_set(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("asked", [0, 1, 100, 600])
def test_a_check_stops_wherever_it_is(large, asked):
    stop = Soon(asked)
    with pytest.raises(LedgerError, match="interrupted"):
        check_ledger(large, stop)
    assert stop.left == -1
    with pytest.raises(LedgerCheckError, match="interrupted"):
        check_copy(large, Soon(asked))


def test_a_check_looks_up_often(large):
    looks = []

    class Noted(Event):
        def is_set(self):
            looks.append(time.thread_time())
            return False

    assert check_ledger(large, Noted())
    assert len(looks) > 600
    assert max(later - before for before, later in pairwise(looks)) < 0.5


def test_a_snapshot_stops_wherever_it_is(large, tmp_path):
    snapshots, asked = Snapshots(str(tmp_path / "snapshots"), keep=1), Soon(1 << 40)
    snapshots.send(large, JOURNAL, 0, asked)
    whole = (1 << 40) - asked.left
    assert whole > 600
    (tmp_path / "again").mkdir()
    for number in (0, 2, 300, whole - 1):
        again = Snapshots(str(tmp_path / "again"), keep=1)
        with pytest.raises(SnapshotError, match="stopped"):
            again.send(large, JOURNAL, 0, Soon(number))
        assert again.listed(JOURNAL) == []


def test_a_worker_that_gives_up_opening_waits_until_nobody_looks_into_the_ledger(tmp_path, monkeypatch):
    story, ended = write_journal(tmp_path), []

    begun = Event()

    def slowly(ledger, stop):
        begun.set()
        stop.wait()
        time.sleep(0.1)
        ended.append(ledger)
        raise LedgerError("interrupted")

    monkeypatch.setattr("onward.streams.snapshots.recovery.check_ledger", slowly)
    worker = Worker(story, "first")

    async def work():
        opening = asyncio.ensure_future(worker.open())
        await asyncio.to_thread(begun.wait)
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled()
        assert ended == [worker.ledger]

    asyncio.run(work())
