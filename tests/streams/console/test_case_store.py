"""What the console keeps of cases, against what ``onward show`` reads from the topics."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from onward.schemas.events import Application, Erasure, Model
from onward.streams.console.case_store import CaseStore
from onward.streams.console.cases import Cases, ConsoleCase
from onward.streams.console.handles import Keys, keys_of
from onward.streams.console.programmes import Programmes
from onward.streams.console.upkeep import Backup
from onward.streams.errors import LedgerError
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.records import Record
from onward.streams.replay.history import History, state_of
from onward.testing.pipeline import START_MS, Sender, no_clock
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, RICH, TIMED, Tape, tape

KEYS = Keys(["a secret"])


def external(folder: Path, window: Mapping[str, str] = TIMED["window"]) -> tuple[Tape, list[str]]:
    """People whom another system decides about: told, late, refused, and of the same name."""
    story = tape(folder, decisions="external", window=window)
    for name, features in (("x", POOR), ("y", RICH), ("z", POOR), ('q"ä', POOR)):
        story.applies(name, features=features)
        story.decides(name, 1, approved=features is RICH)
    story.says("x", MINUTE_MS, "1")
    story.says("z", MINUTE_MS, None)
    story.outcome("x", 2 * MINUTE_MS)
    story.outcome("x", 3 * MINUTE_MS, id="again")
    story.outcome("z", 4 * MINUTE_MS, option="there is none such")
    story.says("nobody", 5 * MINUTE_MS, "1")
    story.tick(DAY_MS)
    story.fold()
    return story, ["x", "y", "z", 'q"ä', "nobody"]


def records_of(story: Tape) -> list[list[Record]]:
    """The records of the journal and of each output, a list a partition."""
    topics = story.run.topics
    names = {*topics.outputs, topics.journal}
    return [list(log) for (topic, _), log in sorted(story.run.broker.logs.items()) if topic in names and log]


def told_by_topics(story: Tape, name: str) -> History:
    found = History(name, "loan", story.run.topics)
    for log in records_of(story):
        for record in log:
            found.feed(record)
    return found


def found(folder: Path, name: str) -> ConsoleCase | None:
    cases = Cases(folder / "console", KEYS)
    try:
        return cases.find("loan", name)
    finally:
        cases.close()


def mixed(logs: list[list[Record]], dice: random.Random) -> list[Record]:
    """The records, each partition's in their order, and some of them once more."""
    left = [log[:] for log in logs]
    order = []
    while any(left):
        log = dice.choice([log for log in left if log])
        order.append(log.pop(0))
    return order


@pytest.mark.parametrize("seed", range(12))
def test_it_tells_what_the_topics_tell_in_whatever_order_they_are_read(tmp_path: Path, seed: int) -> None:
    story, names = external(tmp_path)
    dice, records = random.Random(seed), mixed(records_of(story), random.Random(seed))
    store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
    while records:
        many = dice.randint(1, 5)
        store.fold(records[:many])
        if dice.random() < 0.3:
            store.fold(records[: dice.randint(0, many)])
        if dice.random() < 0.3:
            store.close()
            store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
        del records[:many]
    for name in names:
        expected, case = told_by_topics(story, name).happenings, found(tmp_path, name)
        assert (list(case.happenings) if case else []) == expected
        assert not case or case.state == state_of(expected)
    store.close()


