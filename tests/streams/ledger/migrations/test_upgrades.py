"""Ledgers of every schema since 10 are migrated, and go on with the journal that follows."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from threading import Event

import pytest

from onward.streams.engine.version import ENGINE_VERSION, EngineSpan
from onward.streams.errors import HandoverError, LedgerError
from onward.streams.ledger.array_codec import unpack
from onward.streams.ledger.check import check_copy
from onward.streams.ledger.migrations import MIGRATIONS, migrate_ledger
from onward.streams.ledger.schema import SCHEMA_VERSION
from onward.streams.outputs.emission import ENGINE, OutputPosition
from onward.streams.snapshots.store import Snapshots
from onward.tests.support.kept_installation import JOURNAL, SCHEMAS, KeptInstallation, answered, closed, run
from onward.tests.support.ledgers import ledger_position


@pytest.fixture(params=SCHEMAS)
def installation(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return KeptInstallation(request.param, tmp_path)


def test_there_is_a_migration_to_every_schema():
    assert sorted(MIGRATIONS) == list(range(SCHEMAS[0] + 1, SCHEMA_VERSION + 1))


def rows(ledger, query):
    with closing(sqlite3.connect(ledger)) as db:
        return db.execute(query).fetchall()


def test_a_migrated_ledger_is_whole_and_keeps_learners_timers_and_waiting_events(installation):
    kept = {
        "timers": "SELECT * FROM timers ORDER BY 1, 2, 3, 4, 5",
        "waiting": "SELECT * FROM waiting ORDER BY 1, 2",
        "processed": "SELECT * FROM processed_events ORDER BY 1, 2",
        "cases": "SELECT program, application FROM cases ORDER BY 1, 2",
        "clocks": "SELECT topic, partition, offset, heard, time_ms FROM sources ORDER BY 1, 2",
    }
    before = {name: rows(installation.ledger, query) for name, query in kept.items()}
    learned = rows(installation.ledger, "SELECT program, shard, step, choice, learner FROM shards")
    migrate_ledger(installation.ledger)
    assert check_copy(installation.ledger).schema == SCHEMA_VERSION
    assert {name: rows(installation.ledger, query) for name, query in kept.items()} == before
    after = rows(installation.ledger, "SELECT program, shard, step, choice, learner FROM shards")
    assert [row[:4] for row in after] == [row[:4] for row in learned]
    for (*_, old), (*_, new) in zip(learned, after, strict=True):
        arrays = unpack(new)
        assert {name: array.tolist() for name, array in unpack(old).items()} == {
            name: array.tolist() for name, array in arrays.items()
        }
    assert all(before.values())


@pytest.mark.attack
def test_an_upgrade_answers_nobody_again_and_contradicts_nothing(installation):
    offset = ledger_position(installation.ledger).offset
    installation.publish(before=offset)
    published = {topic: len(installation.broker.logs[topic, 0]) for topic in installation.topics.outputs}
    run(installation)
    for topic in installation.topics.outputs:
        new = installation.broker.logs[topic, 0][published[topic] :]
        assert all(OutputPosition.parse(dict(one.headers)["onward_position"]).offset >= offset for one in new)
        assert {dict(one.headers)[ENGINE] for one in new} <= {EngineSpan(ENGINE_VERSION, offset).header()}
    answers, fates = answered(installation.events("recourse")), closed(installation.events("rewards"))
    assert set(answers.values()) == {1}
    assert set(fates.values()) == {1}
    assert fates.keys() <= answers.keys()
    # Whom the old version has answered is answered by this one too: nobody is lost.
    skipped = {"asking"} if installation.schema == 15 else set()
    old = {key for key in answered(installation.old_events("recourse")) if key[0] not in skipped}
    assert not old - answers.keys()
    later = Counter(program for program, application in answers - Counter(old))
    assert {"plain", "steps", "timed", "decided"} <= later.keys()
    letters = installation.events("dead-letters", since=published["dead-letters"])
    assert {letter["topic"] for letter in letters} <= {"answers"}


@pytest.fixture
def newest(tmp_path, monkeypatch):
    """An installation of schema 16, and the offset of its ledger."""
    monkeypatch.chdir(tmp_path)
    installation = KeptInstallation(16, tmp_path)
    return installation, ledger_position(installation.ledger).offset


def published(installation):
    return {topic: list(installation.broker.logs[topic, 0]) for topic in ("journal", *installation.topics.outputs)}


@pytest.mark.attack
@pytest.mark.parametrize("schema", [10, 16])
def test_a_worker_without_the_ledger_of_an_older_version_publishes_nothing_again(schema, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    installation = KeptInstallation(schema, tmp_path)
    installation.publish(before=10**9)
    before = published(installation)
    with pytest.raises(HandoverError, match="start that older version, let it catch up and end it"):
        asyncio.run(installation.fold(tmp_path / "empty"))
    assert published(installation) == before
    assert not list((tmp_path / "empty").iterdir())


def test_a_ledger_that_the_older_version_has_not_finished_is_refused_and_stays(newest):
    installation, offset = newest
    installation.publish(before=offset + 20)
    before, file = published(installation), installation.ledger.read_bytes()
    with pytest.raises(HandoverError, match=f"stands at journal offset {offset}"):
        asyncio.run(installation.fold())
    assert published(installation) == before
    assert installation.ledger.read_bytes() == file


def test_a_snapshot_of_an_older_schema_is_migrated(newest, tmp_path):
    installation, offset = newest
    installation.publish(before=offset)
    snapshots = Snapshots(str(tmp_path / "snapshots"), keep=3)
    snapshots.enlist(snapshots.send(installation.ledger, JOURNAL, 1, Event()))
    assert asyncio.run(installation.fold(tmp_path / "other", snapshots)) == offset
    assert [listed.ledger.schema for listed in snapshots.listed(JOURNAL)][:1] == [SCHEMA_VERSION]
    # The old file of another worker stands before what this version has answered; the snapshot is taken.
    end = len(installation.broker.logs[JOURNAL])
    assert asyncio.run(installation.fold(snapshots=snapshots)) == end


@pytest.mark.parametrize("step", ["migrate_copy", "copy_ledger", "replace_by_migrated"])
def test_a_migration_that_breaks_off_leaves_the_old_ledger(step, newest, monkeypatch):
    installation, offset = newest
    installation.publish(before=offset)
    with monkeypatch.context() as broken:

        def break_off(*_):
            raise OSError(28, "No space left on device")

        broken.setattr(f"onward.streams.ledger.migrations.{step}", break_off)
        with pytest.raises(LedgerError, match="No space left"):
            asyncio.run(installation.fold())
    assert rows(installation.ledger, "SELECT value FROM meta WHERE name = 'schema'") == [(16,)]
    assert asyncio.run(installation.fold()) == offset


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE meta SET value = 3 WHERE name = 'schema'", "its schema is 3, and this version reads from 10 on"),
        ("DELETE FROM timers WHERE kind = 'window'", "the timers of the cases are not those that follow"),
        ("CREATE TABLE erasures (a)", "table erasures already exists"),
    ],
)
def test_a_refused_upgrade_says_what_to_do_and_leaves_the_ledger(damage, says, newest):
    installation, offset = newest
    installation.publish(before=offset)
    with closing(sqlite3.connect(installation.ledger)) as db, db:
        db.execute(damage)
    before = list(db_lines(installation.ledger))
    with pytest.raises(LedgerError, match=f"cannot be upgraded, and is as it was: {says}"):
        asyncio.run(installation.fold())
    assert list(db_lines(installation.ledger)) == before
    assert [path.name for path in installation.ledger.parent.glob("*.copy")] == []


def db_lines(ledger):
    with closing(sqlite3.connect(ledger)) as db:
        return list(db.iterdump())


@pytest.mark.parametrize("schema", [10, 11])
def test_a_file_whose_meaning_has_changed_is_refused_with_what_to_write(schema, tmp_path, monkeypatch):
    monkeypatch.setattr(KeptInstallation, "write_what_was_meant", lambda self: None)
    monkeypatch.chdir(tmp_path)
    installation = KeptInstallation(schema, tmp_path)
    installation.publish(before=ledger_position(installation.ledger).offset)
    with pytest.raises(LedgerError, match="write under policy: objective: cost"):
        asyncio.run(installation.fold())
    content = json.loads((tmp_path / "plain.yaml").read_text())
    assert "policy" not in content
