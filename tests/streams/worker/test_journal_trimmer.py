"""A journal that ends: old records are deleted behind snapshots, and nothing else changes."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.streams.archive.month_keys import NoKeyError
from onward.streams.archive.reading import archived_records, fetch_checked
from onward.streams.archive.store import Archive, ArchiveError, CheckpointFile
from onward.streams.errors import LedgerError
from onward.streams.records import Record
from onward.streams.replay.spec_history import SpecHistory
from onward.streams.snapshots.store import Snapshots
from onward.streams.worker import journal_archiver
from onward.streams.worker.stages import ARCHIVE_STAGES, CUT_STAGES, Stage
from onward.testing.ledger import dump
from onward.testing.pipeline import no_clock
from onward.testing.tape import JOURNAL
from onward.tests.support.takeovers import FIRST, SECOND, Worker, damage, fold_uninterrupted, offsets, write_journal

AGES_AGO_MS = 100 * 24 * 60 * 60 * 1000
OLD = 28.0
"""Days. The clock of the workers below is 100 days ahead, so that everything that was written is old."""

pytestmark = pytest.mark.usefixtures("crashes")


class Killed(BaseException):
    """The end of a process."""


def later() -> int:
    """A worker's clock long after the journal was written."""
    return no_clock() + AGES_AGO_MS


def trimming(story, name, snapshots, *, days=OLD, kill_at=None, archive=None):
    def observe(stage: Stage) -> None:
        if stage is kill_at:
            raise Killed

    return Worker(story, name, snapshots, 0, later, journal_days=days, observe=observe, archive=archive)


def begin(story):
    return story.run.broker.begins.get(JOURNAL, 0)


async def fold_and_cut(worker, story, *ends):
    """Open, and fold what the journal still holds up to each end; take a snapshot and cut there."""
    start = await worker.open()
    for end in ends:
        if start < end:
            assert begin(story) <= start
            await worker.fold(start, end)
            start = end
        await worker.processor.take_snapshots()


def test_old_records_go_up_to_the_oldest_snapshot_and_no_further(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=2)
    worker = trimming(story, "first", snapshots)
    asyncio.run(fold_and_cut(worker, story, FIRST, SECOND, SECOND + 1))
    assert offsets(snapshots) == [SECOND + 1, SECOND]
    assert begin(story) == SECOND
    assert worker.count("onward_journal_begin_offset", partition="0") == SECOND


@pytest.mark.parametrize("days", [101.5, None])
def test_nothing_goes_that_is_young(tmp_path, address, days):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=2)
    asyncio.run(fold_and_cut(trimming(story, "first", snapshots, days=days), story, FIRST, SECOND))
    assert begin(story) == 0


@pytest.mark.attack
def test_a_sender_cannot_keep_the_journal_by_a_time_in_the_future(tmp_path):
    story = write_journal(tmp_path)
    far = Record("outcomes", 0, 1_000_000, 2 * later(), None, b"no event", ())
    asyncio.run(story.run.ingest([far]))
    assert story.run.broker.logs[JOURNAL][-1].timestamp_ms == no_clock()


def test_a_journal_that_is_empty_again_takes_nobody_by_surprise(tmp_path, address, uninterrupted):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=1)
    end = len(story.journal)
    asyncio.run(fold_and_cut(trimming(story, "first", snapshots), story, end))
    # What is appended at the cut says which spec is in force, and nothing else.
    assert begin(story) == end
    story.run.broker.begins[JOURNAL] = len(story.run.broker.logs[JOURNAL])
    second = Worker(story, "second", snapshots)
    with pytest.raises(LedgerError, match=f"begins at offset {end + 1}, and there is neither"):
        asyncio.run(second.open())
    story.run.broker.begins[JOURNAL] = end
    second = Worker(story, "second", snapshots)
    assert asyncio.run(second.run()) == end
    assert story.run.outputs() == uninterrupted[0]


def test_a_snapshot_that_has_gone_bad_keeps_the_journal(tmp_path, caplog):
    story, snapshots = write_journal(tmp_path), Snapshots(str(tmp_path / "snapshots"), keep=2)
    worker = trimming(story, "first", snapshots, days=None)
    asyncio.run(fold_and_cut(worker, story, FIRST, SECOND))
    oldest = snapshots.listed(JOURNAL)[-1]
    damage(tmp_path / "snapshots" / "journal-0" / oldest.file)
    again = trimming(story, "first", snapshots)
    asyncio.run(fold_and_cut(again, story, SECOND))
    assert begin(story) == 0
    assert again.count("onward_journal_cut_failures_total", partition="0") == 1
    assert "the journal was not cut: its sha256 is" in caplog.text


