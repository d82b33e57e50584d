"""Records are kept before they are cut, compared with the topic, a month a segment."""

from __future__ import annotations

import stat
from datetime import UTC, datetime

import pytest

from onward.streams.archive.reading import ArchiveGapError, archived_records
from onward.streams.archive.store import Archive, ArchiveError, SegmentFile
from onward.streams.records import Record
from onward.streams.worker.journal_archiver import MOST_SEGMENTS, JournalArchiver
from onward.streams.worker.stages import ignore_stage
from onward.testing.memory_broker import MemoryBroker
from onward.testing.tape import DAY_MS, JOURNAL

NOW_MS = round(datetime(2026, 3, 10, tzinfo=UTC).timestamp() * 1000)


def broker_with(times_ms):
    broker = MemoryBroker()
    broker.logs[JOURNAL] = [
        Record(*JOURNAL, offset, time_ms, None, b"%d" % offset, ()) for offset, time_ms in enumerate(times_ms)
    ]
    return broker


def archiver(broker, place, segment_bytes=1000):
    return JournalArchiver(Archive(str(place)), broker, lambda: NOW_MS, ignore_stage, segment_bytes)


def spans(place):
    return [(segment.first, segment.end, segment.month) for segment in Archive(str(place)).segments(JOURNAL)]


async def test_a_segment_ends_with_its_size_and_with_its_month(tmp_path):
    days_ago = [40, 40, 40, 40, 20, 20, 0, -400]
    broker = broker_with([NOW_MS - days * DAY_MS for days in days_ago])
    assert await archiver(broker, tmp_path / "a", 3).keep_segments(JOURNAL, 0, 8) == 8
    # The last record says that it is of a month to come.
    assert spans(tmp_path / "a") == [
        (0, 3, "2026-01"),
        (3, 4, "2026-01"),
        (4, 6, "2026-02"),
        (6, 8, "2026-03"),
    ]
    assert list(archived_records(Archive(str(tmp_path / "a")), JOURNAL, 2, 7)) == broker.logs[JOURNAL][2:7]


async def test_a_long_journal_is_kept_in_several_turns(tmp_path):
    broker = broker_with([NOW_MS] * 100)
    one = archiver(broker, tmp_path / "a", 2)
    kept = await one.keep_segments(JOURNAL, 0, 100)
    assert MOST_SEGMENTS <= kept < 100
    assert await one.keep_segments(JOURNAL, kept, kept + 3) == kept + 3


async def test_what_is_kept_already_is_not_written_again(tmp_path):
    broker = broker_with([NOW_MS] * 9)
    await archiver(broker, tmp_path / "a").keep_segments(JOURNAL, 0, 5)
    assert await archiver(broker, tmp_path / "a").keep_segments(JOURNAL, 0, 9) == 9
    assert [span[:2] for span in spans(tmp_path / "a")] == [(0, 5), (5, 9)]


@pytest.mark.parametrize("what", ["damaged", "other records"])
async def test_a_segment_that_is_not_what_the_topic_holds_is_not_relied_on(tmp_path, what):
    broker = broker_with([NOW_MS] * 9)
    archive = Archive(str(tmp_path / "a"))
    old = SegmentFile(JOURNAL, 0, 5, "2026-03")
    archive.write_segment(old, [one._replace(value=b"another") for one in broker.logs[JOURNAL][:5]])
    if what == "damaged":
        (tmp_path / "a" / "journal-0" / old.name).write_bytes(b"short")
    assert await archiver(broker, tmp_path / "a").keep_segments(JOURNAL, 0, 9) == 9
    assert list(archived_records(archive, JOURNAL, 0, 9)) == broker.logs[JOURNAL]


async def test_a_write_that_is_lost_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(Archive, "write_segment", lambda *_: None)
    with pytest.raises(ArchiveError, match="is not what was written"):
        await archiver(broker_with([NOW_MS]), tmp_path / "a").keep_segments(JOURNAL, 0, 1)


async def test_only_the_owner_of_the_files_can_read_them(tmp_path):
    await archiver(broker_with([NOW_MS]), tmp_path / "a").keep_segments(JOURNAL, 0, 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


async def test_a_gap_is_named(tmp_path):
    broker, archive = broker_with([NOW_MS] * 9), Archive(str(tmp_path / "a"))
    archive.write_segment(SegmentFile(JOURNAL, 0, 3, "2026-03"), broker.logs[JOURNAL][:3])
    records = archived_records(archive, JOURNAL, 0, 9)
    assert [next(records).offset for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ArchiveGapError, match="offset 3: no segment holds it"):
        next(records)
