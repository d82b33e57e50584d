"""An archive that is sealed holds nothing that can be read without its keys."""

from __future__ import annotations

import hashlib
from threading import Event

import pytest

from onward.streams.archive.month_keys import NoKeyError
from onward.streams.archive.reading import begin_of_archived
from onward.streams.archive.store import Archive, ArchiveError, CheckpointFile, SegmentFile
from onward.streams.records import Record, TopicPartition

JOURNAL = TopicPartition("journal", 3)
RECORDS = [Record(*JOURNAL, offset, 1, None, b"somebody's name", ()) for offset in range(4)]
SEGMENT, LATER = SegmentFile(JOURNAL, 0, 4, "2026-10"), SegmentFile(JOURNAL, 4, 8, "2026-11")
CHECKPOINT = CheckpointFile(JOURNAL, 4, "2026-10")


def key_of(month):
    return hashlib.sha256(month.encode()).digest()


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger"
    path.write_bytes(b"somebody's name" * 1000)
    return path


def written(address, ledger, keys):
    archive = Archive(address, keys)
    archive.write_segment(SEGMENT, RECORDS)
    archive.write_checkpoint(CHECKPOINT, ledger, Event())
    return archive


@pytest.mark.parametrize("keys", [None, key_of])
def test_what_is_read_is_what_was_written(address, ledger, keys, tmp_path):
    archive = written(f"{address}/archive", ledger, keys)
    assert (archive.segments(JOURNAL), archive.checkpoints(JOURNAL)) == ([SEGMENT], [CHECKPOINT])
    assert archive.read_segment(SEGMENT) == RECORDS
    archive.fetch_checkpoint(CHECKPOINT, tmp_path / "copy", Event())
    assert (tmp_path / "copy").read_bytes() == ledger.read_bytes()


@pytest.mark.attack
def test_nothing_unsealed_touches_a_sealed_archive(tmp_path, ledger):
    archive = written(str(tmp_path / "a"), ledger, key_of)
    names = sorted(path.name for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert names == [f"{SEGMENT.name}.sealed", f"{CHECKPOINT.name}.sealed"]
    assert not any(b"somebody" in (tmp_path / "a" / "journal-3" / name).read_bytes() for name in names)
    # A worker without the keys writes nothing there: of no partition.
    for other in (LATER, LATER._replace(journal=TopicPartition("journal", 0))):
        with pytest.raises(ArchiveError, match="is sealed: give --archive-key-command, or another address"):
            Archive(str(tmp_path / "a")).write_segment(other, [])
    # What stands there unsealed may be anybody's.
    (tmp_path / "a" / "journal-3" / LATER.name).write_bytes(b"")
    assert archive.segments(JOURNAL) == [SEGMENT]
    with pytest.raises(ArchiveError):
        archive.read_segment(LATER)
    with pytest.raises(ArchiveError, match="is not sealed: seal into another address"):
        written(str(tmp_path / "a"), ledger, key_of)


@pytest.mark.attack
def test_a_sealed_segment_does_not_pass_for_another(tmp_path, ledger):
    archive = written(str(tmp_path / "a"), ledger, key_of)
    folder = tmp_path / "a" / "journal-3"
    other = SEGMENT._replace(end=5)
    (folder / f"{SEGMENT.name}.sealed").rename(folder / f"{other.name}.sealed")
    with pytest.raises(ArchiveError, match=f"{other.name}.sealed: it is damaged, or another file's content"):
        archive.read_segment(other)


def test_a_month_is_forgotten_with_its_key(tmp_path, ledger):
    archive = written(str(tmp_path / "a"), ledger, key_of)
    archive.write_segment(LATER, [])

    def dropped(month):
        if month == "2026-10":
            raise NoKeyError("there is no key of 2026-10")
        return key_of(month)

    assert begin_of_archived(archive, JOURNAL, 8) == 0
    archive = Archive(str(tmp_path / "a"), dropped)
    assert archive.read_segment(LATER) == []
    assert begin_of_archived(archive, JOURNAL, 8) == 4
    with pytest.raises(ArchiveError, match=f"{SEGMENT.name}.sealed: there is no key of 2026-10"):
        archive.read_segment(SEGMENT)
    with pytest.raises(ArchiveError, match=f"{SEGMENT.name}.sealed: there is no key of 2026-10"):
        archive.write_segment(SEGMENT, RECORDS)


def test_another_key_of_a_month_is_refused(tmp_path, ledger):
    written(str(tmp_path / "a"), ledger, key_of)
    archive = Archive(str(tmp_path / "a"), lambda month: bytes(32))
    with pytest.raises(ArchiveError, match="was sealed with another key of 2026-10"):
        archive.write_segment(SEGMENT._replace(first=1), RECORDS[1:])
    with pytest.raises(ArchiveError, match="was sealed with another key of its month"):
        archive.read_segment(SEGMENT)
    archive.write_segment(LATER, [])


def test_a_full_disk_leaves_nothing_half_written(tmp_path, ledger, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ArchiveError, match="No space left on device"):
        written(str(tmp_path / "a"), ledger, None)
    assert not [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
