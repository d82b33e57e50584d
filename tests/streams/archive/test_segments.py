"""Segments of the archive: what is read is what was written, or an error."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.archive.segments import SegmentFormatError, are_same, decode_segment, encode_segment, header_of
from onward.streams.records import Record, TopicPartition, UnreadBatch

JOURNAL = TopicPartition("journal", 3)
HEADER = header_of(JOURNAL, 5, 900)
BYTES = st.binary(max_size=40) | st.just(b'[{"application":"Zo\\u00eb"}]\n\n{}')
UNREAD = UnreadBatch("too_large_batch", "it unpacks to 80 MB", 17, 4000, "ab" * 32)


@st.composite
def records(draw):
    found = []
    for offset in sorted(draw(st.sets(st.integers(5, 899), max_size=6))):
        headers = draw(st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=2))
        content = draw(st.none() | BYTES), draw(st.none() | BYTES), tuple(headers)
        time_ms = draw(st.integers(-(2**62), 2**62))
        found.append(Record(*JOURNAL, offset, time_ms, *content, draw(st.sampled_from([None, UNREAD]))))
    return found


@given(records())
def test_what_is_read_is_what_was_written(written):
    content = encode_segment(HEADER, written)
    assert decode_segment(HEADER, content) == written
    assert content == encode_segment(HEADER, written)


@given(records(), st.data())
def test_a_segment_that_is_damaged_is_refused_or_the_same(written, data):
    content = bytearray(encode_segment(HEADER, written))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = decode_segment(HEADER, bytes(content))
    except SegmentFormatError:
        return
    assert found == written


@given(st.binary(max_size=200))
def test_any_content_is_read_or_refused(content):
    for one in (content, gzip.compress(content), gzip.compress(encode_segment(HEADER, [])[:0] + content)):
        with pytest.raises(SegmentFormatError):
            decode_segment(HEADER, one)


@pytest.mark.parametrize(
    "line",
    [
        b'{"offset":4,"timestamp":1,"key":null,"size":null,"headers":[]}\n',
        b'{"offset":900,"timestamp":1,"key":null,"size":null,"headers":[]}\n',
        b'{"offset":6,"timestamp":1,"key":null,"size":-1,"headers":[]}\n',
        b'{"offset":6,"timestamp":1,"key":null,"size":9,"headers":[]}\nshort\n',
        b'{"offset":6,"timestamp":1,"key":null,"size":null,"headers":[]}',
    ],
)
def test_records_of_other_offsets_and_wrong_sizes_are_refused(line):
    head = gzip.decompress(encode_segment(HEADER, []))
    with pytest.raises(SegmentFormatError, match="it is no segment"):
        decode_segment(HEADER, gzip.compress(head + line))


def test_a_segment_of_another_partition_is_refused():
    content = encode_segment(header_of(TopicPartition("journal", 4), 5, 900), [])
    with pytest.raises(SegmentFormatError, match="its first line says"):
        decode_segment(HEADER, content)


def test_records_differ_by_any_part():
    one = Record(*JOURNAL, 6, 1, None, b"a", (("name", b"b"),))
    assert are_same([one], [one._replace(headers=[("name", bytearray(b"b"))])])
    others = [one._replace(value=b"b"), one._replace(timestamp_ms=2), one._replace(headers=()), one._replace(offset=7)]
    assert not any(are_same([one], [other]) for other in others)
