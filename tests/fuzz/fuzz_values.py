"""Targets that take single values: the attributes of a record, times, positions, features."""

from __future__ import annotations

import struct

import msgspec
import numpy as np
from fuzz_events import HEADER_WORDS, INPUT_SEEDS, JSON_WORDS, PROGRAMS
from fuzz_inputs import FIELD, RECORD, Target, record_of

from onward.schemas.encoding import FeatureCodec
from onward.schemas.headers import Problem, format_time, parse_time, read_headers
from onward.schemas.spec import Feature
from onward.streams.outputs.emission import OutputPosition


def headers(data: bytes) -> None:
    """Attributes or a problem; the attributes are text of bounded length, and a time that can be written."""
    event = read_headers(record_of(data).headers)
    if isinstance(event, Problem):
        assert event.reason in ("missing_header", "malformed_header")
        return
    assert 0 < len(event.id) <= 200
    for text in (event.id, event.source or "x", event.type or "x"):
        assert text.isprintable()
        assert len(text) <= 1000
    if event.time_ms is not None:
        assert parse_time(format_time(event.time_ms).encode()) == event.time_ms


def times(data: bytes) -> None:
    """A time in the years 1 to 9999, or ``ValueError``; what is written again is the same time."""
    try:
        time_ms = parse_time(data)
    except ValueError:
        return
    again = format_time(time_ms)
    assert parse_time(again.encode()) == time_ms
    assert len(again) == len("2026-11-21T08:49:00.123Z")


def position(data: bytes) -> None:
    """A position or ``ValueError``."""
    try:
        found = OutputPosition.parse(data)
    except ValueError:
        return
    assert OutputPosition.parse(found.header()) == found


_KINDS = [
    Feature(**{"type": "continuous", **kind})
    for kind in (  # type: ignore[arg-type]
        {"name": "amount", "bounds": (-1e308, 7e307)},
        {"name": "rate", "bounds": (0.1, 0.3)},
        {"name": "months", "type": "integer", "bounds": (-(2.0**53), 2.0**53)},
        {"name": "debts", "type": "integer", "bounds": (0.0, 10.0)},
        {"name": "school", "type": "ordinal", "levels": ("none", "basic", "high"), "pii": True},
        {"name": "region", "type": "categorical", "categories": ("north", "south", "é\x00")},
    )
]


def _codec(*kinds: Feature) -> FeatureCodec:
    return FeatureCodec(msgspec.structs.replace(PROGRAMS["loan"].spec, features=kinds))


CODECS = [_codec(*_KINDS), _codec(_KINDS[0]), _codec(_KINDS[3]), _codec(*_KINDS[4:]), PROGRAMS["loan"].codec]


def _value(text: bytes) -> object:
    """A feature's value, as JSON has it or as only Python has it."""
    kind, rest = text[:1], text[1:]
    if kind == b"f":
        return struct.unpack("<d", rest[:8].ljust(8, b"\0"))[0]
    if kind == b"i":
        return int.from_bytes(rest[:200], signed=True)
    if kind == b"b":
        return bool(rest)
    if kind == b"n":
        return None
    if kind == b"s":
        return rest.decode(errors="surrogateescape")
    try:
        return msgspec.json.decode(text, type=int | float | str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return np.float64(len(text))


def features(data: bytes) -> None:
    """Checking and reading agree on every row, and good rows encode into [0, 1], the same beside any other rows."""
    codec = CODECS[sum(data[:1]) % len(CODECS)]
    rows = [_row(codec, text) for text in data[1:].split(RECORD)[:5]]
    problems = [codec.check(row) for row in rows]  # type: ignore[arg-type]
    assert all(len(problem.detail) < 4000 for problem in problems if problem is not None)
    good = [row for row, problem in zip(rows, problems, strict=True) if problem is None]
    encoded = codec.encode_many(good)  # type: ignore[arg-type]
    assert ((encoded >= 0) & (encoded <= 1)).all()
    for row, vector in zip(good, encoded, strict=True):
        assert codec.encode_many([row]).tobytes() == vector.tobytes()  # type: ignore[list-item]
    for row, problem in zip(rows, problems, strict=True):
        _read_from_json(codec, row, problem)


def _read_from_json(codec: FeatureCodec, row: dict[str, object], problem: Problem | None) -> None:
    """A valid row is read with its values and types, an invalid one has a problem."""
    try:
        written = msgspec.json.encode(row)
    except (TypeError, UnicodeEncodeError):
        return
    found = codec.read(written)
    if problem is None:
        assert not isinstance(found, Problem)
        expected = [row[feature.name] for feature in codec.spec.features]
        assert list(found) == expected
        assert all(map(isinstance, expected, map(type, found)))
        assert codec.encode_read([found]).tobytes() == codec.encode_many([row]).tobytes()  # type: ignore[list-item]
    else:
        assert isinstance(found, Problem)


def _row(codec: FeatureCodec, text: bytes) -> dict[str, object]:
    """A value for every feature in turn; a name before ``=`` is another feature's."""
    row: dict[str, object] = {}
    names = [feature.name for feature in codec.spec.features]
    for index, cell in enumerate(text.split(FIELD)):
        name, other, value = cell.partition(b"=")
        if other:
            row[name.decode(errors="replace")] = _value(value)
        elif index < len(names):
            row[names[index]] = _value(cell)
    return row


FEATURE_SEEDS = [
    b"\0" + FIELD.join([b"1e307", b"0.2", b"-5", b"7", b'"basic"', b'"south"']),
    b"\0" + FIELD.join([b"-1", b"0.1", b"4.0", b"10", b'"none"', b'"north"', b"shoe=43"]),
    b"\1"
    + RECORD.join(
        [b"f" + struct.pack("<d", -1e308), b"f" + struct.pack("<Q", 0x7FF4000000000001), b"i" + b"\x7f" * 130]
    ),
    b"\2" + RECORD.join([b"10", b"10.0", b"10.5", b"i\0", b"f" + struct.pack("<d", -0.0), b"b1"]),
    b"\3" + RECORD.join([b'"high"' + FIELD + b'"north"', b"s\x80" + FIELD + b"n", b'"a"' + FIELD + b"b"]),
    b"\4" + RECORD.join([FIELD.join([b'"north"', b"100", b"9007199254740993"])] * 2),
]

TIME_SEEDS = [b"2026-11-21T08:49:00.123Z", b"2016-12-31t23:59:60.5+14:00", b"0001-01-01T00:00:00-00:01"]

TARGETS = {
    "headers": Target(headers, INPUT_SEEDS, HEADER_WORDS),
    "times": Target(times, TIME_SEEDS, HEADER_WORDS),
    "position": Target(position, [b"12.3", b"-1.-1", b"0.0"], [b".", b"9" * 4400, b" ", b"_"]),
    "features": Target(features, FEATURE_SEEDS, [FIELD, RECORD, b"=", *JSON_WORDS]),
}
