"""Names searched for in bytes, however these hold them: escaped, in base64, packed, in either normal form."""

from __future__ import annotations

import base64
import gzip
import io
import mmap
import re
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO

import cramjam

from ...schemas.normal_form import normal_form

LARGEST_UNPACKED = 256 << 20
"""Packed content that unpacks to more bytes is not searched, and told."""
DEEPEST = 6
"""How often content may be packed in packed content."""
LEAST_DIGITS = 5
"""A number with fewer digits is searched for as text only: its bytes stand everywhere."""

_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")
_SHORT_ESCAPES = re.compile(rb'\\(["\\/])')
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{8,}"), re.compile(rb"[A-Za-z0-9_-]{8,}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_GZIP, _ZSTD, _LZ4, _ZIP, _ZLIB = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04", b"\x78"
_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_FIRST_BUFFER = 1 << 20
_BUFFER_IS_FULL = "failed to write whole buffer"


class UnsearchedError(Exception):
    """Content that cannot be searched: it unpacks to too much."""


class Names:
    """The names of people. ``found_in`` gives the places, from 0, of those that bytes hold.

    Examples
    --------
    >>> names = Names(["Zoë Smith", "a-17"])
    >>> names.found_in(b'{"application":"Zo\\\\u00eb Smith"}')
    {0}
    >>> names.found_in(b"a-171 is another")
    set()
    >>> names.found_in(base64.b64encode(b'{"application":"a-17"}'))
    {1}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._patterns = [_pattern(name) for name in names]
        self._texts = [_plain(name) for name in names]
        self._numbers = [_as_numbers(name) for name in names]
        self._all = [(text, place) for place, texts in enumerate(self._texts) for text in texts]
        self._all += [(number, place) for place, numbers in enumerate(self._numbers) for number in numbers]
        self._shortest = min((len(text) for text, _ in self._all), default=0)

    def found_in(self, content: bytes) -> set[int]:
        """The places of the names that the content holds as words: what goes on with a letter or digit is another."""
        found: set[int] = set()
        for view in _views(content, DEEPEST):
            # Most content holds none of them in any neighbourhood, which is faster to see than words are.
            held = {place for text, place in self._all if text in view} if len(view) >= self._shortest else set[int]()
            found |= {place for place in held if self._patterns[place].search(view)}
        return found

    def raw_in(self, content: bytes | mmap.mmap) -> Iterator[tuple[int, int]]:
        """Each place in bytes at which a name stands, in any neighbourhood: the place of the name, and that in them.

        The columns of a record of SQLite stand one behind the other, so nothing divides words there.
        """
        for place, texts in enumerate(self._texts):
            for text in texts:
                at = content.find(text)
                while at >= 0:
                    yield place, at
                    at = content.find(text, at + 1)

    def longer_words(self, content: bytes) -> set[bytes]:
        """The longer words of which a name is a part: they are other names."""
        parts = (re.escape(text) for texts in self._texts for text in texts if text in content)
        # A search begins at the start of a word only: else a long word would take quadratic time.
        words = (re.compile(rb"(?<![\w.-])[\w.-]*" + part + rb"[\w.-]*") for part in parts)
        return {match[0] for word in words for match in word.finditer(content)}


def _plain(name: str) -> tuple[bytes, ...]:
    """The bytes of a name in both normal forms, and as part of an id."""
    forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")} | {name}
    escaped = {form.replace("%", "%25").replace("/", "%2F") for form in forms}
    return tuple(sorted(form.encode() for form in forms | escaped))


def _pattern(name: str) -> re.Pattern[bytes]:
    words = [re.escape(text) for text in _plain(name)]
    numbers = _as_numbers(name)
    bounded = rb"(?<![A-Za-z0-9\x80-\xff])(?:%s)(?![A-Za-z0-9\x80-\xff])" % b"|".join(words)
    return re.compile(b"|".join([bounded, *map(re.escape, numbers)]), re.DOTALL)


def _as_numbers(name: str) -> list[bytes]:
    """The bytes of a number as computers hold it."""
    if not _NUMBER.fullmatch(name) or sum(map(str.isdigit, name)) < LEAST_DIGITS:
        return []
    return [struct.pack("<d", float(name)), struct.pack(">d", float(name))]


# --- views of content ------------------------------------------------------------------------------------------------


def _views(content: bytes, depth: int) -> Iterator[bytes]:
    """The content as it is, and as it reads without escapes; and what it holds in base64 or packed."""
    yield content
    if b"\\" in content:
        yield _without_escapes(content)
    if b"%" in content:
        yield _PERCENT.sub(lambda match: bytes([int(match[1], 16)]), content)
    if not content.isascii():
        yield normal_form(content.decode("utf-8", "replace")).encode("utf-8", "replace")
    if not depth:
        return
    for inner in (*_unpacked(content), *_decoded(content)):
        yield from _views(inner, depth - 1)


def _without_escapes(content: bytes) -> bytes:
    def read(match: re.Match[bytes]) -> bytes:
        units = bytes.fromhex(match[0].replace(b"\\u", b"").decode())
        return normal_form(units.decode("utf-16-be", "replace")).encode("utf-8", "replace")

    return _SHORT_ESCAPES.sub(rb"\1", _ESCAPES.sub(read, content))


def _decoded(content: bytes) -> Iterator[bytes]:
    standard, for_urls = _BASE64
    yield from (_from_base64(match[0]) for match in standard.finditer(content))
    for match in for_urls.finditer(content):
        if b"-" in match[0] or b"_" in match[0]:
            yield _from_base64(match[0].translate(_FOR_URLS))


def _from_base64(text: bytes) -> bytes:
    # One character too many is not part of it.
    whole = text[: len(text) - (len(text) % 4 == 1)]
    return base64.b64decode(whole + b"=" * (-len(whole) % 4))


def _unpacked(content: bytes) -> Iterator[bytes]:
    """What is packed in content that begins with the mark of its format; nothing where it only looks like that."""
    try:
        if content.startswith(_GZIP):
            yield _limited(gzip.GzipFile(fileobj=io.BytesIO(content)))
        elif content.startswith(_ZLIB):
            yield zlib.decompressobj().decompress(content, LARGEST_UNPACKED)
        elif content.startswith(_ZSTD):
            yield _into_buffer(cramjam.zstd.decompress_into, content)
        elif content.startswith(_LZ4):
            yield _into_buffer(cramjam.lz4.decompress_into, content)
        elif content.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for member in archive.infolist():
                    with archive.open(member) as file:
                        yield _limited(file)
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, cramjam.DecompressionError):
        return


def _limited(file: IO[bytes] | gzip.GzipFile) -> bytes:
    content = file.read(LARGEST_UNPACKED + 1)
    if len(content) > LARGEST_UNPACKED:
        raise UnsearchedError(f"it unpacks to more than {LARGEST_UNPACKED >> 20} MiB")
    return content


def _into_buffer(decompress_into: Callable[[bytes, bytearray], int], packed: bytes) -> bytes:
    size = _FIRST_BUFFER
    while size <= LARGEST_UNPACKED:
        buffer = bytearray(size)
        try:
            return bytes(buffer[: decompress_into(packed, buffer)])
        except cramjam.DecompressionError as error:
            if str(error) != _BUFFER_IS_FULL:
                raise
        size *= 8
    raise UnsearchedError(f"it unpacks to more than {LARGEST_UNPACKED >> 20} MiB")