def test_a_crash_while_records_are_read_keeps_nothing_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story, names = external(tmp_path)
    [*first, last] = records_of(story)
    store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
    store.fold(record for log in first for record in log)
    before = [found(tmp_path, name) for name in names]
    monkeypatch.setattr(CaseStore, "_write_cases", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.fold(last)
    monkeypatch.undo()
    assert [found(tmp_path, name) for name in names] == before
    store.fold(last)
    assert [case.happenings if case else [] for case in (found(tmp_path, name) for name in names)] == [
        told_by_topics(story, name).happenings for name in names
    ]
    store.close()


def test_cases_wait_for_what_their_people_or_the_office_have_to_do(tmp_path: Path) -> None:
    story, _ = external(tmp_path)
    story.applies("w", DAY_MS + MINUTE_MS)
    story.decides("w", DAY_MS + 2 * MINUTE_MS)
    story.applies("v", DAY_MS + MINUTE_MS)
    story.decides("v", DAY_MS + 2 * MINUTE_MS)
    story.says("v", DAY_MS + 3 * MINUTE_MS, None)
    story.fold("later")
    store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
    store.fold(record for log in records_of(story) for record in log)
    cases = Cases(tmp_path / "console", KEYS)
    assert [case.application for case in cases.queued("outcome", ["loan"])] == ["w"]
    assert [case.application for case in cases.queued("declined", ["loan"])] == ["v"]
    assert cases.queued("declined", ["another"]) == []
    cases.close()
    store.close()


def test_of_an_erased_person_nothing_stays_whatever_comes_later(tmp_path: Path) -> None:
    for seed in range(8):
        folder = tmp_path / str(seed)
        story = tape(folder, decisions="external", **TIMED)
        story.send("applications", Application("loan", "secret-name", dict(POOR), "secret-person"), 0, "a")
        story.decides("secret-name", 1)
        story.applies("other", 2)
        story.outcome("secret-name", 3)
        story.says("secret-name", 4, "no such option")
        named = {"application": "secret-name"} if seed % 2 else {"applicant": "secret-person"}
        story.send("erasures", Erasure("loan", **named), MINUTE_MS, "e")
        story.fold()
        store = CaseStore(folder / "console", story.run.topics, KEYS)
        for record in mixed(records_of(story), random.Random(seed)):
            store.fold([record])
        assert found(folder, "secret-name") is None
        assert found(folder, "other") is not None
        store.fold(record for log in records_of(story) for record in log)
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        left = b"".join(file.read_bytes() for file in sorted((folder / "console").glob("console.sqlite*")))
        store.close()
        assert b"secret-" not in left


def test_who_applies_under_somebody_s_name_gets_nothing_of_their_case(tmp_path: Path) -> None:
    story = tape(tmp_path, decisions="external", **TIMED)
    for number, applicant in enumerate(("victim", "mallory")):
        event = Application("loan", "x", dict(POOR), applicant)
        story.send("applications", event, number * MINUTE_MS, f"a-{applicant}")
        story.decides("x", 1)
    story.send("erasures", Erasure("loan", applicant="mallory"), 2 * MINUTE_MS, "e-mallory")
    store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
    story.fold()
    store.fold(record for log in records_of(story) for record in log)
    case, cases = found(tmp_path, "x"), Cases(tmp_path / "console", KEYS)
    assert case is not None
    assert any(one.kind == "recourse" for one in case.happenings)
    assert [one.application for one in cases.queued("outcome", ["loan"])] == ["x"]
    cases.close()
    story.send("erasures", Erasure("loan", applicant="victim"), 3 * MINUTE_MS, "e-victim")
    story.fold("again")
    store.fold(record for log in records_of(story) for record in log)
    assert found(tmp_path, "x") is None
    store.close()


def test_the_applicant_is_the_one_whom_an_answer_names(tmp_path: Path) -> None:
    earlier, later = (tape(tmp_path / who, decisions="external", **TIMED) for who in ("earlier", "later"))
    for story, who in ((earlier, "earlier"), (later, "later")):
        story.send("applications", Application("loan", "x", dict(POOR), who), 0, "a")
        story.decides("x", 1)
        story.fold()
    store = CaseStore(tmp_path / "console", later.run.topics, KEYS)
    store.fold(earlier.journal)
    store.fold(later.run.broker.logs["recourse", 0])
    assert store._db.execute("SELECT applicant FROM cases").fetchall() == [("later",)]
    store.close()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    story, names = external(tmp_path)
    for number in range(200):
        story.applies(f"p{number}", MINUTE_MS)
    store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
    [(pages,)] = store._db.execute("PRAGMA page_count").fetchall()
    store._db.execute(f"PRAGMA max_page_count={pages}")
    records = [record for log in records_of(story) for record in log] * 2
    with pytest.raises(LedgerError, match="full"):
        store.fold(records)
    store._db.execute("PRAGMA max_page_count=100000")
    store.fold(records)
    for name in names:
        case = found(tmp_path, name)
        assert (list(case.happenings) if case else []) == told_by_topics(story, name).happenings
    store.close()


def test_keys_are_made_once_and_a_new_one_renames_no_case(tmp_path: Path) -> None:
    before = keys_of(tmp_path / "state")
    with (tmp_path / "state" / "keys").open("a") as file:
        file.write("another key\n")
    after = keys_of(tmp_path / "state")
    assert [*before.secrets, after.secrets[-1]] == after.secrets
    assert before.handle("loan", "x") == after.handle("loan", "x") != after.handle("loan", "y")
    assert (tmp_path / "state" / "keys").stat().st_mode & 0o777 == 0o600
    (tmp_path / "state" / "keys").chmod(0o644)
    with pytest.raises(LedgerError, match="chmod 600"):
        keys_of(tmp_path / "state")


def test_lost_keys_are_not_replaced_beside_a_file_and_come_back_from_a_copy(tmp_path: Path) -> None:
    story, _ = external(tmp_path)
    folder, backup = tmp_path / "console", Backup(str(tmp_path / "copies"))
    keys = keys_of(folder)
    CaseStore(folder, story.run.topics, keys).close()
    backup.keep(folder)
    (folder / "keys").unlink()
    with pytest.raises(LedgerError, match=r"no keys: put .*keys back"):
        keys_of(folder)
    assert backup.fetch(folder)
    assert keys_of(folder).secrets == keys.secrets


def test_what_has_long_ended_is_forgotten_and_stays_counted(tmp_path: Path) -> None:
    story, _ = external(tmp_path)
    story.applies("waiting", DAY_MS + MINUTE_MS)
    story.decides("waiting", DAY_MS + 2 * MINUTE_MS)
    story.fold("later")
    store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
    store.fold(record for log in records_of(story) for record in log)
    assert store.forget_ended(START_MS) == 0
    assert store.forget_ended(START_MS + 3 * DAY_MS) == 5
    assert found(tmp_path, "x") is None
    assert found(tmp_path, "waiting") is not None
    figures = Programmes(tmp_path / "console").figures(story.run.programs["loan"].spec)
    assert (figures.applications, figures.told.whole) == (6, None)
    store._db.execute("VACUUM")
    store.close()
    assert b"d-x" not in (tmp_path / "console" / "console.sqlite").read_bytes()


def test_a_file_that_is_gone_comes_back_from_its_copy(tmp_path: Path) -> None:
    story, names = external(tmp_path)
    folder, backup = tmp_path / "console", Backup(str(tmp_path / "copies"))
    assert not backup.fetch(folder)
    keys = keys_of(folder)
    store = CaseStore(folder, story.run.topics, keys)
    store.fold(record for log in records_of(story) for record in log)
    backup.keep(folder)
    store.close()
    shutil.rmtree(folder)
    assert backup.fetch(folder)
    assert (folder / "keys").stat().st_mode & 0o777 == 0o600
    cases = Cases(folder, keys_of(folder))
    assert [case.happenings if case else [] for case in (cases.find("loan", name) for name in names)] == [
        told_by_topics(story, name).happenings for name in names
    ]
    cases.close()


@pytest.mark.parametrize("is_backwards", [False, True])
def test_the_newest_model_of_a_program_is_known_after_a_restart(tmp_path: Path, is_backwards: bool) -> None:
    story = tape(tmp_path, decisions="external", **TIMED)
    sender = Sender()

    async def load(*_: object) -> None:
        """Refuse no model."""

    async def announce() -> None:
        run = story.run
        ingest = Ingest(run.topics, run.programs, run.broker, Metrics(), no_clock, None, load)
        await ingest.assigned([])
        for ms, version in enumerate(("v2", "v3")):
            event = Model("loan", version, f"{version}/manifest.json", "0" * 64)
            await ingest.handle([sender.record("models", event, time_ms=START_MS + ms, id=version)])

    asyncio.run(announce())
    [journal] = records_of(story)
    parts = [journal[-1:], journal[:-1]] if is_backwards else [journal]
    models = []
    for number, part in enumerate(parts):
        moved = [record._replace(partition=number) for record in part]
        store = CaseStore(tmp_path / "console", story.run.topics, KEYS)
        store.fold(moved)
        store.close()
        cases = Cases(tmp_path / "console", KEYS)
        models.append((cases.model("loan"), cases.model("other")))
        cases.close()
    assert models == [(("v3", "v3/manifest.json", START_MS + 1), None)] * len(parts)