def test_without_snapshots_and_ledger_a_cut_journal_ends_the_worker(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=1)
    asyncio.run(fold_and_cut(trimming(story, "first", snapshots), story, SECOND))
    alone = Worker(story, "second")
    with pytest.raises(LedgerError, match=f"journal partition 0 begins at offset {SECOND}, and there is neither"):
        asyncio.run(alone.open())
    assert not alone.ledger.exists()


def test_a_cut_journal_still_says_which_spec_is_in_force(tmp_path, address):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=1)
    asyncio.run(fold_and_cut(trimming(story, "first", snapshots), story, SECOND))
    history = SpecHistory("loan")
    for record in story.run.broker.logs[JOURNAL][begin(story) :]:
        history.feed_journal(record)
    assert history.has_begun


def key_of(month):
    return hashlib.sha256(month.encode()).digest()


def kept(story, archive):
    """What the archive holds of what was cut."""
    return list(archived_records(archive, JOURNAL, 0, begin(story)))


def test_what_goes_is_in_the_archive_and_folds_from_its_checkpoint(tmp_path, address, uninterrupted):
    story, snapshots, archive = write_journal(tmp_path), Snapshots(address, keep=1), Archive(f"{address}/archive")
    worker = trimming(story, "first", snapshots, archive=archive)
    asyncio.run(fold_and_cut(worker, story, FIRST, SECOND, len(story.journal)))
    assert begin(story) == len(worker.journal)
    assert kept(story, archive) == story.run.broker.logs[JOURNAL][: begin(story)]
    # What stands behind the last snapshot is of another month.
    checkpoint, later_one = archive.checkpoints(JOURNAL)
    assert (checkpoint.offset, later_one.offset) == (FIRST, len(worker.journal))
    other = Worker(story, "second")
    other.ledger.parent.mkdir()
    archive.fetch_checkpoint(checkpoint, other.ledger, Event())
    other.journal = kept(story, archive)
    story.run.broker.begins.clear()
    assert asyncio.run(other.run()) == FIRST
    assert (story.run.outputs(), dump(other.ledger)) == uninterrupted


def no_key(month):
    raise NoKeyError(f"there is no key of {month}")


@pytest.mark.parametrize(
    ("place", "keys", "message"),
    [
        ("file/archive", None, "Not a directory"),
        ("archive", no_key, "there is no key of 2"),
        ("other", key_of, "was sealed with another key of 2"),
    ],
)
def test_without_its_archive_nothing_is_cut(tmp_path, address, caplog, place, keys, message):
    story, snapshots = write_journal(tmp_path), Snapshots(address, keep=1)
    (tmp_path / "file").touch()
    # What the archive has of this month was sealed with another key.
    other = Archive(str(tmp_path / "other"), lambda month: bytes(32))
    asyncio.run(fold_and_cut(trimming(story, "before", snapshots, archive=other), story, FIRST - 1))
    story.run.broker.begins.clear()
    worker = trimming(story, "first", snapshots, archive=Archive(str(tmp_path / place), keys))
    asyncio.run(fold_and_cut(worker, story, FIRST))
    assert begin(story) == 0
    assert worker.count("onward_journal_cut_failures_total", partition="0") == 1
    [line] = [record.getMessage() for record in caplog.records if "was not cut" in record.getMessage()]
    assert message in line
    assert "\n" not in line
    assert asyncio.run(worker.processor.handle(worker.journal[FIRST:])) is None


def test_a_damaged_checkpoint_is_replaced(tmp_path, address):
    story, archive = write_journal(tmp_path), Archive(str(tmp_path / "archive"))
    snapshots = Snapshots(address, keep=1)
    asyncio.run(fold_and_cut(trimming(story, "first", snapshots, archive=archive), story, FIRST))
    damage(tmp_path / "archive" / "journal-0" / archive.checkpoints(JOURNAL)[0].name)
    asyncio.run(fold_and_cut(trimming(story, "first", snapshots, archive=archive), story, SECOND))
    assert [one.offset for one in archive.checkpoints(JOURNAL)] == [FIRST, SECOND]


