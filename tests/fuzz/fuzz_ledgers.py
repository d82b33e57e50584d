"""Targets that take what stands in a ledger: its file, the body of a case, what a learner has learned."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import msgspec
from fuzz_events import EVENTS, PROGRAMS, sent
from fuzz_inputs import TOPICS, Target, folder, local_file_systems, record_of
from fuzz_records import JOURNAL_SEEDS

from onward.streams.engine.process import footprint
from onward.streams.engine.timing.watermark import required_topics
from onward.streams.errors import DamagedLedgerError, OnwardError
from onward.streams.journal.lines import read_entries as read
from onward.streams.ledger.array_codec import pack, unpack
from onward.streams.ledger.check import LedgerCheckError, LedgerMeta, check_copy, check_ledger
from onward.streams.ledger.checksum import with_checksum, without_checksum
from onward.streams.ledger.ledger import Ledger
from onward.streams.records import Record, TopicPartition
from onward.testing.pipeline import START_MS, PipelineRun, idle_tick

JOURNAL = TopicPartition("journal", 0)
WAITING_LIMIT = 100
PAGE_BYTES = 512
"""The smallest that SQLite has: a ledger is as short as can be."""
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
EVENTS_KEPT = (EVENTS[0], EVENTS[1], EVENTS[3], msgspec.structs.replace(EVENTS[5], application="z"))
"""Of two open cases, and one event that waits."""
PORTION = [
    entry
    for offset, value in enumerate(JOURNAL_SEEDS[:-1])
    for entry in read(Record(TOPICS.journal, 0, offset, START_MS + 9 * HOUR_MS, None, value, ()))
]


def ledger(data: bytes) -> None:
    """A ledger that passes can be loaded and looked into; any other is said to be damaged, or another's."""
    file = _emptied(folder() / "ledger.sqlite")
    file.write_bytes(data)
    with suppress(LedgerCheckError):
        assert isinstance(check_copy(file), LedgerMeta)
    _examined(file)


def case(data: bytes) -> None:
    """The same of a ledger with such a case, whose checksum is right."""
    file = folder() / "case.sqlite"
    if not file.exists():
        file.write_bytes(good_ledger())
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA synchronous=OFF")
        assert db.execute(
            "UPDATE cases SET body = ? WHERE rowid = (SELECT min(rowid) FROM cases)", (with_checksum(data),)
        ).rowcount
    _examined(file)


def learner(data: bytes) -> None:
    """Arrays of numbers that take no more memory than the bytes they are read from, or ``ValueError``."""
    try:
        found = unpack(with_checksum(data))
    except ValueError:
        return
    assert all(array.dtype.kind in "biuf" and array.flags.writeable for array in found.values())
    assert sum(array.nbytes for array in found.values()) <= len(data)
    again = unpack(pack(found))
    assert all(again[name].tobytes() == array.tobytes() for name, array in found.items())


def _examined(file: Path) -> None:
    try:
        check_ledger(file)
    except OnwardError:
        return
    try:
        with local_file_systems(), Ledger(file, *JOURNAL) as found:
            found.view(found.load(PROGRAMS, required_topics(TOPICS), WAITING_LIMIT), footprint(PORTION), {})
    except DamagedLedgerError as error:
        raise AssertionError("damage has not been noticed") from error
    except OnwardError:
        return


def _emptied(file: Path) -> Path:
    for part in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + part).unlink(missing_ok=True)
    return file


@cache
def good_ledger() -> bytes:
    """Of a few events, written as a worker does."""
    run = PipelineRun(PROGRAMS, Path(tempfile.mkdtemp(dir=folder())))
    records = [
        record_of(sent(event, START_MS + number, b"id-%d" % number), offset=number)
        for number, event in enumerate(EVENTS_KEPT)
    ]

    async def fold() -> Path:
        journal = await run.ingest(records)
        journal.append(idle_tick(run, START_MS + MINUTE_MS))
        return await run.fold(journal)

    return _shortened(asyncio.run(fold()))


def _shortened(file: Path) -> bytes:
    with closing(sqlite3.connect(file)) as db:
        for statement in ("PRAGMA journal_mode=DELETE", f"PRAGMA page_size={PAGE_BYTES}", "VACUUM"):
            db.execute(statement)
    return file.read_bytes()


