"""Somebody is erased: what is open ends, what is kept goes, and what comes again is left out."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import Struct

from onward.schemas.events import Application, Erased, Erasure
from onward.streams.engine.cases import Status
from onward.streams.engine.contract import WorkBudget
from onward.streams.engine.rounds.closing import CLOSING
from onward.streams.ledger.file import delete_expired, tidy
from onward.streams.ledger.ledger import Ledger
from onward.streams.outputs.decoder import EventDecoder
from onward.streams.replay.history import History, state_of
from onward.streams.worker import partition_processor
from onward.streams.worker.partition_processor import Stage
from onward.testing.ledger import dump, rows
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, RICH, TIMED, Tape, tape
from onward.tests.streams.engine.promises.stories import story as promises_story
from onward.tests.streams.engine.questions.stories import POOR as ASKED
from onward.tests.streams.engine.questions.stories import asking
from onward.tests.streams.engine.rounds.stories import HOUR_MS, limited
from onward.tests.streams.engine.rounds.stories import Story as RoundsStory
from onward.tests.support.ledgers import RETENTION_MS, cases


def erase(story: Tape, ms: int, application: str | None = None, applicant: str | None = None, id: str = "e") -> None:
    """Ingest an erasure."""
    story.send("erasures", Erasure("loan", application, applicant), ms, id)


def receipts(story: Tape) -> list[Erased]:
    """The receipts on the topic of rewards."""
    return [event for event in on_rewards(story) if isinstance(event, Erased)]


def on_rewards(story: Tape) -> list[Struct]:
    """The events on the topic of rewards."""
    decoder = EventDecoder(story.run.topics)
    return [found.event for record in story.run.broker.logs["rewards", 0] for found in decoder.events(record)]


def counted(story: Tape, name: str, *labels: str) -> float:
    """What a counter of the metrics says."""
    return story.metrics.counts[name].labels(*labels)._value.get()


def holds(ledger: Path, text: str) -> list[str]:
    """The tables with a row that holds a text, and the files with such bytes."""
    found = []
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            values = [value for row in db.execute(f"SELECT * FROM {table}") for value in row]
            found += [table] if any(text in str(value) for value in values) else []
    return found + [part.name for part in ledger.parent.iterdir() if text.encode() in part.read_bytes()]


def test_an_open_recourse_ends_as_if_it_had_never_been_seen(tmp_path):
    told = {}
    for end in ("erased", "unseen"):
        story = tape(tmp_path / end, choice="linucb", **TIMED)
        story.applies("canary")
        story.applies("next", MINUTE_MS)
        erase(story, 2 * MINUTE_MS, "canary") if end == "erased" else story.outcome("canary", 2 * MINUTE_MS, "unseen")
        story.applies("later", 3 * MINUTE_MS)
        ledger = story.fold()
        [told[end]] = rows(ledger, "SELECT learner FROM shards")
        if end == "erased":
            [receipt] = receipts(story)
            assert (receipt.cases, [(one.shard, one.step) for one in receipt.recourses]) == (1, [(0, 0)])
            assert counted(story, "fates", "loan", "withdrawn") == 1
            assert holds(ledger, "canary") == []
    assert told["erased"] == told["unseen"]


def test_what_an_erased_person_sends_again_is_left_out_until_retention_is_over(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("canary")
    erase(story, MINUTE_MS, "canary")
    story.applies("canary", 2 * MINUTE_MS, id="again")
    story.outcome("canary", 3 * MINUTE_MS)
    story.tick(RETENTION_MS)
    ledger = story.fold()
    assert [answer.application for answer in story.answers()] == ["canary"]
    assert (story.reasons(), len(on_rewards(story))) == ([], 1)
    assert (
        counted(story, "erased_events", "loan", "application")
        == counted(story, "erased_events", "loan", "outcome")
        == 1
    )
    assert len(rows(ledger, "SELECT * FROM erased_names")) == 1
    assert holds(ledger, "canary") == []
    story.tick(RETENTION_MS + DAY_MS)
    story.applies("canary", DAY_MS, id="anew")
    ledger = story.fold()
    assert [answer.application for answer in story.answers()] == ["canary"] * 2
    assert rows(ledger, "SELECT * FROM erased_names") == []


def test_an_erasure_that_comes_before_the_application_holds(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.outcome("canary", 0)
    erase(story, MINUTE_MS, "canary")
    story.applies("canary", 0)
    ledger = story.fold()
    assert (story.answers(), cases(ledger), rows(ledger, "SELECT * FROM waiting")) == ([], [], [])
    [receipt] = receipts(story)
    assert (receipt.cases, receipt.waiting) == (0, 1)


def test_all_of_an_applicant_goes_and_what_they_send_later_is_new(tmp_path):
    story = tape(tmp_path, **TIMED)
    for name, who, ms in (("one", "canary", 0), ("two", "canary", 1), ("other", "somebody", 2), ("nobodys", None, 3)):
        story.send("applications", Application("loan", name, POOR, who), ms, f"a-{name}")
    erase(story, MINUTE_MS, applicant="canary")
    story.send("applications", Application("loan", "behind", POOR, "canary"), MINUTE_MS, "a-behind")
    story.send("applications", Application("loan", "new", POOR, "canary"), MINUTE_MS + 1, "a-new")
    ledger = story.fold()
    assert [case.key.application for case in cases(ledger)] == ["other", "nobodys", "new"]
    assert [receipt.cases for receipt in receipts(story)] == [2]
    assert counted(story, "erased_events", "loan", "application") == 1
    assert holds(ledger, "behind") == []


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("person", [{"application": "canary"}, {"applicant": "somebody"}])
def test_a_case_that_follows_an_erased_one_does_not_name_it(tmp_path, person, is_cut):
    story = tape(tmp_path, decisions="external", **TIMED)
    story.send("applications", Application("loan", "canary", POOR, "somebody"), 0, "a-canary")
    story.send("applications", Application("loan", "back", POOR, None, "canary"), MINUTE_MS, "a-back")
    erase(story, 2 * MINUTE_MS, **person)
    ledger = story.fold(parts=[[record] for record in story.journal] if is_cut else None)
    assert [(case.key.application, case.previous, case.status) for case in cases(ledger)] == [
        ("back", None, Status.AWAITING_DECISION)
    ]
    assert holds(ledger, "canary") == []


def test_the_events_that_left_no_case_are_forgotten(tmp_path):
    """Also of a name with a character that is escaped, and not those of a name that begins like it."""
    story = tape(tmp_path, **TIMED)
    for name in ("ca/nary", "ca", "ca/nary2"):
        story.outcome(name, 0)
    story.tick(DAY_MS)
    ledger = story.fold("first")
    assert len(rows(ledger, "SELECT * FROM processed_events")) == 3
    erase(story, DAY_MS, "ca/nary")
    story.tick(DAY_MS + MINUTE_MS)
    ledger = story.fold()
    assert [event for (event,) in rows(ledger, "SELECT event FROM processed_events ORDER BY event")] == [
        "outcome/ca%2Fnary2/o-ca%2Fnary2",
        "outcome/ca/o-ca",
    ]


def test_a_promise_ends_with_its_person(tmp_path, monkeypatch):
    story = promises_story(tmp_path, monkeypatch)
    story.applies_with("canary", 0)
    story.applies_with("other", 0)
    erase(story, HOUR_MS, "canary")
    ledger = story.fold()
    assert [name for (name,) in rows(ledger, "SELECT application FROM promised_options")] == ["other"]
    assert [receipt.promises for receipt in receipts(story)] == [2]
    assert (story.ends(), counted(story, "promises_ended", "loan", "withdrawn")) == ([], 2)
    assert holds(ledger, "canary") == []


def test_a_member_of_a_round_leaves_it(tmp_path):
    story = RoundsStory(PipelineRun({"loan": limited()}, tmp_path))
    for name, income in (("best", 90), ("canary", 80), ("third", 70), ("last", 10)):
        story.applies_with(name, MINUTE_MS, income)
    erase(story, 2 * MINUTE_MS, "canary")
    story.tick(2 * HOUR_MS)
    ledger = story.fold()
    assert story.places() == {"best": True, "third": True, "last": False}
    assert holds(ledger, "canary") == []


def test_who_competed_in_a_round_that_has_ended_is_answered_first(tmp_path, monkeypatch):
    monkeypatch.setattr(CLOSING, "budget", WorkBudget(tick=1, other=0))
    story = RoundsStory(PipelineRun({"loan": limited()}, tmp_path))
    for name, income in (("best", 90), ("canary", 20), ("third", 70)):
        story.applies_with(name, MINUTE_MS, income, applicant=f"{name}-person")
    story.tick(2 * HOUR_MS)
    erase(story, 2 * HOUR_MS, applicant="canary-person")
    ledger = story.fold()
    assert story.places() == {"best": True, "third": True, "canary": False}
    assert rows(ledger, "SELECT * FROM promised_scores") == []
    assert holds(ledger, "canary") == []


def test_somebody_who_was_asked_is_erased(tmp_path):
    story = Tape(PipelineRun({"loan": asking()}, tmp_path))
    story.applies("canary", features=ASKED)
    erase(story, HOUR_MS, "canary")
    story.says("canary", HOUR_MS, "1", question=1)
    story.tick(3 * DAY_MS)
    ledger = story.fold()
    assert (story.answers(), cases(ledger)) == ([], [])
    assert holds(ledger, "canary") == []


@pytest.mark.parametrize("decisions", ["model", "external"])
def test_where_the_journal_is_cut_changes_nothing(tmp_path, decisions):
    results = []
    for name in ("whole", "cut"):
        story = tape(tmp_path / name, decisions=decisions, **TIMED)
        story.run.draw_key = lambda: "0" * 64
        for number in range(12):
            who = f"person-{number % 4}"
            story.send("applications", Application("loan", f"p{number}", POOR, who), number * 1000, f"a{number}")
            if decisions == "external":
                story.decides(f"p{number}", number * 1000 + 1, approved=number % 5 == 0)
            if number % 3 == 0:
                story.outcome(f"p{number}", number * 1000 + 500)
            if number in (4, 8):
                erase(story, number * 1000 + 600, f"p{number}", id=f"e{number}")
                story.applies(f"p{number}", number * 1000 + 700, RICH, id=f"again-{number}")
        erase(story, MINUTE_MS, applicant="person-1")
        story.applies("p5", MINUTE_MS, id="again")
        story.tick(40 * MINUTE_MS)
        story.tick(RETENTION_MS + DAY_MS)
        story.applies("p5", DAY_MS, id="anew")
        ledger = story.fold(parts=[[record] for record in story.journal] if name == "cut" else None)
        results.append((story.run.outputs(), dump(ledger)))
    assert results[0] == results[1]


def test_a_program_whose_choice_keeps_rows_of_people_refuses(tmp_path):
    story = tape(tmp_path, choice="bwo_ucb", **TIMED)
    story.applies("canary")
    erase(story, MINUTE_MS, "canary")
    ledger = story.fold()
    assert (story.reasons(), len(cases(ledger))) == (["erasure_not_possible"], 1)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"program":"loan"}',
        b'{"program":"loan","application":"a","applicant":"b"}',
        b'{"program":"loan","application":"a","key":"b"}',
    ],
)
def test_an_erasure_names_one_application_or_applicant(tmp_path, raw):
    story = tape(tmp_path, **TIMED)
    story.applies("a")
    record = story.sender.record("erasures", Erasure("loan", "a"), time_ms=START_MS, id="e", raw=raw)
    story.again(record)
    ledger = story.fold()
    assert (story.reasons(), len(cases(ledger))) == (["wrong_type"], 1)


class CrashError(Exception):
    """A worker ends here."""


@pytest.mark.parametrize("at", [Stage.COMPUTED, Stage.OUTPUTS_ACKNOWLEDGED, Stage.LEDGER_COMMITTED])
def test_a_worker_that_is_killed_at_any_step_erases_once_and_leaves_no_trace(tmp_path, at):
    story = tape(tmp_path, **TIMED)
    story.applies("canary")
    story.fold()
    erase(story, MINUTE_MS, "canary")

    def crash(stage: Stage) -> None:
        if stage is at:
            raise CrashError

    with pytest.raises(CrashError):
        asyncio.run(story.folded("ledger", [story.journal], crash))
    story.tick(2 * MINUTE_MS)
    ledger = story.fold()
    assert [receipt.cases for receipt in receipts(story)] == [1]
    assert cases(ledger) == []
    assert holds(ledger, "canary") == []


def test_a_ledger_that_is_read_meanwhile_is_scrubbed_later(tmp_path, monkeypatch):
    monkeypatch.setattr(partition_processor, "SCRUB_AGAIN_SECONDS", 0.0)
    story = tape(tmp_path, **TIMED)
    story.applies("canary")
    ledger = story.fold()
    erase(story, MINUTE_MS, "canary")
    with closing(sqlite3.connect(ledger)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM cases").fetchone()
        story.fold()
        assert holds(ledger, "canary")
    story.tick(2 * MINUTE_MS)
    assert holds(story.fold(), "canary") == []


def test_what_sqlite_has_moved_between_pages_goes_too(tmp_path):
    """``secure_delete`` leaves it in the pages that the rows were in before."""
    story = tape(tmp_path, **TIMED)
    story.tick(0)
    ledger = story.fold()
    draw, kept, gone = random.Random(0), list[str](), list[str]()
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA secure_delete = ON")
        for _ in range(4000):
            name = f"n{draw.getrandbits(60):x}"
            kept.append(name)
            db.execute("INSERT INTO cases VALUES (1, ?, ?, 0)", (name, name.encode() * draw.randint(3, 40)))
            other = draw.choice(kept)
            body = other.encode() * draw.randint(3, 60)
            db.execute("UPDATE cases SET body = ? WHERE program = 1 AND application = ?", (body, other))
            if draw.random() < 0.3:
                gone.append(kept.pop(draw.randrange(len(kept))))
                db.execute("DELETE FROM cases WHERE program = 1 AND application = ?", (gone[-1],))
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = ledger.read_bytes()
    assert any(name.encode() in content for name in gone), "SQLite has become better: do without"
    with Ledger(ledger, "journal", 0) as opened:
        assert opened.scrub()
    content = ledger.read_bytes()
    assert not [name for name in gone if name.encode() in content]
    assert {name for (name,) in rows(ledger, "SELECT application FROM cases")} == set(kept)


@pytest.mark.parametrize(
    "suffix", ["-1.sqlite", "-1.sqlite-wal", "-0.sqlite.damaged-20261121T000000.000000Z", "-0.sqlite.0123abcd.copy"]
)
@pytest.mark.parametrize("days", [6, 8])
def test_files_that_nobody_needs_end_after_seven_days(tmp_path, suffix, days):
    kept = ["journal-0.sqlite", "other-journal-1.sqlite", "journal-1.txt", "journalist-1.sqlite"]
    for name in (*kept, f"journal{suffix}"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(0, START_MS * 10**6))
    deleted = delete_expired(tmp_path, "journal", {0}, START_MS + days * DAY_MS)
    assert [path.name for path in deleted] == ([f"journal{suffix}"] if days > 7 else [])
    assert {path.name for path in tmp_path.iterdir()} >= set(kept)


@pytest.mark.parametrize("suffix", [".bak", ".before-upgrade", ".mine.copy", ".damaged-by-me", "-journal", ".gz"])
def test_what_an_operator_keeps_beside_a_ledger_stays(tmp_path, suffix):
    kept = tmp_path / f"journal-0.sqlite{suffix}"
    kept.touch()
    os.utime(kept, ns=(0, START_MS * 10**6))
    for owned in ({0}, set()):
        assert delete_expired(tmp_path, "journal", owned, START_MS + 100 * DAY_MS) == []
    tidy(tmp_path / "journal-0.sqlite")
    assert kept.exists()


def test_a_ledger_is_scrubbed_when_the_disk_has_room_for_it(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(partition_processor, "SCRUB_AGAIN_SECONDS", 0.0)
    story = tape(tmp_path, **TIMED)
    story.applies("canary")
    ledger = story.fold()
    erase(story, MINUTE_MS, "canary")
    full = shutil.disk_usage(tmp_path)._replace(free=ledger.stat().st_size)
    with monkeypatch.context() as little:
        little.setattr(shutil, "disk_usage", lambda path: full)
        story.fold()
    assert "has less free space than twice the size of journal-0.sqlite" in caplog.text
    assert cases(ledger) == []
    story.tick(2 * MINUTE_MS)
    caplog.clear()
    assert holds(story.fold(), "canary") == []
    assert caplog.text == ""


def test_the_history_of_an_erased_application_says_so(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("canary")
    erase(story, MINUTE_MS, "canary")
    story.fold()
    history = History("canary", "loan", story.run.topics)
    for log in story.run.broker.logs.values():
        for record in log:
            history.feed(record)
    assert [happening.kind for happening in history.happenings][-1] == "erasure"
    assert state_of(history.happenings) == "erased"


@pytest.mark.attack
def test_nobody_is_silenced_by_an_erased_applicant_who_names_their_application(tmp_path):
    stories = []
    for sent in ("nothing", "a stranger's name"):
        story = tape(tmp_path / sent, choice="linucb", **TIMED)
        story.applies("victim")
        erase(story, 2 * MINUTE_MS, applicant="mallory")
        if sent != "nothing":
            story.send("applications", Application("loan", "victim", dict(POOR), applicant="mallory"), MINUTE_MS, "x")
        story.outcome("victim", 3 * MINUTE_MS)
        story.tick(4 * MINUTE_MS)
        story.fold()
        stories.append([event for event in on_rewards(story) if not isinstance(event, Erased)])
    assert stories[0] == stories[1]
    assert stories[0]