def test_a_long_journal_is_cut_as_far_as_it_is_kept(tmp_path, address, monkeypatch):
    monkeypatch.setattr(journal_archiver, "MOST_SEGMENTS", 2)
    story, archive = write_journal(tmp_path), Archive(f"{address}/archive")
    worker = trimming(story, "first", Snapshots(address, keep=1), archive=archive)
    monkeypatch.setattr(worker.processor._trimmer.archiver, "segment_bytes", 1)
    for turns in (1, 2, 3):
        asyncio.run(fold_and_cut(worker, story, FIRST))
        assert begin(story) == min(2 * turns, FIRST)
        assert kept(story, archive) == story.run.broker.logs[JOURNAL][: begin(story)]


def test_a_checkpoint_that_is_not_what_was_written_keeps_the_journal(tmp_path, address, monkeypatch, caplog):
    story, archive = write_journal(tmp_path), Archive(f"{address}/archive")
    monkeypatch.setattr(Archive, "write_checkpoint", lambda *_: None)
    asyncio.run(fold_and_cut(trimming(story, "first", Snapshots(address, keep=1), archive=archive), story, FIRST))
    assert begin(story) == 0
    assert "checkpoint.sqlite is not what was written" in caplog.text


def test_a_checkpoint_under_another_name_is_refused(tmp_path):
    story, archive = write_journal(tmp_path), Archive(str(tmp_path / "archive"))
    other = CheckpointFile(JOURNAL, FIRST, "2026-03")
    archive.write_checkpoint(other, story.fold(), Event())
    with pytest.raises(ArchiveError, match="holds the ledger of"):
        fetch_checked(archive, other, tmp_path / "copy", Event())


@pytest.fixture(scope="module")
def alone():
    """Outputs and ledger of a worker that is never interrupted, over a journal that is never cut."""
    with TemporaryDirectory() as folder:
        return fold_uninterrupted(Path(folder))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fold"), st.integers(1, 4)),
        st.tuples(st.just("kill"), st.sampled_from((*CUT_STAGES, *ARCHIVE_STAGES))),
        st.just(("lose ledger", None)),
        st.just(("damage newest snapshot", None)),
    ),
    min_size=3,
    max_size=8,
)


@pytest.mark.attack
@given(STEPS, st.integers(2, 3), st.sampled_from(["none", "plain", "sealed"]))
@settings(max_examples=25, deadline=None)
def test_kills_lost_ledgers_and_bad_snapshots_lose_nothing_of_a_cut_journal(alone, steps, keep, archived):
    with TemporaryDirectory() as folder:
        keys = key_of if archived == "sealed" else None
        archive = None if archived == "none" else Archive(f"{folder}/archive", keys)
        assert play(Path(folder), steps, keep, archive) == alone


def play(folder, steps, keep, archive):
    """Play the steps, each in a process of its own, then fold to the end; return outputs and ledger."""
    story, snapshots = write_journal(folder), Snapshots(str(folder / "snapshots"), keep)
    total, done, bad = len(story.journal), 0, set[str]()
    for what, value in steps:
        listed = snapshots.listed(JOURNAL)
        if what == "lose ledger":
            shutil.rmtree(folder / "w", ignore_errors=True)
        elif what == "damage newest snapshot":
            # One good one is left: without any and without a ledger, a cut journal ends the worker.
            if {one.file for one in listed[1:]} - bad:
                bad.add(listed[0].file)
                damage(folder / "snapshots" / "journal-0" / listed[0].file)
        else:
            done = min(total, done + (value if what == "fold" else 1))
            worker = trimming(story, "w", snapshots, kill_at=value if what == "kill" else None, archive=archive)
            with suppress(Killed):
                asyncio.run(fold_and_cut(worker, story, done))
        if archive is not None:
            assert kept(story, archive) == story.run.broker.logs[JOURNAL][: begin(story)]
        assert begin(story) <= min((one.ledger.offset for one in snapshots.listed(JOURNAL)), default=0)
    last = Worker(story, "w", snapshots)
    last.journal = last.journal[:total]
    asyncio.run(last.run())
    return story.run.outputs(), dump(last.ledger)