def changed(statement: str, *values: bytes) -> bytes:
    """The good ledger after a change that SQLite finds nothing wrong with."""
    file = _emptied(folder() / "seed.sqlite")
    file.write_bytes(good_ledger())
    with closing(sqlite3.connect(file)) as db, db:
        assert db.execute(statement, values).rowcount
    return file.read_bytes()


def _cell(content: bytes) -> int:
    """Where the first table's own row begins: the first entry of the first page, behind two headers."""
    return int.from_bytes(content[108:110])


def _flipped(kept: bytes) -> bytes:
    return kept[:20] + bytes([kept[20] ^ 1]) + kept[21:]


GOOD = good_ledger()
with closing(sqlite3.connect(":memory:")) as _db:
    _db.deserialize(GOOD)
    BODIES = [bytes(without_checksum(body)) for (body,) in _db.execute("SELECT body FROM cases ORDER BY rowid")]
    LEARNERS = [bytes(without_checksum(learned)) for (learned,) in _db.execute("SELECT learner FROM shards")]
OBJECTS = msgspec.msgpack.encode({"x": ("|O", (1,), bytes(8))})
PROMISES = {
    "an array of objects": OBJECTS,
    "fields": msgspec.msgpack.encode({"x": ("i4,O", (1,), bytes(12))}),
    "more than there is": msgspec.msgpack.encode({"x": ("<f8", (1 << 40,), bytes(8))}),
    "more than a machine counts": msgspec.msgpack.encode({"x": ("<f8", (1 << 62, 1 << 62, 0), b"")}),
    "a shape to be guessed": msgspec.msgpack.encode({"x": ("<f8", (-1,), bytes(8))}),
    "very many dimensions": msgspec.msgpack.encode({"x": ("<f8", (1,) * 100_000, bytes(8))}),
    "a map of very many names": b"\xdf\xff\xff\xff\xff",
    "deep nesting": b"\x91" * 100_000,
    "a name that is not UTF-8": b"\x81\xa1\xff\x93\xa3<f8\x91\x01\xc4\x08" + bytes(8),
}
PACKED_WORDS = [
    *(b"\xc0", b"\xff", b"\x80", b"\x90", b"\x91", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff"),
    *(b"\xcf" + b"\xff" * 8, b"\xd3\x80" + bytes(7), b"\xcb\x7f\xf8" + bytes(6), b"\xc6\xff\xff\xff\xff", b"\xa1\xff"),
]
TARGETS = {
    "ledger": Target(
        ledger,
        [GOOD],
        [b"CREATE TABLE meta", b"SQLite format 3\0", b"\xff\xff", b"schema", b"journal", *PACKED_WORDS],
        {
            "a name that is not UTF-8": GOOD.replace(b"tablemeta", b"table\xff\xff\xff\xff"),
            "a cell of very many bytes": GOOD[: _cell(GOOD)] + b"\xff" * 8 + b"l" + GOOD[_cell(GOOD) + 9 :],
            "a schema that is no number": changed("UPDATE meta SET value = X'ff' WHERE name = 'schema'"),
            "an offset that is no whole number": changed("UPDATE meta SET value = 1.5 WHERE name = 'offset'"),
            "a case that cannot be read": changed("UPDATE cases SET body = X'ff'"),
            "what is learned by no program": changed("UPDATE OR IGNORE shards SET program = 'x'"),
            "another bit of what was learned": changed(
                "UPDATE shards SET learner = ?", _flipped(with_checksum(LEARNERS[0]))
            ),
            "another bit of a case": changed(
                "UPDATE cases SET body = ? WHERE rowid = (SELECT min(rowid) FROM cases)",
                _flipped(with_checksum(BODIES[0])),
            ),
            "a table of another name": GOOD.replace(b"processed_events", b"processed_evenst"),
        },
        share=0.2,
    ),
    "case": Target(
        case,
        BODIES,
        PACKED_WORDS,
        {"deep nesting": BODIES[0][:1] + b"\x91" * 100_000, "nothing": b"", "no array": b"\x80"},
        share=0.2,
    ),
    "learner": Target(
        learner,
        LEARNERS,
        [*PACKED_WORDS, b"\xa2|O", b"\xa3<f8", b"\xa3|b1", b"\xa5i4,O4", b"\xa3<M8", b"\xa3<U9", b"\xa3|S9"],
        PROMISES,
    ),
}
