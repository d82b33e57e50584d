import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from onward.schemas.events import Application
from onward.streams.errors import LedgerError
from onward.streams.ledger.summary import PromisesSummary, RoundsSummary, summaries
from onward.testing.pipeline import START_MS, PipelineRun, Sender
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS
from onward.tests.streams.engine.promises import stories as promised
from onward.tests.streams.engine.rounds.stories import HOUR_MS, story


async def test_the_summary_counts_what_the_worker_answered(tmp_path: Path) -> None:
    programs = {name: build_program(name, window={"steps": 4}) for name in ("loans", "mortgages")}
    run, sender = PipelineRun(programs, tmp_path), Sender()
    people = [Application("loans", f"a{number}", {"region": "north", "income": 10, "debts": 9}) for number in range(6)]
    records = [
        sender.record(run.topics.applications, person, time_ms=START_MS + number, id=f"e{number}")
        for number, person in enumerate(people)
    ]
    journal = await run.ingest(records)
    ledger = await run.fold(journal)
    (summary,) = summaries(ledger.parent)
    loans, mortgages = summary.programs
    assert (summary.partition, summary.offset, summary.waiting_events) == (0, len(journal), 0)
    assert (loans.program, loans.model, loans.shards, loans.steps, loans.open_recourses) == ("loans", "v1", 1, 6, 4)
    assert (loans.begun, mortgages) == (
        True,
        ("mortgages", programs["mortgages"].sha256, "v1", False, 0, 0, 0, None, None, None),
    )


def test_the_rounds_of_a_program_with_limited_places_are_told(tmp_path: Path) -> None:
    tape = story(tmp_path, horizon=3)
    for number in range(5):
        tape.applies_with(f"a{number}", MINUTE_MS, 22.0 + number)
    ended = HOUR_MS + 5 * MINUTE_MS + 1
    tape.tick(ended)
    tape.applies_with("again", ended, 99.0, previous="a0")
    tape.tick(HOUR_MS + ended)
    tape.applies_with("later", HOUR_MS + ended, 50.0)
    ledger = tape.fold()
    [summary] = summaries(ledger.parent)
    [program] = summary.programs
    assert list(tape.promises().values()) == ["kept"]
    assert program.rounds == RoundsSummary(
        waiting=1,
        open_promises=2,
        last_round=2,
        last_end_ms=START_MS + 2 * HOUR_MS,
        next_end_ms=START_MS + 3 * HOUR_MS,
        coverage=1.0,
    )


def test_before_the_first_round_is_closed_there_is_no_last_one(tmp_path: Path) -> None:
    tape = story(tmp_path)
    tape.applies_with("a", MINUTE_MS, 20.0)
    [summary] = summaries(tape.fold().parent)
    [program] = summary.programs
    assert program.rounds == RoundsSummary(1, 0, None, None, START_MS + HOUR_MS, None)


def test_open_options_and_an_unfinished_look_at_them_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = promised.story(tmp_path, monkeypatch)
    for number in range(5):
        tape.applies_with(f"a{number}", 0, income=20.0 + 5 * number)
    [summary] = summaries(tape.fold("first").parent)
    assert summary.programs[0].promises == PromisesSummary(10, 5, None, None, None)
    promised.small_pieces(monkeypatch)
    tape.new_model("v4", 2)
    [summary] = summaries(tape.fold("second").parent)
    found = summary.programs[0].promises
    assert found is not None
    assert found.unseen is not None
    assert 0 < found.unseen < 10
    assert (found.scan_model, found.scan_since_ms) == ("v4", START_MS + 2 * promised.HOUR_MS)


def test_what_is_no_ledger_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there are no ledgers \(\*\.sqlite\) in"):
        summaries(tmp_path)
    (tmp_path / "journal-0.sqlite").write_text("not a database at all, but long enough to be read as one " * 20)
    with pytest.raises(LedgerError, match=r"journal-0\.sqlite cannot be read"):
        summaries(tmp_path)
    (tmp_path / "journal-0.sqlite").unlink()
    with closing(sqlite3.connect(tmp_path / "journal-0.sqlite")) as db:
        db.execute("CREATE TABLE meta (name TEXT, value)")
        db.execute("INSERT INTO meta VALUES ('schema', 99)")
        db.commit()
    with pytest.raises(LedgerError, match="has schema 99"):
        summaries(tmp_path)


def test_a_ledger_that_is_being_created_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "journal-0.sqlite").touch()
    assert summaries(tmp_path) == []
