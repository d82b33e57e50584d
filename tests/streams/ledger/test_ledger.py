import sqlite3

import pytest

from onward.streams.errors import LedgerError
from onward.streams.ledger.ledger import Ledger
from onward.tests.support.connections import closing_connections
from onward.tests.support.pipeline import dump
from onward.tests.support.tape import tape


def test_a_damaged_ledger_is_told(tmp_path):
    path = tmp_path / "journal-0.sqlite"
    path.write_bytes(b"not a ledger" * 1000)
    with pytest.raises(LedgerError, match=r"is damaged \(file is not a database\): start the worker again"):
        Ledger(path, "journal", 0)


def test_a_state_directory_that_is_a_file_is_told(tmp_path):
    (tmp_path / "state").touch()
    with pytest.raises(LedgerError, match=r"journal-0\.sqlite cannot be opened: File exists; check --state-dir"):
        Ledger(tmp_path / "state" / "journal-0.sqlite", "journal", 0)


def test_a_full_disk_is_told_and_leaves_the_last_commit(tmp_path, monkeypatch):
    story = tape(tmp_path)
    story.applies("x")
    whole = dump(story.fold())
    for number in range(60):
        story.applies(f"y{number}")
    connect = sqlite3.connect

    def small(*arguments, **keywords):
        db = connect(*arguments, **keywords)
        db.execute("PRAGMA max_page_count = 13")
        return db

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        with pytest.raises(LedgerError, match="database or disk is full"):
            story.fold(parts=[story.journal[1:]])
    assert dump(story.run.directory / "ledger" / "journal-0.sqlite") == whole


def test_a_ledger_that_a_test_leaves_open_is_found_and_closed(tmp_path):
    with closing_connections() as left:
        ledger = Ledger(tmp_path / "journal-0.sqlite", "journal", 0)
    assert left == [str(tmp_path / "journal-0.sqlite")]
    with pytest.raises(LedgerError, match="closed database"):
        _ = ledger.progress
