import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from onward.streams.engine.portion import PortionChanges
from onward.streams.engine.rounds.state import ProgramRounds
from onward.streams.engine.timing.timers import WINDOW
from onward.streams.engine.timing.watermark import required_topics
from onward.streams.errors import LedgerError
from onward.streams.journal.entries import shard_of
from onward.streams.ledger import states
from onward.streams.ledger.ledger import Ledger
from onward.streams.topics import Topics
from onward.testing.ledger import dump, rows
from onward.testing.tape import MINUTE_MS, TIMED, tape
from onward.tests.streams.engine.rounds.stories import HOUR_MS
from onward.tests.streams.engine.rounds.stories import story as rounds_story
from onward.tests.support.connections import closing_connections


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


def test_an_owner_whose_ledger_another_one_has_claimed_cannot_commit(tmp_path):
    """Also where the other has folded nothing yet, so that both stand at one offset."""
    path = tmp_path / "journal-0.sqlite"
    with Ledger(path, "journal", 0) as first, Ledger(path, "journal", 0) as second:
        states = []
        for ledger in (first, second):
            ledger.claim(0)
            states.append(ledger.load({}, required_topics(Topics()), 10))
        with pytest.raises(LedgerError, match="was taken over by another worker"):
            first.commit(states[0], PortionChanges())
        second.commit(states[1], PortionChanges())


def test_a_ledger_that_a_test_leaves_open_is_found_and_closed(tmp_path):
    with closing_connections() as left:
        ledger = Ledger(tmp_path / "journal-0.sqlite", "journal", 0)
    assert left == [str(tmp_path / "journal-0.sqlite")]
    with pytest.raises(LedgerError, match="closed database"):
        _ = ledger.progress


@contextmanager
def traced(monkeypatch) -> Iterator[list[str]]:
    """The statements that ledgers run."""
    statements: list[str] = []
    opened = Ledger.__init__

    def open_and_trace(self, *place):
        opened(self, *place)
        self._db.set_trace_callback(statements.append)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "__init__", open_and_trace)
        yield statements


@pytest.mark.parametrize("window", [{"steps": 2}, {"time": "PT30M", "lateness": "PT5M"}])
def test_a_portion_takes_as_few_queries_however_many_shards_a_program_has(tmp_path, monkeypatch, window):
    def statements(shards):
        story = tape(tmp_path / str(shards), shards=shards, window=window)
        for number in range(20):
            story.applies(f"p{number}", number)
        with traced(monkeypatch) as found:
            story.fold()
        assert len(story.answers()) == 20
        return [statement for statement in found if statement.startswith("SELECT")]

    assert len(statements(1024)) == len(statements(1))


def test_timers_of_steps_are_read_for_the_shards_and_steps_of_the_portion_alone(tmp_path, monkeypatch):
    story = tape(tmp_path, shards=4, window={"steps": 3})
    for number in range(40):
        story.applies(f"p{number}", number)
    before = len(story.journal)
    story.applies("last", 40)
    views = []
    view = Ledger.view

    def kept(self, *given):
        views.append(view(self, *given))
        return views[-1]

    monkeypatch.setattr(Ledger, "view", kept)
    story.fold(parts=[story.journal[:before], story.journal[before:]])
    [closing] = views[-1].timers
    assert (closing.kind, closing.shard) == (WINDOW, shard_of("last", 4))


def test_a_timer_is_counted_from_the_instant_on_at_which_it_is_due(tmp_path):
    story = tape(tmp_path, **TIMED)
    for name, ms in (("a", 0), ("b", 1)):
        story.applies(name, ms)
    path, run = story.fold(), story.run
    first, second = (due for (due,) in rows(path, "SELECT due FROM timers WHERE kind = 'window' ORDER BY due"))
    assert second == first + 1
    with Ledger(path, "journal", 0) as ledger:
        ledger.load(run.programs, required_topics(run.topics), 10)
        assert ledger.count_due("loan", WINDOW, [second]) == [1, 1]


def test_of_a_program_with_rounds_only_those_who_wait_are_read_at_the_start(tmp_path, monkeypatch):
    story = rounds_story(tmp_path)
    for number in range(30):
        story.applies_with(f"p{number}", MINUTE_MS, income=20 + number)
    for number in range(5):
        story.tick(HOUR_MS + 6 * MINUTE_MS + number)
    for name in ("b", "a"):
        story.applies_with(name, HOUR_MS + 10 * MINUTE_MS, income=30)
    ledger, run = story.fold(), story.run
    read = []
    decode = states.decode_case
    monkeypatch.setattr(states, "decode_case", lambda body: read.append(body) or decode(body))
    with Ledger(ledger, "journal", 0) as opened:
        state = opened.load(run.programs, required_topics(run.topics), 10)
    rounds = state.get(ProgramRounds, "loan")
    assert list(rounds.pool) == ["b", "a"]
    assert len(read) == 2
    plan = "EXPLAIN QUERY PLAN SELECT body FROM cases WHERE program = 1 AND pooled = 1 ORDER BY rowid"
    [(*_, how)] = rows(ledger, plan)
    assert "USING INDEX cases_pooled" in how
