"""What a target is, and how the bytes of a fuzzer become what it takes.

Both ways: ``written`` gives the bytes of a seed, ``record_of`` reads what was made of them.
"""

from __future__ import annotations

import atexit
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import process_time
from typing import NamedTuple
from unittest import mock

from fsspec.registry import known_implementations

from onward.streams.records import Record
from onward.streams.topics import Topics

TOPICS = Topics()
FIELD, VALUE, RECORD = b"\x1e", b"\x1f", b"\x1d"
LARGEST_INT64 = 2**63 - 1
MOST_SECONDS, MOST_GROWN_BYTES = 5.0, 200 << 20
LOCAL_FILE_SYSTEMS = ("file", "local", "memory", "data", "zip", "tar")


class Target(NamedTuple):
    """Something that takes what others wrote.

    ``check`` gives it the bytes and returns, or raises: an assertion, or whatever the code should not have raised.
    ``words`` are put into inputs as they stand. ``kept`` are inputs that once raised, by what they are. ``share`` is
    that of the inputs of a cheap target which this one gets.
    """

    check: Callable[[bytes], None]
    seeds: Sequence[bytes]
    words: Sequence[bytes] = ()
    kept: Mapping[str, bytes] = {}
    share: float = 1.0


class Spent(NamedTuple):
    """What an input cost: CPU time, and by how much the most memory that the process ever held grew."""

    seconds: float
    grown_bytes: int


def spend(target: Target, data: bytes) -> Spent:
    """Check an input, also that it costs little."""
    began, before = process_time(), peak_bytes()
    target.check(data)
    spent = Spent(process_time() - began, peak_bytes() - before)
    assert spent.seconds < MOST_SECONDS, f"{spent.seconds:.1f} s for {len(data)} bytes"
    assert spent.grown_bytes < MOST_GROWN_BYTES, f"{spent.grown_bytes >> 20} MB for {len(data)} bytes"
    return spent


def peak_bytes() -> int:
    """The most memory that this process has ever held (resident)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def written(topic: int, timestamp_ms: int, headers: Sequence[tuple[bytes, bytes | None]], value: bytes | None) -> bytes:
    """A record as bytes: the topic's number, timestamp, key, headers ``name=content``, and the value."""
    named = [name if content is None else name + b"=" + content for name, content in headers]
    head = FIELD.join((b"%d" % topic, b"%d" % timestamp_ms, b"", *named))
    return head if value is None else head + VALUE + value


def record_of(data: bytes, topics: Sequence[str] = TOPICS.inputs, offset: int = 0) -> Record:
    """Any bytes as a record that Kafka could deliver, from one of these topics."""
    head, given, value = data.partition(VALUE)
    number, timestamp, key, *headers = (head.split(FIELD) + [b""] * 3)[: max(3, head.count(FIELD) + 1)]
    return Record(
        topics[sum(number) % 16 % len(topics)],
        0,
        offset,
        _int64(timestamp),
        key or None,
        value if given else None,
        tuple(map(_header, headers)),
    )


@cache
def folder() -> Path:
    """A folder for this process, which goes when it ends."""
    place = Path(tempfile.mkdtemp(prefix="onward-fuzz-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@contextmanager
def local_file_systems() -> Iterator[None]:
    """Let no address that a fuzzer finds lead off this machine."""
    known = {name: known_implementations[name] for name in LOCAL_FILE_SYSTEMS if name in known_implementations}
    with mock.patch.dict(known_implementations, known, clear=True):
        yield


def _header(text: bytes) -> tuple[str, bytes]:
    name, given, content = text.partition(b"=")
    # A Kafka header may hold nothing at all, whatever the type of ``Record`` says.
    return name.decode(errors="replace"), content if given else None  # type: ignore[return-value]


def _int64(text: bytes) -> int:
    try:
        number = int(text)
    except ValueError:
        number = int.from_bytes(text[:8], signed=True)
    return max(-LARGEST_INT64 - 1, min(LARGEST_INT64, number))
