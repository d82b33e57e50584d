"""The target that takes what a broker answers to a fetch: batches of records (format 2 of Kafka's protocol).

A broker looks into every record that it takes, so their structure should be right; what stands in them is any client's.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import cramjam
from aiokafka import TopicPartition as TP
from aiokafka.errors import KafkaError
from aiokafka.record.util import calc_crc32c, encode_varint
from fuzz_inputs import FIELD, RECORD, Target

from onward.streams.kafka.consume.batches import FetchedBatches
from onward.streams.kafka.consume.read_budget import ReadBudget
from onward.streams.kafka.consume.tolerant_records import _PartitionRecords
from onward.testing.pipeline import START_MS
from onward.tests.support.raw_batches import NO_NAME, batch

HEAD = struct.Struct(">qiib")
ATTRIBUTES_TO_COUNT = struct.Struct(">hiqqqhii")
FIRST_OFFSET = 5
LIMIT = 1 << 20
COMPRESSORS: Sequence[Callable[[bytes], bytes]] = (
    bytes,
    gzip.compress,
    lambda data: bytes(cramjam.snappy.compress_raw(data)),
    lambda data: bytes(cramjam.lz4.compress(data)),
    lambda data: bytes(cramjam.zstd.compress(data)),
)
WHOLE, RECORDS, PACKED = b"w", b"r", b"p"
"""Inputs that need not be right: an answer, the records of a batch behind their number, what gzip should have made."""

RawHeaders = Sequence[tuple[bytes, bytes | None]]


class Sent(NamedTuple):
    """What a client sent."""

    key: bytes | None
    value: bytes | None
    headers: RawHeaders


def batches(data: bytes) -> None:
    """Every record is read as it was sent, without its headers where a name of theirs is not UTF-8.

    A batch that cannot be unpacked, or not within a limit, is one record without content. What is no batch, or holds
    what is no record, is refused with an error of aiokafka.
    """
    mode, rest = data[:1], data[1:]
    if mode in (WHOLE, RECORDS, PACKED):
        _read_or_refused(rest if mode == WHOLE else _batch(int(mode == PACKED), sum(rest[:1]), rest[1:]))
        return
    sent = [_sent(text) for text in rest.split(RECORD)]
    compression = sum(mode) % len(COMPRESSORS)
    packed = COMPRESSORS[compression](b"".join(_record(*numbered) for numbered in enumerate(sent)))
    found = list(_records(_batch(compression, len(sent), packed)))
    assert [record.offset for record in found] == list(range(FIRST_OFFSET, FIRST_OFFSET + len(sent)))
    for record, one in zip(found, sent, strict=True):
        assert (record.key, record.value) == (one.key, one.value)
        assert list(record.headers) == _readable(one.headers)


def _read_or_refused(data: bytes) -> None:
    offsets = []
    try:
        offsets += [record.offset for record in _records(data)]
    except KafkaError:
        return
    assert offsets == sorted(offsets)


def _records(data: bytes) -> _PartitionRecords:
    return _PartitionRecords(TP("t", 0), FetchedBatches(data), None, 0, ReadBudget(LIMIT), None, True, 0)


def _readable(headers: RawHeaders) -> list[tuple[str, bytes | None]]:
    try:
        return [(name.decode(), content) for name, content in headers]
    except UnicodeDecodeError:
        return []


def _sent(text: bytes) -> Sent:
    key, value, *headers = [*text.split(FIELD), b""][: text.count(FIELD) + 1 + (FIELD not in text)]
    pairs = (header.partition(b"=") for header in headers)
    return Sent(key or None, value or None, [(name, content if given else None) for name, given, content in pairs])


def _record(number: int, sent: Sent) -> bytes:
    body = bytearray(b"\0")
    encode_varint(-number, body.append)
    encode_varint(number, body.append)
    for content in (sent.key, sent.value):
        _write(content, body)
    encode_varint(len(sent.headers), body.append)
    for header in sent.headers:
        for content in header:
            _write(content, body)
    length = bytearray()
    encode_varint(len(body), length.append)
    return bytes(length + body)


def _write(content: bytes | None, body: bytearray) -> None:
    encode_varint(-1 if content is None else len(content), body.append)
    body += content or b""


def _batch(compression: int, count: int, packed: bytes) -> bytes:
    checked = ATTRIBUTES_TO_COUNT.pack(compression, count - 1, START_MS, START_MS, -1, -1, -1, count) + packed
    head = HEAD.pack(FIRST_OFFSET, len(checked) + HEAD.size - 8, 0, 2)
    return head + struct.pack(">I", calc_crc32c(checked)) + checked


_PLAIN = batch([b"0", b"1"], [[(b"ce_id", b"1")], []], START_MS)
_TOLD = batch([b"0", b"1", b"2"], [[], [(NO_NAME, b"x")], [(b"a", None)]], START_MS)
_TEXTS = [
    FIELD.join([b"key", b"value", b"ce_id=1", b"empty=", b"nothing", b"ce_id=2"]),
    FIELD.join([b"", b"", NO_NAME + b"=x", b"a=b"]),
    b"k",
]
_RECORDS = b"".join(_record(*numbered) for numbered in enumerate(map(_sent, _TEXTS)))
_COUNT = bytes([len(_TEXTS)])
_ENDLESS = b"\xfe\xff\xff\xff\x0f"
"""2^31 - 1, as a length."""
SEEDS = [
    *(WHOLE + whole for whole in (_PLAIN, _TOLD, _PLAIN + _TOLD)),
    *(bytes([compression]) + RECORD.join(_TEXTS) for compression in range(len(COMPRESSORS))),
    RECORDS + _COUNT + _RECORDS,
    PACKED + _COUNT + gzip.compress(_RECORDS),
]
TARGETS = {
    "batches": Target(
        batches,
        SEEDS,
        [WHOLE, RECORDS, PACKED, NO_NAME, FIELD, RECORD, b"=", _ENDLESS, b"\xed\xa0\x80", b"\xc3"],
        {
            "much in little": PACKED + _COUNT + gzip.compress(bytes(64 << 20)),
            "not what gzip makes": PACKED + _COUNT + b"\x1f\x8b\x08" + bytes(20),
            "a length that leads out of the batch": RECORDS + _COUNT + _RECORDS[:-1] + _ENDLESS + NO_NAME,
            "a key that leads out of the batch": RECORDS
            + b"\2"
            + _RECORDS.replace(NO_NAME, b"\xff")
            + b"\x14\0\0\0"
            + _ENDLESS,
        },
    )
}
