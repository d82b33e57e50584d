"""What is packed is unpacked up to one budget, and what is beyond it is told."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile
from collections.abc import Callable

import cramjam
import pytest

from onward.streams.records import Record, UnreadBatch
from onward.streams.topics import Topics
from onward.streams.traces.names import UNSEARCHED, Names
from onward.streams.traces.search import TopicRetention, TraceSearch
from onward.testing.tape import DAY_MS

NAME = "p-9"
ZEROS = bytes(40 << 20)
NOW_MS = 1_790_000_000_000


def archive(packing: int, *members: bytes) -> bytes:
    """A zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", packing) as file:
        for number, member in enumerate(members):
            file.writestr(str(number), member)
    return packed.getvalue()


def search() -> TraceSearch:
    """Searches for one person."""
    return TraceSearch(Names([NAME]), TopicRetention(Topics(), 28 * DAY_MS))


def record(value: bytes) -> Record:
    """A record of now."""
    return Record("applications", 0, 7, NOW_MS, None, value, ())


@pytest.mark.attack
@pytest.mark.parametrize(
    "packed",
    [
        lambda: archive(zipfile.ZIP_BZIP2, *[ZEROS] * 2),
        lambda: archive(zipfile.ZIP_LZMA, ZEROS),
        lambda: bz2.compress(ZEROS),
        lambda: lzma.compress(ZEROS),
        lambda: gzip.compress(ZEROS),
        lambda: bytes(cramjam.zstd.compress(ZEROS)),
        lambda: base64.b64encode(gzip.compress(bz2.compress(ZEROS))),
    ],
    ids=["zip of bzip2", "zip of LZMA", "bzip2", "xz", "gzip", "zstd", "bzip2 in gzip in base64"],
)
def test_a_bomb_takes_bounded_memory_and_is_told(packed: Callable[[], bytes]):
    value = packed()[:1_000_000]
    tracemalloc.start()
    try:
        trace = search().in_record(record(value))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert trace is not None
    assert trace.is_unsearched
    assert peak < 64 << 20


@pytest.mark.attack
def test_what_is_around_a_bomb_is_searched():
    value = archive(zipfile.ZIP_DEFLATED, NAME.encode(), ZEROS)
    assert Names([NAME]).found_in(value) == {0, UNSEARCHED}


@pytest.mark.attack
@pytest.mark.parametrize("packed", [gzip.compress(b"x" * 999)[:-9], b"PK\x03\x04" + b"x" * 99], ids=["cut", "damaged"])
def test_what_cannot_be_unpacked_is_told(packed):
    assert Names([NAME]).found_in(packed) == {UNSEARCHED}


@pytest.mark.attack
def test_what_is_encrypted_is_told():
    value = bytearray(archive(zipfile.ZIP_STORED, b"nobody"))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        value[value.index(mark) + flags] |= 1
    assert Names([NAME]).found_in(bytes(value)) == {UNSEARCHED}


@pytest.mark.attack
def test_a_file_of_many_zeros_is_searched_whole(tmp_path):
    """A model or a table is its owner's: more is unpacked than of a record."""
    assert Names([NAME]).found_in(archive(zipfile.ZIP_DEFLATED, ZEROS)) == {UNSEARCHED}
    file = tmp_path / "model.npz"
    file.write_bytes(archive(zipfile.ZIP_DEFLATED, ZEROS, b"zeros of p-9."))
    assert [trace.names for trace in search().in_file(file)] == [(1,)]


@pytest.mark.attack
def test_a_batch_that_was_not_read_is_told():
    unread = record(b"")._replace(value=None, unread=UnreadBatch("oversized_batch", "it is too large", 3, 9, "0"))
    trace = search().in_record(unread)
    assert trace is not None
    assert trace.is_unsearched
    assert trace.place == "applications/0/3"


@pytest.mark.attack
def test_a_record_that_is_dated_in_the_future_should_be_gone():
    """Its topic keeps it from then on."""
    for days, is_left in ((0, False), (1, False), (40, True), (365_000, True)):
        trace = search().in_record(record(NAME.encode())._replace(timestamp_ms=NOW_MS + days * DAY_MS))
        assert trace is not None
        assert trace.is_left(NOW_MS) == is_left
