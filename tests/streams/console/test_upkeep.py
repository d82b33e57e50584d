"""Copies of a console's file: what they bring back, and what must not replace them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from onward.streams.console.case_store import FILE, PAGE_BYTES, CaseStore
from onward.streams.console.handles import keys_of
from onward.streams.console.upkeep import Backup, Upkeep
from onward.streams.errors import DamagedLedgerError, LedgerError, OnwardError
from onward.streams.topics import Topics
from onward.testing.tape import Tape
from onward.tests.streams.console.sites import spoil
from onward.tests.streams.console.test_case_store import external, records_of

ADDRESS = "memory://console-copies"


@pytest.fixture(autouse=True)
def store() -> Iterator[Any]:
    """An object store without anything."""
    system = fsspec.filesystem("memory")
    yield system
    if system.exists("/console-copies"):
        system.rm("/console-copies", recursive=True)


@pytest.fixture
def story(tmp_path: Path) -> Tape:
    return external(tmp_path)[0]


def write(folder: Path, topics: Topics, story: Tape | None = None) -> None:
    """Serve a console from a folder: it reads what a tape holds."""
    with closing(CaseStore(folder, topics, keys_of(folder))) as store:
        if story is not None:
            store.fold(record for log in records_of(story) for record in log)


def cases_in(folder: Path, topics: Topics) -> int:
    with closing(CaseStore(folder, topics, keys_of(folder))) as store:
        return int(store._db.execute("SELECT count(*) FROM cases").fetchone()[0])


@pytest.mark.parametrize("after", [0, 5000])
def test_a_fetch_that_fails_leaves_no_file_and_the_next_one_brings_it(
    tmp_path: Path, story: Tape, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    folder, topics = tmp_path / "console", story.run.topics
    write(folder, topics, story)
    Backup(ADDRESS).keep(folder)
    count = cases_in(folder, topics)
    shutil.rmtree(folder)

    def broken(source: Any, target: Any, *_: int) -> None:
        target.write(source.read(after))
        raise TimeoutError("the store does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", broken)
        with pytest.raises(OnwardError, match=r"cannot be read: .*does not answer"):
            Backup(ADDRESS).fetch(folder)
    assert list(folder.iterdir()) == []
    assert Backup(ADDRESS).fetch(folder)
    assert cases_in(folder, topics) == count > 0


def test_a_log_without_its_file_is_no_file_and_no_try_deletes_a_copy_that_nobody_lists(
    tmp_path: Path, story: Tape, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, topics = tmp_path / "console", story.run.topics
    write(folder, topics, story)
    Backup(ADDRESS).keep(folder)
    count = cases_in(folder, topics)
    (folder / FILE).rename(folder / f"{FILE}-wal")
    assert Backup(ADDRESS).fetch(folder)
    assert cases_in(folder, topics) == count > 0
    store.rm(next(name for name in store.glob("/console-copies/*") if name.endswith(".json")))
    monkeypatch.setattr(Backup, "_send", lambda *_: (_ for _ in ()).throw(TimeoutError))
    with pytest.raises(OnwardError):
        Backup(ADDRESS).keep(folder)
    assert len(store.glob("/console-copies/*.sqlite")) == 1


def test_what_fails_to_be_copied_is_not_forgotten_again_each_time(tmp_path: Path, story: Tape) -> None:
    folder = tmp_path / "console"
    write(folder, story.run.topics, story)
    with closing(CaseStore(folder, story.run.topics, keys_of(folder))) as store:
        upkeep = Upkeep(store, folder, None, 0)
        forgot = []
        store.forget_ended = lambda before_ms: forgot.append(before_ms) or 0  # type: ignore[method-assign,func-returns-value]
        for hours in (0, 1, 23.9):
            upkeep._do(round(1e12 + hours * 3_600_000))
    assert forgot == [round(1e12), round(1e12 + 23.9 * 3_600_000)]


def test_a_copy_that_was_cut_is_not_served(tmp_path: Path, story: Tape, store: Any) -> None:
    folder = tmp_path / "console"
    write(folder, story.run.topics, story)
    Backup(ADDRESS).keep(folder)
    shutil.rmtree(folder)
    [name] = store.glob("/console-copies/*.sqlite")
    store.pipe(name, store.cat(name)[:-4096])
    with pytest.raises(OnwardError, match=r"cannot be read: .* bytes"):
        Backup(ADDRESS).fetch(folder)
    assert not (folder / FILE).exists()


def test_what_a_kill_has_left_is_deleted_and_an_empty_file_is_none(tmp_path: Path, story: Tape) -> None:
    folder, topics = tmp_path / "console", story.run.topics
    write(folder, topics, story)
    Backup(ADDRESS).keep(folder)
    count = cases_in(folder, topics)
    for file in folder.glob("console.sqlite*"):
        file.unlink()
    (folder / FILE).touch()
    left = folder / "console.sqlite.0123abcd.copy"
    left.write_bytes(b"half of it")
    assert Backup(ADDRESS).fetch(folder)
    assert not left.exists()
    assert cases_in(folder, topics) == count
    left.write_bytes(b"half of it")
    write(folder, topics)
    assert not left.exists()


@pytest.mark.parametrize("has_read", [False, True])
def test_a_file_that_was_begun_anew_never_replaces_a_copy(tmp_path: Path, story: Tape, has_read: bool) -> None:
    topics, backup = story.run.topics, Backup(ADDRESS)
    write(tmp_path / "console", topics, story)
    backup.keep(tmp_path / "console")
    write(tmp_path / "another", topics, story if has_read else None)
    with pytest.raises(OnwardError, match="another console"):
        backup.keep(tmp_path / "another")
    assert backup.fetch(tmp_path / "third")
    assert cases_in(tmp_path / "third", topics) == cases_in(tmp_path / "console", topics)


def test_an_older_file_never_replaces_the_copy_of_a_newer_one(tmp_path: Path, story: Tape) -> None:
    topics, backup, folder = story.run.topics, Backup(ADDRESS), tmp_path / "console"
    write(folder, topics)
    shutil.copytree(folder, tmp_path / "older")
    write(folder, topics, story)
    backup.keep(folder)
    with pytest.raises(OnwardError, match="has read less"):
        backup.keep(tmp_path / "older")
    write(tmp_path / "older", topics, story)
    backup.keep(tmp_path / "older")


def test_a_copy_is_seen_once_it_is_whole_and_the_former_one_until_then(
    tmp_path: Path, story: Tape, monkeypatch: pytest.MonkeyPatch, store: Any
) -> None:
    folder, topics, backup = tmp_path / "console", story.run.topics, Backup(ADDRESS)
    write(folder, topics)
    backup.keep(folder)
    former = store.glob("/console-copies/*.sqlite")
    write(folder, topics, story)

    def broken(source: Any, target: Any, *_: int) -> None:
        target.write(source.read(5000))
        raise ConnectionError("reset")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", broken)
        with pytest.raises(OnwardError, match=r"cannot be written: .*reset"):
            backup.keep(folder)
    assert set(former) < set(store.glob("/console-copies/*.sqlite"))
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", broken)
        with pytest.raises(OnwardError):
            backup.keep(folder)
    assert len(store.glob("/console-copies/*.sqlite")) == 2, "what failed before is deleted first"
    assert backup.fetch(tmp_path / "fetched")
    assert cases_in(tmp_path / "fetched", topics) == 0
    backup.keep(folder)
    assert len(store.glob("/console-copies/*.sqlite")) == 1, "the former one, and the half of one, are deleted"
    assert backup.fetch(tmp_path / "newer")
    assert cases_in(tmp_path / "newer", topics) == cases_in(folder, topics) > 0


def test_a_damaged_file_never_replaces_a_copy(tmp_path: Path, story: Tape) -> None:
    folder, topics, backup = tmp_path / "console", story.run.topics, Backup(ADDRESS)
    write(folder, topics, story)
    backup.keep(folder)
    count = cases_in(folder, topics)
    spoil(folder / FILE, least=(folder / FILE).stat().st_size // PAGE_BYTES - 1)
    with pytest.raises(DamagedLedgerError):
        backup.keep(folder)
    assert backup.fetch(tmp_path / "fetched")
    assert cases_in(tmp_path / "fetched", topics) == count


def test_a_store_that_knows_no_empty_folder_takes_the_first_copy(
    tmp_path: Path, story: Tape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryFileSystem, "makedirs", lambda *_, **__: None)
    write(tmp_path / "console", story.run.topics, story)
    Backup(ADDRESS).keep(tmp_path / "console")
    assert Backup(ADDRESS).fetch(tmp_path / "fetched")


def test_an_address_that_answers_with_an_error_is_no_empty_one(
    tmp_path: Path, story: Tape, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "console", story.run.topics, story)
    Backup(ADDRESS).keep(tmp_path / "console")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("signed by nobody who is known")

    monkeypatch.setattr(MemoryFileSystem, "_open", refuse)
    monkeypatch.setattr(MemoryFileSystem, "info", refuse)
    with pytest.raises(OnwardError, match=r"cannot be read: .*nobody who is known"):
        Backup(ADDRESS).fetch(tmp_path / "fetched")


def test_keys_of_the_folder_and_of_the_copy_are_all_kept_the_newest_last(tmp_path: Path, story: Tape) -> None:
    folder, topics, backup = tmp_path / "console", story.run.topics, Backup(ADDRESS)
    write(folder, topics, story)
    [first] = keys_of(folder).secrets
    with (folder / "keys").open("a") as file:
        file.write("second\n")
    backup.keep(folder)
    (folder / "keys").write_text(f"{first}\nthird\n")
    (folder / FILE).unlink()
    assert backup.fetch(folder)
    assert keys_of(folder).secrets == [first, "second", "third"]
    assert (folder / "keys").stat().st_mode & 0o777 == 0o600


def test_a_disk_without_room_for_a_copy_is_left_alone(
    tmp_path: Path, story: Tape, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "console", story.run.topics, story)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))
    with pytest.raises(LedgerError, match="half of what is free"):
        Backup(ADDRESS).keep(tmp_path / "console")
