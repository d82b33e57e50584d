"""Names are found in ledgers, also while these are written, and longer names are others'."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from onward.schemas.events import Application
from onward.streams.topics import Topics
from onward.streams.traces.names import Names
from onward.streams.traces.search import TopicRetention, TraceSearch
from onward.testing.tape import POOR, TIMED, tape

SEARCH_A_FILE = """
import sys
from pathlib import Path
from onward.streams.topics import Topics
from onward.streams.traces.names import Names
from onward.streams.traces.search import TopicRetention, TraceSearch
search = TraceSearch(Names([f"canary-{number}" for number in range(120)]), TopicRetention(Topics(), None))
print("begun", flush=True)
print(list(search.in_file(Path(sys.argv[1]))), flush=True)
"""


def found(*names: str, folder: Path) -> list[tuple[str, tuple[int, ...]]]:
    """Where in the files of a folder names are."""
    return [
        (trace.note, trace.names)
        for trace in TraceSearch(Names(names), TopicRetention(Topics(), None)).in_folder(folder)
    ]


def open_ledger(path: Path) -> sqlite3.Connection:
    """A database as a worker writes it; its write-ahead log has all until it is closed."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE cases (program INTEGER, application TEXT, body BLOB)")
    db.execute("CREATE UNIQUE INDEX cases_name ON cases (program, application)")
    db.commit()
    return db


@pytest.mark.attack
def test_an_applicant_is_found_whatever_the_length_of_the_name(tmp_path):
    story = tape(tmp_path, **TIMED)
    people = {size: ("urn-customer-" + "0123456789abcdef" * 9)[:size] for size in (20, 48, 57, 65, 90, 97, 122, 150)}
    for size, name in people.items():
        story.send("applications", Application("loan", f"app-{size}", dict(POOR), name), size, f"e{size}")
    folder = story.fold().parent
    # Each name goes on with the next: the rows hold longer ones too.
    for name in people.values():
        assert found(name, folder=folder) == [("table cases", (1,))]


@pytest.mark.attack
def test_a_longer_name_in_a_write_ahead_log_is_somebody_else(tmp_path):
    with closing(open_ledger(tmp_path / "journal-0.sqlite")) as db:
        db.execute("INSERT INTO cases VALUES (1, 'p-10', x'00')")
        db.commit()
        assert (tmp_path / "journal-0.sqlite-wal").stat().st_size
        assert found("p-1", folder=tmp_path) == []
        assert found("p-10", folder=tmp_path) == [("table cases", (1,))]


@pytest.mark.attack
def test_a_deleted_row_is_found_in_a_write_ahead_log(tmp_path):
    with closing(open_ledger(tmp_path / "journal-0.sqlite")) as db:
        db.executemany("INSERT INTO cases VALUES (1, ?, x'00')", [("p-1",), ("p-10",)])
        db.commit()
        db.execute("DELETE FROM cases WHERE application = 'p-1'")
        db.commit()
        assert found("p-1", folder=tmp_path) == [("bytes of no row", (1,))]


@pytest.mark.attack
def test_names_that_begin_alike_take_linear_work(tmp_path):
    """Twenty thousand took minutes."""
    with closing(open_ledger(tmp_path / "journal-0.sqlite")) as db:
        db.executemany("INSERT INTO cases VALUES (1, ?, x'00')", ((f"p-1{number}",) for number in range(20_000)))
        db.commit()
    begun = time.process_time()
    assert found("p-1", folder=tmp_path) == []
    assert time.process_time() - begun < 20


@pytest.mark.attack
def test_a_file_that_is_cut_meanwhile_ends_no_search(tmp_path):
    """A worker empties its write-ahead log: who has mapped that into memory is killed."""
    wal = tmp_path / "journal-0.sqlite-wal"
    wal.touch()
    os.truncate(wal, 1 << 30)
    command = [sys.executable, "-c", SEARCH_A_FILE, str(wal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as search:
        assert search.stdout is not None
        assert search.stdout.readline() == "begun\n"
        time.sleep(0.2)
        os.truncate(wal, 0)
        assert search.stdout.read() == "[]\n"
    assert search.returncode == 0


@pytest.mark.attack
def test_a_ledger_whose_rows_cannot_be_read_is_told(tmp_path):
    ledger = tmp_path / "journal-0.sqlite.damaged-1"
    ledger.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 32)
    assert [names for _, names in found("p-1", folder=tmp_path)] == [(0,)]


def test_a_name_is_found_across_the_pieces_of_a_file(tmp_path):
    piece = 4 << 20
    for at in (piece - 10, piece - 3, piece, 2 * piece - 1):
        content = bytearray(2 * piece + 100)
        content[at : at + 8] = b"canary-7"
        (tmp_path / "left.sqlite-wal").write_bytes(content)
        assert found("canary-7", folder=tmp_path) == [("bytes of no row", (1,))]
